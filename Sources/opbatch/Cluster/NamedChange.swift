// Sends one change of one queue or worker and reports its success.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

extension Command {
  /// - Parameters:
  ///   - kind: `queue` or `worker`: shown to people, and the key of the JSON.
  ///   - words: The new state for people: `takes work`.
  func changeNamed(
    _ kind: String, _ name: String, _ words: String, _ request: ClientRequest, _ console: Console
  ) async throws -> ExitStatus {
    try await withConnection { connection in
      _ = try await ask(connection, request)
      switch console.format {
      case .name: try console.writeLine(name)
      case .table: try console.writeLine("\(kind) \(safe(name)) \(words)")
      case .json, .jsonl:
        try console.write(jsonDocument { json in json.object(kind) { $0.field("name", name) } })
      }
      return .success
    }
  }
}
