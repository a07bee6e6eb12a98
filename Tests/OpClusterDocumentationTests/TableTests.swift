// Claims of the table "Coming from OperationQueue" that no other test makes.

import Citations
import OpCluster
import OpClusterModel
import Synchronization
import Testing

@Suite struct Table {
  let queue = ClusterOperationQueue(on: .local())

  // S6, S49, S57
  @Test(.checks("S6", "S49", "S57")) func freshObjectsHaveApplesDefaults() {
    let operation = ClusterOperation()
    let flags = operation.flags
    #expect(flags.isReady && !flags.isExecuting && !flags.isFinished && !flags.isCancelled)
    #expect(operation.queuePriority == .normal && operation.qualityOfService == .default)
    #expect(!operation.isAsynchronous && operation.dependencies.isEmpty)
    #expect(operation.name == nil && operation.completionBlock == nil)
    #expect(queue.maxConcurrentOperationCount == -1 && !queue.isSuspended)
    #expect(queue.qualityOfService == .default && queue.operationCount == 0)
  }

  // S2
  @Test(.checks("S2")) func namesAreLabelsAndNumbersAreNot() async throws {
    let twins = [ClusterOperation(name: "twin"), ClusterOperation(name: "twin")]
    try await queue.addOperations(twins)
    try await queue.waitUntilAllOperationsAreFinished()
    let numbers = twins.compactMap(\.id)
    #expect(Set(numbers).count == 2)
    let again = try await queue.cluster.operation(numbers[1])
    #expect(again.name == "twin" && again.outcome == .succeeded)
  }

  // S113
  @Test(.checks("S113")) func theLastCompletionBlockBeforeTheEndRuns() async throws {
    let calls = Calls()
    let operation = ClusterOperation { _ in }
    operation.completionBlock = { calls.add("replaced") }
    let (completions, completion) = AsyncStream<Void>.makeStream()
    operation.completionBlock = {
      calls.add("last")
      completion.finish()
    }
    try await queue.addOperation(operation)
    for await _ in completions {}
    #expect(operation.completionBlock == nil)
    operation.completionBlock = { calls.add("late") }
    #expect(operation.completionBlock == nil)
    #expect(calls.all == ["last"])
  }
}

/// What was called, in order, from any thread.
private final class Calls: Sendable {
  private let kept = Mutex<[String]>([])
  var all: [String] { kept.withLock { $0 } }
  func add(_ call: String) { kept.withLock { $0.append(call) } }
}
