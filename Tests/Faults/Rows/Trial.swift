// One run of one row: what it injects, measures and finds wrong is written down here, from any
// task, and printed as one block in the end.

import RealCluster
import Synchronization

/// Thrown by a row that cannot run on this machine: it is not counted as passed.
struct NotRun: Error {
  var reason: String
}

/// The book of one run of a row.
final class Trial: Sendable {
  let scale: Scale
  private struct Book {
    var injections: [(what: String, count: Int)] = []
    var notes: [String] = []
    var broken: [String] = []
  }
  private let book = Mutex(Book())

  init(_ scale: Scale) { self.scale = scale }

  /// Something was done to the cluster.
  func injected(_ what: String, times: Int = 1) {
    book.withLock { book in
      if let at = book.injections.firstIndex(where: { $0.what == what }) {
        book.injections[at].count += times
      } else {
        book.injections.append((what, times))
      }
    }
  }

  /// A measurement or another fact for people.
  func note(_ text: String) { book.withLock { $0.notes.append(text) } }

  /// A promise does not hold. At most 20 are kept by the report.
  func broken(_ text: String) { book.withLock { $0.broken.append(text) } }

  func expect(_ holds: Bool, _ text: @autoclosure () -> String) {
    if !holds { broken(text()) }
  }

  var injections: [(what: String, count: Int)] { book.withLock { $0.injections } }
  var notes: [String] { book.withLock { $0.notes } }
  var violations: [String] { book.withLock { $0.broken } }
}

/// What became of a row.
enum Verdict: Sendable {
  case passed
  case failed([String])
  case notRun(String)

  var word: String {
    switch self {
    case .passed: "passed"
    case .failed: "FAILED"
    case .notRun: "not run"
    }
  }
}

/// A row after its run.
struct RowResult: Sendable {
  var row: FaultRow
  var verdict: Verdict
  var injections: [(what: String, count: Int)] = []
  var notes: [String] = []
  var seconds = 0.0

  /// Runs a row and catches what goes wrong.
  static func of(_ row: FaultRow, _ scale: Scale) async -> RowResult {
    for need in row.needs {
      if let absence = need.absence { return RowResult(row: row, verdict: .notRun(absence)) }
    }
    let trial = Trial(scale)
    let start = Moment.now
    var verdict = Verdict.passed
    do {
      try await row.run(trial)
      if !trial.violations.isEmpty { verdict = .failed(trial.violations) }
    } catch let absence as NotRun {
      verdict = .notRun(absence.reason)
    } catch {
      verdict = .failed(trial.violations + ["\(error)"])
    }
    return RowResult(
      row: row, verdict: verdict, injections: trial.injections, notes: trial.notes,
      seconds: Moment.now.seconds(since: start))
  }

  /// The block that people read.
  var text: String {
    var lines = ["\(row.number)  \(row.name)  (\(row.promise))", "  injection  \(row.injection)"]
    for (what, count) in injections { lines.append("  injected   \(count) × \(what)") }
    for note in notes { lines.append("  measured   \(note)") }
    if case .failed(let reasons) = verdict {
      for reason in reasons.prefix(20) { lines.append("  BROKEN     \(reason)") }
      if reasons.count > 20 { lines.append("  BROKEN     and \(reasons.count - 20) more") }
    }
    if case .notRun(let reason) = verdict { lines.append("  reason     \(reason)") }
    lines.append("  verdict    \(verdict.word), \(Moment.text(seconds)) s")
    return lines.joined(separator: "\n")
  }
}
