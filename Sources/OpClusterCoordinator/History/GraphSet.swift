// Which graphs a selection means, as numbers, whether they live, have ended or are still to come.
// Made by the loop, read by the loop and the reader. A pure value.

import OpClusterModel

struct GraphSet: Sendable, Equatable {
  /// Ascending, disjoint, not adjacent.
  private(set) var ranges: [ClosedRange<UInt32>]
  /// Every graph from this number on; nil: none beyond the ranges.
  let openFrom: UInt32?

  init(ranges: [ClosedRange<UInt32>], openFrom: UInt32? = nil) {
    var joined: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      // Nothing comes after the last number there is.
      if let last = joined.last,
        last.upperBound == .max || range.lowerBound <= last.upperBound + 1
      {
        joined[joined.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    self.ranges = joined
    self.openFrom = openFrom
  }

  /// - Parameters:
  ///   - living: The graphs that live now, ascending; `active` means them and those to come.
  ///   - last: The newest graph; 0 before there is one.
  init(_ graphs: Selection.Graphs, living: [GraphID], last: UInt32) {
    switch graphs {
    case .all:
      self.init(ranges: [], openFrom: 1)
    case .active:
      self.init(
        ranges: living.map { $0.number...$0.number },
        openFrom: last == .max ? nil : last + 1)
    case .last(let back):
      let number = last > back ? last - back : 0
      self.init(ranges: number == 0 ? [] : [number...number])
    case .numbers(let wanted):
      self.init(
        ranges: wanted.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
    }
  }

  func contains(_ number: UInt32) -> Bool {
    if let openFrom, number >= openFrom { return true }
    return range(endingFrom: number)?.contains(number) ?? false
  }

  /// The first range that does not end before `number`.
  private func range(endingFrom number: UInt32) -> ClosedRange<UInt32>? {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count ? ranges[low] : nil
  }

  /// The smallest member that is at least `number`; nil when there is none.
  func next(from number: UInt32) -> UInt32? {
    let range = range(endingFrom: number)
    let inRange = range.map { max($0.lowerBound, number) }
    guard let openFrom else { return inRange }
    let beyond = max(openFrom, number)
    return inRange.map { min($0, beyond) } ?? beyond
  }
}
