// Block operations: several blocks run concurrently on one worker, as one operation in one slot
// (S118 to S123).

import OpClusterLocal
import OpClusterModel
public import OpClusterOperations
import OpClusterWire
import Synchronization

extension ClusterOperation {
  /// Adds a block that runs a value of a registered type, until the operation is dispatched (S120).
  /// If the operation is in a queue, the calling thread waits for the answer.
  ///
  /// - Throws: `alreadyStarted`; `badRequest` if this is not a block operation.
  public func addBlock<Body: RegisteredOperation>(_ body: Body) throws(ClusterError) {
    try add(.call(OperationWork.Invocation(body)))
  }

  /// Adds a block that runs a process.
  public func addBlock(_ command: ClusterCommand) throws(ClusterError) {
    try add(.command(command.specification))
  }

  /// Adds a closure as a block: local clusters only, until the operation is dispatched. An
  /// operation made of a closure accepts blocks until it is in a queue; all of them run
  /// concurrently.
  ///
  /// - Throws: `alreadyStarted`; `badRequest` if this is neither a block operation nor a closure,
  ///   or a closure that returns a value.
  public func addExecutionBlock(_ body: @escaping OperationClosure) throws(ClusterError) {
    try add(.closure(body))
  }

  /// Adds a closure that needs no context as a block.
  public func addExecutionBlock(_ body: @escaping PlainClosure) throws(ClusterError) {
    try addExecutionBlock { _ in try await body() }
  }

  /// The closures added before it was in a queue, in order; empty after the end, when they are
  /// released.
  public var executionBlocks: [OperationClosure] {
    switch life.withLock({ $0.work }) {
    case .closure(.plain(let body)): [body]
    case .blocks(let blocks):
      blocks.compactMap { if case .closure(let body) = $0 { body } else { nil } }
    case .nothing, .command, .call, .closure(.returning), .spent: []
    }
  }

  private func add(_ block: OperationBlockWork) throws(ClusterError) {
    let place = try life.withLock {
      (life) throws(ClusterError) -> (OperationCluster, OperationID)? in
      guard var blocks = life.blocks else {
        throw ClusterError(
          .badRequest, "'\(life.shownName)' is not a block operation",
          hint: "make one with ClusterOperation.blocks()")
      }
      if case .leaving = life.stage { throw .onItsWay(life.shownName) }
      if life.isExecuting || life.isFinished {
        throw ClusterError(.alreadyStarted, "'\(life.shownName)' has started")
      }
      guard let id = life.id, let cluster = life.cluster else {
        guard blocks.count < Limits.blocksPerOperation else {
          throw ClusterError(
            .limitExceeded, "more than \(Limits.blocksPerOperation) blocks in one operation",
            hint: "make several operations")
        }
        blocks.append(block)
        life.work = .blocks(blocks)
        return nil
      }
      return (cluster, id)
    }
    guard let (cluster, id) = place else { return }
    let lowered = try block.lowered(for: cluster.backend.local, of: "\(self)")
    _ = try cluster.ask(.addBlocks(id, Wire.encode(blocks: [lowered])))
  }
}

extension OperationLife {
  /// The blocks that further ones are added to; nil if it accepts none. A fresh closure counts as a
  /// block.
  fileprivate var blocks: [OperationBlockWork]? {
    switch work {
    case .blocks(let blocks): blocks
    case .closure(.plain(let body)):
      if case .fresh = stage { [.closure(body)] } else { nil }
    case .closure(.returning), .nothing, .command, .call, .spent: nil
    }
  }
}
