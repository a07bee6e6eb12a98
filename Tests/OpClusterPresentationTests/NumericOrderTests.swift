// Names in the order in which people look for them.

import OpClusterPresentation
import Testing

@Suite struct NumericOrderTests {
  @Test func numbersCountAsNumbers() {
    let names = ["n10", "n9-b", "a", "n9", "n09", "n9-a10", "n9-a9", "", "n", "10", "9", "n1x"]
    #expect(
      names.sorted(by: comesBefore)
        == ["", "9", "10", "a", "n", "n1x", "n09", "n9", "n9-a9", "n9-a10", "n9-b", "n10"])
  }

  /// Longer than any number.
  @Test func longDigits() {
    let digits = String(repeating: "9", count: 300)
    #expect(comesBefore("w\(digits)", "w1\(digits)") && !comesBefore("w1\(digits)", "w\(digits)"))
  }

  /// Sorting relies on it.
  @Test func isAStrictOrder() {
    let letters = ["0", "1", "00", "a", "b", "01", "10"]
    let names = letters.flatMap { one in letters.flatMap { two in letters.map { one + two + $0 } } }
    let unique = Array(Set(names))
    for one in unique {
      #expect(!comesBefore(one, one))
      for other in unique where other != one {
        #expect(comesBefore(one, other) != comesBefore(other, one), "\(one) \(other)")
      }
    }
    let sorted = unique.sorted(by: comesBefore)
    for at in sorted.indices.dropLast(2) { #expect(comesBefore(sorted[at], sorted[at + 2])) }
  }
}
