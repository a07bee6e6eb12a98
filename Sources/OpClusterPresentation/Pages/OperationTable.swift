// `ls SEL`: one line an operation.

public import OpClusterModel

/// The table of `ls` with a selector.
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
      .init(row.attempt > 1 ? "\(row.attempt)" : ""), .init(took(row, style)),
      .init(row.isFinished ? shortReason(row) : shownProgress(row.progress), .faint),
    ])
  }
  return table
}

/// From its start to its end, or until now while it is executing.
func took(_ row: OperationRow, _ style: Style) -> String {
  let end = row.finishedAt == .unknown && !row.isFinished ? style.now : row.finishedAt
  return shownDuration(from: row.startedAt, to: end) ?? ""
}

/// In a few words why it ended as it did; empty for a success and for what has not ended.
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
