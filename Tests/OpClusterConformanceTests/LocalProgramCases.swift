// What a Swift programmer meets on a cluster in the program itself: the objects inside of their own
// operations, starting by hand, the main queue, closures, errors that stay themselves.

import Citations
import Dispatch
import Glibc
import OpCluster
import OpClusterModel
import RealCluster
import Synchronization
import Testing

@Suite struct LocalProgram {
  private struct Odd: Error, Equatable { var number: Int }

  /// What an operation's own object says inside of it, with the object put there before it starts.
  private final class Place: Sendable {
    let operation = Mutex<ClusterOperation?>(nil)
    var held: ClusterOperation? { operation.withLock { $0 } }
    func put(_ operation: ClusterOperation) { self.operation.withLock { $0 = operation } }
  }

  @Test("S98: inside an operation its object executes, and can cancel itself", .checks("S87"))
  func inside() async throws {
    let cluster = OperationCluster.local(slots: 2)
    let queue = ClusterOperationQueue(on: cluster)
    let wrong = Mutex<[String]>([])
    for round in 0..<200 {
      let place = Place()
      let operation = ClusterOperation { context in
        guard let own = place.held else { return }
        if !own.isExecuting { wrong.withLock { $0.append("\(round) not executing") } }
        let verdict = try await own.cancel()
        if verdict != .executing { wrong.withLock { $0.append("\(round) \(verdict)") } }
        if !own.isCancelled { wrong.withLock { $0.append("\(round) not cancelled") } }
        if !context.isCancelled { wrong.withLock { $0.append("\(round) not told to stop") } }
      }
      place.put(operation)
      try await queue.addOperation(operation)
      try await operation.waitUntilFinished()
      if operation.outcome != .cancelled {
        wrong.withLock { $0.append("\(round) ended otherwise") }
      }
    }
    #expect(wrong.withLock { $0 } == [])
  }

  @Test("S114: inside a dependent its dependency has finished, and tells how")
  func dependency() async throws {
    let queue = ClusterOperationQueue(on: .local(slots: 2))
    let wrong = Mutex<[Int]>([])
    for round in 0..<200 {
      let first = ClusterOperation { () in }
      let second = ClusterOperation { () in
        if !first.isFinished || first.outcome != .succeeded { wrong.withLock { $0.append(round) } }
      }
      try second.addDependency(first)
      try await queue.addOperations([first, second], waitUntilFinished: true)
    }
    #expect(wrong.withLock { $0 } == [])
  }

  @Test("S142: a wait for itself is refused, by a task and by a thread")
  func waitForItself() async throws {
    let queue = ClusterOperationQueue(on: .local(slots: 2))
    let codes = Mutex<[ClusterError.Code]>([])
    for _ in 0..<50 {
      let place = Place()
      let operation = ClusterOperation { () in
        guard let own = place.held else { return }
        do throws(ClusterError) { try await own.waitUntilFinished() } catch {
          codes.withLock { $0.append(error.code) }
        }
        do throws(ClusterError) { try own.blocking.waitUntilFinished() } catch {
          codes.withLock { $0.append(error.code) }
        }
        do throws(ClusterError) { try queue.blocking.waitUntilAllOperationsAreFinished() } catch {
          codes.withLock { $0.append(error.code) }
        }
      }
      place.put(operation)
      try await queue.addOperation(operation)
      #expect(try await operation.waitUntilFinished(timeout: patience))
    }
    #expect(codes.withLock { $0 } == Array(repeating: .wouldDeadlock, count: 150))
  }

  @Test("S15: started by hand beside a busy queue, it has finished when the call returns")
  func byHand() async throws {
    let cluster = OperationCluster.local(slots: 2)
    let queue = ClusterOperationQueue(on: cluster)
    let isOver = Atomic<Bool>(false)
    let busy = Task {
      while !isOver.load(ordering: .acquiring) { try await queue.addOperation { () in } }
    }
    var unfinished = 0
    for _ in 0..<300 {
      let operation = ClusterOperation { () in }
      try operation.start(on: cluster)
      if operation.outcome != .succeeded || operation.isExecuting { unfinished += 1 }
    }
    isOver.store(true, ordering: .releasing)
    try await busy.value
    #expect(unfinished == 0)
  }

