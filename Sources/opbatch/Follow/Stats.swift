// `opbatch stats`: what graphs cost and where their time went. What is said of them is made in
// OpClusterPresentation; this asks for the rows.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36).
struct Stats: Command {
  static let configuration = CommandConfiguration(
    abstract: "Show what a graph cost, and where its time went.",
    discussion: """
      For each operation name: how long they ran and waited, and how much they used of what they \
      asked for. WAITED is for a limit or a worker, once nothing else stood before. CPUS and \
      MEMORY are used/asked; memory is the most that one used. The critical path is the chain of \
      dependencies that ended last: to be faster, shorten it.

      Examples:
        opbatch stats last
        opbatch stats 12 -o json
      """)

  @Argument(help: ArgumentHelp("Graphs: 12, last, 12-15.", valueName: "selector"))
  var selector: String

  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try Selectors.graphs(selector)
    try await withConnection { connection in
      let reader = reader(connection)
      let rows = try await reader.allGraphs(selection)
      guard !rows.isEmpty else { throw Failure.nothingSelected(selector) }
      var listing = JSONListing("graphs", format: console.listFormat)
      for (at, row) in rows.enumerated() {
        let statistics = try await reader.statistics(row.graph)
        if console.wantsJSON {
          listing.row { $0.fields(of: statistics) }
          try console.write(bytes: listing.take())
        } else {
          if at > 0 { try console.writeLines([""]) }
          try console.writeLines(statisticsPage(statistics, console.outputStyle))
        }
      }
      guard console.wantsJSON else { return }
      listing.end()
      try console.write(bytes: listing.take())
    }
    return .success
  }
}

extension Reader {
  /// The statistics of a graph. Reads all of its operations, a page at a time.
  func statistics(_ graph: GraphID) async throws -> GraphStatistics {
    var statistics = GraphStatistics(
      try await structure(graph), try await submissionIfKnown(graph))
    try await operations(.graph(graph)) { rows, _ in
      for row in rows { statistics.add(row) }
      return true
    }
    return statistics
  }
}
