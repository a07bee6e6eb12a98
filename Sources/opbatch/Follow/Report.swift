// `opbatch report`: one document about a graph, for e-mails and papers. It is made in
// OpClusterPresentation; this asks for the rows and writes the file.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

/// Needs the right to read (G36).
struct Report: Command {
  static let configuration = CommandConfiguration(
    abstract: "Write a report of a graph as one HTML file.",
    discussion: """
      What ran where and how long, what failed with the end of its stderr, plots, the critical \
      path, the commands. The file has no scripts and fetches nothing: send it, or print it on A4.

      Examples:
        opbatch report last -o report.html
        opbatch report 12 --manifest tiles.yaml -o report.html
      """)

  @Argument(help: ArgumentHelp("A graph: 12, last, last~1.", valueName: "selector"))
  var selector: String

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("The file; without it, stdout.", valueName: "file"), completion: .file())
  var file: String?

  @Option(
    help: ArgumentHelp("A file to include, as it was submitted.", valueName: "file"),
    completion: .file())
  var manifest: String?

  @OptionGroup(title: "Common options") var place: ConnectionOptions

  var global: GlobalOptions { place.global }

  /// Names of which the command is shown.
  private static let mostCommands = 50

  func perform(_ console: Console) async throws -> ExitStatus {
    // First what can be wrong here.
    let manifest = try manifest.map { try ManifestSource(path: $0, parameters: []).text() }
    let html = try await withConnection { connection in
      let reader = reader(connection)
      var report = try await reader.report(
        try await reader.oneGraph(selector), commands: Self.mostCommands)
      report.manifest = manifest
      report.versions = [
        "opbatch \(Build.version)", "coordinator \(connection.welcome.build)",
      ]
      return report.html()
    }
    try console.deliver(Array(html.utf8), to: file)
    return .success
  }
}

extension Reader {
  /// The report of a graph. Reads all of its operations, a page at a time; once more each that was
  /// tried again, and the first of each name.
  fileprivate func report(_ graph: GraphID, commands: Int) async throws -> GraphReport {
    let structure = try await structure(graph)
    var report = GraphReport(
      structure, try await submissionIfKnown(graph),
      now: WallTime(milliseconds: WallClock.now()))
    var firsts = Set(structure.stages.prefix(commands).filter { $0.count > 0 }.map(\.firstIndex))
    try await operations(.graph(graph)) { rows, _ in
      for row in rows {
        let isFirst = firsts.remove(row.id.index) != nil
        guard isFirst || GraphTrace.hasEarlierAttempts(row) else {
          report.include(row)
          continue
        }
        let full = try await inFull(row)
        report.include(full)
        if isFirst, let line = full.shownCommand { report.addWork(row.name, line) }
      }
      return true
    }
    return report
  }
}
