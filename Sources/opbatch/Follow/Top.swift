// `opbatch top`: the cluster live on a terminal. What is shown and what keys mean is made in
// OpClusterPresentation; this asks, paints, reads keys, and sends what they order. Without a
// terminal it is one frame.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterSystem

/// Needs the right to read (G36); to cancel and suspend, the rights for that.
struct Top: Command {
  static let configuration = CommandConfiguration(
    abstract: "Watch the cluster: workers, graphs, queues, what runs.",
    discussion: """
      Keys: tab or 1 to 4 choose the list, up and down a line, enter opens its page, / filters, s \
      sorts by name, c cancels after a question, p suspends or resumes, q quits. Lists have at \
      most a thousand lines; the filter looks at these.

      Example: opbatch top
      """)

  @Option(help: ArgumentHelp("Seconds between two looks.", valueName: "seconds"))
  var every: Double = 1

  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func validate() throws {
    guard every >= 0.1, every <= 3_600 else {
      throw ValidationError("--every is from 0.1 to 3600 seconds")
    }
    if global.output != .table { throw ValidationError("top is for people; 'ls' is for programs") }
  }

  func perform(_ console: Console) async throws -> ExitStatus {
    try await withConnection { connection in
      let session = TopSession(reader(connection), console, every: .seconds(every))
      guard console.outputIsTerminal, let keys = TerminalKeys() else {
        try await session.showOnce()
        return .success
      }
      do {
        try await session.run()
      } catch {
        keys.restore()
        throw error
      }
      keys.restore()
      return .success
    }
  }
}

