// Foundation's own OperationQueue on the same graphs, in this process, for comparison. The only
// file that needs all of Foundation. The comparison is of what a program sees, not of equals:
// Foundation calls a closure, the cluster journals and sends it.

import Foundation
import Synchronization

extension Workload {
  /// The result of one run, in this workload's unit; nil if there is no counterpart. The graphs are
  /// those of `Graphs`, with the same numbers of operations and edges. Processes, memory, and
  /// what only a server does have no counterpart.
  func measureFoundation() -> Double? {
    switch self {
    case .independent: 100_000 / run(100_000) { _ in [] }
    case .chain: run(1_000) { $0 == 0 ? [] : [$0 - 1] } * 1e6 / 1_000
    // The same predecessors as `Graphs.layers`.
    case .layers:
      10_000
        / run(10_000) { at in
          at < 100 ? [] : [1, 34, 67].map { (at / 100 - 1) * 100 + (at % 100 * 7 + $0) % 100 }
        }
    case .fan:
      run(10_002) { at in at == 0 ? [] : at == 10_001 ? Array(1...10_000) : [0] }
    default: nil
    }
  }

  /// Seconds for empty block operations with the given dependencies, on a queue with default
  /// settings, as for OpCluster. (A limit of 2 makes it much faster on graphs with edges.)
  private func run(_ count: Int, _ dependencies: (Int) -> [Int]) -> Double {
    let queue = OperationQueue()
    // Making the operations is part of the time, as the submission is on the other side.
    let start = ContinuousClock().now
    let operations = (0..<count).map { _ in BlockOperation {} }
    for at in 0..<count {
      for on in dependencies(at) { operations[at].addDependency(operations[on]) }
    }
    queue.addOperations(operations, waitUntilFinished: true)
    return (ContinuousClock().now - start) / .seconds(1)
  }
}

extension Comparison {
  /// Runs the same operations on Foundation's queue. As `runOurs` adds them: one batch, one batch
  /// with names, or one call each.
  func runFoundation(_ way: Way, _ counter: Counter) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    switch way {
    case .array, .kinds:
      let operations = (0..<count).map { number in
        let operation = BlockOperation { counter.count() }
        if way == .kinds { operation.name = "number \(number)" }
        return operation
      }
      queue.addOperations(operations, waitUntilFinished: false)
    case .singly:
      for _ in 0..<count { queue.addOperation { counter.count() } }
    }
    queue.waitUntilAllOperationsAreFinished()
  }
}

/// Runs a function on a thread of its own, and waits for it asynchronously. Measured calls block,
/// and a blocked thread of the runtime would be one less for everything else.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
