// A frame of `opbatch top`: figures of the cluster, its workers with bars, one list, and what keys
// do. Pure: takes figures, state and the size of the screen, returns lines that are safe to show.

import OpClusterModel

/// A frame, and what its lines stand for.
public struct TopScreen: Sendable {
  public let lines: [String]
  /// The lines of the list, those that do not fit included.
  public let subjects: [TopState.Subject]

  /// - Parameter height: Lines of the screen; at least ten are used.
  public init(_ figures: TopFigures, _ state: TopState, height: Int, _ style: Style) {
    let height = max(10, height)
    let list = TopList(figures, state, style)
    subjects = list.subjects
    var lines = [Self.head(figures).text(style, cut: true)]
    if state.list != .workers {
      lines += Self.workerBars(figures.workers, atMost: max(1, (height - 8) / 4), style)
    }
    lines.append("")
    if let page = state.page {
      let room = height - lines.count - 1
      let start = max(0, min(state.pageStart, page.count - room))
      lines += page.dropFirst(start).prefix(room)
      lines += Array(repeating: "", count: max(0, height - 1 - lines.count))
      lines.append(StyledLine("q quit  esc back  up and down move", .faint).text(style, cut: true))
    } else {
      lines.append(Self.tabs(state).text(style, cut: true))
      lines += list.lines(room: height - lines.count - 1, selected: state.selected)
      lines += Array(repeating: "", count: max(0, height - 1 - lines.count))
      lines.append(Self.foot(state).text(style, cut: true))
    }
    self.lines = Array(lines.prefix(height))
  }

  private static func head(_ figures: TopFigures) -> StyledLine {
    let unfinished = figures.graphs.reduce(UInt64(0)) {
      $0 + UInt64($1.counts.total - min($1.counts.total, $1.counts.finished))
    }
    let executing = figures.workers.reduce(UInt64(0)) { $0 + UInt64($1.executing) }
    let failures = figures.graphs.reduce(UInt64(0)) { $0 + UInt64($1.counts.failures) }
    let more = figures.hasMoreGraphs ? "+" : ""
    var pieces: [StyledLine.Piece] = [
      .init("\(shownCount(executing)) running", .active),
      .init("  \(shownCount(unfinished - min(unfinished, executing)))\(more) waiting"),
      .init("  \(shownCount(figures.graphs.count))\(more) graphs"),
    ]
    if failures > 0 { pieces.append(.init("  \(shownCount(failures)) failed", .bad)) }
    if let rate = figures.rate {
      pieces.append(.init("  \(shownCount(Int64(saturating: rate.rounded())))/s ended"))
    }
    let connected = figures.workers.count { $0.state == .connected }
    pieces.append(.init("  \(shownCount(connected))/\(shownCount(figures.workers.count)) workers"))
    return StyledLine(pieces)
  }

  // MARK: - Workers

  /// Those that are in trouble first, then those with the most to do.
  private static func workerBars(
    _ workers: [WorkerRow], atMost limit: Int, _ style: Style
  ) -> [String] {
    let order = workers.sorted { one, other in
      let (a, b) = (one.state == .connected, other.state == .connected)
      if a != b { return !a }
      return one.executing == other.executing
        ? comesBefore(one.name, other.name) : one.executing > other.executing
    }
    let shown = order.count > limit ? order.prefix(max(1, limit - 1)) : order[...]
    let name = min(20, shown.reduce(6) { max($0, displayWidth(safe($1.name))) })
    let bar = max(4, min(24, ((style.width ?? 80) - name - 40) / 2))
    var lines = shown.map { worker in
      var pieces: [StyledLine.Piece] = [
        .init(padded(truncate(safe(worker.name), to: name, unicode: style.usesUnicode), name))
      ]
      if worker.state == .down {
        pieces.append(.init("  down", .bad))
        return StyledLine(pieces).text(style, cut: true)
      }
      let (free, all) = (worker.free, worker.capacity)
      let used = all.cpus - max(free.cpus, .zero)
      pieces.append(.init("  cpus "))
      pieces += gauge(
        Double(used.tenThousandths), of: Double(all.cpus.tenThousandths), bar, style)
      pieces.append(.init(" " + shownAmount(used) + "/" + shownAmount(all.cpus)))
      if all.memoryBytes > 0 {
        let memory = all.memoryBytes - max(0, min(free.memoryBytes, all.memoryBytes))
        pieces.append(.init("  mem "))
        pieces += gauge(Double(memory), of: Double(all.memoryBytes), bar, style)
        pieces.append(.init(" " + shownSize(memory) + "/" + shownSize(all.memoryBytes)))
      }
      if worker.state != .connected {
        pieces.append(.init("  \(worker.state.rawValue)", worker.state.tone))
      } else if worker.isSetAside {
        pieces.append(.init("  set aside", .bad))
      }
      return StyledLine(pieces).text(style, cut: true)
    }
    if shown.count < order.count {
      lines.append(
        StyledLine("… \(shownCount(order.count - shown.count, "more worker"))", .faint)
          .text(style, cut: true))
    }
    return lines
  }

  private static func gauge(
    _ used: Double, of all: Double, _ width: Int, _ style: Style
  ) -> [StyledLine.Piece] {
    let share = all > 0 ? min(1, max(0, used / all)) : 0
    let full = Int(saturating: (share * Double(width)).rounded())
    let (mark, rest) = style.usesUnicode ? ("█", "░") : ("#", ".")
    return [
      .init(String(repeating: mark, count: full), share > 0.9 ? .warning : .good),
      .init(String(repeating: rest, count: width - full), .faint),
    ]
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - displayWidth(text)))
  }

  // MARK: - Lines around the list

  private static func tabs(_ state: TopState) -> StyledLine {
    var pieces: [StyledLine.Piece] = []
    for (at, list) in TopState.List.allCases.enumerated() {
      let text = "\(at + 1) \(list.rawValue)"
      pieces.append(
        list == state.list ? .init("[\(text)]", .strong) : .init(" \(text) ", .faint))
      pieces.append(.init(" "))
    }
    if state.isByName { pieces.append(.init(" by name")) }
    if state.isTyping || !state.filter.isEmpty {
      pieces.append(.init("  /\(safe(state.filter))\(state.isTyping ? "_" : "")", .active))
    }
    return StyledLine(pieces)
  }

  private static func foot(_ state: TopState) -> StyledLine {
    if case .cancel(let subject) = state.question {
      return StyledLine("cancel \(safe(subject.words))? y/n", .warning)
    }
    if !state.note.isEmpty { return StyledLine(safe(state.note), .warning) }
    if state.isTyping { return StyledLine("enter keep   esc drop", .faint) }
    return StyledLine(
      "q quit  tab list  enter open  c cancel  p suspend  / filter  s sort", .faint)
  }
}

extension TopState.Subject {
  /// `12/align/3`, `graph 12 (rnaseq)`, `queue gpu`, `worker w1`.
  public var words: String {
    switch self {
    case .operation(_, let shown): shown
    case .graph(let graph, let name, _): "graph \(graph.number) (\(name))"
    case .queue(let name, _): "queue \(name)"
    case .worker(let name): "worker \(name)"
    }
  }
}
