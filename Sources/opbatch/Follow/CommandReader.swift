// Requests of commands: the reader of the connection, and what selectors name.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

extension Command {
  func reader(_ connection: ClusterConnection) -> Reader {
    Reader(connection: connection, timeout: global.timeout?.duration)
  }
}

extension Reader {
  /// The only graph that a selector names.
  func oneGraph(_ selector: String) async throws -> GraphID {
    let rows = try await allGraphs(try Selectors.graphs(selector))
    guard let row = rows.first else { throw Failure.nothingSelected(selector) }
    // The number is in the message, so that the user sees how wide the selector is.
    guard rows.count == 1 else {
      throw Failure.usage(
        "'\(safe(selector))' names \(shownCount(rows.count, "graph"))", hint: "name one of them")
    }
    return row.graph
  }

  /// Returns the lines of an operation's page, with its command, attempts and blocks.
  func page(_ row: OperationRow, _ style: Style) async throws -> [String] {
    let opened = try await firstOpened(.operation(row), limit: 1).rows
    let full = opened.rows.first ?? row
    var takenOver = TakenOver(self)
    let source = TakenOver.isPossible(full) ? try await takenOver.source(of: full) : nil
    return operationPage(
      full, command: full.shownCommand, blocks: opened.blocks[full.id] ?? [],
      files: opened.files[full.id] ?? [],
      source: source.map { OperationPath($0) }, style)
  }
}

extension Console {
  package var listFormat: ListFormat { format == .jsonl ? .jsonl : .json }
}
