// `opbatch rm`: removes the records of ended graphs from the journal. Their numbers are not used
// again. Graphs that are removed can neither be cited nor run again (S27).

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to change the graphs (G36). Keys of submissions stay until their own time, so
/// that a late repetition makes no second graph (G19).
struct Remove: Command {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove graphs that have ended.",
    discussion: """
      Their history and their outputs leave the journal, and no list shows them any more. The logs \
      that workers keep go when the workers let them go. Of 'all', what has not ended stays; a \
      graph that is named by its number and has not ended is refused.

      Examples:
        opbatch rm 12,14-20
        opbatch rm all --name 'test*' --since 1d
      """)

  @Argument(help: ArgumentHelp("Which graphs: 12, 12,14-20, last, all.", valueName: "selector"))
  var selectors: [String]

  @OptionGroup var filters: GraphFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// All graphs are chosen before the first is removed. They go in requests of a thousand, each of
  /// which is removed as a whole or not at all.
  func perform(_ console: Console) async throws -> ExitStatus {
    let selections = try selectors.map { try Selectors.graphs($0) }
    return try await withConnection { connection in
      var chosen: Set<GraphID> = []
      for (text, selection) in zip(selectors, selections) {
        var rows = try await reader(connection).allGraphs(selection)
        guard !rows.isEmpty else { throw Failure.nothingSelected(text) }
        filters.keep(&rows, now: console.outputStyle.now)
        // Somebody who says `all` means what can be removed; somebody who names a graph wants to
        // know that it has not ended.
        if selection.isOpen { rows.removeAll { GraphOutcome($0.state) == nil } }
        // A graph that two selectors name is removed once.
        chosen.formUnion(rows.map(\.graph))
      }
      let graphs = chosen.sorted()
      let starts = Array(stride(from: 0, to: graphs.count, by: Limits.graphsPerRemoval))
      _ = try await oneAfterAnother(
        starts, show: { try show($0.flatMap { $0 }, console) }
      ) { start in
        let part = Array(graphs[start...].prefix(Limits.graphsPerRemoval))
        guard case .changed = try await ask(connection, .removeGraphs(part)) else {
          throw Failure.unexpectedReply("rm")
        }
        return part
      }
      return .success
    }
  }

  /// The numbers that were removed, ascending.
  private func show(_ graphs: [GraphID], _ console: Console) throws {
    switch console.format {
    case .table:
      try console.writeLine(
        graphs.isEmpty ? "nothing to remove" : "removed \(shownCount(graphs.count, "graph"))")
    case .name: try console.writeLines(graphs.map { "\($0.number)" })
    case .json, .jsonl:
      var listing = JSONListing("removed", format: console.listFormat)
      for graph in graphs { listing.row { $0.field("id", graph.number) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }
}

extension Selection {
  /// The selection names no graph.
  fileprivate var isOpen: Bool { if case .all = graphs { true } else { false } }
}
