// The table of `ls`: one line per graph.
// Rows come in the order of the answer. A column of numbers is empty where there is nothing to
// tell.

public import OpClusterModel

/// Returns the table of `ls` without a selector. Shows a USER column only if a submitter is known.
/// With keys a coordinator knows submitters; without them the column would be empty.
public func graphTable(_ rows: [GraphRow], _ style: Style) -> Table {
  let hasUsers = rows.contains { !$0.submitter.isEmpty }
  var columns: [Table.Column] = [.number("GRAPH"), .text("NAME", shortest: 8)]
  if hasUsers { columns.append(.text("USER", shortest: 4, dispensable: 5)) }
  columns += [
    .text("STATE"), .number("DONE"), .number("EXECUTING", dispensable: 3),
    .number("FAILED", dispensable: 1), .text("SUBMITTED", dispensable: 4),
    .text("TOOK", dispensable: 2),
  ]
  var table = Table(columns)
  for row in rows {
    let failed = row.counts.failures
    var cells: [StyledLine.Piece] = [
      .init("\(row.graph.number)"), .init(row.name, .strong),
    ]
    if hasUsers { cells.append(.init(row.submitter)) }
    cells += [
      .init(row.state.rawValue, row.state.tone),
      .init(shownCount(row.counts.finished) + "/" + shownCount(row.counts.total)),
      .init(row.counts[.executing] == 0 ? "" : shownCount(row.counts[.executing])),
      .init(failed == 0 ? "" : shownCount(failed), .bad),
      .init(style.shownAge(row.submittedAt), .faint),
      .init(took(row, style)),
    ]
    table.add(cells)
  }
  return table
}

/// The time from submission to the end, or until now.
/// Durations are differences of wall-clock times of the coordinator, so a change of its clock
/// shows.
func took(_ row: GraphRow, _ style: Style) -> String {
  let end = row.finishedAt == .unknown ? style.now : row.finishedAt
  return shownDuration(from: row.submittedAt, to: end) ?? ""
}

extension StateCounts {
  /// The number of operations that failed, timed out or were lost.
  /// `allow_failure` does not matter here: an allowed failure is a failure.
  public var failures: UInt32 {
    self[.failed].saturatingAdd(self[.timedOut]).saturatingAdd(self[.lost])
  }

  /// Returns `312 succeeded, 8 executing, 80 waiting`: states that occur, the finished ones first.
  /// The order is that of interest, not that of time.
  public func sentence(unless hidden: Set<StateWord> = []) -> String {
    let order: [StateWord] = [
      .succeeded, .failed, .timedOut, .lost, .cancelled, .skipped, .executing, .stopping,
      .dispatched, .ready, .held, .waiting, .declared,
    ]
    return order.filter { self[$0] > 0 && !hidden.contains($0) }
      .map { "\(shownCount(self[$0])) \($0.rawValue)" }.joined(separator: ", ")
  }
}
