// The filters of whole graphs: `--name 'align*' --user anna --since 2d`.

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

/// Applied here and not by the coordinator, whose selections know labels and states alone. `-l`
/// narrows what is sent.
struct GraphFilters: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Only graphs of this name; '*' and '?' stand for others.",
      valueName: "pattern"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      "Only graphs that were submitted with the key of this name.",
      valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      "Only graphs that were submitted in this time, such as 2h or 7d.",
      valueName: "time"))
  var since: TimeLength?

  var isEmpty: Bool { name == nil && user == nil && since == nil }

  /// Removes the rows that the filters reject.
  func keep(_ rows: inout [GraphRow], now: WallTime) {
    if isEmpty { return }
    // Compiled once, not for each row.
    let pattern = name.map { NamePattern($0) }
    rows.removeAll { row in
      if let pattern, !pattern.matches(row.name) { return true }
      if let user, row.submitter != user { return true }
      guard let since else { return false }
      // A graph of unknown age is left out: journals of early releases have no time.
      return row.submittedAt == .unknown
        || now - row.submittedAt > .milliseconds(since.milliseconds)
    }
  }
}
