// `opbatch top`: the cluster live on a terminal. What is shown and what keys mean is made in
// OpClusterPresentation; this asks, paints, reads keys, and sends what they order. Without a
// terminal it is one frame.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
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
    try await untilInterrupted { try await $0.look() }
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
      try await untilInterrupted { try await $0.turns() }
    } catch {
      try? console.repaint("\u{1b}[?25h\u{1b}[?1049l")
      throw error
    }
    try console.repaint("\u{1b}[?25h\u{1b}[?1049l")
  }

  /// Ctrl-C and TERM end it also while an answer is awaited.
  private func untilInterrupted(
    _ body: @escaping @Sendable (TopSession) async throws -> Void
  ) async throws {
    let interrupts = console.interrupts
    // A stream without signals ends at once, and then there is nothing to wait for.
    let isInterruptible = console.handlesInterrupts
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body(self) }
      if isInterruptible {
        group.addTask { for await _ in interrupts { return } }
      }
      try await group.next()
      group.cancelAll()
    }
  }

  private func turns() async throws {
    let (wakeups, continuation) = AsyncStream.makeStream(of: Wakeup.self)
    defer { continuation.finish() }
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
    continuation.yield(.time)
    for await wakeup in wakeups {
      switch wakeup {
      case .end: return
      case .time:
        try await look()
        // Only then: a slow coordinator is not asked more often than it answers.
        let every = every
        Task {
          try? await Task.sleep(for: every)
          continuation.yield(.time)
        }
      case .keys(let bytes):
        for key in TopKey.keys(of: bytes) {
          let screen = TopScreen(figures, state, height: 24, console.outputStyle)
          guard let order = state.press(key, screen.subjects) else { continue }
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
    let height = Descriptor.output.lines ?? 24
    state.follow(TopScreen(figures, state, height: height, style).subjects)
    let screen = TopScreen(figures, state, height: height, style)
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
    let (rows, more) = try await runningOperations(running)
    figures = TopFigures(
      workers: workers, queues: queues, graphs: graphs, running: rows,
      hasMoreGraphs: graphs.count >= Limits.rowsPerReply, hasMoreRunning: more,
      rate: rate(graphs))
  }

  /// None is a refusal: a selection that matches nothing may be a mistake elsewhere.
  private func runningOperations(
    _ selection: Selection
  ) async throws -> (rows: [OperationRow], more: Bool) {
    do {
      return try await reader.firstOperations(selection, limit: Limits.rowsPerReply)
    } catch let error as ClientError {
      guard case .refused = error.kind else { throw error }
      return ([], false)
    }
  }

  /// Of the graphs that were there at the last look, too.
  private func rate(_ graphs: [GraphRow]) -> Double? {
    let now = ContinuousClock.now
    let ended = Dictionary(
      graphs.map { ($0.graph, $0.counts.finished) }, uniquingKeysWith: { first, _ in first })
    defer { before = (ended, now) }
    guard let before, now > before.at else { return nil }
    let more = ended.reduce(UInt64(0)) { sum, graph in
      let known = before.ended[graph.key] ?? graph.value
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
        guard let selection = selection(of: subject) else { return state.say("it has ended") }
        try await ask(.cancel(.selection(selection), reason: "", grace: nil))
        state.say("cancelled: \(subject.words)")
      case .suspend(.queue(let name, _), let isSuspended):
        try await ask(.changeQueue(name, QueueChange(isSuspended: isSuspended)))
        state.say("\(isSuspended ? "suspended" : "resumed"): queue \(name)")
      case .suspend(let subject, let isSuspended):
        guard let selection = selection(of: subject) else { return state.say("it has ended") }
        try await ask(.suspendGraphs(selection, isSuspended))
        state.say("\(isSuspended ? "suspended" : "resumed"): \(subject.words)")
      }
    } catch {
      guard case .refused = error.kind else { throw error }
      state.say(error.description)
    }
    try await look()
  }

  private func ask(_ request: ClientRequest) async throws(ClientError) {
    _ = try await reader.connection.request(request, timeout: reader.timeout)
  }

  /// nil: it is no longer in view, and nothing else is meant in its place.
  private func selection(of subject: TopState.Subject) -> Selection? {
    switch subject {
    case .operation(let id, _):
      figures.running.first { $0.id == id }.map { Selection.operation($0) }
    case .graph(let graph, _, _): Selection.graph(graph)
    case .queue, .worker: nil
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
