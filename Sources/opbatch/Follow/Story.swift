// `opbatch story`: every recorded line about an operation, from its submission on.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Events first, then the page of `show`, so that the end of the
/// output is the present.
struct Story: Command {
  static let configuration = CommandConfiguration(
    abstract: "Tell everything that is recorded about operations.",
    discussion: "Example: opbatch story 12/align/3")

  @Argument(help: ArgumentHelp("12/align/3, 12/align.", valueName: "selector"))
  var selector: String

  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// Maximum number of operations whose present state follows the events.
  private static let maximumPages = 20

  /// Events from the first one on, so that the journal's whole log may be searched; `events
  /// --since` is quicker. Events that the log has let go are missing at the beginning.
  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try Selectors.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      let (rows, more) = try await reader.naming(selector, selection) {
        try await reader.firstOperations(selection, limit: Self.maximumPages)
      }
      guard !rows.isEmpty else { throw await reader.nothing(selector, selection) }
      var printer = EventPrinter(console, NameBook(reader))
      let subscription = EventSubscription(
        number: 1, selection: selection, since: 0, backlogOnly: true)
      for try await batch in connection.events(subscription) {
        try await printer.show(batch.events)
      }
      // Programs asked for events; a page of text would break their lines.
      guard console.format == .table else { return .success }
      for row in rows {
        try console.writeLine("")
        try console.writeLines(try await reader.page(row, console.outputStyle))
      }
      if more { console.say("… and more: opbatch ls \(safe(selector))") }
      return .success
    }
  }
}
