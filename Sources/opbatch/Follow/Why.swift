// `opbatch why`: why an operation waits, was skipped, was retried, or can never run.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation

struct Why: Command {
  static let configuration = CommandConfiguration(
    abstract: "Explain why operations are where they are.",
    discussion: """
      Examples:
        opbatch why 12/align/3
        opbatch why last --state waiting
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align, 12/align/3.", valueName: "selector"))
  var selector: String

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try filters.selection(selector)
    let (rows, more) = try await withConnection { connection in
      let reader = reader(connection)
      return try await reader.naming(selector, selection) {
        let found = try await reader.explanations(selection)
        guard !found.rows.isEmpty else { throw await reader.nothing(selector, selection) }
        return found
      }
    }
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
    return .success
  }
}
