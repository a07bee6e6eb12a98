// When to start nothing more (`--halt`), and the exit status of all jobs together. Pure.

/// How jobs ended, counted.
package struct JobTally: Hashable, Sendable {
  package var succeeded = 0
  package var failed = 0

  package init(succeeded: Int = 0, failed: Int = 0) {
    self.succeeded = succeeded
    self.failed = failed
  }

  package var done: Int { succeeded + failed }

  /// The number of failed jobs; 101 for more than a hundred.
  package var exitStatus: Int32 { Int32(min(failed, 101)) }
}

/// `soon,fail=1`, `now,success=50%`…
package struct HaltRule: Hashable, Sendable {
  package enum Event: String, Sendable { case fail, success, done }
  package enum Amount: Hashable, Sendable {
    case count(Int)
    /// Of all jobs; 0…100. Decided once all are known.
    case percent(Int)
  }
  /// What runs is killed (`now`), or goes on to its end (`soon`).
  package var killsRunning: Bool
  package var event: Event
  package var amount: Amount

  package init(killsRunning: Bool, event: Event, amount: Amount) {
    self.killsRunning = killsRunning
    self.event = event
    self.amount = amount
  }

  /// nil for `never`.
  ///
  /// - Throws: The text is none of GNU parallel's forms.
  package static func parse(_ text: String) throws(InputProblem) -> HaltRule? {
    let short = [
      "0": "never", "1": "soon,fail=1", "2": "now,fail=1", "-1": "soon,success=1",
      "-2": "now,success=1",
    ]
    var text = short[text] ?? text
    if text.hasSuffix("%"), Int(text.dropLast()) != nil { text = "soon,fail=\(text)" }
    if text == "never" { return nil }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let problem = InputProblem(
      "--halt '\(text)' is not understood",
      hint: "write never, or now or soon, a comma, fail, success or done, =, and a number or a "
        + "percentage: soon,fail=1")
    guard parts.count == 2, parts[0] == "now" || parts[0] == "soon" else { throw problem }
    let sides = parts[1].split(separator: "=", omittingEmptySubsequences: false)
    guard sides.count == 2, let event = Event(rawValue: String(sides[0])) else { throw problem }
    let isPercent = sides[1].hasSuffix("%")
    guard let number = Int(isPercent ? sides[1].dropLast() : sides[1]),
      number >= (isPercent ? 0 : 1), !isPercent || number <= 100
    else { throw problem }
    return HaltRule(
      killsRunning: parts[0] == "now", event: event,
      amount: isPercent ? .percent(number) : .count(number))
  }

  /// Whether the jobs that ended are enough.
  ///
  /// - Parameter total: The number of all jobs; nil: not known yet.
  package func isReached(_ tally: JobTally, total: Int?) -> Bool {
    let number =
      switch event {
      case .fail: tally.failed
      case .success: tally.succeeded
      case .done: tally.done
      }
    switch amount {
    case .count(let count): return number >= count
    case .percent(let percent):
      // At least one: nothing has happened while the number is 0.
      guard let total, number > 0 else { return false }
      return number * 100 >= total.multipliedReportingOverflow(by: percent).partialValue
    }
  }

  /// Exit status after the rule was reached.
  ///
  /// - Parameter last: The status of the job that reached it, 128 + n for a signal.
  package func exitStatus(_ tally: JobTally, total: Int, last: Int32) -> Int32 {
    if event == .success { return 0 }
    switch amount {
    case .count(1): return last
    case .count: return tally.exitStatus
    case .percent: return Int32((tally.failed * 100 + max(1, total) - 1) / max(1, total))
    }
  }
}
