// How many of something there were at once, on average over each of some equal parts of a time.
// Each that is added costs the same, however many parts it covers.

import OpClusterModel

struct BinnedCounts {
  /// Milliseconds since 1970.
  let start: Int64
  let end: Int64
  private var partial: [Double]
  /// What each part has more than the one before, of those that are covered whole.
  private var steps: [Double]

  /// - Parameter parts: At least 1.
  init(from start: Int64, to end: Int64, parts: Int) {
    self.start = start
    self.end = max(end, start.saturatingAdd(1))
    partial = Array(repeating: 0, count: parts)
    steps = Array(repeating: 0, count: parts + 1)
  }

  /// Counts one that was there in this time; what is outside of the whole time is not counted.
  mutating func cover(from: Int64, to: Int64) {
    let (first, last) = (place(of: from), place(of: to))
    guard last > first else { return }
    let parts = partial.count
    let (left, right) = (min(Int(first), parts - 1), min(Int(last), parts - 1))
    if left == right {
      partial[left] += last - first
    } else {
      partial[left] += Double(left + 1) - first
      partial[right] += last - Double(right)
      steps[left + 1] += 1
      steps[right] -= 1
    }
  }

  /// 0 at the start, the number of parts at the end.
  private func place(of time: Int64) -> Double {
    let share = (Double(time) - Double(start)) / (Double(end) - Double(start))
    return min(1, max(0, share)) * Double(partial.count)
  }

  /// The average of each part.
  var averages: [Double] {
    var whole = 0.0
    return partial.indices.map { at in
      whole += steps[at]
      return partial[at] + whole
    }
  }
}
