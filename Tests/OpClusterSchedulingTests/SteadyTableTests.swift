// Tables that grow and shrink without a pause, against the plain ones that they stand for (G29).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SteadyTables {
  // Each operation has the newest reason, whatever the pages, and in a snapshot each stands once.
  @Test(.checks("S23", "G29"), arguments: 0..<200) func reasonsAreTheNewest(seed: UInt64) {
    var chance = Seeded(state: seed)
    let count = UInt32(1 + chance.below(40))
    var table = ReasonTable(count: count, pageBits: UInt32(seed % 4))
    var plain: [UInt32: CancelReason] = [:]
    for _ in 0..<12 {
      let first = UInt32(chance.below(Int(count)))
      let range = first..<(first + UInt32(1 + chance.below(12)))
      let reason: CancelReason =
        switch chance.below(4) {
        case 0: .failurePolicy
        case 1: .dependency(OperationID(graph: GraphID(7), index: first), .failed)
        default: .request("text \(chance.below(3))")
        }
      table.set(reason, for: range)
      for index in range where index < count { plain[index] = reason }
    }
    for index in 0..<count { #expect(table[index] == plain[index], "seed \(seed): \(index)") }
    var listed: [UInt32] = []
    table.forEach { index, reason in
      listed.append(index)
      #expect(plain[index] == reason)
    }
    #expect(listed == plain.keys.sorted())
  }

  @Test(.checks("G29")) func anArrayInPages() {
    var table = PagedArray<Int>()
    for number in 0..<2_000 { table.append(number) }
    for number in 0..<2_000 { table[number] += number }
    #expect((0..<2_000).allSatisfy { table[$0] == 2 * $0 })
    var listed: [Int] = []
    table.forEach { listed.append($0) }
    #expect(listed == (0..<2_000).map { 2 * $0 })
  }

  @Test(.checks("G29"), arguments: 0..<4) func aDictionaryOfParts(seed: UInt64) {
    var chance = Seeded(state: seed)
    var table = PartitionedDictionary<Int, Int>()
    var plain: [Int: Int] = [:]
    for step in 0..<8_000 {
      let key = chance.below(3_000)
      let value = chance.chance(30) ? nil : step
      table[key] = value
      plain[key] = value
      #expect(table.count == plain.count)
    }
    for key in 0..<3_000 { #expect(table[key] == plain[key]) }
    for key in 0..<3_000 { table[key] = nil }
    #expect(table.isEmpty)
  }
}