/// One look after the other, and keys in between.
private actor TopSession {
  private let reader: Reader
  private let console: Console
  private let every: Duration
  private var state = TopState()
  private var figures = TopFigures(workers: [], queues: [], graphs: [], running: [])
  private var subjects: [TopState.Subject] = []
  /// Ended operations of each graph at the last look, and its moment.
  private var before: (ended: [GraphID: UInt32], at: ContinuousClock.Instant)?

  init(_ reader: Reader, _ console: Console, every: Duration) {
    self.reader = reader
    self.console = console
    self.every = every
  }

  private enum Wakeup: Sendable {
    case keys([UInt8])
    case time
    case end
  }

  func showOnce() async throws {
    try await look()
    let screen = TopScreen(figures, state, height: 40, console.outputStyle)
    // The last line tells of keys, and the empty ones before it fill a screen.
    var lines = Array(screen.lines.dropLast())
    while lines.last?.isEmpty == true { lines.removeLast() }
    try console.writeLines(lines)
  }

  /// On a screen of its own, which is left whatever happens.
  func run() async throws {
    try console.repaint("\u{1b}[?1049h\u{1b}[?25l")
    do {
      try await turns()
    } catch {
      try? console.repaint("\u{1b}[?25h\u{1b}[?1049l")
      throw error
    }
    try console.repaint("\u{1b}[?25h\u{1b}[?1049l")
  }

  private func turns() async throws {
    let (wakeups, continuation) = AsyncStream.makeStream(of: Wakeup.self)
    let (every, interrupts) = (every, console.interrupts)
    let clock = Task {
      while !Task.isCancelled {
        continuation.yield(.time)
        try? await Task.sleep(for: every)
      }
    }
    let signals = Task { for await _ in interrupts { continuation.yield(.end) } }
    defer {
      clock.cancel()
      signals.cancel()
      continuation.finish()
    }
    // It ends with the process at the latest: a read of a terminal cannot be cancelled.
    _ = try startThread(name: "keys", takesSignals: false) {
      while true {
        guard let bytes = TerminalKeys.next(milliseconds: 500) else {
          continuation.yield(.end)
          return
        }
        if bytes.isEmpty { continue }
        if case .terminated = continuation.yield(.keys(bytes)) { return }
      }
    }
    for await wakeup in wakeups {
      switch wakeup {
      case .end: return
      case .time: try await look()
      case .keys(let bytes):
        for key in TopKey.keys(of: bytes) {
          guard let order = state.press(key, subjects) else { continue }
          if order == .quit { return }
          try await obey(order)
        }
      }
      try paint()
    }
  }

  private func paint() throws {
    var style = console.outputStyle
    let width = style.width ?? 80
    style.width = width
    let screen = TopScreen(figures, state, height: Descriptor.output.lines ?? 24, style)
    subjects = screen.subjects
    try console.repaint(
      "\u{1b}[H" + screen.lines.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J")
  }

  // MARK: - Asking

  private func look() async throws {
    let workers = try await reader.workers()
    let queues = try await reader.queues()
    var graphs: [GraphRow] = []
    try await reader.graphs(Selection(graphs: .active)) { rows in
      graphs = rows
      return false
    }
    var running = Selection(graphs: .active)
    running.states = [.executing]
    let (rows, more) = try await reader.firstOperations(running, limit: Limits.rowsPerReply)
    figures = TopFigures(
      workers: workers, queues: queues, graphs: graphs, running: rows,
      hasMoreGraphs: graphs.count >= Limits.rowsPerReply, hasMoreRunning: more,
      rate: rate(graphs))
  }

  /// Of the graphs that were there at the last look, too.
  private func rate(_ graphs: [GraphRow]) -> Double? {
    let now = ContinuousClock.now
    let ended = Dictionary(uniqueKeysWithValues: graphs.map { ($0.graph, $0.counts.finished) })
    defer { before = (ended, now) }
    guard let before, now > before.at else { return nil }
    let more = ended.reduce(UInt64(0)) { sum, graph in
      let known = before.ended[graph.key] ?? 0
      return sum + UInt64(graph.value - min(known, graph.value))
    }
    return Double(more) / ((now - before.at) / .seconds(1))
  }

  // MARK: - Orders

  /// What is refused is told; the screen stays.
  private func obey(_ order: TopState.Order) async throws {
    do throws(ClientError) {
      switch order {
      case .quit: break
      case .open(let subject): state.show(page: try await page(of: subject))
      case .cancel(let subject):
        _ = try await reader.connection.request(
          .cancel(.selection(selection(of: subject)), reason: "", grace: nil),
          timeout: reader.timeout)
        state.say("cancelled: \(subject.words)")
      case .suspend(.queue(let name, _), let isSuspended):
        _ = try await reader.connection.request(
          .changeQueue(name, QueueChange(isSuspended: isSuspended)), timeout: reader.timeout)
        state.say("\(isSuspended ? "suspended" : "resumed"): queue \(name)")
      case .suspend(let subject, let isSuspended):
        _ = try await reader.connection.request(
          .suspendGraphs(selection(of: subject), isSuspended), timeout: reader.timeout)
        state.say("\(isSuspended ? "suspended" : "resumed"): \(subject.words)")
      }
    } catch {
      guard case .refused = error.kind else { throw error }
      state.say(error.description)
    }
    try await look()
  }

  private func selection(of subject: TopState.Subject) -> Selection {
    switch subject {
    case .operation(let id, _):
      figures.running.first { $0.id == id }.map { .operation($0) } ?? .graph(id.graph)
    case .graph(let graph, _, _): .graph(graph)
    case .queue, .worker: Selection(graphs: .numbers([]))
    }
  }

  private func page(of subject: TopState.Subject) async throws(ClientError) -> [String] {
    var style = console.outputStyle
    style.width = style.width ?? 80
    do {
      switch subject {
      case .operation(let id, _):
        guard let row = figures.running.first(where: { $0.id == id }) else { break }
        return try await reader.page(row, style)
      case .graph(let graph, _, _):
        return graphPage(try await reader.structure(graph), style)
      case .queue(let name, _):
        return queueTable(figures.queues.filter { $0.settings.name == name }, style).lines(style)
      case .worker(let name):
        return workerTable(figures.workers.filter { $0.name == name }, style).lines(style)
      }
    } catch let error as ClientError {
      throw error
    } catch {
      return ["\(error)"]
    }
    return ["it has ended"]
  }
}
