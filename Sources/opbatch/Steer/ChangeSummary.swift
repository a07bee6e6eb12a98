// Shared by hold, release and set: sends one change per selector and reports the results.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// The result of changing one selector's operations. The coordinator counts; nothing is listed one
/// by one.
struct ChangeSummary {
  var what: String
  var changed: UInt32
  /// The change came too late, or the operations had that value before.
  var unchanged: UInt32

  /// `verb` is a participle: `held`, `changed`.
  func sentence(_ verb: String) -> String {
    // Nothing at all is told as `0 changed`, so that no line is empty.
    let done = changed > 0 || unchanged == 0 ? ["\(shownCount(changed)) \(verb)"] : []
    let late = unchanged > 0 ? ["\(shownCount(unchanged)) as before"] : []
    return "\(safe(what)): " + (done + late).joined(separator: ", ")
  }
}

extension Command {
  /// Reads all selectors, then sends the requests that `requests` makes of each.
  ///
  /// - Parameter remark: Prints further remarks after all changes.
  func changeOperations(
    _ selectors: [String], _ filters: SelectionFilters, verb: String, _ console: Console,
    remark: (Reader, [Selection]) async throws -> Void = { _, _ in },
    _ requests: (OperationTarget) -> [ClientRequest]
  ) async throws -> ExitStatus {
    let selections = try selectors.map { try filters.selection($0) }
    return try await withConnection { connection in
      _ = try await oneAfterAnother(
        Array(zip(selectors, selections)), show: { try show($0, verb, console) }
      ) { text, selection in
        var result = ChangeSummary(what: text, changed: 0, unchanged: 0)
        for request in requests(.selection(selection)) {
          let reply = try await reader(connection).naming(text, selection) {
            try await ask(connection, request)
          }
          guard case .changed(let changed, let unchanged) = reply else {
            throw Failure.unexpectedReply(verb)
          }
          // Two settings of one selector change the same operations: the larger number is of
          // operations, a sum would be of changes.
          result.changed = max(result.changed, changed)
          result.unchanged = max(result.unchanged, unchanged)
        }
        return result
      }
      try await remark(reader(connection), selections)
      return .success
    }
  }

  private func show(_ results: [ChangeSummary], _ verb: String, _ console: Console) throws {
    switch console.format {
    case .name: try console.writeLines(results.map(\.what))
    case .table: try console.writeLines(results.map { $0.sentence(verb) })
    case .json, .jsonl:
      var listing = JSONListing(verb, format: console.listFormat)
      for result in results {
        listing.row { json in
          json.field("selector", result.what)
          json.field("changed", result.changed)
          json.field("unchanged", result.unchanged)
        }
      }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }
}
