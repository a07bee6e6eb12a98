// What Foundation's own tests of its operation queue look at, here, in the order of that file: each
// case does what its namesake does, in calls of this library. `plain` ones need other names, `try`
// and `await`, and nothing else; the page for those who come from OperationQueue lists the others.

import Citations
import FoundationEssentials
import OpCluster
import OpClusterOperations
import RealCluster
import Synchronization
import Testing

/// One of those tests.
struct FoundationProgram: CustomTestStringConvertible, Sendable {
  let name: String
  /// What changes beside names, `try` and `await`; nil: nothing does.
  let change: String?
  let run: @Sendable () async throws -> Void
  var testDescription: String { name }

  static func plain(
    _ name: String, _ run: @escaping @Sendable () async throws -> Void
  ) -> FoundationProgram {
    FoundationProgram(name: name, change: nil, run: run)
  }
  static func changed(
    _ name: String, _ change: String, _ run: @escaping @Sendable () async throws -> Void
  ) -> FoundationProgram {
    FoundationProgram(name: name, change: change, run: run)
  }

  static let all = counting + cancelling + placing + ordering + living
}

@Suite struct FoundationPrograms {
  @Test(
    "S32, S44, S146: what Foundation tests", .checks("S15", "S130"),
    arguments: FoundationProgram.all)
  func holds(_ program: FoundationProgram) async throws { try await program.run() }

