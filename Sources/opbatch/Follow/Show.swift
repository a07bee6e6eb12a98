// `opbatch show`: one graph or operation in full. Of several it shows the first pages and says how
// many more there are; JSON has all. `opbatch ls` is the list, and `opbatch why` the reasons.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Works on living graphs and on ended ones that the history still
/// has.
struct Show: Command {
  static let configuration = CommandConfiguration(
    abstract: "Show a graph or an operation in full.",
    discussion: """
      Of a single operation also how far it is and which barriers it is behind; of blocks what \
      each came to. In JSON these are 'progress', 'blocked_by' and 'block_results'.

      Examples:
        opbatch show last
        opbatch show 12/align/3
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align, 12/align/3.", valueName: "selector"))
  var selector: String

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Maximum number of pages for one selector.
  private static let maximumPages = 20

  /// `naming` turns an empty answer into a hint at the name that may have been meant.
  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try filters.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      try await reader.naming(selector, selection) {
        try await show(selection, reader, console)
      }
      return .success
    }
  }

  /// A filter of operations makes a page of operations even of a selector of graphs.
  private func show(_ selection: Selection, _ reader: Reader, _ console: Console) async throws {
    switch console.format {
    case .json, .jsonl: try await showJSON(selection, reader, console)
    case .name, .table:
      // A graph is a page of stages; an operation is a page of its life.
      if selection.operation == nil, selection.states.isEmpty, selection.queue == nil {
        try await showGraphs(selection, reader, console)
      } else {
        try await showOperations(selection, reader, console)
      }
    }
  }

  /// Page by page: a graph of a million operations never stands in memory as a whole.
  private func showJSON(_ selection: Selection, _ reader: Reader, _ console: Console) async throws {
    var total = 0
    var output = OperationListing(console: console)
    try await reader.operations(selection) { rows, _ in
      total += rows.count
      try output.show(try await reader.opened(rows))
      return true
    }
    guard total > 0 else { throw await reader.nothing(selector, selection) }
    try output.end()
  }

  /// A request for each graph shown, since only the structure has the stages.
  private func showGraphs(
    _ selection: Selection, _ reader: Reader, _ console: Console
  ) async throws {
    let rows = try await reader.allGraphs(selection)
    guard !rows.isEmpty else { throw await reader.nothing(selector, selection) }
    if console.format == .name {
      return try console.writeLines(rows.map { "\($0.graph.number)" })
    }
    for (position, row) in rows.prefix(Self.maximumPages).enumerated() {
      if position > 0 { try console.writeLine("") }
      let structure = try await reader.structure(row.graph)
      try console.writeLines(graphPage(structure, console.outputStyle))
    }
    let hidden = rows.count - Self.maximumPages
    if hidden > 0 { console.say("… \(shownCount(hidden, "more graph")): opbatch ls -a") }
  }

  /// A few requests for each operation shown: its row, the structure of its graph, and where it was
  /// taken over from.
  private func showOperations(
    _ selection: Selection, _ reader: Reader, _ console: Console
  ) async throws {
    if console.format == .name {
      var total = 0
      try await reader.operations(selection) { rows, _ in
        total += rows.count
        try console.writeLines(rows.map { OperationPath($0).description })
        return true
      }
      // An empty output would be taken for an answer.
      if total == 0 { throw await reader.nothing(selector, selection) }
      return
    }
    let (rows, more) = try await reader.firstOperations(selection, limit: Self.maximumPages)
    guard !rows.isEmpty else { throw await reader.nothing(selector, selection) }
    for (position, row) in rows.enumerated() {
      if position > 0 { try console.writeLine("") }
      try console.writeLines(try await reader.page(row, console.outputStyle))
    }
    // On stderr, as everything that is no data.
    if more { console.say("… and more: opbatch ls \(safe(selector))") }
  }
}
