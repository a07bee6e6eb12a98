// `opbatch wait`: returns when graphs or operations have ended, with their status. Selectors are
// waited for one after the other, which takes no longer than waiting for them at once. A graph's
// status comes from its row, which knows allowed failures; an operation's from its outcome.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import Synchronization

/// No table while it waits and nothing to read afterwards: made for scripts.
struct Wait: Command {
  static let configuration = CommandConfiguration(
    abstract: "Wait until graphs or operations have ended.",
    discussion: """
      Ends with their status: 0 all succeeded, 1 something failed, 2 something was cancelled, \
      3 the time was up. Ctrl-C only stops waiting.

      Examples:
        opbatch wait 12 13
        opbatch wait 12/align --timeout 10m
      """)

  @Argument(help: ArgumentHelp("12, last, active, 12/align/3.", valueName: "selector"))
  var selectors: [String]

  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func perform(_ console: Console) async throws -> ExitStatus {
    let selections = try selectors.map { try Selectors.selection($0) }
    // Outlives the waiting, which an interruption ends in the middle.
    let waiting = WaitingResults()
    return try await withConnection { connection in
      // The time limit covers waiting as a whole, not each request.
      let reader = Reader(connection: connection, timeout: nil)
      let (selectors, selections) = (self.selectors, selections)
      let end = try await follow(console, timeout: global.timeout?.duration) {
        for (text, selection) in zip(selectors, selections) {
          try await reader.naming(text, selection) {
            waiting.add(
              selection.operation == nil
                ? try await Waiter.graphs(selection, text, reader, waiting)
                : try await Waiter.operations(selection, text, reader, waiting))
          }
        }
      }
      switch end {
      case .finished: return try await finish(waiting, reader, console)
      case .interrupted:
        console.sayDetached("wait", waiting.left(of: selectors))
        return .interrupted
      case .timedOut:
        console.say("the time is up, and not everything has ended")
        return .timedOut
      }
    }
  }

  /// Rows are read again at the end: an event has the outcome and not the counts.
  private func finish(
    _ waiting: WaitingResults, _ reader: Reader, _ console: Console
  ) async throws -> ExitStatus {
    var rows: [GraphRow] = []
    for graph in waiting.graphs {
      rows += try await reader.allGraphs(.graph(graph))
    }
    let status = rows.reduce(waiting.status) { $0.combined(with: ExitStatus($1.state)) }
    if console.format == .table {
      let style = console.outputStyle
      for row in rows { try console.writeLine(Self.sentence(row, style)) }
    }
    try await GraphEnding.show(rows, reader, console)
    return status
  }

  /// One line for each graph, at the end.
  private static func sentence(_ row: GraphRow, _ style: Style) -> String {
    let state = style.paint(row.state.rawValue, row.state.tone)
    return "\(row.graph.number) \(safe(row.name)): \(state), \(row.counts.sentence())"
  }
}

/// The results so far. Shared by the task that waits and the frame that an interruption ends: what
/// is known then is told.
final class WaitingResults: Sendable {
  private let state = Mutex((graphs: [GraphID](), status: ExitStatus.success, pinned: [String]()))

  /// Two selectors may name one graph, which is told once.
  func add(_ result: Waiter.Result) {
    state.withLock { state in
      for graph in result.graphs where !state.graphs.contains(graph) { state.graphs.append(graph) }
      state.status = state.status.combined(with: result.status)
    }
  }
  /// Pins the next selector to graph numbers.
  func pin(_ selection: Selection, to graphs: [GraphID]) {
    state.withLock { $0.pinned.append(selection.pinned(to: graphs).path) }
  }
  /// The selectors; those already resolved are given by graph numbers.
  func left(of selectors: [String]) -> [String] {
    let pinned = state.withLock { $0.pinned }
    return pinned + selectors.dropFirst(pinned.count)
  }
  var graphs: [GraphID] { state.withLock { $0.graphs } }
  var status: ExitStatus { state.withLock { $0.status } }
}

/// Waits for one selector by its events. The events begin before the rows are read; since ending is
/// final, it does not matter which of the two tells it first.
enum Waiter {
  struct Result: Sendable {
    /// Graphs whose rows give the status.
    var graphs: [GraphID] = []
    /// The status of operations.
    var status = ExitStatus.success
  }

  static func graphs(
    _ selection: Selection, _ text: String, _ reader: Reader, _ waiting: WaitingResults
  ) async throws -> Result {
    let since = try await reader.lastEvent()
    let rows = try await reader.allGraphs(selection)
    // No graph is active: there is nothing to wait for.
    if rows.isEmpty, selection.graphs == .active { return Result() }
    guard !rows.isEmpty else { throw Failure.nothingSelected(text) }
    waiting.pin(selection, to: rows.map(\.graph))
    // Subscribed by number: `last` and `active` would mean other graphs by then.
    var open = Set(rows.filter { GraphOutcome($0.state) == nil }.map(\.graph))
    let result = Result(graphs: rows.map(\.graph))
    if open.isEmpty { return result }
    let subscription = EventSubscription(
      number: 1, selection: .graphs(Array(open)), since: since, graphsOnly: true)
    for try await batch in reader.connection.events(subscription) {
      for event in batch.events {
        guard case .graphFinished = event.kind, case .graph(let graph) = event.subject else {
          continue
        }
        open.remove(graph)
      }
      if open.isEmpty { return result }
    }
    throw CancellationError()
  }

  /// Memory for each unfinished operation of the selection. An operation that enters the selection
  /// later is not waited for.
  static func operations(
    _ selection: Selection, _ text: String, _ reader: Reader, _ waiting: WaitingResults
  ) async throws -> Result {
    let since = try await reader.lastEvent()
    var graphs: Set<GraphID> = []
    var counts = StateCounts()
    var open: Set<OperationID> = []
    try await reader.operations(selection) { rows, _ in
      for row in rows {
        graphs.insert(row.id.graph)
        if row.isFinished { counts[row.state] += 1 } else { open.insert(row.id) }
      }
      return true
    }
    guard counts.total > 0 || !open.isEmpty else { throw Failure.nothingSelected(text) }
    waiting.pin(selection, to: graphs.sorted())
    if open.isEmpty { return Result(status: ExitStatus(counts)) }
    let subscription = EventSubscription(
      number: 1, selection: selection.lasting(graphs), since: since)
    for try await batch in reader.connection.events(subscription) {
      for run in batch.runs {
        guard case .isFinished(let outcome) = run.first.kind else { continue }
        run.forEach { event in
          guard case .operation(let id, _) = event.subject, open.remove(id) != nil else { return }
          counts[StateWord(outcome)] += 1
        }
      }
      if open.isEmpty { return Result(status: ExitStatus(counts)) }
    }
    throw CancellationError()
  }
}
