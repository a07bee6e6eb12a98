// Between queues, beyond the list: an operation that was moved to another queue before its start.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import Testing

extension Conformance {
  @Suite struct Moving {
    /// An element that was moved runs in, and is told, its own queue; its neighbours
    /// theirs. Both queues count what is in them.
    @Test("an element in another queue", .checks("S19", "S146"), arguments: Setting.all)
    func moved(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let from = stage.newQueue("from", isSuspended: true)
        let to = stage.newQueue("to")
        let looks = (0..<3).map { _ in stage.look(name: "look") }
        let command = ClusterOperation(
          ClusterCommand(shell: "echo \"queue=$OP_QUEUE\" > \"$OP_OUTPUT\""), name: "command")
        try await from.addOperations(looks + [command])
        #expect(try await looks[1].move(to: to))
        #expect(try await command.move(to: to))
        try await stage.ended(looks[1], command)
        try await stage.emptied(to)
        #expect(try await looks[1].output(of: Look.self).queue == to.name)
        #expect(try await command.output(as: [String: String].self)["queue"] == to.name)
        #expect(from.operations == [looks[0], looks[2]] && to.operations == [])
        #expect(from.operationCount == 2)
        // It has run: too late for another move.
        #expect(try await !looks[1].move(to: from))
        try await from.resume()
        try await stage.ended(looks[0], looks[2])
        try await stage.emptied(from)
        for look in [looks[0], looks[2]] {
          #expect(try await look.output(of: Look.self).queue == from.name)
        }
      }
    }

    /// The progress of a queue does not wait for what has left it, and begins anew when it was off.
    @Test("progress of the queue that was left", .checks("S143"), arguments: Setting.all)
    func progress(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let from = stage.newQueue("from", isSuspended: true)
        let to = stage.newQueue("to")
        from.progress.totalUnitCount = 2
        let (stays, moves) = (stage.look(name: "stays"), stage.look(name: "moves"))
        try await from.addOperations([stays, moves])
        #expect(try await moves.move(to: to))
        #expect(!from.progress.isFinished)
        try await from.resume()
        try await stage.ended(stays, moves)
        try await stage.emptied(from)
        #expect(from.progress.isFinished && from.progress.completedUnitCount == 1)
        from.progress.totalUnitCount = 0
        from.progress.totalUnitCount = 1
        #expect(!from.progress.isFinished && from.progress.completedUnitCount == 0)
        try await from.addOperation(stage.look(name: "later"))
        try await stage.emptied(from)
        #expect(from.progress.isFinished)
      }
    }

    /// How long an operation stood ready is known when it has ended, its graph too.
    @Test("waiting time", .checks("S42"), arguments: Setting.all)
    func waiting(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let one = stage.newQueue("one", limit: 1)
        let (gate, behind) = (stage.gate("g"), stage.look(name: "behind"))
        let after = stage.look(name: "after")
        try after.addDependency(behind)
        try await one.addOperations([gate, behind, after])
        try await stage.sink.waitFor("g+")
        #expect(behind.isReady && !after.isReady)
        let waiting = try #require(try await after.details())
        #expect(waiting.readyAt == .unknown && waiting.waited == nil)
        let ready = try #require(try await behind.details())
        #expect(ready.readyAt != .unknown && ready.waited == nil)
        try await Task.sleep(for: .milliseconds(60))
        stage.sink.open("g")
        try await stage.ended(gate, behind, after)
        let rows = try await [#require(behind.details()), #require(after.details())]
        #expect(rows.allSatisfy { $0.isFinished && $0.startedAt >= $0.readyAt })
        #expect(rows[0].readyAt == ready.readyAt && rows[1].readyAt > ready.readyAt)
        #expect(try #require(rows[0].waited) >= .milliseconds(50))
        #expect(rows[1].waited != nil)
      }
    }
  }
}
