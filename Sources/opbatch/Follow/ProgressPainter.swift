// Paints the state of a follower: on a terminal a table redrawn in place, at most ten times a
// second; elsewhere plain lines. `run` is a task of its own; call `stop` after it has ended.

import OpClusterModel
import OpClusterPresentation

actor ProgressPainter {
  private let follower: GraphFollower
  private let console: Console
  private var redraw = Redraw()
  private var plain: [GraphID: PlainProgress] = [:]
  private var painted: UInt64?
  private var paintedAt: ContinuousClock.Instant?
  private let start = ContinuousClock.now
  private var refreshedAt = ContinuousClock.now

  /// The time between two frames.
  private static let interval = Duration.milliseconds(100)
  /// The time between two snapshots of state that no event tells.
  private static let refreshInterval = Duration.seconds(2)
  /// The longest time without a frame: the elapsed time must move.
  private static let longest = Duration.seconds(1)

  init(_ follower: GraphFollower, _ console: Console) {
    self.follower = follower
    self.console = console
  }

  /// Paints until its task is cancelled.
  func run() async throws {
    while !Task.isCancelled {
      if isDrawn, ContinuousClock.now - refreshedAt >= Self.refreshInterval {
        // A failed refresh only delays the display; the next one follows.
        try? await follower.refresh()
        refreshedAt = .now
      }
      let (graphs, version) = follower.now
      let isDue = paintedAt.map { ContinuousClock.now - $0 >= Self.longest } ?? true
      if version != painted || isDue {
        painted = version
        paintedAt = .now
        try paint(graphs)
      }
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Whether the table is redrawn in place.
  private var isDrawn: Bool {
    console.format == .table && console.outputIsTerminal && !console.isQuiet
  }

  /// Prints a line that stays above the next frame.
  func say(_ text: String) throws {
    if console.format == .table, console.outputIsTerminal {
      try console.repaint(redraw.clear(width: console.outputStyle.width ?? 80))
    }
    console.say(text)
    painted = nil
  }

  /// Paints the last frame, from `final` or from the follower.
  func stop(_ final: [GraphProgress]? = nil) throws {
    try paint(final ?? follower.now.graphs)
  }

  /// Programs and quiet mode get no frames.
  private func paint(_ graphs: [GraphProgress]) throws {
    guard console.format == .table, !console.isQuiet else { return }
    if console.outputIsTerminal { try paintTable(graphs) } else { try paintLines(graphs) }
  }

  /// The newest graphs, with at least three lines each; the height is asked for anew, since
  /// terminals are resized.
  private func paintTable(_ graphs: [GraphProgress]) throws {
    var style = console.outputStyle
    let width = style.width ?? 80
    style.width = width
    // Keep one line free for the cursor.
    let height = max(3, (Descriptor.output.lines ?? 24) - 1)
    let shown = graphs.suffix(max(1, height / 3))
    var lines: [String] = []
    for (position, graph) in shown.enumerated() {
      let room = (height - lines.count) / (shown.count - position)
      lines += StageTable.frame(graph, height: room, style)
    }
    try console.repaint(redraw.repaint(lines, width: width))
  }

  /// Into a file a line is written only when there is news: `PlainProgress` decides.
  private func paintLines(_ graphs: [GraphProgress]) throws {
    let style = console.outputStyle
    let passed = ContinuousClock.now - start
    let now = Instant(nanoseconds: Int64(passed / .nanoseconds(1)))
    for graph in graphs {
      if let line = plain[graph.graph, default: PlainProgress()].line(graph, at: now, style) {
        try console.writeLine(line)
      }
    }
  }
}
