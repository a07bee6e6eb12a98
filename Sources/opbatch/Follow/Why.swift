// `opbatch why`: why an operation waits, was skipped, was retried, or can never run.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). The reasons are those of the coordinator at this moment; a second
/// question may get others.
struct Why: Command {
  static let configuration = CommandConfiguration(
    abstract: "Explain why operations are where they are.",
    discussion: """
      Of a graph it tells what failed and what waits, equals as one. Of operations it tells what \
      each waits for, and what became of each attempt.

      Examples:
        opbatch why last
        opbatch why 12/align/3
        opbatch why last --state waiting
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align, 12/align/3.", valueName: "selector"))
  var selector: String

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Maximum number of graphs that are explained.
  private static let maximumGraphs = 20

  /// For people a graph is summed up in groups; anything narrower, and everything for programs, is
  /// told operation by operation.
  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try filters.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      return try await reader.naming(selector, selection) {
        if console.format == .table, selection.operation == nil, filters.isEmpty {
          try await explainGraphs(selection, reader, console)
        } else {
          try await explainOperations(selection, reader, console)
        }
        return .success
      }
    }
  }

  /// Explains the failed and waiting operations of each graph, equal ones as one. Up to 41 requests
  /// for each graph (`WhySummary`).
  private func explainGraphs(
    _ selection: Selection, _ reader: Reader, _ console: Console
  ) async throws {
    let rows = try await reader.allGraphs(selection)
    guard !rows.isEmpty else { throw await reader.nothing(selector, selection) }
    for (position, row) in rows.prefix(Self.maximumGraphs).enumerated() {
      if position > 0 { try console.writeLine("") }
      let summary = try await WhySummary(row.graph, reader)
      try console.writeLines(
        whyGraphPage(
          summary.row, summary.groups, hidden: summary.hiddenStages, console.outputStyle))
    }
    // Each graph may cost dozens of requests.
    let hidden = rows.count - Self.maximumGraphs
    if hidden > 0 { console.say("… \(shownCount(hidden, "more graph")): opbatch ls -a") }
    // With several graphs the hint would stand in the middle.
    if rows.count == 1 {
      console.hint("opbatch why GRAPH/NAME tells all of one operation, --state of those in a state")
    }
  }

  /// Returns explanations of whole graphs for programs. Failed and waiting operations come first,
  /// and are never cut off for succeeded ones. One request for each group of states, of at most a
  /// hundred explanations each.
  private func worstFirst(
    _ selection: Selection, _ reader: Reader
  ) async throws -> (rows: [Explanation], more: Bool) {
    var (rows, isCut) = ([Explanation](), false)
    for states in WhySummary.order + [[.succeeded]] {
      var part = selection
      part.states = states
      let (found, more) = try await explanationsIfAny(part, reader)
      rows += found
      isCut = isCut || more
    }
    return (rows, isCut)
  }

  /// None where the coordinator finds no such operations, which it refuses.
  private func explanationsIfAny(
    _ selection: Selection, _ reader: Reader
  ) async throws -> (rows: [Explanation], more: Bool) {
    do {
      return try await reader.explanations(selection)
    } catch let error as ClientError {
      guard case .refused(let refusal) = error.kind, refusal.code == .unknownOperation else {
        throw error
      }
      return ([], false)
    }
  }

  /// The coordinator's sentences, with the ended attempts of the history if the operations are few.
  private func explainOperations(
    _ selection: Selection, _ reader: Reader, _ console: Console
  ) async throws {
    let (found, more) =
      selection.operation == nil && filters.isEmpty
      ? try await worstFirst(selection, reader) : try await reader.explanations(selection)
    guard !found.isEmpty else { throw await reader.nothing(selector, selection) }
    // The history of an operation is the reason why it is in line again.
    let rows = try await reader.withAttempts(found, selection)
    switch console.format {
    case .table: try console.writeLines(whyPage(rows, console.outputStyle))
    case .name: try console.writeLines(rows.map { safe($0.shown) })
    case .json, .jsonl:
      var listing = JSONListing("explanations", format: console.listFormat)
      for row in rows { listing.row { $0.fields(of: row) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
    if more { console.say("… and more: name fewer operations, or use --state") }
  }
}
