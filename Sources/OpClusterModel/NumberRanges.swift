// Sets of numbers given as ranges in any order, with repeats. They are sorted and merged once and
// then searched by bisection, so the cost depends on the ranges, not on the numbers in them. Used
// to select graphs and elements.

/// A set of numbers as ascending, disjoint, non-adjacent ranges.
public struct NumberRanges: Hashable, Sendable {
  public private(set) var ranges: [ClosedRange<UInt32>] = []

  public init(_ ranges: [ClosedRange<UInt32>]) {
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = self.ranges.last, UInt64(range.lowerBound) <= UInt64(last.upperBound) + 1 {
        self.ranges[self.ranges.count - 1] =
          last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        self.ranges.append(range)
      }
    }
  }

  /// The position of the first range that ends at or after `number`.
  public func position(endingFrom number: UInt32) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  public func contains(_ number: UInt32) -> Bool {
    let position = position(endingFrom: number)
    return position < ranges.count && ranges[position].contains(number)
  }
}

/// The elements that a selection names; no elements means all.
public struct ElementNumbers: Hashable, Sendable {
  public let isAll: Bool
  /// Consecutive numbers.
  public let ranges: NumberRanges
  /// Numbers with a step above 1.
  private var strides: [Stride] = []

  private struct Stride: Hashable, Sendable {
    var step: UInt32
    /// The remainders of the numbers by the step, ascending.
    var rests: [UInt32]
    /// The quotients of the numbers by the step, for each remainder.
    var quotients: [NumberRanges]

    func contains(_ number: UInt32) -> Bool {
      let rest = number % step
      var (low, high) = (0, rests.count)
      while low < high {
        let middle = (low + high) / 2
        if rests[middle] < rest { low = middle + 1 } else { high = middle }
      }
      return low < rests.count && rests[low] == rest && quotients[low].contains(number / step)
    }
  }

  public init(_ runs: [IndexRun]) {
    isAll = runs.isEmpty
    var near: [ClosedRange<UInt32>] = []
    var apart: [IndexRun] = []
    for run in runs where run.count > 0 {
      let count = UInt64(run.count) - 1
      if run.count == 1 || run.step <= 1 {
        let last = min(UInt64(run.first) + (run.count == 1 ? 0 : count), UInt64(UInt32.max))
        near.append(run.first...UInt32(last))
      } else {
        apart.append(run)
      }
    }
    ranges = NumberRanges(near)
    apart.sort { ($0.step, $0.first % $0.step) < ($1.step, $1.first % $1.step) }
    var at = 0
    while at < apart.count {
      let (step, rest) = (apart[at].step, apart[at].first % apart[at].step)
      var quotients: [ClosedRange<UInt32>] = []
      while at < apart.count, apart[at].step == step, apart[at].first % step == rest {
        let first = apart[at].first / step
        let last = min(UInt64(first) + UInt64(apart[at].count) - 1, UInt64(UInt32.max / step))
        quotients.append(first...max(first, UInt32(last)))
        at += 1
      }
      if strides.last?.step != step {
        strides.append(Stride(step: step, rests: [], quotients: []))
      }
      strides[strides.count - 1].rests.append(rest)
      strides[strides.count - 1].quotients.append(NumberRanges(quotients))
    }
  }

  /// Whether all numbers are in ranges.
  public var areRanges: Bool { strides.isEmpty }

  public func contains(_ number: UInt32) -> Bool {
    isAll || ranges.contains(number) || strides.contains { $0.contains(number) }
  }

  /// The number of distinct steps above 1 in runs; each costs a check per element.
  public static func steps(in runs: [IndexRun]) -> Int {
    Set(runs.filter { $0.step > 1 && $0.count > 1 }.map(\.step)).count
  }
}

extension OperationTemplate {
  /// Calls `body` with ascending ranges of the elements from `start` on, and before `end`, whose
  /// shown numbers are in the set, until it returns false. Returns whether it always returned true.
  /// The cost grows with the runs of the template and the ranges of the result; steps above 1 cost
  /// a check per element.
  @discardableResult
  public func forEachElements(
    from start: UInt32 = 0, before end: UInt32 = .max, numbered numbers: ElementNumbers,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    let count = min(self.count, end)
    if start >= count { return true }
    if numbers.isAll { return body(start..<count) }
    var before: UInt32 = 0
    for run in indexRuns where before < count {
      let end = before + min(run.count, count - before)
      if end > start {
        let elements = max(start, before)..<end
        if !forEach(elements, of: run, from: before, numbers, body) { return false }
      }
      before = end
    }
    if before >= count { return true }
    // Elements beyond the runs are numbered from 1 on.
    let rest = IndexRun(first: before + 1, count: count - before)
    return forEach(max(start, before)..<count, of: rest, from: before, numbers, body)
  }

  private func forEach(
    _ elements: Range<UInt32>, of run: IndexRun, from before: UInt32, _ numbers: ElementNumbers,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    if elements.isEmpty { return true }
    let (last, overflow) = run.first.addingReportingOverflow(elements.upperBound - before - 1)
    if run.step == 1, !overflow, numbers.areRanges {
      let shown = (run.first + (elements.lowerBound - before))...last
      var position = numbers.ranges.position(endingFrom: shown.lowerBound)
      while position < numbers.ranges.ranges.count {
        let range = numbers.ranges.ranges[position]
        if range.lowerBound > shown.upperBound { return true }
        let part = range.clamped(to: shown)
        let first = before + (part.lowerBound - run.first)
        if !body(first..<(first + UInt32(part.count))) { return false }
        position += 1
      }
      return true
    }
    if run.step > 1, numbers.areRanges,
      let goesOn = forEachInSteps(elements, of: run, from: before, numbers.ranges, body)
    {
      return goesOn
    }
    var open: Range<UInt32>?
    for element in elements {
      guard numbers.contains(run.first &+ (element - before) &* run.step) else { continue }
      if let range = open, range.upperBound == element {
        open = range.lowerBound..<(element + 1)
      } else {
        if let range = open, !body(range) { return false }
        open = element..<(element + 1)
      }
    }
    if let range = open { return body(range) }
    return true
  }

  /// The elements of a run with a step whose numbers are in ranges, at the cost of these; nil if
  /// its numbers overflow.
  private func forEachInSteps(
    _ elements: Range<UInt32>, of run: IndexRun, from before: UInt32, _ numbers: NumberRanges,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool? {
    let step = UInt64(run.step)
    func shown(_ element: UInt32) -> UInt64 { UInt64(run.first) + UInt64(element - before) * step }
    guard shown(elements.upperBound - 1) <= UInt64(UInt32.max) else { return nil }
    let first = UInt32(shown(elements.lowerBound))
    var open: Range<UInt32>?
    for range in numbers.ranges[numbers.position(endingFrom: first)...] {
      let low = max(range.lowerBound, first)
      if UInt64(low) > shown(elements.upperBound - 1) { break }
      let begin = before + UInt32((UInt64(low - run.first) + step - 1) / step)
      let named = UInt64(before) + UInt64(range.upperBound - run.first) / step
      let last = UInt32(min(named, UInt64(elements.upperBound - 1)))
      if begin > last { continue }
      if let present = open, present.upperBound == begin {
        open = present.lowerBound..<(last + 1)
      } else {
        if let present = open, !body(present) { return false }
        open = begin..<(last + 1)
      }
    }
    return open.map(body) ?? true
  }
}
