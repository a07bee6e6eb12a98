// Conformance cases C45 to C50: barriers.

import Citations
import OpCluster
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct Barriers {
    /// After everything added before it, before everything added after it.
    @Test("C45 order", .checks("S39", "S77", "S78", "S81"), arguments: Setting.all)
    func c45(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (queue, sink) = (stage.queue, stage.sink)
        let gates = (1...3).map { stage.gate("g\($0)") }
        let (barrier, high, normal) = (stage.gate("b"), stage.mark("high"), stage.mark("normal"))
        high.queuePriority = .veryHigh
        try await queue.addOperations(gates)
        try await queue.addBarrier(barrier)
        try await queue.addOperations([high, normal])
        try await sink.waitFor("g1+", "g2+", "g3+")
        try await soon("five are counted") { queue.operationCount == 5 }
        #expect(queue.operations == gates + [high, normal])
        #expect(high.dependencies.isEmpty && normal.dependencies.isEmpty)
        #expect(!high.isReady && !normal.isReady && !barrier.isReady)
        #expect(try await high.details()?.blockedBy == [try #require(barrier.id)])
        sink.open("g1", "g2")
        try await sink.waitFor("g1-", "g2-")
        try await stays("the barrier waits") { sink.trace.count == 5 }
        sink.open("g3")
        try await sink.waitFor("b+")
        try await stays("it is alone") { sink.lines.running == ["b"] && !high.isReady }
        sink.open("b")
        try await stage.ended(high, normal)
        #expect(Set(sink.trace.suffix(2)) == ["high", "normal"])
        #expect(sink.trace.dropLast(2).suffix(3) == ["g3-", "b+", "b-"])
      }
    }

    /// Exclusive in its own queue alone.
    @Test("C46 other queue unaffected", .checks("S79")) func c46() async throws {
      try await onStage(.cluster) { stage in
        let other = stage.newQueue("other")
        let barrier = stage.gate("b")
        try await stage.queue.addBarrier(barrier)
        try await stage.sink.waitFor("b+")
        try await stage.began(barrier)
        let marks = (1...3).map { stage.mark("m\($0)") }
        try await other.addOperations(marks)
        try await stage.emptied(other)
        #expect(barrier.isExecuting && !barrier.isFinished)
        #expect(stage.sink.trace.sorted() == ["b+", "m1", "m2", "m3"])
      }
    }

    /// Each separates what was added before it from what was added after it.
    @Test("C47 two barriers", .checks("S80"), arguments: Setting.all)
    func c47(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.queue
        try await queue.addOperation(stage.mark("p1"))
        try await queue.addBarrier(stage.mark("b1"))
        try await queue.addOperation(stage.mark("p2"))
        try await queue.addBarrier(stage.mark("b2"))
        try await queue.addOperation(stage.mark("p3"))
        try await stage.emptied(queue)
        #expect(stage.sink.trace == ["p1", "b1", "p2", "b2", "p3"])
      }
    }

    /// What is added while the barrier runs waits for it, and overtakes nobody.
    @Test("C48 added while the barrier runs", .checks("S83")) func c48() async throws {
      try await onStage(.cluster) { stage in
        let (queue, sink) = (stage.queue, stage.sink)
        let (high, normal) = (stage.mark("high"), stage.mark("normal"))
        high.queuePriority = .veryHigh
        try await queue.addBarrier(stage.gate("b"))
        try await queue.addOperation(high)
        try await sink.waitFor("b+")
        try await queue.addOperation(normal)
        try await queue.setMaxConcurrentOperationCount(1)
        try await stays("both wait") { !high.isReady && !normal.isReady && sink.trace == ["b+"] }
        sink.open("b")
        try await stage.ended(high, normal)
        #expect(sink.trace == ["b+", "b-", "high", "normal"])
      }
    }

    /// A barrier obeys suspension like anything else.
    @Test("C49 suspended empty queue", .checks("S82"), arguments: Setting.all)
    func c49(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("suspended", isSuspended: true)
        let barrier = stage.mark("b")
        try await queue.addBarrier(barrier)
        try await stays("it is unstarted") { !barrier.isExecuting && stage.sink.trace.isEmpty }
        #expect(queue.operationCount == 0)
        try await queue.resume()
        try await stage.ended(barrier)
        #expect(stage.sink.trace == ["b"])
      }
    }

    /// A cancelled follower does not wait for the barrier; the barrier stays.
    @Test("C50a cancelled follower", .checks("S85", "C50")) func c50a() async throws {
      try await onStage(.cluster) { stage in
        let (gate, barrier, follower) = (stage.gate("g"), stage.mark("b"), stage.mark("f"))
        try await stage.queue.addOperation(gate)
        try await stage.queue.addBarrier(barrier)
        try await stage.queue.addOperation(follower)
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        #expect(try await follower.cancel() == .cancelled)
        #expect(follower.isFinished && gate.isExecuting && !barrier.isFinished)
        stage.sink.open("g")
        try await stage.ended(barrier)
        #expect(stage.sink.trace == ["g+", "g-", "b"])
      }
    }

    /// A cancelled barrier separates nothing any more.
    @Test("C50b cancelled barrier", .checks("S84", "S95", "C50")) func c50b() async throws {
      try await onStage(.cluster) { stage in
        let (gate, barrier, next) = (stage.gate("g"), stage.mark("b"), stage.mark("n"))
        try await stage.queue.addOperation(gate)
        try await stage.queue.addBarrier(barrier)
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        try await stage.queue.cancelAllOperations()
        #expect(barrier.isFinished && barrier.outcome == .cancelled)
        try await stage.queue.addOperation(next)
        try await stage.ended(next)
        #expect(gate.isExecuting && gate.isCancelled)
        stage.sink.open("g")
        try await stage.ended(gate)
        #expect(stage.sink.trace == ["g+", "n", "g-"])
      }
    }
  }
}
