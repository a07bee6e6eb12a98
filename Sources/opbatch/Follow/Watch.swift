// `opbatch watch`: shows the stages of a graph live until it ends; without a terminal, plain lines.
// `GraphFollower` keeps the state, `ProgressPainter` draws it, and `follow` ends both. Leaving
// changes nothing in the cluster.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Graphs that come later are not taken up, also not with `active`.
struct Watch: Command {
  static let configuration = CommandConfiguration(
    abstract: "Watch graphs until they end.",
    discussion: """
      Ends with the status of the graphs: 0 all succeeded, 1 something failed, 2 something was \
      cancelled. Ctrl-C only stops watching.

      Examples:
        opbatch watch last
        opbatch watch last --notify terminal
        opbatch watch 12 --notify 'mail -s "$OP_GRAPH_NAME $OP_GRAPH_STATE" me@example.org'
      """)

  @Argument(help: ArgumentHelp("Graphs: 12, last, active.", valueName: "selector"))
  var selector: String = "last"

  @OptionGroup var notify: NotifyOptions
  @OptionGroup(title: "Common options") var global: GlobalOptions

  static var handlesInterrupts: Bool { true }

  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try Selectors.graphs(selector)
    return try await withConnection { connection in
      // The time limit covers watching as a whole, not each request.
      let reader = Reader(connection: connection, timeout: nil)
      // Before the rows, so that nothing between the two is missed.
      let since = try await reader.lastEvent()
      let rows = try await reader.allGraphs(selection)
      guard !rows.isEmpty else { throw Failure.nothingSelected(selector) }
      return try await watchGraphs(rows, since: since, reader, console)
    }
  }

  /// At most `GraphFollower.maximumGraphs` are followed; the status counts all of the selector.
  private func watchGraphs(
    _ rows: [GraphRow], since: UInt64, _ reader: Reader, _ console: Console
  ) async throws -> ExitStatus {
    let follower = try await GraphFollower(rows, since: since, reader)
    let painter = ProgressPainter(follower, console)
    let told = FollowedNotifications(
      notify.notifications, onTerminal: notify.onTerminal, follower, reader, console)
    defer { told.leave() }
    // Only these are looked at for operations that no worker can run.
    let graphs = rows.map(\.graph)
    let end = try await follow(
      console, timeout: global.timeout?.duration,
      painter: {
        try await withThrowingTaskGroup(of: Void.self) { group in
          defer { group.cancelAll() }
          group.addTask { try await painter.run() }
          group.addTask {
            try await PlacementNotice.watch(graphs, reader) { try await painter.say($0) }
          }
          // A closed stdout ends both tasks.
          try await group.next()
        }
      }
    ) { try await follower.run() }
    // By number, for the hint after an interruption.
    let selectors = rows.map { "\($0.graph.number)" }
    switch end {
    case .finished:
      let status = try await finish(painter, selectors, reader, console)
      try await told.finish()
      return status
    case .interrupted:
      try await painter.stop()
      console.sayDetached("watch", selectors)
      return .interrupted
    case .timedOut:
      try await painter.stop()
      console.say("the time is up, and not everything has ended")
      return .timedOut
    }
  }

  /// Paints the last frame from the coordinator's present rows, not from counted events.
  private func finish(
    _ painter: ProgressPainter, _ selectors: [String], _ reader: Reader, _ console: Console
  ) async throws -> ExitStatus {
    let selection = try Selectors.graphs(selectors.joined(separator: ","))
    let rows = try await reader.allGraphs(selection)
    var final: [GraphProgress] = []
    for row in rows.prefix(GraphFollower.maximumGraphs) {
      final.append(GraphProgress(try await reader.structure(row.graph)))
    }
    try await painter.stop(final)
    try await GraphEnding.show(rows, reader, console)
    // The worst of all graphs.
    return rows.reduce(.success) { $0.combined(with: ExitStatus($1.state)) }
  }
}

/// The ending of graphs: rows for programs, the first failures for people. Shared by watch, wait,
/// submit and run.
enum GraphEnding {
  private static let failuresShown = 3

  static func show(_ rows: [GraphRow], _ reader: Reader, _ console: Console) async throws {
    switch console.format {
    case .name: try console.writeLines(rows.map { "\($0.graph.number)" })
    case .json, .jsonl:
      var listing = JSONListing("graphs", format: console.listFormat)
      for row in rows { listing.row { $0.fields(of: row) } }
      listing.end()
      try console.write(bytes: listing.take())
    case .table:
      for row in rows where row.state == .failed { try await showFailures(row, reader, console) }
    }
  }

  /// Shows the first failed operations of a graph on stderr. `keepsLogs` is false on a cluster that
  /// ends with the command. A few, since a whole list is one `ls` away. On stderr: stdout has the
  /// rows.
  static func showFailures(
    _ row: GraphRow, _ reader: Reader, keepsLogs: Bool = true, _ console: Console
  ) async throws {
    var selection = Selection.graph(row.graph)
    selection.states = [.failed, .timedOut, .lost]
    let (failed, _) = try await reader.firstOperations(selection, limit: failuresShown)
    for operation in failed {
      // The row of a page has no command and no earlier attempts.
      let full = try await reader.inFull(operation)
      console.complain("")
      let page = failurePage(
        full, command: full.shownCommand, keepsLogs: keepsLogs, console.errorStyle)
      for line in page { console.complain(line) }
    }
    let hidden = Int(row.counts.failures) - failed.count
    if hidden > 0, !failed.isEmpty {
      console.say("")
      let command = ": opbatch ls \(row.graph.number) --state failed,timed-out,lost"
      console.say("… \(shownCount(hidden, "more failure"))" + (keepsLogs ? command : ""))
    }
    if !keepsLogs {
      console.say("")
      console.hint(
        "this command's own cluster is gone, and its logs with it; to keep logs: 'opbatch up', "
          + "then 'opbatch run -m …' again")
    }
  }
}
