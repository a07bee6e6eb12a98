// Observers, sequences of changes and limited waits: nothing is called after the end, and nothing
// waits for what has been.

import Citations
import Dispatch
import OpClusterModel
import Synchronization
import Testing

@testable import OpCluster

@Suite struct ObservationTests {
  let backend = ControlledCluster()

  private func finished(on cluster: OperationCluster) async throws -> ClusterOperation {
    let operation = ClusterOperation(name: "a")
    try await ClusterOperationQueue(name: "observed", on: cluster).addOperation(operation)
    try await eventually { operation.isFinished }
    return operation
  }

  @Test("no call begins after invalidate", .checks("S117"))
  func invalidated() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "observed", on: cluster, isSuspended: true)
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    let (blocked, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    cluster.observers.async {
      blocked.signal()
      mayGo.wait()
    }
    await Task { blocked.waitHere() }.value
    let calls = Atomic<Int>(0)
    let observation = operation.observe { _ in calls.add(1, ordering: .relaxed) }
    let ofQueue = queue.observe { _ in calls.add(1, ordering: .relaxed) }
    // Their calls wait behind the blocked one.
    try await operation.setQueuePriority(.high)
    try await queue.setMaxConcurrentOperationCount(3)
    observation.invalidate()
    ofQueue.invalidate()
    mayGo.signal()
    await withCheckedContinuation { done in cluster.observers.async { done.resume() } }
    let called = calls.load(ordering: .relaxed)
    #expect(called == 0)
  }

  @Test("an observer may end its own observation", .checks("S117"))
  func invalidatedByItself() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "observed", on: cluster, isSuspended: true)
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    let own = Mutex<OperationObservation?>(nil)
    let calls = Atomic<Int>(0)
    let observation = operation.observe { _ in
      calls.add(1, ordering: .relaxed)
      own.withLock { $0 }?.invalidate()
    }
    own.withLock { $0 = observation }
    try await operation.setQueuePriority(.high)
    try await operation.setQueuePriority(.low)
    await withCheckedContinuation { done in cluster.observers.async { done.resume() } }
    let called = calls.load(ordering: .relaxed)
    #expect(called == 1)
  }

  @Test("a queue that the cluster does not know yet tells of a loss, too", .checks("S141"))
  func unknownQueueAtALoss() async throws {
    let cluster = backend.object()
    let stream = ClusterOperationQueue(name: "unknown", on: cluster)
    let changes = stream.changes
    cluster.book.lose(nil, .init(.connectionLost, "cut"))
    let reading = Task { for try await _ in changes {} }
    await #expect(throws: ClusterError.self) { try await end(of: reading) }
  }

  @Test("a reader that leaves is noticed", .checks("S117"))
  func releasedSequence() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "observed", on: cluster, isSuspended: true)
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    let reading = Task { for try await _ in operation.changes { break } }
    let ofQueue = Task { for try await _ in queue.changes { break } }
    try await eventually {
      operation.life.withLock { !$0.observers.isEmpty }
        && queue.record.state.withLock { !$0.observers.isEmpty }
    }
    try await operation.setQueuePriority(.high)
    try await queue.setMaxConcurrentOperationCount(3)
    try await end(of: reading)
    try await end(of: ofQueue)
    try await eventually {
      operation.life.withLock { $0.observers.isEmpty && $0.lossHandlers.isEmpty }
        && queue.record.state.withLock { $0.observers.isEmpty && $0.lossHandlers.isEmpty }
    }
  }

  @Test("an ended observation lets go of its handler", .checks("S117"))
  func handlerIsReleased() async throws {
    final class Owner: Sendable {}
    var owner: Owner? = Owner()
    weak let remaining = owner
    let operation = ClusterOperation(name: "a")
    let observation = operation.observe { [owner] _ in _ = owner }
    owner = nil
    #expect(remaining != nil)
    observation.invalidate()
    #expect(remaining == nil)
  }

  @Test("changes of an operation that has ended end at once", .checks("S104"))
  func changesAfterTheEnd() async throws {
    let operation = try await finished(on: backend.object())
    let reading = Task { for try await _ in operation.changes {} }
    try await end(of: reading)
  }

  @Test("changes end with all that was told, however late they are asked for", .checks("S104"))
  func changesBesideTheEnd() async throws {
    let cluster = backend.object()
    for _ in 0..<100 {
      let operation = ClusterOperation(name: "a")
      let queue = ClusterOperationQueue(name: "observed", on: cluster)
      let reading = Task.detached {
        try await queue.addOperation(operation)
        var kinds: [OperationChange.Kind] = []
        for try await change in operation.changes { kinds.append(change.kind) }
        return kinds
      }
      let kinds = try await end(of: reading)
      #expect(kinds.isEmpty || kinds.last == .completed, "\(kinds)")
    }
  }

  @Test("changes end with an error when nothing more is told", .checks("S141"))
  func changesAtALoss() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "observed", on: cluster, isSuspended: true)
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    let (before, ofQueue) = (operation.changes, queue.changes)
    cluster.book.lose(nil, .init(.connectionLost, "cut"))
    for stream in [before, operation.changes] {
      let reading = Task { for try await _ in stream {} }
      do {
        try await end(of: reading)
        Issue.record("it ended as if all had been told")
      } catch {
        #expect((error as? ClusterError)?.code == .connectionLost)
      }
    }
    let unknown = ClusterOperationQueue(name: "unknown", on: cluster)
    for stream in [ofQueue, queue.changes, unknown.changes] {
      let reading = Task { for try await _ in stream {} }
      await #expect(throws: ClusterError.self) { try await end(of: reading) }
    }
  }

  @Test("a cancelled task does not hear that the time has passed", .checks("S141"))
  func cancelledIsNotLate() async throws {
    let operation = ClusterOperation(name: "never added")
    for _ in 0..<200 {
      let waiting = Task.detached {
        try await operation.waitUntilFinished(timeout: .seconds(3_600))
      }
      waiting.cancel()
      do {
        _ = try await end(of: waiting)
        Issue.record("the time has not passed")
      } catch {
        #expect((error as? ClusterError)?.code == .cancelled)
      }
    }
  }
}

extension DispatchSemaphore {
  /// For a task that has nothing else to do.
  func waitHere() { wait() }
}
