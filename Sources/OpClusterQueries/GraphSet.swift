// The graphs of a selection as numbers: living, ended and future ones. A pure value.

package import OpClusterModel

package struct GraphSet: Sendable, Equatable {
  /// Ascending, disjoint, not adjacent.
  package var ranges: [ClosedRange<UInt32>] { numbers.ranges }
  private let numbers: NumberRanges
  /// The set contains every graph from this number on; nil: only the ranges.
  package let openFrom: UInt32?

  package init(ranges: [ClosedRange<UInt32>], openFrom: UInt32? = nil) {
    numbers = NumberRanges(ranges)
    self.openFrom = openFrom
  }

  /// - Parameters:
  ///   - living: The present living graphs; `active` means these and future ones.
  ///   - last: The newest graph; 0 if there is none yet.
  package init(_ graphs: Selection.Graphs, living: GraphBitmap, last: UInt32) {
    switch graphs {
    case .all:
      self.init(ranges: [], openFrom: 1)
    case .active:
      self.init(ranges: living.ranges, openFrom: last == .max ? nil : last + 1)
    case .last(let back):
      let number = last > back ? last - back : 0
      self.init(ranges: number == 0 ? [] : [number...number])
    case .numbers(let wanted):
      self.init(
        ranges: wanted.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
    }
  }

  package func contains(_ number: UInt32) -> Bool {
    if let openFrom, number >= openFrom { return true }
    return numbers.contains(number)
  }

  /// The smallest member that is at least `number`; nil if there is none.
  package func next(from number: UInt32) -> UInt32? {
    let position = numbers.position(endingFrom: number)
    let inRange = position < ranges.count ? max(ranges[position].lowerBound, number) : nil
    guard let openFrom else { return inRange }
    let beyond = max(openFrom, number)
    return inRange.map { min($0, beyond) } ?? beyond
  }
}
