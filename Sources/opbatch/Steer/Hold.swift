// `opbatch hold` and `opbatch release`: keep single operations from starting, and let them start
// again (S44).

import ArgumentParser
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Those that workers hold unstarted are recalled before the gate is closed; those that have
/// started are counted as before (S44).
struct Hold: Command {
  static let configuration = CommandConfiguration(
    abstract: "Keep operations that have not started from starting.",
    discussion: """
      What has started goes on, and others pass by. 'opbatch release' lets them go; cancelling \
      does, too.

      Examples:
        opbatch hold 12/align
        opbatch hold '12/align*' -l team=blue
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align/3, '12/align*'.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    try await changeOperations(selectors, filters, verb: "held", console) { [.hold($0, true)] }
  }
}

/// Opens the gates; an operation whose `not_before` has not come starts at once as well (S150).
struct Release: Command {
  static let configuration = CommandConfiguration(
    abstract: "Let held operations go.",
    discussion: """
      What was submitted with --hold is let go as a whole by 'opbatch resume'.

      Example: opbatch release 12/align
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align/3, '12/align*'.", valueName: "selector"))
  var selectors: [String]
  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    // A released operation of a suspended graph still does not start, which surprises people.
    let remark = { (reader: Reader, selections: [Selection]) in
      // Programs see the state of the graph in its row.
      guard console.format == .table else { return }
      for graph in await Self.suspended(selections, reader) {
        console.hint("graph \(graph) is suspended as a whole: opbatch resume \(graph)")
      }
    }
    return try await changeOperations(
      selectors, filters, verb: "released", console, remark: remark
    ) { [.hold($0, false)] }
  }

  /// The suspended graphs among the selections: they start nothing even after a release. Ignores
  /// errors.
  private static func suspended(_ selections: [Selection], _ reader: Reader) async -> [UInt32] {
    var found: Set<UInt32> = []
    for selection in selections {
      // A suspended graph has not ended.
      let graphs = selection.graphs == .all ? .active : selection.graphs
      let rows = try? await reader.allGraphs(Selection(graphs: graphs, labels: selection.labels))
      found.formUnion((rows ?? []).filter { $0.state == .suspended }.map(\.graph.number))
    }
    return found.sorted()
  }
}
