// What an operation allocates in the brains and in the codec, against `thresholds`: a copy of a
// graph, or a box for each operation, shows here before it shows in a benchmark. Steps are bounded
// where they are made (the cost tests of OpClusterScheduling), instructions of a release build by
// `deploy/instructions`, seconds by `opbench`.

import CostWorld
import Testing

@Suite(.serialized) struct Costs {
  // Twice the same, of which the second counts: the first fills what is kept between turns.
  @Test(arguments: Workload.allCases)
  func anOperationAllocatesNoMore(workload: Workload) throws {
    let found = measure(workload)
    var thresholds = try Thresholds()
    for part in Part.allCases {
      let cost = try #require(found[part])
      let excess = thresholds.compare("\(workload.rawValue) \(part.rawValue)", cost)
      #expect(excess == nil)
    }
    try thresholds.writeIfWanted()
  }

  private func measure(_ workload: Workload) -> [Part: Cost] {
    var world = CostWorld()
    func once() {
      for graph in workload.graphs() { world.submit(graph) }
      world.run()
    }
    once()
    let before = world.spent
    once()
    #expect(world.endedGraphs == 2 * workload.graphs().count)
    var found: [Part: Cost] = [:]
    for part in Part.allCases {
      found[part] = Cost(
        before[part] ?? Allocations(), world.spent[part] ?? Allocations(),
        operations: workload.operations())
    }
    return found
  }
}
