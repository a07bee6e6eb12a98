// What an operation allocates in the brains and in the codec, against `thresholds`: a copy of a
// graph, or a box for each operation, shows here before it shows in a benchmark. Steps are bounded
// where they are made (the cost tests of OpClusterScheduling), instructions of a release build by
// `deploy/instructions`, seconds by `opbench`.

import CostWorld
import FoundationEssentials
import Testing

@Suite(.serialized) struct Costs {
  // Twice the same, of which the second counts: the first fills what is kept between turns.
  @Test(arguments: Workload.allCases)
  func anOperationAllocatesNoMore(workload: Workload) throws {
    let found = measure(workload)
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let file = folder.appending(path: "thresholds")
    var thresholds = Thresholds(try String(contentsOf: file, encoding: .utf8))
    for part in Part.allCases {
      let name = "\(workload.rawValue) \(part.rawValue)"
      let cost = try #require(found[part])
      if ProcessInfo.processInfo.environment["OPCLUSTER_REWRITE"] == "1" {
        thresholds[name] = cost
        continue
      }
      let threshold = try #require(thresholds[name], "\(name) is not in thresholds")
      #expect(
        cost.allocations <= threshold.allocations * 1.1 + 0.1,
        "\(name): \(cost.allocations) allocations, \(threshold.allocations) are known")
      #expect(
        cost.bytes <= threshold.bytes * 1.2 + 16,
        "\(name): \(cost.bytes) bytes, \(threshold.bytes) are known")
      // A threshold that nothing comes near guards nothing.
      #expect(
        cost.allocations >= threshold.allocations * 0.7 - 0.1,
        "\(name): only \(cost.allocations) allocations; write the threshold anew")
    }
    if ProcessInfo.processInfo.environment["OPCLUSTER_REWRITE"] == "1" {
      try thresholds.text.write(to: file, atomically: true, encoding: .utf8)
    }
  }

  private func measure(_ workload: Workload) -> [Part: Cost] {
    var world = CostWorld()
    func once() {
      for graph in workload.graphs { world.submit(graph) }
      world.run()
    }
    once()
    let before = world.spent
    once()
    #expect(world.endedGraphs == 2 * workload.graphs.count)
    var found: [Part: Cost] = [:]
    for part in Part.allCases {
      let (all, first) = (world.spent[part], before[part])
      let operations = Double(workload.operations)
      found[part] = Cost(
        allocations: Double((all?.count ?? 0) - (first?.count ?? 0)) / operations,
        bytes: Double((all?.bytes ?? 0) - (first?.bytes ?? 0)) / operations)
    }
    return found
  }
}

/// Of one operation.
struct Cost {
  var allocations: Double
  var bytes: Double
}

/// The file of known costs: a name, allocations and bytes in each line.
struct Thresholds {
  private var costs: [String: Cost] = [:]
  private var head: [String] = []

  init(_ text: String) {
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      if line.hasPrefix("#") { head.append(String(line)) }
      guard words.count == 4, let count = Double(words[2]), let bytes = Double(words[3]) else {
        continue
      }
      costs["\(words[0]) \(words[1])"] = Cost(allocations: count, bytes: bytes)
    }
  }

  subscript(name: String) -> Cost? {
    get { costs[name] }
    set { costs[name] = newValue }
  }

  var text: String {
    let lines = costs.sorted { $0.key < $1.key }.map { name, cost in
      "\(name) \((cost.allocations * 10).rounded() / 10) \(Int(cost.bytes.rounded()))"
    }
    return (head + lines).joined(separator: "\n") + "\n"
  }
}
