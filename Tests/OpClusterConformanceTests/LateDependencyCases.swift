// C22 to C28: dependencies that come too late, and dependencies of what is cancelled, suspended or
// fails (S23 to S43).

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct LateDependencies {
    /// S35, S43
    @Test("C22 edge added while executing", .checks("S35", "S43"), arguments: Setting.all)
    func c22(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, g) = (stage.mark("a"), stage.gate("g"))
        let recorder = Recorder(g)
        try await stage.queue.addOperation(g)
        try await stage.sink.waitFor("g+")
        try await soon("its start is told") { g.isExecuting }
        #expect(try !g.addDependency(a))
        #expect(g.isReady && g.isExecuting)
        #expect(g.dependencies.isEmpty)
        stage.sink.open("g")
        try await stage.ended(g)
        try await recorder.completed()
        #expect(!recorder.life.contains("ready false"))
        #expect(g.outcome == .succeeded)
        // Nor has it any effect on what has finished.
        #expect(try !g.addDependency(a))
        #expect(g.isReady)
      }
    }

    /// S36, S75
    @Test("C23 edge added to a cancelled operation", .checks("S36", "S75"), arguments: Setting.all)
    func c23(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try await stage.queue.suspend()
        try await stage.queue.addOperation(b)
        #expect(try await b.cancel() == .cancelled)
        #expect(b.isCancelled && b.isReady && !b.isFinished)
        try b.addDependency(a)
        #expect(b.isReady)
        try await stage.queue.resume()
        try await stage.ended(b)
        #expect(b.outcome == .cancelled)
        #expect(stage.sink.trace.isEmpty)
      }
    }

    /// S24, S92, S94
    @Test(
      "C24 cancel does not unblock before finish", .checks("S24", "S92", "S94"),
      arguments: Setting.all)
    func c24(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (g, b) = (stage.gate("g"), stage.mark("b"))
        try b.addDependency(g)
        try await stage.queue.addOperations([g, b])
        try await stage.sink.waitFor("g+")
        #expect(try await g.cancel() == .executing)
        #expect(g.isCancelled && !g.isFinished && !b.isCancelled)
        try await stays("b waits, g executes") {
          !b.isReady && g.isExecuting && stage.sink.trace == ["g+"]
        }
        stage.sink.open("g")
        try await stage.ended(g, b)
        #expect(g.outcome == .cancelled && b.outcome == .succeeded)
        #expect(stage.sink.trace == ["g+", "g-", "b"])
      }
    }

    /// S26, S76
    @Test("C25 dependency in a suspended queue", .checks("S26", "S76"), arguments: Setting.all)
    func c25(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let suspended = stage.newQueue("q1", isSuspended: true)
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try b.addDependency(a)
        try await suspended.addOperation(a)
        try await stage.queue.addOperation(b)
        try await stays("b waits") {
          a.isReady && !b.isReady && stage.sink.trace.isEmpty
        }
        try await suspended.resume()
        try await stage.ended(b)
        #expect(stage.sink.trace == ["a", "b"])
      }
    }

    /// a(fail) ── b ── c ── d, where b and c want a success.
    /// S23, S109
    @Test("C26 policy cascade", .checks("S1", "S23", "S109"))
    func c26() async throws {
      try await onStage(.cluster) { stage in
        let a = stage.fail("e", name: "a")
        let (b, c, d) = (stage.mark("b"), stage.mark("c"), stage.mark("d"))
        try b.addDependency(a, when: .succeeded)
        try c.addDependency(b, when: .succeeded)
        try d.addDependency(c, when: .finished)
        let operations = [a, b, c, d]
        let recorders = operations.map(Recorder.init)
        try await stage.queue.addOperations(operations)
        try await stage.ended(a, b, c, d)
        for recorder in recorders { try await recorder.completed() }
        #expect(operations.map(\.outcome) == [.failed, .skipped, .skipped, .succeeded])
        #expect(b.isCancelled && c.isCancelled && !d.isCancelled)
        #expect(b.cancelReason == .dependency(try #require(a.id), .failed))
        #expect(c.cancelReason == .dependency(try #require(b.id), .skipped))
        for recorder in recorders[1...2] {
          #expect(!recorder.life.contains { $0.hasPrefix("executing") || $0.hasPrefix("attempt") })
        }
        for recorder in recorders {
          #expect(recorder.life.count { $0 == "completed" } == 1)
          #expect(recorder.life.last == "completed")
        }
        let ends = [
          recorders[0].commit("finished failed"), recorders[1].commit("finished skipped"),
          recorders[2].commit("finished skipped"), recorders[3].commit("executing true"),
        ].compactMap(\.self)
        try #require(ends.count == 4)
        #expect(ends[0] == ends[1] && ends[1] == ends[2], "one commit: \(ends)")
        #expect(ends[2] < ends[3])
        #expect(stage.sink.trace == ["d"])
      }
    }

    /// On a cluster a declared operation finishes when it is cancelled; an object in this
    /// process does so when it is added.
    @Test("C27 cancelled declared operation", .checks("S25", "S93"), arguments: Setting.all)
    func c27(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let (x, b) = (stage.mark("x"), stage.mark("b"))
        try await stage.cluster.declare([x])
        try b.addDependency(x)
        try await stage.queue.addOperation(b)
        try await x.cancel()
        #expect(x.isCancelled)
        if setting == .local {
          try await stays("b waits for x") { !x.isFinished && !b.isReady }
          try await stage.queue.addOperation(x)
        }
        try await stage.ended(x, b)
        #expect(x.outcome == .cancelled && b.outcome == .succeeded)
        #expect(stage.sink.trace == ["b"])
      }
    }

    /// A ── B ── C and A ── C.
    /// S40
    @Test("C28 redundant edge kept", .checks("S40"))
    func c28() async throws {
      try await onStage(.cluster) { stage in
        let (a, b, c) = (stage.gate("A"), stage.gate("B"), stage.gate("C"))
        try b.addDependency(a)
        try c.addDependency(b)
        try c.addDependency(a)
        try await stage.queue.addOperations([a, b, c])
        try await stage.sink.waitFor("A+")
        try await stage.began(a)
        #expect(try await b.cancel() == .cancelled)
        try await stage.ended(b)
        #expect(b.outcome == .cancelled)
        try await stays("C waits for A") {
          a.isExecuting && !c.isReady && stage.sink.trace == ["A+"]
        }
        stage.sink.open("A", "C")
        try await stage.ended(a, c)
        #expect(stage.sink.trace == ["A+", "A-", "C+", "C-"])
      }
    }
  }
}
