// Counts of latencies in classes that grow with them, for quantiles of millions of values in little
// memory: a class is at most a sixteenth wide.

import OpClusterModel

struct LatencyCounts: Sendable {
  private var counts: [UInt64] = []
  private(set) var total: UInt64 = 0

  private static let classesPerDoubling: UInt64 = 16

  mutating func add(_ span: Span) {
    let number = Self.number(of: UInt64(max(span.nanoseconds, 0)))
    while counts.count <= number { counts.append(0) }
    counts[number] += 1
    total += 1
  }

  /// The upper end of the class in which the quantile lies; zero without any value.
  func quantile(_ share: Double) -> Span {
    let wanted = max(1, UInt64((Double(total) * share).rounded(.up)))
    var seen: UInt64 = 0
    for (number, count) in counts.enumerated() {
      seen += count
      if seen >= wanted { return Span(nanoseconds: Int64(Self.end(of: number))) }
    }
    return .zero
  }

  /// Values below `classesPerDoubling` have classes of their own.
  private static func number(of value: UInt64) -> Int {
    if value < classesPerDoubling { return Int(value) }
    let doublings = value.leadingZeroBitCount.distance(to: 59)
    return Int(UInt64(doublings) * classesPerDoubling + value >> UInt64(doublings))
  }

  private static func end(of number: Int) -> UInt64 {
    let number = UInt64(number)
    if number < classesPerDoubling { return number }
    let doublings = number / classesPerDoubling - 1
    let part = number - doublings * classesPerDoubling
    return (part + 1) << doublings - 1
  }
}
