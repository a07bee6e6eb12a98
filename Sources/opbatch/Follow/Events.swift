// `opbatch events`: past events in order, and with -f new ones. The connection subscribes again by
// itself after a loss, behind the last event that it handed on, so that the list has no gap and no
// repeat (S116). Names are not in events: `NameBook` asks for them.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). A key that reads one graph alone does not exist: an observer sees
/// all of them.
struct Events: Command {
  static let configuration = CommandConfiguration(
    abstract: "List events, and follow them.",
    discussion: """
      In the JSON formats each event is an object on a line of its own, and {"kind":"caught_up"} \
      stands between what had happened and what happens while we look.

      Examples:
        opbatch events 12
        opbatch events -f --since 1000 -o jsonl
      """)

  @Argument(help: ArgumentHelp("Only of these: 12, active, 12/align/3.", valueName: "selector"))
  var selector: String?

  @Flag(name: .shortAndLong, help: "Go on with what happens.")
  var follow = false

  @Option(help: ArgumentHelp("Only those after this one.", valueName: "sequence"))
  var since: UInt64 = 0

  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Ends at the newest event, or with -f never. A position that is no longer kept is refused as
  /// `expired` (S116).
  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try selector.map { try Selectors.selection($0) } ?? Selection(graphs: .all)
    return try await withConnection { connection in
      let reader = reader(connection)
      var lasting = selection
      if let selector {
        try await reader.naming(selector, selection) { try await check(selection, reader) }
        if selection.isRelative {
          let graphs = try await reader.allGraphs(Selection(graphs: selection.graphs))
          lasting = selection.lasting(graphs.map(\.graph))
        }
      }
      let subscription = EventSubscription(
        number: 1, selection: lasting, since: since, backlogOnly: !follow)
      var printer = EventPrinter(console, NameBook(reader))
      for try await batch in connection.events(subscription) {
        try await printer.show(batch.events)
        // Told once, when the backlog is through.
        if batch.caughtUp, follow { try printer.showCaughtUp() }
      }
      return .success
    }
  }

  /// Refuses a selector that matches nothing, instead of printing an empty list.
  private func check(_ selection: Selection, _ reader: Reader) async throws {
    let isEmpty =
      if selection.operation == nil {
        try await reader.allGraphs(selection).isEmpty
      } else {
        try await reader.firstOperations(selection, limit: 1).rows.isEmpty
      }
    if isEmpty { throw Failure.nothingSelected(selector ?? "all") }
  }
}

/// Prints events on stdout in the requested format; one write per batch. A batch is one write: a
/// reader that is slower than the cluster gets few large ones.
struct EventPrinter {
  private let console: Console
  private var names: NameBook
  private var json = JSONText()

  init(_ console: Console, _ names: NameBook) {
    self.console = console
    self.names = names
  }

  mutating func show(_ events: [Event]) async throws {
    guard !events.isEmpty else { return }
    // Collected for one write; a batch is bounded by its message.
    var lines: [String] = []
    let style = console.outputStyle
    for event in events {
      // Learns names event by event: a batch may need more names than are kept at once.
      try await names.learn(event)
      switch console.format {
      case .json, .jsonl:
        json.event(event, names: names)
        json.endLine()
      case .table: lines.append(eventLine(event, names: names, style: style))
      case .name: if let name = name(event) { lines.append(name) }
      }
    }
    if console.wantsJSON {
      try console.write(bytes: json.bytes)
      json.removeAll()
    } else {
      try console.writeLines(lines)
    }
  }

  /// For programs that act on what is new and only take note of what was.
  mutating func showCaughtUp() throws {
    guard console.wantsJSON else { return }
    json.caughtUp()
    json.endLine()
    try console.write(bytes: json.bytes)
    json.removeAll()
  }

  /// Queues and workers have no selector, so that `-o name` leaves their events out.
  private func name(_ event: Event) -> String? {
    switch event.subject {
    case .operation(let id, _): names.path(of: id)
    case .graph(let id): "\(id.number)"
    case .queue, .worker: nil
    }
  }
}
