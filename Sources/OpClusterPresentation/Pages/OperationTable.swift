// The table of `ls SEL`: one line per operation.
// Columns that can be spared are dropped on narrow terminals, those with the highest number first.

public import OpClusterModel

/// Returns the table of `ls` with a selector.
public func operationTable(_ rows: [OperationRow], _ style: Style) -> Table {
  var table = Table([
    .name("OPERATION", shortest: 16), .text("STATE"), .text("QUEUE", shortest: 7, dispensable: 4),
    .text("WORKER", shortest: 8, dispensable: 3), .number("TRY", dispensable: 5),
    .text("TOOK", dispensable: 2), .text("WHY", shortest: 16, dispensable: 1),
  ])
  for row in rows {
    table.add([
      .init(OperationPath(row).description), .init(row.state.rawValue, row.state.tone),
      .init(row.queue), .init(row.workerName),
      // A first attempt is the rule, and is not shown.
      .init(row.attempt > 1 ? "\(row.attempt)" : ""), .init(took(row, style)),
      .init(row.isFinished ? shortReason(row) : presentReason(row), .faint),
    ])
  }
  return table
}

/// The time from start to end, or until now while it is executing.
/// Empty for an operation that has not started. Ends that are unknown, in spite of an end, give no
/// time.
func took(_ row: OperationRow, _ style: Style) -> String {
  let end = row.finishedAt == .unknown && !row.isFinished ? style.now : row.finishedAt
  return shownDuration(from: row.startedAt, to: end) ?? ""
}

/// Returns in a few words why an operation that has not ended is where it is, as far as its row
/// tells; else its progress.
/// One that was cancelled in a queue ends when the queue lets it; one that runs again after an
/// attempt executes also in between.
private func presentReason(_ row: OperationRow) -> String {
  if row.isCancelled, !row.isExecuting { return "cancelled; ends when its queue goes on" }
  if let result = row.result, result.cause != .none { return "\(result.sentence); runs again" }
  return shownProgress(row.progress)
}

/// Returns in a few words why the operation ended so; empty for a success and for an operation that
/// has not ended.
/// The reason of a cancellation wins over the end of an attempt, which follows from it.
public func shortReason(_ row: OperationRow) -> String {
  switch row.reason {
  case .request(let text): return text.isEmpty ? "by request" : text
  case .dependency(let id, let outcome):
    let shown = row.needs.first { $0.id == id }?.shown
    return (shown ?? "a dependency") + " " + StateWord(outcome).rawValue
  case .failurePolicy: return "failure policy of the graph"
  case nil: break
  }
  guard let result = row.result, result.cause != .none else { return "" }
  return result.sentence
}
