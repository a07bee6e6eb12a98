// A program that submits, with one import of ours. This file compiles under MemberImportVisibility,
// as everything here does: whatever the public API mentions is within reach.

import OpCluster
import Testing

@Suite struct OneImport {
  @Test func everythingOfTheAPIIsWithinReach() async throws {
    let queue = ClusterOperationQueue(
      on: .local(), maxConcurrentOperationCount: 1, qualityOfService: .userInitiated)
    let first = ClusterOperation(name: "first", returning: { _ in 20 })
    first.queuePriority = .veryHigh
    first.settings.resources = Resources(cpus: ResourceAmount(1))
    first.settings.retry = RetryPolicy(maximum: 2, reasons: [.failed], backoff: .seconds(1))
    first.settings.requirements = []
    let second = ClusterOperation(name: "second") { context in
      guard let left: Int = try context.output(of: "first"), left == 20 else {
        throw CancellationError()
      }
      #expect(context.dependencies.map(\.outcome) == [.succeeded])
    }
    try second.addDependency(first, when: .succeeded)
    let never = ClusterOperation(name: "never")
    try never.addDependency(second, when: .failed)
    try await queue.addOperations([first, second, never], waitUntilFinished: true)
    let outcomes: [Outcome?] = [first, second, never].map(\.outcome)
    #expect(outcomes == [.succeeded, .succeeded, .skipped])
    let reason: CancelReason? = never.cancelReason
    guard case .dependency(let id, .succeeded)? = reason else {
      Issue.record("skipped for \(String(describing: reason))")
      return
    }
    let wanted: OperationID? = second.id
    #expect(id == wanted && id.graph == first.id?.graph && id.index == 1)
    guard case .value = try await first.result() else {
      Issue.record("it left nothing")
      return
    }
  }

  @Test func cancellingByAChosenSetIsWithinReach() async throws {
    let cluster = OperationCluster.local()
    let queue = ClusterOperationQueue(on: cluster, isSuspended: true)
    let waiting = ClusterOperation(name: "waiting")
    waiting.settings.labels = ["part": "a"]
    try await queue.addOperation(waiting)
    let target = OperationTarget.selection(Selection(graphs: .all, operation: "waiting"))
    let verdicts: [CancelVerdict] = try await cluster.cancel(target)
    #expect(verdicts.map(\.verdict) == [.cancelled])
    #expect(try await waiting.cancel() == .alreadyCancelled)
    #expect(EmbeddedCluster.Settings(workers: 2).workers == 2)
  }
}