  /// The page names every one that needs more, and counts the others.
  @Test func thePageCounts() throws {
    let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/")
    let page = try String(
      contentsOfFile: "\(folder)/Sources/OpCluster/OpCluster.docc/ComingFromOperationQueue.md",
      encoding: .utf8)
    let all = FoundationProgram.all
    #expect(all.count == 31 && Set(all.map(\.name)).count == 31)
    let changed = all.filter { $0.change != nil }
    #expect(page.contains("Of its 31 tests \(31 - changed.count) hold"))
    for program in changed {
      let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `\(program.name)` |") }
      #expect(rows.count == 1, "\(program.name)")
      #expect(rows.first?.contains(program.change ?? "") == true, "\(program.name)")
    }
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `test_") }
    #expect(rows.count == changed.count)
  }
}

// MARK: - What the cases need

/// A queue of a cluster of its own, so that cases do not wait for each other.
private func freshQueue(
  limit: Int = -1, isSuspended: Bool = false, labels: [String: String] = [:]
) -> ClusterOperationQueue {
  ClusterOperationQueue(
    on: .local(slots: 4, labels: labels), maxConcurrentOperationCount: limit,
    isSuspended: isSuspended)
}

/// Something to expect: set by whoever does it, awaited by whoever wants it.
private final class Expectation: Sendable {
  private let count = Atomic<Int>(0)
  var isFulfilled: Bool { count.load(ordering: .acquiring) > 0 }
  func fulfill() { count.add(1, ordering: .acquiringAndReleasing) }
}

private func wait(for expectations: Expectation...) async throws {
  for expectation in expectations { try await soon("it comes") { expectation.isFulfilled } }
}

/// What operations have written, in order.
private final class Numbers: Sendable {
  private let kept = Mutex<[Int]>([])
  var all: [Int] { kept.withLock { $0 } }
  func add(_ number: Int) { kept.withLock { $0.append(number) } }
  func operation(_ number: Int) -> ClusterOperation { ClusterOperation { self.add(number) } }
}

/// Where an operation is found from inside of others.
private final class Place: Sendable {
  private let operation = Mutex<ClusterOperation?>(nil)
  var held: ClusterOperation? {
    get { operation.withLock { $0 } }
    set { operation.withLock { $0 = newValue } }
  }
}

/// Ends by its token, from elsewhere.
private struct Later: AsynchronousOperation {
  static let typeName = "test.later"
  func start(_ context: OperationContext, _ completion: CompletionToken<NoOutput>) {
    Task { completion.finish(NoOutput()) }
  }
}

// MARK: - The cases

extension FoundationProgram {
  fileprivate static let counting: [FoundationProgram] = [
    .plain("test_OperationCount") {
      let queue = freshQueue()
      let open = Expectation()
      let first = ClusterOperation { try await wait(for: open) }
      try await queue.addOperation(first)
      #expect(queue.operationCount == 1)
      open.fulfill()
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(queue.operationCount == 0)
      let openAgain = Expectation()
      let second = ClusterOperation { try await wait(for: openAgain) }
      let third = ClusterOperation { try await wait(for: openAgain) }
      try await queue.addOperation(second)
      try await queue.addOperation(third)
      #expect(queue.operationCount == 2 && queue.operations == [second, third])
      openAgain.fulfill()
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(queue.operationCount == 0 && queue.operations.isEmpty)
    },
    .plain("test_OperationPriorities") {
      let numbers = Numbers()
      let operations = (1...4).map(numbers.operation)
      operations[3].queuePriority = .veryLow
      operations[2].queuePriority = .veryHigh
      operations[1].queuePriority = .low
      operations[0].queuePriority = .normal
      try await freshQueue(limit: 1).addOperations(operations, waitUntilFinished: true)
      #expect(numbers.all == [3, 1, 2, 4])
    },
    .plain("test_isExecutingWorks") {
      let place = Place()
      let wasExecuting = Expectation()
      let operation = ClusterOperation {
        if place.held?.isExecuting == true { wasExecuting.fulfill() }
      }
      place.held = operation
      #expect(!operation.isExecuting)
      let queue = freshQueue()
      try await queue.addOperation(operation)
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(!operation.isExecuting && wasExecuting.isFulfilled)
      place.held = nil
    },
    .changed("test_AsyncOperation", "`AsynchronousOperation`") {
      let operation = ClusterOperation(Later())
      #expect(operation.isAsynchronous && !operation.isExecuting && !operation.isFinished)
      try operation.start(on: .local(slots: 2))
      #expect(!operation.isExecuting && operation.isFinished)
    },
    .changed("test_SyncOperationWithoutAQueue", "closure") {
      let hasRun = Expectation()
      let operation = ClusterOperation { hasRun.fulfill() }
      #expect(!operation.isExecuting && !operation.isFinished)
      try operation.start()
      #expect(!operation.isExecuting && operation.isFinished && hasRun.isFulfilled)
    },
    .plain("test_MainQueueGetter") {
      #expect(ClusterOperationQueue.main === ClusterOperationQueue.main)
      #expect(!ClusterOperationQueue.main.isSuspended)
    },
  ]

  fileprivate static let cancelling: [FoundationProgram] = [
    .plain("test_CancelOneOperation") {
      let numbers = Numbers()
      let open = Expectation()
      var operations = (0..<5).map { number in
        ClusterOperation {
          numbers.add(number)
          try await wait(for: open)
        }
      }
      let queue = freshQueue(limit: 1)
      try await queue.addOperations(operations, waitUntilFinished: false)
      try await operations.remove(at: 2).cancel()
      open.fulfill()
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(numbers.all == [0, 1, 3, 4])
    },
    .plain("test_CancelOperationsOfSpecificQueuePriority") {
      let numbers = Numbers()
      let open = Expectation()
      let operations = (0..<5).map { number in
        let operation = ClusterOperation {
          numbers.add(number)
          if number < 2 { try await wait(for: open) }
        }
        operation.queuePriority = number < 2 ? .high : .normal
        return operation
      }
      let queue = freshQueue(limit: 1)
      try await queue.addOperations(operations, waitUntilFinished: false)
      for operation in operations where operation.queuePriority == .normal {
        try await operation.cancel()
      }
      open.fulfill()
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(numbers.all == [0, 1])
    },
  ]

  fileprivate static let placing: [FoundationProgram] = [
    .plain("test_CurrentQueueOnMainQueue") {
      let isMain = await MainActor.run {
        ClusterOperationQueue.current === ClusterOperationQueue.main
      }
      #expect(isMain)
    },
    .plain("test_CurrentQueueOnBackgroundQueue") {
      let queue = freshQueue()
      let isCurrent = Expectation()
      try await queue.addOperation {
        if ClusterOperationQueue.current == queue { isCurrent.fulfill() }
      }
      try await wait(for: isCurrent)
    },
    .plain("test_CurrentQueueOnBackgroundQueueWithSelfCancel") {
      let queue = freshQueue(limit: 1)
      let isCurrent = Expectation()
      try await queue.addOperation {
        if ClusterOperationQueue.current == queue { isCurrent.fulfill() }
        try await queue.cancelAllOperations()
      }
      try await wait(for: isCurrent)
      try await queue.waitUntilAllOperationsAreFinished()
    },
    .changed("test_CurrentQueueWithCustomUnderlyingQueue", "`pool`") {
      let queue = freshQueue(labels: ["zone": "a"])
      let isCurrent = Expectation()
      queue.pool = [LabelRequirement(key: "zone", values: ["a"])]
      try await queue.addOperation {
        if ClusterOperationQueue.current == queue { isCurrent.fulfill() }
      }
      try await wait(for: isCurrent)
    },
    .changed("test_isSuspended", "`pool`") {
      let queue = freshQueue(limit: 1, labels: ["zone": "a"])
      let pool = [LabelRequirement(key: "zone", values: ["a"])]
      queue.pool = pool
      queue.isSuspended = true
      let (ran, resumed) = (Expectation(), Expectation())
      try await queue.addOperation {
        if ClusterOperationQueue.current?.pool == pool, resumed.isFulfilled { ran.fulfill() }
      }
      resumed.fulfill()
      queue.isSuspended = false
      try await wait(for: ran)
    },
    .changed("test_CurrentQueueWithUnderlyingQueueResetToNil", "`pool`") {
      let queue = freshQueue()
      let isCurrent = Expectation()
      queue.pool = [LabelRequirement(key: "zone", values: ["a"])]
      queue.pool = []
      try await queue.addOperation {
        if ClusterOperationQueue.current == queue { isCurrent.fulfill() }
      }
      try await wait(for: isCurrent)
    },
  ]
}

extension FoundationProgram {
  fileprivate static let ordering: [FoundationProgram] = [
    .plain("test_OperationDependencyCount") {
      let (first, second) = (ClusterOperation {}, ClusterOperation {})
      first.name = "op1"
      second.name = "op2"
      try first.addDependency(second)
      #expect(first.dependencies.count == 1)
    },
    .plain("test_CancelDependency") {
      let queue = freshQueue(limit: 1)
      let (wrong, ran) = (Expectation(), Expectation())
      let first = ClusterOperation { wrong.fulfill() }
      let second = ClusterOperation { ran.fulfill() }
      try second.addDependency(first)
      try await first.cancel()
      try await queue.addOperation(first)
      try await queue.addOperation(second)
      try await wait(for: ran)
      #expect(!wrong.isFulfilled)
    },
    .plain("test_Deadlock") {
      let (ranFirst, ranSecond) = (Expectation(), Expectation())
      let first = ClusterOperation { ranFirst.fulfill() }
      let second = ClusterOperation { ranSecond.fulfill() }
      try first.addDependency(second)
      try await {
        let queue = freshQueue(limit: 1)
        try await queue.addOperation(first)
        try await queue.addOperation(second)
      }()
      try await wait(for: ranFirst, ranSecond)
    },
    .plain("test_CancelOutOfQueue") {
      let operation = ClusterOperation()
      try await operation.cancel()
      #expect(operation.isCancelled && !operation.isExecuting && !operation.isFinished)
    },
    .plain("test_CrossQueueDependency") {
      let queue = freshQueue()
      let other = ClusterOperationQueue(on: queue.cluster)
      let (ranFirst, ranSecond) = (Expectation(), Expectation())
      let first = ClusterOperation { ranFirst.fulfill() }
      let second = ClusterOperation { ranSecond.fulfill() }
      try first.addDependency(second)
      try await queue.addOperation(first)
      try await other.addOperation(second)
      try await wait(for: ranFirst, ranSecond)
    },
    .plain("test_CancelWhileSuspended") {
      let queue = freshQueue()
      queue.isSuspended = true
      let operations = [ClusterOperation {}, ClusterOperation {}]
      for operation in operations { try await queue.addOperation(operation) }
      for operation in operations { try await operation.cancel() }
      queue.isSuspended = false
      try await queue.waitUntilAllOperationsAreFinished()
      for operation in operations {
        #expect(operation.isCancelled && !operation.isExecuting && operation.isFinished)
      }
    },
    .plain("test_OperationOrder") {
      let numbers = Numbers()
      let queue = freshQueue(limit: 1, isSuspended: true)
      for number in 1...5 {
        let operation = numbers.operation(number)
        operation.queuePriority = .normal
        try await queue.addOperation(operation)
      }
      queue.isSuspended = false
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(numbers.all == [1, 2, 3, 4, 5])
    },
    .plain("test_OperationOrder2") {
      let numbers = Numbers()
      let queue = freshQueue(limit: 1, isSuspended: true)
      let levels: [ClusterOperation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
      for (at, level) in levels.enumerated() {
        let operation = numbers.operation(at + 1)
        operation.queuePriority = level
        try await queue.addOperation(operation)
      }
      queue.isSuspended = false
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(numbers.all == [5, 4, 3, 2, 1])
    },
    .plain("test_ExecutionOrder") {
      let queue = freshQueue()
      let (numbers, other) = (Numbers(), Expectation())
      let (first, dependency) = (numbers.operation(1), numbers.operation(2))
      try first.addDependency(dependency)
      try await queue.addOperations([first, dependency], waitUntilFinished: false)
      try await queue.addOperation { other.fulfill() }
      try await wait(for: other)
      try await first.waitUntilFinished()
      #expect(numbers.all == [2, 1])
    },
  ]

  fileprivate static let living: [FoundationProgram] = [
    .plain("test_WaitUntilFinished") {
      let queue = freshQueue()
      let other = ClusterOperationQueue(on: queue.cluster)
      let first = ClusterOperation { try await Task.sleep(for: .milliseconds(50)) }
      let second = ClusterOperation {}
      try second.addDependency(first)
      try await queue.addOperation(first)
      try await other.addOperation(second)
      try await other.waitUntilAllOperationsAreFinished()
      #expect(other.operationCount == 0 && first.isFinished)
    },
    .plain("test_OperationWaitUntilFinished") {
      let queue = freshQueue()
      let operation = ClusterOperation { try await Task.sleep(for: .milliseconds(50)) }
      try await queue.addOperation(operation)
      try await operation.waitUntilFinished()
      #expect(queue.operationCount == 0)
    },
    .changed("test_CustomOperationReady", "``ClusterOperation/hold()``") {
      let queue = freshQueue()
      let ran = Expectation()
      let (first, second) = (ClusterOperation {}, ClusterOperation { ran.fulfill() })
      try await first.hold()
      try await queue.addOperation(first)
      try await queue.addOperation(second)
      try await second.waitUntilFinished()
      #expect(ran.isFulfilled && queue.operationCount == 1)
      try await first.release()
      try await queue.waitUntilAllOperationsAreFinished()
      #expect(queue.operationCount == 0)
    },
    .changed("test_DependencyCycleBreak", "``OperationCluster/allowsCycles``") {
      try await breakCycle()
    },
    .plain("test_Lifecycle") {
      let (started, done) = (Expectation(), Expectation())
      let first = ClusterOperation {}
      let second = ClusterOperation {
        started.fulfill()
        try await wait(for: done)
      }
      try first.addDependency(second)
      let isFreed = try await {
        let queue = freshQueue()
        try await queue.addOperation(first)
        try await queue.addOperation(second)
        return { [weak queue] in queue == nil }
      }()
      try await wait(for: started)
      try await second.cancel()
      done.fulfill()
      try await first.waitUntilFinished()
      try await soon("the queue is freed") { isFreed() }
    },
    .plain("test_ConcurrentOperations") {
      let queue = freshQueue(limit: 2)
      for _ in 0..<3 {
        let (ranFirst, ranSecond) = (Expectation(), Expectation())
        try await queue.addOperation {
          try await wait(for: ranSecond)
          ranFirst.fulfill()
        }
        try await queue.addOperation { ranSecond.fulfill() }
        try await wait(for: ranFirst)
      }
    },
    .plain("test_ConcurrentOperationsWithDependenciesAndCompletions") {
      let queue = freshQueue(limit: 2)
      for _ in 0..<3 {
        let (ranFirst, completed) = (Expectation(), Expectation())
        let (ranOther, ranSecond) = (Expectation(), Expectation())
        let first = ClusterOperation {
          try await wait(for: ranOther, ranSecond)
          ranFirst.fulfill()
        }
        first.completionBlock = { completed.fulfill() }
        let other = ClusterOperation { ranOther.fulfill() }
        try await queue.addOperations([first, other], waitUntilFinished: false)
        try await queue.addOperation { ranSecond.fulfill() }
        try await wait(for: ranFirst, completed)
      }
    },
    .plain("test_BlockOperationAddExecutionBlock") {
      let (ranFirst, ranSecond) = (Expectation(), Expectation())
      let operation = ClusterOperation { ranFirst.fulfill() }
      try operation.addExecutionBlock { ranSecond.fulfill() }
      #expect(operation.executionBlocks.count == 2)
      try await freshQueue().addOperation(operation)
      try await wait(for: ranFirst, ranSecond)
    },
  ]

  /// Three that wait for each other, until one is cancelled: told as a warning, and as Foundation
  /// has it.
  private static func breakCycle() async throws {
    let queue = freshQueue()
    let warnings = Mutex<[ClusterError.Code]>([])
    queue.cluster.setErrorHandler { error, _ in warnings.withLock { $0.append(error.code) } }
    queue.cluster.allowsCycles = true
    let places = [Place(), Place(), Place()]
    let (second, third, wrong) = (Expectation(), Expectation(), Expectation())
    places[0].held = ClusterOperation {
      if places[1].held?.isFinished == true { second.fulfill() }
    }
    places[1].held = ClusterOperation {
      if places[2].held?.isCancelled == true { third.fulfill() }
    }
    places[2].held = ClusterOperation { wrong.fulfill() }
    let operations = places.compactMap(\.held)
    for at in 0..<3 { try operations[at].addDependency(operations[(at + 1) % 3]) }
    for operation in operations { try await queue.addOperation(operation) }
    #expect(queue.operationCount == 3 && warnings.withLock { $0 } == [.cycle])
    try await operations[2].cancel()
    try await wait(for: second, third)
    try await queue.waitUntilAllOperationsAreFinished()
    #expect(!wrong.isFulfilled && operations.allSatisfy(\.isFinished))
    for place in places { place.held = nil }
  }
}