  @Test("S64: six closures that block run at once") func blocking() async throws {
    let queue = ClusterOperationQueue(on: .local(slots: 6), maxConcurrentOperationCount: 6)
    let inside = Atomic<Int>(0)
    for _ in 0..<6 {
      try await queue.addOperation { () in
        inside.add(1, ordering: .acquiringAndReleasing)
        while inside.load(ordering: .acquiring) < 6 { usleep(500) }
      }
    }
    #expect(try await queue.waitUntilAllOperationsAreFinished(timeout: patience))
  }

  @Test(
    "the main queue runs on the main thread, one at a time; elsewhere there is none", .checks("S76")
  )
  func mainQueue() async throws {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let cluster = OperationCluster.local(slots: 4)
    let queue = try ClusterOperationQueue.main(of: cluster)
    #expect(queue.maxConcurrentOperationCount == 1)
    #expect(ClusterOperationQueue.main == ClusterOperationQueue.main)
    let inside = Atomic<Int>(0)
    let places = Mutex<[Bool]>([])
    for _ in 0..<20 {
      try await queue.addOperation { () in
        let count = inside.add(1, ordering: .relaxed).newValue
        await Task.yield()
        let isMain = DispatchQueue.getSpecific(key: key) == true
        places.withLock { $0.append(isMain && count == 1) }
        inside.subtract(1, ordering: .relaxed)
      }
    }
    #expect(try await queue.waitUntilAllOperationsAreFinished(timeout: patience))
    #expect(places.withLock { $0 } == Array(repeating: true, count: 20))
    await refused(.badRequest) { try await queue.addOperation(.blocks()) }
  }

  @Test("a thrown error stays itself") func thrown() async throws {
    let cluster = OperationCluster.local(slots: 2)
    let queue = ClusterOperationQueue(on: cluster)
    let failing = ClusterOperation { () in throw Odd(number: 3) }
    #expect(failing.error == nil)
    try await queue.addOperations([failing], waitUntilFinished: true)
    #expect(failing.error as? Odd == Odd(number: 3))
    guard case .failed(let failure) = try await failing.result() else {
      Issue.record("it did not fail")
      return
    }
    #expect(failure.underlyingError as? Odd == Odd(number: 3))
    let byHand = ClusterOperation { () in throw Odd(number: 5) }
    try byHand.start(on: cluster)
    #expect(byHand.error as? Odd == Odd(number: 5))
    // One that succeeds at last has thrown nothing that counts.
    let runs = Atomic<Int>(0)
    let second = ClusterOperation { () in
      if runs.add(1, ordering: .relaxed).newValue == 1 { throw Odd(number: 7) }
    }
    second.settings.retry = RetryPolicy(maximum: 1)
    try await queue.addOperations([second], waitUntilFinished: true)
    #expect(second.outcome == .succeeded && second.error == nil)
  }

  @Test("S118, S120: closures become blocks, and blocks can be looked at") func blocks()
    async throws
  {
    let queue = ClusterOperationQueue(on: .local(slots: 2), isSuspended: true)
    let lines = Mutex<[String]>([])
    let operation = ClusterOperation(name: "two") { () in lines.withLock { $0.append("first") } }
    #expect(operation.executionBlocks.count == 1)
    try operation.addExecutionBlock { lines.withLock { $0.append("second") } }
    try operation.addExecutionBlock { _ in lines.withLock { $0.append("third") } }
    #expect(operation.executionBlocks.count == 3)
    let value = ClusterOperation(returning: { 3 })
    await refused(.badRequest) { try value.addExecutionBlock { () in } }
    try await queue.addOperations([operation, value])
    await refused(.badRequest) { try value.addExecutionBlock { () in } }
    try await queue.resume()
    try await queue.waitUntilAllOperationsAreFinished()
    #expect(operation.outcome == .succeeded)
    #expect(lines.withLock { $0.sorted() } == ["first", "second", "third"])
    #expect(try await value.output(as: Int.self) == 3)
    #expect(operation.executionBlocks.isEmpty)
  }

