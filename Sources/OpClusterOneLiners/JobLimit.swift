// `-j`: how many jobs run at once. Pure.

/// What `-j` says.
package enum JobLimit: Hashable, Sendable {
  case atMost(Int)
  /// Of the cluster's processors.
  case percent(Int)
  /// The cluster's processors and so many more, or fewer.
  case more(Int)
  /// `-j 0`: as many as there can be.
  case unlimited

  /// The largest number; a higher one is a typing error.
  package static let largest = 1_000_000

  package init(_ text: String) throws(InputProblem) {
    let problem = InputProblem(
      "-j '\(text)' is not understood",
      hint: "write a number, 0 for as many as possible, a percentage of the processors, or +2 "
        + "or -2 for more or fewer than those")
    let isPercent = text.hasSuffix("%")
    let digits = isPercent ? text.dropLast() : text[...]
    guard let number = Int(digits), abs(number) <= Self.largest else { throw problem }
    if isPercent {
      guard number > 0, !text.hasPrefix("+") else { throw problem }
      self = .percent(number)
    } else if text.hasPrefix("+") || text.hasPrefix("-") {
      self = .more(number)
    } else {
      self = number == 0 ? .unlimited : .atMost(number)
    }
  }

  /// The number of jobs at once, at least 1; nil: no limit.
  ///
  /// - Parameter processors: Those of all workers.
  package func places(processors: Int) -> Int? {
    switch self {
    case .unlimited: nil
    case .atMost(let count): count
    case .percent(let percent):
      max(1, processors.multipliedReportingOverflow(by: percent).partialValue / 100)
    case .more(let count): max(1, processors + count)
    }
  }
}
