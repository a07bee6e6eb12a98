// What an operation allocates on the thread of the loop, sockets and journal included, against the
// file of thresholds. Two runs of different length: their difference is without start and end.

import CostWorld
import OpClusterJournal
import OpClusterModel
import Testing

@Suite(.serialized) struct LoopCostTests {
  /// Each is submitted by itself, given out, reported and acknowledged before the next.
  @Test func aGraphOfOneOperation() throws {
    try compare("submissions loop", operations: 200...1_000) { client, worker, count in
      for _ in 0..<count {
        _ = try client.submit(graph(count: 1))
        try worker.work(through: 1)
      }
    }
  }

  /// One array, of which the worker reports what it was given and waits for the answer.
  @Test func anElement() throws {
    try compare("elements loop", operations: 1_000...5_000) { client, worker, count in
      _ = try client.submit(graph(count: count))
      try worker.work(through: count)
    }
  }

  private func graph(count: Int) -> GraphSubmission {
    var graph = GraphSubmission(name: "cost")
    graph.templates = [
      OperationTemplate(name: "x", count: UInt32(count), work: .command)
    ]
    return graph
  }

  private func compare(
    _ name: String, operations: ClosedRange<Int>,
    _ body: (TestClient, TestWorker, Int) throws -> Void
  ) throws {
    func measure(_ count: Int) throws -> Allocations {
      let service = try Service(.memory(MemoryDisk()), in: TestFolder())
      try body(TestClient(service), TestWorker(service), count)
      service.stop()
      return service.allocations
    }
    let cost = Cost(
      try measure(operations.lowerBound), try measure(operations.upperBound),
      operations: operations.upperBound - operations.lowerBound)
    var thresholds = try Thresholds()
    // What meets in a turn, and how many heartbeats there are, depends on the machine.
    let excess = thresholds.compare(name, cost, tolerance: 0.15)
    #expect(excess == nil)
    try thresholds.writeIfWanted()
  }
}
