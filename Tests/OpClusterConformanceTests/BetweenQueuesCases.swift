// Conformance cases C35 and C36: between queues, and what no worker can take. Over daemons of their
// own: one slot, and a worker that comes late.

import Citations
import ConformanceOperations
import OpCluster
import OpClusterModel
import RealCluster
import Testing

extension Conformance {
  @Suite struct BetweenQueues {
    /// The queue of the better service goes first, whatever the levels inside; equal ones
    /// take turns, however short what they run is.
    @Test("C35 two queues, one free slot", .checks("S50", "S60"), arguments: [true, false])
    func c35(_ differ: Bool) async throws {
      try await onOneSlot(.cluster) { stage in
        let holding = stage.newQueue("holding")
        let first = stage.newQueue("first", qualityOfService: differ ? .background : .default)
        let second = stage.newQueue("second", qualityOfService: differ ? .userInitiated : .default)
        try await holding.addOperation(stage.gate("hold"))
        try await stage.sink.waitFor("hold+")
        // Enough of them for a worker to be sent some ahead.
        let count = 20
        for (queue, name, priority) in [
          (first, "first", Priority.veryHigh), (second, "second", .veryLow),
        ] {
          let marks = (1...count).map { stage.mark("\(name) \($0)") }
          for mark in marks { mark.queuePriority = priority }
          try await queue.addOperations(marks)
        }
        stage.sink.open("hold")
        try await stage.emptied(first)
        try await stage.emptied(second)
        let marks = stage.sink.trace.filter { !$0.hasPrefix("hold") }
        let inOrder = (1...count).map(String.init)
        for name in ["first", "second"] {
          let own = marks.filter { $0.hasPrefix(name) }.map { $0.dropFirst(name.count + 1) }
          #expect(own.map(String.init) == inOrder, "order of addition in \(name)")
        }
        let queues = marks.map { $0.prefix { $0 != " " } }
        if differ {
          #expect(queues.prefix(count).allSatisfy { $0 == "second" }, "\(marks)")
        } else {
          #expect(zip(queues, queues.dropFirst()).allSatisfy { $0 != $1 }, "\(marks)")
        }
      }
    }

    /// What no live worker can run is passed over and says so; a worker that has the
    /// type may come later.
    @Test("C36 unplaceable op is passed over", .checks("S61", "S128")) func c36() async throws {
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
