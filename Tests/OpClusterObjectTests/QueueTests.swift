// A queue's object between a request and its answer: settings, moves, removal, renaming.

import Citations
import Dispatch
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@testable import OpCluster

@Suite struct QueueTests {
  let backend = ControlledCluster()

  private func row(_ name: String) async throws -> QueueRow? {
    guard case .queues(let rows, _) = try await backend.elsewhere(.queues(named: name)) else {
      return nil
    }
    return rows.first
  }

  @Test("settings given while a queue is made apply", .checks("S3"))
  func settingsWhileMade() async throws {
    let cluster = backend.object()
    backend.hold()
    let queue = ClusterOperationQueue(name: "made", on: cluster)
    let adding = Task.immediate { try await queue.addOperation(ClusterOperation(name: "a")) }
    let second = ClusterOperationQueue(name: "made", on: cluster, maxConcurrentOperationCount: 3)
    backend.release()
    try await end(of: adding)
    try await eventually { backend.sent.contains(where: \.isChangeOfQueue) }
    #expect(second.maxConcurrentOperationCount == 3)
    #expect(try await row("made")?.settings.maximumConcurrent == 3)
  }

  @Test("an addition after a given setting comes after it", .checks("S3"))
  func additionAfterSetting() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "given", on: cluster)
    try await queue.addOperation(ClusterOperation(name: "first"))
    _ = queue.isSuspended
    let (changing, mayGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    backend.beforeSending { request in
      guard request.isChangeOfQueue else { return }
      changing.signal()
      mayGo.wait()
    }
    // The second handle's setting stands still directly before it leaves this program.
    let giving = Thread { _ = ClusterOperationQueue(name: "given", on: cluster, isSuspended: true) }
    try #require(changing.wait(timeout: .now() + 60) == .success)
    let operation = ClusterOperation(name: "second")
    let added = Outcome<Void>()
    queue.record.adding([operation], asBarrier: false) { added.set($0.mapError { $0 }) }
    let before = backend.sent.filter(\.isSubmission).count
    mayGo.signal()
    giving.join()
    try await eventually { added.isThere }
    #expect(before == 1)
    #expect(!operation.isFinished && queue.isSuspended)
  }

  @Test("a refused setting keeps none back that was given meanwhile", .checks("S3"))
  func givenBehindARefusedOne() async throws {
    let cluster = backend.object()
    let queue = ClusterOperationQueue(name: "given", on: cluster, maxConcurrentOperationCount: 0)
    try await queue.addOperation(ClusterOperation(name: "first"))
    backend.hold()
    // The pool changes only while the queue is empty (S145).
    let pool = [LabelRequirement(key: "site", values: ["a"])]
    _ = ClusterOperationQueue(name: "given", on: cluster, pool: pool)
    _ = ClusterOperationQueue(name: "given", on: cluster, isSuspended: true)
    // An addition waits for the settings on their way, and does not fail with theirs.
    let adding = Task.immediate { try await queue.addOperation(ClusterOperation(name: "second")) }
    backend.release()
    try await end(of: adding)
    try await eventually { queue.isSuspended }
    #expect(try await row("given")?.settings.isSuspended == true)
    #expect(queue.pool == [])
  }

  @Test("an answer does not undo a later event", .checks("S3", "S52"))
  func laterPriority() async throws {
    let queue = ClusterOperationQueue(name: "order", on: backend.object(), isSuspended: true)
    for _ in 0..<20 {
      let operation = ClusterOperation(name: "a")
      try await queue.addOperation(operation)
      guard let id = operation.id else { throw TooLate() }
      backend.hold()
      let changing = Task.immediate { try await operation.setQueuePriority(.high) }
      _ = try await backend.elsewhere(.setPriority(.operations([id]), .low))
      backend.deliverWaiting()
      backend.release()
      #expect(try await end(of: changing))
      #expect(operation.queuePriority == .low)
    }
  }

  @Test("two moves are noted in the order of their answers", .checks("S51"))
  func twoMoves() async throws {
    let cluster = backend.object()
    let queues = (0..<3).map {
      ClusterOperationQueue(name: "q\($0)", on: cluster, isSuspended: true)
    }
    for queue in queues { try await queue.addOperation(ClusterOperation(name: "first")) }
    for _ in 0..<20 {
      let operation = ClusterOperation(name: "moved")
      try await queues[0].addOperation(operation)
      backend.hold()
      let moves = queues[1...].map { queue in
        Task.immediate { try await operation.move(to: queue) }
      }
      backend.release()
      for move in moves { #expect(try await end(of: move)) }
      #expect(operation.queue == queues[2])
    }
  }

  @Test("a queue that was removed and made again by others is there", .checks("S5"))
  func madeAgain() async throws {
    let queue = ClusterOperationQueue(name: "again", on: backend.object())
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    try await eventually { operation.isFinished && queue.operationCount == 0 }
    backend.hold()
    let removing = Task.immediate { try await queue.remove() }
    _ = try await backend.elsewhere(
      .createQueue(QueueSettings(name: "again", maximumConcurrent: 7)))
    backend.deliverWaiting()
    backend.release()
    try await end(of: removing)
    #expect(queue.record.state.withLock { $0.id } == (try await row("again"))?.queue)
    #expect(queue.maxConcurrentOperationCount == 7)
  }

  @Test("renamed twice before it exists, a queue is found by its last name alone", .checks("S2"))
  func renamedTwice() async throws {
    let cluster = backend.object()
    for round in 0..<200 {
      let queue = ClusterOperationQueue(name: "old\(round)", on: cluster)
      _ = queue.operationCount
      let threads = ["x", "y"].map { name in Thread { queue.name = "\(name)\(round)" } }
      for thread in threads { thread.join() }
      let names = ["old", "x", "y"].map { "\($0)\(round)" }
      for name in names {
        let found = cluster.book.state.withLock { $0.records[name]?.queue }
        #expect((found === queue.record) == (name == queue.name))
      }
    }
  }

  @Test("a lower count that is read wakes who waits for an empty queue", .checks("S141"))
  func emptyByARow() async throws {
    let queue = ClusterOperationQueue(name: "read", on: backend.object())
    let operation = ClusterOperation(name: "a")
    try await queue.addOperation(operation)
    try await eventually { operation.isFinished && queue.operationCount == 0 }
    guard let row = try await row("read") else { throw TooLate() }
    queue.record.foresee(1)
    let woken = Atomic<Bool>(false)
    #expect(queue.addIdler { woken.store(true, ordering: .releasing) } != nil)
    queue.record.learn(row)
    let isWoken = woken.load(ordering: .acquiring)
    #expect(isWoken)
  }
}

/// A thread that may wait, and that a test can wait for.
final class Thread: Sendable {
  private let ended = DispatchSemaphore(value: 0)
  init(_ body: @escaping @Sendable () -> Void) {
    let ended = ended
    // A queue of its own: the common one may have no thread left.
    DispatchQueue(label: "test").async {
      body()
      ended.signal()
    }
  }
  func join() { ended.wait() }
}
