// The list of `opbatch top`: operations that run, graphs, queues or workers, filtered and sorted.

import OpClusterModel

struct TopList {
  let subjects: [TopState.Subject]
  /// The cells of a line without its mark.
  private let rows: [[StyledLine.Piece]]
  private let columns: [Table.Column]
  private let style: Style

  init(_ figures: TopFigures, _ state: TopState, _ style: Style) {
    self.style = style
    var made: Made
    switch state.list {
    case .operations: made = Self.operations(figures, state, style)
    case .graphs: made = Self.graphs(figures, state, style)
    case .queues: made = Self.queues(figures, state)
    case .workers: made = Self.workers(figures, state)
    }
    if !state.filter.isEmpty {
      let wanted = state.filter.lowercased()
      made.lines.removeAll { line in
        !line.cells.contains { $0.text.lowercased().contains(wanted) }
      }
    }
    subjects = made.lines.map(\.subject)
    rows = made.lines.map(\.cells)
    columns = made.columns
  }

  private struct Made {
    var columns: [Table.Column]
    var lines: [(subject: TopState.Subject, cells: [StyledLine.Piece])]
  }

  /// The part of the list with the selected line, at most so many lines.
  func lines(room: Int, selected: Int) -> [String] {
    guard room > 1 else { return [] }
    if rows.isEmpty { return [StyledLine("  nothing", .faint).text(style)] }
    let selected = max(0, min(selected, rows.count - 1))
    let shown = room - 1
    let start = max(0, min(selected - shown / 2, rows.count - shown))
    var table = Table([.text("", dispensable: 0)] + columns)
    for at in start..<min(rows.count, start + shown) {
      let mark = at == selected ? ">" : " "
      table.add([.init(mark, .strong)] + rows[at])
    }
    return Array(table.lines(style).prefix(room))
  }

  // MARK: - Lists

  /// The longest running first.
  private static func operations(
    _ figures: TopFigures, _ state: TopState, _ style: Style
  ) -> Made {
    var rows = figures.running.map { (row: $0, path: OperationPath($0).description) }
    rows.sort { one, other in
      if state.isByName || one.row.startedAt == other.row.startedAt {
        return comesBefore(one.path, other.path)
      }
      return one.row.startedAt < other.row.startedAt
    }
    return Made(
      columns: [
        .name("OPERATION", shortest: 10), .number("TIME"), .text("WORKER", shortest: 6),
        .text("QUEUE", shortest: 6, dispensable: 2), .text("PROGRESS", shortest: 6, dispensable: 1),
      ],
      lines: rows.map { row, path in
        let time = row.startedAt == .unknown ? nil : style.now - row.startedAt
        return (
          .operation(row.id, shown: path),
          [
            .init(path, .strong), .init(time.map { shownDuration($0) } ?? ""),
            .init(row.workerName), .init(row.queue), .init(progress(row)),
          ]
        )
      })
  }

  private static func progress(_ row: OperationRow) -> String {
    guard let progress = row.progress else { return "" }
    let percent = Int64(saturating: (min(1, max(0, progress.fraction)) * 100).rounded())
    return "\(percent)%" + (progress.text.isEmpty ? "" : " \(progress.text)")
  }

  /// The newest first.
  private static func graphs(_ figures: TopFigures, _ state: TopState, _ style: Style) -> Made {
    let rows = figures.graphs.sorted {
      state.isByName && $0.name != $1.name
        ? comesBefore($0.name, $1.name) : $0.graph.number > $1.graph.number
    }
    return Made(
      columns: [
        .number("GRAPH"), .text("NAME", shortest: 8), .text("STATE", dispensable: 2),
        .number("DONE"), .number("RUNNING"), .number("FAILED", dispensable: 1),
        .number("AGE", dispensable: 3),
      ],
      lines: rows.map { row in
        let isSuspended = row.state == .suspended
        let age = row.submittedAt == .unknown ? nil : style.now - row.submittedAt
        return (
          .graph(row.graph, name: row.name, isSuspended: isSuspended),
          [
            .init("\(row.graph.number)", .strong), .init(row.name),
            .init(row.state.rawValue, row.state.tone),
            .init(shownCount(row.counts.finished) + "/" + shownCount(row.counts.total)),
            .init(shownCount(row.counts[.executing])),
            .init(row.counts.failures == 0 ? "" : shownCount(row.counts.failures), .bad),
            .init(age.map { shownDuration($0) } ?? "", .faint),
          ]
        )
      })
  }

  /// The fullest first.
  private static func queues(_ figures: TopFigures, _ state: TopState) -> Made {
    let rows = figures.queues.sorted {
      state.isByName || $0.operationCount == $1.operationCount
        ? comesBefore($0.settings.name, $1.settings.name) : $0.operationCount > $1.operationCount
    }
    return Made(
      columns: [
        .text("QUEUE", shortest: 8), .text("STATE"), .number("LIMIT"), .number("RUNNING"),
        .number("WAITING"),
      ],
      lines: rows.map { row in
        let given = row.executing.saturatingAdd(row.dispatched)
        return (
          .queue(row.settings.name, isSuspended: row.settings.isSuspended),
          [
            .init(row.settings.name, .strong),
            row.settings.isSuspended ? .init("suspended", .warning) : .init("open"),
            .init(row.settings.maximumConcurrent.map { shownCount($0) } ?? "none"),
            .init(shownCount(row.executing)),
            .init(shownCount(row.operationCount - min(row.operationCount, given))),
          ]
        )
      })
  }

  /// Those with the most to do first.
  private static func workers(_ figures: TopFigures, _ state: TopState) -> Made {
    let rows = figures.workers.sorted {
      state.isByName || $0.executing == $1.executing
        ? comesBefore($0.name, $1.name) : $0.executing > $1.executing
    }
    return Made(
      columns: [
        .text("WORKER", shortest: 8), .text("STATE"), .number("RUNNING"),
        .number("HELD", dispensable: 2), .number("CPUS"), .text("MEMORY", dispensable: 1),
        .text("HEARD", dispensable: 3),
      ],
      lines: rows.map { row in
        let isDown = row.state == .down
        return (
          .worker(row.name),
          [
            .init(row.name, .strong), .init(row.state.rawValue, row.state.tone),
            .init(isDown ? "" : shownCount(row.executing)),
            .init(row.held == 0 ? "" : shownCount(row.held)),
            .init(
              isDown
                ? ""
                : shownAmount(max(row.free.cpus, .zero)) + "/" + shownAmount(row.capacity.cpus)),
            .init(
              isDown || row.capacity.memoryBytes == 0
                ? ""
                : shownSize(max(0, row.free.memoryBytes)) + "/"
                  + shownSize(row.capacity.memoryBytes)),
            .init(row.lastHeard.map { shownDuration($0) + " ago" } ?? "", .faint),
          ]
        )
      })
  }
}
