// Parses `1-100:2,5`: the numbers of an array. Pure.
// The array decoder turns failures into findings.

import OpClusterModel

/// Numbers are from 0 to 2³² − 1; a step is at least 1.
enum RangeText {
  enum Failure: Error, Hashable {
    /// The text has another form.
    case malformed
    case tooMany
    /// A number that appears twice.
    case repeated(UInt32)
  }

  /// Parses runs in the order of the text; joins adjacent runs.
  /// The sum of the counts is bounded part by part, so nothing is expanded beyond `maximum`.
  static func parse(_ text: String, maximum: Int) -> Result<[IndexRun], Failure> {
    var runs: [IndexRun] = []
    var total = 0
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let run = run(part) else { return .failure(.malformed) }
      total += Int(run.count)
      if total > maximum { return .failure(.tooMany) }
      if let last = runs.last, let joined = join(last, run) {
        runs[runs.count - 1] = joined
      } else {
        runs.append(run)
      }
    }
    if let twice = repeated(runs) { return .failure(.repeated(twice)) }
    return .success(runs)
  }

  /// nil for another form, and for a range that descends.
  private static func run(_ part: Substring) -> IndexRun? {
    let stepped = part.split(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(stepped.count) else { return nil }
    let ends = stepped[0].split(separator: "-", omittingEmptySubsequences: false)
    guard (1...2).contains(ends.count), let first = number(ends[0]) else { return nil }
    if ends.count == 1 { return stepped.count == 1 ? IndexRun(first: first, count: 1) : nil }
    // A count of 2³² would not fit its type.
    guard let last = number(ends[1]), last >= first, last - first < .max else { return nil }
    let step = stepped.count == 2 ? number(stepped[1]) : 1
    guard let step, step >= 1 else { return nil }
    return IndexRun(first: first, count: (last - first) / step + 1, step: step)
  }

  /// Reads digits; `_` may separate them.
  private static func number(_ text: Substring) -> UInt32? {
    let digits = text.filter { $0 != "_" }
    guard !digits.isEmpty, digits.utf8.allSatisfy(Names.isDigit) else { return nil }
    return UInt32(digits)
  }

  /// Keeps `1-3,4-6` one run, as it is sent.
  private static func join(_ a: IndexRun, _ b: IndexRun) -> IndexRun? {
    guard a.step == 1, b.step == 1 else { return nil }
    let (next, overflow) = a.first.addingReportingOverflow(a.count)
    guard !overflow, b.first == next else { return nil }
    return IndexRun(first: a.first, count: a.count + b.count)
  }

  /// Runs that ascend cannot repeat a number, which is the usual case. Others are expanded and
  /// sorted: O(n log n) in at most `maximum` numbers.
  private static func repeated(_ runs: [IndexRun]) -> UInt32? {
    let ascends = zip(runs, runs.dropFirst()).allSatisfy { last($0) < $1.first }
    if ascends { return nil }
    var numbers: [UInt32] = []
    for run in runs {
      for at in 0..<run.count { numbers.append(run.first + at * run.step) }
    }
    numbers.sort()
    return zip(numbers, numbers.dropFirst()).first { $0 == $1 }?.0
  }
  private static func last(_ run: IndexRun) -> UInt32 { run.first + (run.count - 1) * run.step }
}
