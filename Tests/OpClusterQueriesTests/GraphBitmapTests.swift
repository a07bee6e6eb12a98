// Which graphs live, as bits: against a plain set.

import OpClusterModel
import OpClusterQueries
import Testing

@Suite struct GraphBitmapTests {
  /// Numbers at and around the ends of words and blocks, and at both ends of all numbers.
  private let numbers: [UInt32] = [
    0, 1, 2, 62, 63, 64, 65, 127, 128, 4_094, 4_095, 4_096, 4_097, 8_191, 8_192, 1_000_000,
    .max - 4_096, .max - 64, .max - 1, .max,
  ]

  private func expectSame(_ bitmap: GraphBitmap, _ set: Set<UInt32>) {
    for number in numbers {
      #expect(bitmap.contains(number) == set.contains(number), "\(number)")
      var absent: UInt32? = number
      while let next = absent, set.contains(next) { absent = next == .max ? nil : next + 1 }
      #expect(bitmap.nextAbsent(from: number) == absent, "\(number)")
    }
    var ranges: [ClosedRange<UInt32>] = []
    for number in set.sorted() {
      if let last = ranges.last, last.upperBound + 1 == number {
        ranges[ranges.count - 1] = last.lowerBound...number
      } else {
        ranges.append(number...number)
      }
    }
    #expect(bitmap.ranges == ranges)
  }

  @Test func comingAndGoing() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      var (bitmap, set) = (GraphBitmap(), Set<UInt32>())
      for number in numbers.shuffled(using: &random) + numbers.prefix(5) {
        bitmap.insert(GraphID(number))
        set.insert(number)
      }
      expectSame(bitmap, set)
      for number in numbers.shuffled(using: &random) {
        bitmap.remove(GraphID(number))
        bitmap.remove(GraphID(number))
        set.remove(number)
        expectSame(bitmap, set)
      }
      #expect(bitmap.bytes == 0)
    }
  }

  /// Whole words and blocks, and gaps of one number in them.
  @Test func manyInARow() {
    var set = Set<UInt32>(1...9_000)
    var bitmap = GraphBitmap(set.sorted().map(GraphID.init))
    #expect(bitmap.ranges == [1...9_000])
    #expect(bitmap.nextAbsent(from: 1) == 9_001 && bitmap.nextAbsent(from: 0) == 0)
    #expect(bitmap.bytes < 2_048)
    for number: UInt32 in [64, 4_095, 4_096, 8_999] {
      bitmap.remove(GraphID(number))
      set.remove(number)
      expectSame(bitmap, set)
    }
    #expect(bitmap.nextAbsent(from: 65) == 4_095)
    #expect(bitmap.nextAbsent(from: 4_097) == 8_999)
  }

  /// What a question took along does not change with the cluster.
  @Test func copiesKeepTheirTime() {
    var bitmap = GraphBitmap([GraphID(1), GraphID(5_000)])
    let before = bitmap
    bitmap.remove(GraphID(5_000))
    bitmap.insert(GraphID(2))
    #expect(before.ranges == [1...1, 5_000...5_000])
    #expect(bitmap.ranges == [1...2])
  }
}
