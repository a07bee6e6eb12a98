// `opbatch ls`: lists graphs, or with a selector the matching operations. Only tables are cut, and
// they say so: a program or `xargs` that got a part without knowing it would act on a part.
// `OperationListing` is also what `show` prints JSON with.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Costs a request for each page of a thousand rows; narrow
/// selectors are narrow requests.
struct List: Command {
  static let configuration = CommandConfiguration(
    commandName: "ls", abstract: "List graphs, or the operations of a graph.",
    discussion: """
      Without a selector: graphs that have not ended and the newest that have. With one: \
      operations. Long tables say what they hide; JSON and names are always complete.

      Examples:
        opbatch ls
        opbatch ls --user anna --since 2d --name 'align*'
        opbatch ls last --state failed,timed-out
        opbatch ls 12/align/1-10 -o json
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align, 12/align/1-10:2.", valueName: "selector"))
  var selector: String?

  @Flag(name: .shortAndLong, help: "All of them.")
  var all = false

  @OptionGroup var filters: SelectionFilters
  @OptionGroup var graphFilters: GraphFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Maximum number of ended graphs that are listed without `-a`.
  private static let recentGraphs = 20
  /// Maximum number of operations in a table without `-a`.
  private static let tableRows = 200

  /// The same word `--state` means states of graphs without a selector and of operations with one.
  func perform(_ console: Console) async throws -> ExitStatus {
    guard let selector else {
      let states = try filters.graphStates()
      let selection = try filters.ofGraphs()
      return try await withConnection { connection in
        try await listGraphs(selection, states, reader(connection), console)
        return .success
      }
    }
    // Refused rather than ignored: the user would take the list for a filtered one.
    guard graphFilters.isEmpty else {
      throw Failure.usage(
        "--name, --user and --since choose among graphs, and a selector lists operations",
        hint: "leave out '\(safe(selector))', or those")
    }
    let selection = try filters.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      try await reader.naming(selector, selection) {
        try await listOperations(selection, selector, reader, console)
      }
      return .success
    }
  }

  /// Reads all graphs, living and ended, a page of a thousand at a time. The filters of name, user
  /// and age are applied here: the coordinator does not know them.
  private func listGraphs(
    _ selection: Selection, _ states: [GraphRow.State], _ reader: Reader, _ console: Console
  ) async throws {
    var rows = try await reader.allGraphs(selection)
    if !states.isEmpty { rows.removeAll { !states.contains($0.state) } }
    graphFilters.keep(&rows, now: console.outputStyle.now)
    // Counted before anything is taken out, so that the last line is true.
    var hidden = 0
    // Programs and `xargs` get all rows.
    if !all, console.format == .table {
      let ended = rows.count { GraphOutcome($0.state) != nil }
      hidden = max(0, ended - Self.recentGraphs)
      var left = hidden
      // The oldest ended ones, since rows come by number. Living graphs are never hidden.
      rows.removeAll { row in
        guard left > 0, GraphOutcome(row.state) != nil else { return false }
        left -= 1
        return true
      }
    }
    switch console.format {
    case .table:
      let style = console.outputStyle
      if rows.isEmpty, filters.isEmpty, graphFilters.isEmpty {
        console.hint("no graphs; 'opbatch init hello' prints a first manifest to submit")
      } else if rows.isEmpty {
        console.say("no graph is like that; 'opbatch ls -a' lists all")
      } else {
        try console.writeLines(graphTable(rows, style).lines(style))
      }
    case .name: try console.writeLines(rows.map { "\($0.graph.number)" })
    case .json, .jsonl:
      var listing = JSONListing("graphs", format: console.listFormat)
      for row in rows { listing.row { $0.fields(of: row) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
    // On stderr, so that stdout is a table and nothing else.
    if hidden > 0 {
      console.say("… \(shownCount(hidden, "older graph")): opbatch ls -a")
    }
  }

  /// Prints each page before the next is asked for, and stops asking when the table is full.
  private func listOperations(
    _ selection: Selection, _ selector: String, _ reader: Reader, _ console: Console
  ) async throws {
    var output = OperationListing(console: console)
    var total = 0
    try await reader.operations(selection) { rows, more in
      var rows = rows
      let room = Self.tableRows - total
      // A table is cut only if rows are left over: exactly as many as fit are shown without a word.
      let isCut =
        console.format == .table && !all && (rows.count > room || (rows.count == room && more))
      if isCut { rows = Array(rows.prefix(room)) }
      total += rows.count
      try output.show(try await reader.opened(rows))
      if isCut {
        let filter = "--state failed,timed-out,lost"
        console.say("… and more: -a shows all, \(filter) what went wrong")
      }
      return !isCut
    }
    guard total > 0 else { throw await reader.nothing(selector, selection) }
    try output.end()
  }
}

/// Prints operations on stdout in the requested format, page by page. JSON is one document over all
/// pages, so that it has to be ended.
struct OperationListing {
  let console: Console
  private var listing: JSONListing?
  private var isFirst = true

  init(console: Console) {
    self.console = console
    if console.wantsJSON { listing = JSONListing("operations", format: console.listFormat) }
  }

  /// The titles stand once, above the first page. Column widths are those of each page.
  mutating func show(_ opened: OpenedRows) throws {
    let rows = opened.rows
    guard !rows.isEmpty else { return }
    switch console.format {
    case .table:
      let style = console.outputStyle
      try console.writeLines(operationTable(rows, style).lines(style, titled: isFirst))
    case .name: try console.writeLines(rows.map { OperationPath($0).description })
    case .json, .jsonl:
      for row in rows {
        listing?.row {
          $0.fields(
            of: row, blocks: opened.blocks[row.id] ?? [], files: opened.files[row.id] ?? [])
        }
      }
      if let bytes = listing?.take() { try console.write(bytes: bytes) }
    }
    isFirst = false
  }

  /// Closes the document. Call it once, also after no rows.
  mutating func end() throws {
    listing?.end()
    if let bytes = listing?.take() { try console.write(bytes: bytes) }
  }
}
