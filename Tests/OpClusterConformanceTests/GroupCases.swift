// Conformance cases C56 to C58: completion, data passing, block groups.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import OpClusterOperations
import RealCluster
import Testing

extension Conformance {
  @Suite struct Groups {
    /// Nobody waits for a completion function, and it takes no slot of the queue.
    @Test("C56 completion does not delay", .checks("S110", "S111", "S112")) func c56() async throws
    {
      try await onStage(.cluster) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let (a, b) = (stage.mark("a"), stage.mark("b"))
        try a.setCompletion(Gate(sink: stage.sink.path, name: "completion"))
        try b.addDependency(a)
        try await queue.addOperation(a)
        try await stage.ended(a)
        try await stage.sink.waitFor("completion+")
        try await queue.addOperation(b)
        try await stage.ended(b)
        try await soon("the queue is empty") { queue.operationCount == 0 }
        #expect(stage.sink.trace == ["a", "completion+", "b"])
        stage.sink.open("completion")
        try await stage.sink.waitFor("completion-")
      }
    }

    /// Direct dependencies alone, in order of addition; what was set
    /// comes first; what is required and absent fails the operation before its main.
    @Test("C57 inputs", .checks("S135", "S136", "S138", "S139", "S140")) func c57() async throws {
      try await onStage(.cluster) { stage in
        let (a, b, c) = (stage.ret(1, name: "a"), stage.ret(2, name: "b"), stage.ret(3, name: "c"))
        let (d, e) = (stage.look(name: "d"), stage.look(name: "e"))
        let f = stage.look(input: 9, name: "f")
        let needy = ClusterOperation(Needy(sink: stage.sink.path, text: "needy"))
        for dependency in [b, a, c] { try d.addDependency(dependency) }
        try e.addDependency(d)
        try f.addDependency(a)
        try needy.addDependency(c)
        try await c.cancel()
        try await stage.queue.addOperations([a, b, c, d, e, f, needy])
        try await stage.ended(d, e, f, needy)
        typealias Seen = Sight.Seen
        let seenByD = try await d.output(of: Look.self)
        #expect(
          seenByD.inputs == [
            Seen(name: "b", outcome: .succeeded, value: 2),
            Seen(name: "a", outcome: .succeeded, value: 1),
            Seen(name: "c", outcome: .cancelled, value: nil),
          ])
        #expect(seenByD.input == 2)
        let seenByE = try await e.output(of: Look.self)
        #expect(seenByE.inputs == [Seen(name: "d", outcome: .succeeded, value: nil)])
        #expect(seenByE.input == nil)
        let seenByF = try await f.output(of: Look.self)
        #expect(seenByF.input == 9 && seenByF.inputs.map(\.value) == [1])
        guard case .failed(let failure) = try await needy.result() else {
          Issue.record("needy has \(try await needy.result())")
          return
        }
        #expect(failure.cause == .missingInput)
        #expect(stage.sink.trace.isEmpty)
      }
    }

    /// One slot, ends with its last block, fails when one has failed.
    @Test("C58 block group", .checks("S67", "S118", "S120", "S123"), arguments: Setting.all)
    func c58(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let queue = stage.newQueue("one", limit: 1)
        let (group, next) = (ClusterOperation.blocks(name: "group"), stage.mark("next"))
        group.settings.resources.cpus = ResourceAmount(2)
        try group.addBlock(Return(value: 1))
        try group.addBlock(Fail(message: "second"))
        try group.addBlock(Gate(sink: stage.sink.path, name: "g", value: 7))
        try await queue.addOperations([group, next])
        try await stage.sink.waitFor("g+")
        try await stage.began(group)
        await refused(.alreadyStarted) { try group.addBlock(Return(value: 4)) }
        try await stays("it waits for its last block") {
          group.isExecuting && !group.isFinished && stage.sink.trace == ["g+"]
        }
        stage.sink.open("g")
        try await stage.ended(group, next)
        #expect(group.outcome == .failed && next.outcome == .succeeded)
        #expect(stage.sink.trace == ["g+", "g-", "next"])
        let results = try await group.blockResults()
        #expect(results.map(\.value) == [1, nil, 7])
        guard results.count == 3, case .failed(let why) = results[1] else {
          Issue.record("the blocks left \(results)")
          return
        }
        #expect(why.contains("second"))
      }
    }

    /// There is nothing to wait for.
    @Test("C58 a group without blocks", .checks("S121"), arguments: Setting.all)
    func c58Empty(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let empty = ClusterOperation.blocks(name: "empty")
        try await stage.queue.addOperation(empty)
        try await stage.ended(empty)
        #expect(empty.outcome == .succeeded)
        #expect(try await empty.blockResults().isEmpty)
      }
    }

    /// One processor, so one block at a time; what has not begun is skipped.
    @Test("C58 a group is cancelled", .checks("S119", "S122"), arguments: Setting.all)
    func c58Cancelled(_ setting: Setting) async throws {
      try await onStage(setting) { stage in
        let group = ClusterOperation.blocks(name: "group")
        try group.addBlock(Return(value: 1))
        try group.addBlock(Poll(sink: stage.sink.path, name: "p"))
        try group.addBlock(Mark(sink: stage.sink.path, text: "third"))
        try await stage.queue.addOperation(group)
        try await stage.sink.waitFor("p+")
        #expect(try await group.cancel() == .executing)
        try await stage.ended(group)
        #expect(group.outcome == .cancelled)
        #expect(stage.sink.trace == ["p+", "p!"])
        let results = try await group.blockResults()
        #expect(results.count == 3 && results.first?.value == 1 && results.last == .skipped)
      }
    }
  }
}

extension BlockResult {
  /// What it returned, if it did and if it is a number.
  fileprivate var value: Int? {
    guard case .succeeded(let bytes) = self else { return nil }
    return try? OutputValue.decode(Int.self, from: bytes)
  }
}
