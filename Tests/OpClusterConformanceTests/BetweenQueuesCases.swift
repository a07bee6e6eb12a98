// Conformance cases C35 and C36: between queues, and what no worker can take. Over daemons of their
// own: one slot, and a worker that comes late.

import ConformanceOperations
import OpCluster
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct BetweenQueues {
    /// S50, S60: the queue of the better service goes first, whatever the levels inside; equal ones
    /// take turns. Gates in place of marks: each lasts for longer than what a worker is sent ahead.
    /// Where operations are short the turns are those of the dispatches, and a worker orders
    /// what it holds by level and place (S47, S59).
    @Test("C35 two queues, one free slot", arguments: [true, false])
    func c35(_ differ: Bool) async throws {
      try await onOneSlot(.cluster) { stage in
        let holding = stage.newQueue("holding")
        let first = stage.newQueue("first", qualityOfService: differ ? .background : .default)
        let second = stage.newQueue("second", qualityOfService: differ ? .userInitiated : .default)
        try await holding.addOperation(stage.gate("hold"))
        try await stage.sink.waitFor("hold+")
        for (queue, name, priority) in [
          (first, "first", Priority.veryHigh), (second, "second", .veryLow),
        ] {
          let gates = (1...3).map { stage.gate("\(name)\($0)") }
          for gate in gates { gate.queuePriority = priority }
          try await queue.addOperations(gates)
        }
        stage.sink.open("hold")
        var order: [String] = []
        for number in 1...6 {
          try await stage.sink.waitUntil("\(number) have begun") { lines in
            lines.count { $0.text.hasSuffix("+") } == number + 1
          }
          let begun = try #require(stage.sink.trace.last { $0.hasSuffix("+") }).dropLast()
          order.append(String(begun))
          try await stays("it lasts") { stage.sink.trace.last == "\(begun)+" }
          stage.sink.open(String(begun))
        }
        if differ {
          #expect(order == ["second1", "second2", "second3", "first1", "first2", "first3"])
        } else {
          let queues = order.map { $0.dropLast() }
          #expect(zip(queues, queues.dropFirst()).allSatisfy { $0 != $1 }, "\(order)")
        }
      }
    }

    /// S61, S128: what no live worker can run is passed over and says so; a worker that has the
    /// type may come later.
    @Test("C36 unplaceable op is passed over") func c36() async throws {
      try await onOwnCluster(workers: 1) { stage, processes in
        let queue = stage.newQueue("one", limit: 1)
        let rare = ClusterOperation(Rare(sink: stage.sink.path, text: "x"), name: "x")
        let mark = stage.mark("y")
        try await queue.addOperation(rare)
        try await queue.addOperation(mark)
        try await stage.ended(mark)
        #expect(rare.isReady && !rare.isExecuting && !rare.isFinished)
        #expect(queue.operations == [rare])
        let why = try await rare.explanation()
        #expect(why.contains { $0.contains(Rare.typeName) }, "\(why)")
        try processes.startWorker("late", ["--label", Rare.label])
        try await stage.ended(rare)
        #expect(try await rare.details()?.workerName == "late")
        #expect(stage.sink.trace == ["y", "x"])
      }
    }
  }
}
