// What an operation may allocate, by workload and part: the file `thresholds` of the cost tests.
// With OPCLUSTER_REWRITE=1 in the environment it gets what is found.

import FoundationEssentials

/// What one operation allocates.
package struct Cost: Sendable {
  package var allocations: Double
  package var bytes: Double

  /// The difference of two measurements, for each of so many operations.
  package init(_ first: Allocations, _ last: Allocations, operations: Int) {
    allocations = (Double(last.count) - Double(first.count)) / Double(operations)
    bytes = (Double(last.bytes) - Double(first.bytes)) / Double(operations)
  }

  fileprivate init(allocations: Double, bytes: Double) {
    (self.allocations, self.bytes) = (allocations, bytes)
  }
}

/// The file of known costs: a name of two words, allocations and bytes in each line.
package struct Thresholds {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../OpClusterCostTests/thresholds")
  private static let isRewriting =
    ProcessInfo.processInfo.environment["OPCLUSTER_REWRITE"] == "1"
  private var costs: [String: Cost] = [:]
  private var head: [String] = []

  /// Reads the file.
  package init() throws {
    let text = try String(contentsOf: Self.file, encoding: .utf8)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      if line.hasPrefix("#") { head.append(String(line)) }
      guard words.count == 4, let count = Double(words[2]), let bytes = Double(words[3]) else {
        continue
      }
      costs["\(words[0]) \(words[1])"] = Cost(allocations: count, bytes: bytes)
    }
  }

  /// What is wrong with a cost beside the known one; nil: nothing, or it is noted as the new one.
  /// Far less is wrong too: a threshold that nothing comes near guards nothing. `tolerance` is the
  /// share by which one that depends on what meets in a turn may differ.
  package mutating func compare(_ name: String, _ cost: Cost, tolerance: Double = 0.1) -> String? {
    if Self.isRewriting {
      costs[name] = cost
      return nil
    }
    guard let known = costs[name] else { return "\(name) is not in thresholds" }
    if cost.allocations > known.allocations * (1 + tolerance) + 0.1 {
      return "\(name): \(cost.allocations) allocations, \(known.allocations) are known"
    }
    if cost.bytes > known.bytes * (1 + 2 * tolerance) + 16 {
      return "\(name): \(cost.bytes) bytes, \(known.bytes) are known"
    }
    if cost.allocations < known.allocations * 0.7 - 0.1 {
      return "\(name): only \(cost.allocations) allocations; write the threshold anew"
    }
    return nil
  }

  /// Writes the file, if the environment asks for it.
  package func writeIfWanted() throws {
    if !Self.isRewriting { return }
    let lines = costs.sorted { $0.key < $1.key }.map { name, cost in
      "\(name) \((cost.allocations * 10).rounded() / 10) \(Int(cost.bytes.rounded()))"
    }
    let text = (head + lines).joined(separator: "\n") + "\n"
    try text.write(to: Self.file, atomically: true, encoding: .utf8)
  }
}
