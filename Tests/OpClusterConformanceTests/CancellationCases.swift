// Conformance cases C51 to C55: cancellation.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import RealCluster
import Synchronization
import Testing

extension Conformance {
  @Suite struct Cancellation {
    /// Flagged, ready, finished; never executing.
    @Test("C51 cancel waiting op", .checks("S90", "S103", "S107")) func c51() async throws {
      try await onStage(.cluster) { stage in
        let (gate, b) = (stage.gate("g"), stage.mark("b"))
        let completions = Mutex(0)
        b.completionBlock = { completions.withLock { $0 += 1 } }
        try b.addDependency(gate)
        let told = Recorder(b)
        try await stage.queue.addOperations([gate, b])
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        #expect(try await b.cancel(reason: "no need") == .cancelled)
        try await told.completed()
        #expect(told.life == ["cancelled", "ready true", "finished cancelled", "completed"])
        #expect(told.changes.map(\.sequence) == Array(1...4))
        try await soon("the completion block is called") { completions.withLock { $0 } > 0 }
        #expect(gate.isExecuting && !gate.isCancelled)
        guard case .cancelled(.request("no need")?) = try await b.result() else {
          Issue.record("the result is \(try await b.result())")
          return
        }
        stage.sink.open("g")
        try await stage.ended(gate)
        #expect(gate.outcome == .succeeded)
        #expect(completions.withLock { $0 } == 1)
        #expect(stage.sink.trace == ["g+", "g-"])
      }
    }

    /// A finished one is not cancelled any more; a second request changes nothing.
    @Test("C52 cancel finished, and twice", .checks("S88", "S89"), arguments: Setting.all)
    func c52(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let suspended = stage.newQueue("suspended", isSuspended: true)
        let (finished, waiting) = (stage.mark("finished"), stage.mark("waiting"))
        let told = Recorder(waiting)
        try await stage.queue.addOperation(finished)
        try await suspended.addOperation(waiting)
        try await stage.ended(finished)
        #expect(try await finished.cancel() == .alreadyFinished)
        #expect(!finished.isCancelled && finished.outcome == .succeeded)
        #expect(try await waiting.cancel() == .cancelled)
        #expect(try await waiting.cancel() == .alreadyCancelled)
        try await suspended.resume()
        try await told.completed()
        #expect(told.life.count { $0 == "cancelled" } == 1)
        #expect(stage.sink.trace == ["finished"])
      }
    }

    /// The flag reaches it; it is executing until it returns.
    @Test("C53 executing op polls", .checks("S87", "S92", "S100")) func c53() async throws {
      try await onStage(.cluster) { stage in
        let (poll, b) = (stage.poll("g"), stage.mark("b"))
        try b.addDependency(poll)
        let told = Recorder(poll)
        try await stage.queue.addOperations([poll, b])
        try await stage.sink.waitFor("g+")
        try await stage.began(poll)
        #expect(try await poll.cancel() == .executing)
        try await stage.ended(poll, b)
        try await told.completed()
        #expect(stage.sink.trace == ["g+", "g!", "b"])
        #expect(poll.outcome == .cancelled && poll.isCancelled)
        #expect(
          told.flags == [
            "ready true", "executing true", "cancelled", "executing false", "finished cancelled",
          ])
        #expect(b.outcome == .succeeded)
      }
    }

    /// The cancellation came first, so it counts; what was returned is passed to
    /// nobody.
    @Test("C54 completed although cancelled", .checks("S99", "S100", "S138")) func c54()
      async throws
    {
      try await onStage(.cluster) { stage in
        let (gate, look) = (stage.gate("g", value: 5), stage.look())
        try look.addDependency(gate)
        try await stage.queue.addOperations([gate, look])
        try await stage.sink.waitFor("g+")
        try await stage.began(gate)
        #expect(try await gate.cancel() == .executing)
        #expect(gate.isCancelled && gate.isExecuting && !look.isReady)
        stage.sink.open("g")
        let sight = try await look.output(of: Look.self)
        #expect(gate.outcome == .cancelled && gate.isCancelled && gate.isFinished)
        #expect(sight.inputs == [Sight.Seen(name: "g", outcome: .cancelled, value: nil)])
        #expect(sight.input == nil)
        #expect(stage.sink.trace == ["g+", "g-"])
      }
    }

    /// A group is cancelled in one commit, and each member's verdict is told.
    @Test("C55 cancel group by tag and priority", .checks("S97")) func c55() async throws {
      try await onStage(.cluster) { stage in
        let tags = ["tag": stage.queue.name]
        func tagged(_ operation: ClusterOperation) -> ClusterOperation {
          operation.settings.labels = tags
          return operation
        }
        let (early, running) = (tagged(stage.mark("early")), tagged(stage.gate("running")))
        try await stage.queue.addOperations([early, running])
        try await stage.ended(early)
        try await stage.sink.waitFor("running+")
        #expect(try await stage.queue.suspend() == [try #require(running.id)])
        let (queued, high) = (tagged(stage.mark("queued")), tagged(stage.mark("high")))
        high.queuePriority = .high
        let others = [stage.mark("u1"), stage.mark("u2")]
        others[0].queuePriority = .high
        try await stage.queue.addOperations([queued, high] + others)
        let some = try await stage.cluster.cancelOperations(labelled: tags, priority: .high)
        #expect(some.map(\.verdict) == [.cancelled] && some.map(\.operation) == [high.id])
        let all = try await stage.cluster.cancelOperations(labelled: tags)
        let verdicts = Dictionary(uniqueKeysWithValues: all.map { ($0.operation, $0.verdict) })
        #expect(
          verdicts == [
            try #require(early.id): .alreadyFinished, try #require(running.id): .executing,
            try #require(queued.id): .cancelled, try #require(high.id): .alreadyCancelled,
          ])
        #expect(others.allSatisfy { !$0.isCancelled && !$0.isFinished })
        stage.sink.open("running")
        try await stage.ended(running)
        try await stage.queue.resume()
        try await stage.emptied(stage.queue)
        #expect(stage.sink.trace.suffix(2).sorted() == ["u1", "u2"])
      }
    }
  }
}
