// The operation that steers its own cluster from inside: adds to it, cancels, waits (S3, S98,
// S142).

import OpCluster
import OpClusterModel
public import OpClusterOperations

/// Does one thing to the cluster that runs it, then writes what came of it: `name done`, or the
/// code of the error, such as `name wouldDeadlock`.
public struct Steer: RegisteredOperation {
  public static let typeName = "conformance.steer"

  public enum Deed: Codable, Hashable, Sendable {
    /// Cancels itself and goes on (S98).
    case cancelItself
    /// Cancels everything in its queue, itself too, and goes on (S98).
    case cancelOwnQueue
    /// Adds a mark to its own queue and returns.
    case addMark(String)
    /// Waits for itself (S142).
    case waitForItself
    /// Waits for another operation of its graph, by its index.
    case waitForMember(UInt32)
    /// Waits until its own queue is empty (S142).
    case waitForOwnQueue
  }

  public var sink: String
  public var name: String
  public var deed: Deed
  /// A gate to pass first, so that the case can prepare what is met; nil: none.
  public var gate: String?
  public init(sink: String, name: String, deed: Deed, gate: String? = nil) {
    self.sink = sink
    self.name = name
    self.deed = deed
    self.gate = gate
  }

  public func main(_ context: OperationContext) async throws -> NoOutput {
    let sink = try SinkConversation(sink, context)
    try sink.say("\(name)+")
    if let gate { try await sink.pass(gate) }
    do throws(ClusterError) {
      try await run(context)
      try sink.report("\(name) done")
    } catch {
      try sink.report("\(name) \(error.code)")
    }
    return NoOutput()
  }

  private func run(_ context: OperationContext) async throws(ClusterError) {
    let cluster = try await context.cluster()
    let queue = try await context.queue()
    switch deed {
    case .cancelItself: try await context.cancel()
    case .cancelOwnQueue: try await queue.cancelAllOperations()
    case .addMark(let text):
      try await queue.addOperation(ClusterOperation(Mark(sink: sink, text: text), name: text))
    case .waitForItself:
      try await cluster.operation(context.operation).waitUntilFinished()
    case .waitForMember(let index):
      let other = OperationID(graph: context.operation.graph, index: index)
      try await cluster.operation(other).waitUntilFinished()
    case .waitForOwnQueue: try await queue.waitUntilAllOperationsAreFinished()
    }
  }
}

extension SinkConversation {
  /// As `say`, where only errors of the cluster are expected: a sink that has gone is one, too.
  fileprivate func report(_ text: String) throws(ClusterError) {
    do { try say(text) } catch { throw ClusterError(.cancelled, "\(error)") }
  }
}
