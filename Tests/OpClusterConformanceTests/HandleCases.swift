// Handles of one queue: each is the queue, from its first moment, in one program and in several.

import Citations
import OpCluster
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Handles {
    /// Another handle, where there can be one as another program has it.
    private func other(
      _ queue: ClusterOperationQueue, _ stage: Stage
    ) async throws -> (ClusterOperationQueue, OperationCluster?) {
      if stage.setting == .local { return (stage.sameQueue(queue, on: stage.cluster), nil) }
      let client = try await stage.anotherClient()
      return (stage.sameQueue(queue, on: client), client)
    }

    /// S3, S71 to S74, S141
    @Test(
      "S3, S141: a second handle sees and steers", .checks("S71", "S73"),
      arguments: Setting.all)
    func second(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("first", limit: 3, isSuspended: true)
        try await queue.addOperations([stage.mark("a"), stage.mark("b")])
        let (second, client) = try await other(queue, stage)
        #expect(second.maxConcurrentOperationCount == 3)
        #expect(second.isSuspended)
        #expect(second.operationCount == 2)
        #expect(try await !second.waitUntilAllOperationsAreFinished(timeout: .milliseconds(50)))
        try await second.setMaxConcurrentOperationCount(1)
        try await soon("the first one sees the limit") { queue.maxConcurrentOperationCount == 1 }
        try await second.resume()
        try await second.waitUntilAllOperationsAreFinished()
        #expect(second.operationCount == 0)
        try await soon("the first one sees it") { !queue.isSuspended && queue.operationCount == 0 }
        #expect(stage.sink.trace.sorted() == ["a", "b"])
        await client?.close()
      }
    }

    /// S3
    @Test(
      "a handle that is older than its queue is the queue", .checks("S2"), arguments: Setting.all)
    func older(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let name = stage.newQueue("late").name
        let (early, client) = try await other(
          ClusterOperationQueue(name: name, on: stage.cluster), stage)
        #expect(early.operationCount == 0 && !early.isSuspended)
        let queue = ClusterOperationQueue(name: name, on: stage.cluster, isSuspended: true)
        try await queue.addOperation(stage.mark("a"))
        try await soon("it sees the queue") { early.isSuspended && early.operationCount == 1 }
        early.isSuspended = false
        try await early.waitUntilAllOperationsAreFinished()
        #expect(stage.sink.trace == ["a"])
        await client?.close()
      }
    }

    /// S3, S145
    @Test(
      "S3: settings given for a queue that exists apply", .checks("S2"), arguments: Setting.all)
    func given(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("given", limit: 5)
        try await queue.addOperation(stage.mark("a"))
        try await stage.emptied(queue)
        let (plain, client) = try await other(queue, stage)
        let changing = ClusterOperationQueue(
          name: queue.name, on: plain.cluster, maxConcurrentOperationCount: 2, isSuspended: true)
        #expect(changing.maxConcurrentOperationCount == 2 && changing.isSuspended)
        try await soon("the queue has them") {
          queue.maxConcurrentOperationCount == 2 && queue.isSuspended
        }
        #expect(plain == changing && Set([plain, changing]).count == 1)
        #expect(plain.maxConcurrentOperationCount == 2)
        try await changing.resume()
        await client?.close()
      }
    }

    /// S3, S146
    @Test("S146: an operation's own queue is its queue", .checks("S3"), arguments: [Setting.local])
    func context(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("own", limit: 4)
        let seen = Mutex<[String]>([])
        let operation = ClusterOperation { context in
          let own = try await context.queue()
          seen.withLock {
            $0 = ["\(own.maxConcurrentOperationCount)", "\(own.operationCount)", "\(own == queue)"]
          }
          try await own.setMaxConcurrentOperationCount(3)
        }
        try await queue.addOperation(operation)
        try await stage.ended(operation)
        #expect(seen.withLock { $0 } == ["4", "1", "true"])
        #expect(queue.maxConcurrentOperationCount == 3)
      }
    }

    /// S145
    @Test("S145: what is no limit is refused", arguments: Setting.all)
    func badLimit(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let told = Mutex<[String]>([])
        stage.cluster.setErrorHandler { error, thing in
          told.withLock { $0.append("\(thing) \(error.code)") }
        }
        let name = "bad-\(stage.queue.name)"
        let queue = ClusterOperationQueue(
          name: name, on: stage.cluster, maxConcurrentOperationCount: -5)
        #expect(told.withLock { $0 } == ["queue '\(name)' badLimit"])
        await refused(.badLimit) { try await queue.addOperation(stage.mark("a")) }
        await refused(.badLimit) { try await queue.resume() }
      }
    }

    /// S19, S95
    @Test(
      "S95: cancelling where there is nothing is no error", .checks("S19"), arguments: Setting.all)
    func nothing(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = ClusterOperationQueue(name: "never-\(stage.queue.name)", on: stage.cluster)
        #expect(try await queue.cancelAllOperations() == [])
        #expect(try queue.blocking.cancelAllOperations() == [])
        #expect(try await stage.cluster.cancel([ClusterOperation]()) == [])
        #expect(try await stage.cluster.cancel([stage.mark("fresh")]) == [])
        #expect(try await stage.cluster.cancelOperations(labelled: ["no": "thing"]) == [])
        let operation = stage.mark("a")
        try await stage.queue.addOperation(operation)
        try await stage.ended(operation)
        #expect(try await stage.queue.cancelAllOperations() == [])
      }
    }

    /// S111
    @Test("S111: when an end is told the count is without it", arguments: Setting.all)
    func count(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        for round in 0..<50 {
          let operation = stage.ret(round)
          let counts = Mutex<[Int]>([])
          let queue = stage.queue
          let watch = operation.observe { change in
            guard case .isFinished = change.kind else { return }
            counts.withLock { $0.append(queue.operationCount) }
          }
          try await queue.addOperation(operation)
          try await operation.waitUntilFinished()
          #expect(queue.operationCount == 0)
          try await soon("its observer was told") { counts.withLock { $0 } == [0] }
          watch.invalidate()
        }
      }
    }

    /// S32
    @Test("S32: a cycle of operations that are added one by one", arguments: Setting.all)
    func cycle(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, b, c) = (stage.mark("a"), stage.mark("b"), stage.mark("c"))
        try a.addDependency(b)
        try b.addDependency(c)
        try c.addDependency(a)
        let error = await refused(.cycle) { try await stage.queue.addOperation(a) }
        let message = error?.message ?? ""
        #expect(message.contains("a") && message.contains("b") && message.contains("c"))
        #expect([a, b, c].allSatisfy { $0.id == nil && $0.queue == nil })
        // Taken back, all can go.
        try c.removeDependency(a)
        for operation in [a, b, c] { try await stage.queue.addOperation(operation) }
        try await stage.ended(a, b, c)
        #expect(stage.sink.trace == ["c", "b", "a"])
      }
    }

    /// S32
    @Test("S32: cycles on request, with a warning", arguments: Setting.all)
    func allowedCycle(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let told = Mutex<[ClusterError.Code]>([])
        stage.cluster.setErrorHandler { error, _ in told.withLock { $0.append(error.code) } }
        stage.cluster.allowsCycles = true
        let (a, b, c) = (stage.mark("a"), stage.mark("b"), stage.mark("c"))
        try a.addDependency(b)
        try b.addDependency(c)
        try c.addDependency(a)
        let other = stage.mark("other")
        try await stage.queue.addOperations([a, b, c, other])
        #expect(told.withLock { $0 } == [.cycle])
        try await stage.ended(other)
        try await stays("nobody is ready") { stage.queue.operationCount == 3 && !a.isReady }
        try await b.cancel()
        try await stage.ended(a, b, c)
        #expect(stage.sink.trace == ["other", "a", "c"])
        // What is in a queue already may close one as well.
        let held = stage.newQueue("held", isSuspended: true)
        let (u, v) = (stage.mark("u"), stage.mark("v"))
        try v.addDependency(u)
        try await held.addOperations([u, v])
        #expect(try u.addDependency(v))
        #expect(told.withLock { $0 } == [.cycle, .cycle])
        try await held.resume()
        try await stays("neither is ready") { held.operationCount == 2 && !u.isReady }
        #expect(try v.removeDependency(u))
        try await stage.ended(u, v)
        #expect(stage.sink.trace.suffix(2) == ["v", "u"])
        stage.cluster.allowsCycles = false
        let (d, e) = (stage.mark("d"), stage.mark("e"))
        try d.addDependency(e)
        try e.addDependency(d)
        await refused(.cycle) { try await stage.queue.addOperations([d, e]) }
      }
    }

    /// S28, S29
    @Test(
      "S28: what is added waits for another one by way of a fresh one", .checks("S29"),
      arguments: Setting.all)
    func byWayOfAFreshOne(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, between, c) = (stage.mark("a"), stage.mark("between"), stage.mark("c"))
        try a.addDependency(between)
        try between.addDependency(c)
        try await stage.queue.addOperations([a, c])
        try await stage.queue.addOperation(between)
        try await stage.ended(a, between, c)
        #expect(stage.sink.trace == ["c", "between", "a"])
      }
    }

    /// S5
    @Test("S5: what nobody holds is freed", arguments: Setting.all)
    func freed(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let weak = WeakThings()
        let name: String = try await {
          let queue = ClusterOperationQueue(on: stage.cluster)
          let operations = [stage.ret(1), stage.ret(2), stage.ret(3)]
          try operations[1].addDependency(operations[0])
          try await queue.addOperations(operations, waitUntilFinished: true)
          weak.note(queue, operations)
          // The queue keeps nothing that has finished.
          try await soon("it holds none") { queue.operations.isEmpty }
          return queue.name
        }()
        try await soon("operations and queue are freed") { weak.isEmpty }
        try await soon("the coordinator has no such queue") {
          let names = try await stage.cluster.queueNames()
          return !names.contains(name)
        }
      }
    }

    /// S5: an operation is freed while its queue goes on.
    @Test("S5: a queue keeps what has not finished, and nothing else", arguments: Setting.all)
    func kept(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let weak = WeakThings()
        let queue = ClusterOperationQueue(on: stage.cluster)
        for number in 0..<10 {
          let operation = stage.ret(number)
          weak.note(nil, [operation])
          try await queue.addOperations([operation], waitUntilFinished: true)
        }
        try await soon("they are freed") { weak.isEmpty }
        // The other way round: operations that have not finished keep their queue.
        let poll = stage.poll("p")
        try await {
          let short = ClusterOperationQueue(on: stage.cluster)
          weak.note(short, [])
          try await short.addOperation(poll)
        }()
        try await stage.began(poll)
        #expect(poll.queue != nil)
        try await poll.cancel()
        try await stage.ended(poll)
        try await soon("it is freed with its last operation") { poll.queue == nil }
      }
    }
  }
}

/// Whether others hold things.
private final class WeakThings: Sendable {
  private struct Weak { weak var thing: (any AnyObject & Sendable)? }
  private let things = Mutex<[Weak]>([])

  func note(_ queue: ClusterOperationQueue?, _ operations: [ClusterOperation]) {
    things.withLock { things in
      if let queue { things.append(Weak(thing: queue)) }
      for operation in operations { things.append(Weak(thing: operation)) }
    }
  }

  var isEmpty: Bool { things.withLock { $0.allSatisfy { $0.thing == nil } } }
}