  @Test("handles of one queue are equal", .checks("S2")) func equality() async throws {
    let cluster = OperationCluster.local(slots: 2)
    let first = ClusterOperationQueue(name: "same", on: cluster)
    let second = ClusterOperationQueue(name: "same", on: cluster)
    let other = ClusterOperationQueue(on: cluster)
    #expect(first == second && first.hashValue == second.hashValue && first != other)
    // Fresh ones are one queue, too.
    first.maxConcurrentOperationCount = 7
    #expect(second.maxConcurrentOperationCount == 7)
    second.name = "renamed"
    #expect(first.name == "renamed")
    #expect(ClusterOperationQueue(name: "renamed", on: cluster) == first)
    let operation = ClusterOperation { () in }
    try await first.addOperation(operation)
    #expect(operation.queue.map { $0 == first } ?? true)
    try await second.waitUntilAllOperationsAreFinished()
    #expect(operation.isFinished)
  }

  @Test("S11: a clone of a closure that has run is refused, not run as nothing")
  func spentClone() async throws {
    let queue = ClusterOperationQueue(on: .local(slots: 2))
    let runs = Atomic<Int>(0)
    let operation = ClusterOperation { () in runs.add(1, ordering: .relaxed) }
    let early = operation.clone()
    try await queue.addOperations([operation, early], waitUntilFinished: true)
    #expect(runs.load(ordering: .relaxed) == 2)
    await refused(.alreadyFinished) { try await queue.addOperation(operation.clone()) }
  }

  @Test("S126, S142, S150: what answers has a form for threads") func threads() async throws {
    let queue = ClusterOperationQueue(on: .local(slots: 2))
    let other = ClusterOperationQueue(on: queue.cluster, isSuspended: true)
    let place = Place()
    let waiter = ClusterOperation(
      name: "waiter",
      returning: {
        do throws(ClusterError) {
          return "\(try place.held?.blocking.waitUntilFinished(timeout: patience) ?? false)"
        } catch {
          return error.code.rawValue
        }
      })
    place.put(waiter)
    let outcome: Result<[String], any Error> = await withCheckedContinuation { continuation in
      DispatchQueue(label: "a thread").async {
        continuation.resume(returning: Result { try answers(queue, other, waiter) })
      }
    }
    #expect(
      try outcome.get() == [
        "held true", "moved true", "pending", "not yet true", "value 5", "wouldDeadlock",
        "scheduled 1", "empty true",
      ])
  }

  /// On a thread.
  private func answers(
    _ queue: ClusterOperationQueue, _ other: ClusterOperationQueue, _ waiter: ClusterOperation
  ) throws -> [String] {
    var lines: [String] = []
    let five = ClusterOperation(returning: { 5 })
    five.settings.isHeld = true
    try queue.blocking.addOperation(five)
    lines.append("held \(five.isHeld)")
    lines.append("moved \(try five.blocking.move(to: other))")
    try five.blocking.release()
    if case .pending = try five.blocking.result() { lines.append("pending") }
    lines.append("not yet \(try !five.blocking.waitUntilFinished(timeout: .milliseconds(20)))")
    other.isSuspended = false
    lines.append("value \(try five.blocking.output(as: Int.self))")
    try queue.blocking.addOperation(waiter)
    lines.append(try waiter.blocking.output(as: String.self))
    let schedule = try queue.blocking.schedule(after: .milliseconds(1), ClusterOperation { () in })
    lines.append("scheduled \(schedule.occurrences)")
    let isEmpty = try queue.blocking.waitUntilAllOperationsAreFinished(timeout: patience)
    lines.append("empty \(isEmpty)")
    return lines
  }
}
