// Shared by the queue commands: reads the rows, shows them, sends one change.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

extension Command {
  /// Runs `body`. Offers a near name if the coordinator does not know the queue. Asks for the names
  /// only after a refusal: the usual case costs no second request.
  func namingQueue<Value>(
    _ name: String, _ connection: ClusterConnection, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch let error as ClientError {
      guard case .refused(let refusal) = error.kind, refusal.code == .unknownQueue,
        let rows = try? await queueRows(connection)
      else { throw error }
      // One mistyped letter is the usual reason.
      let near = nearest(name, among: rows.map(\.settings.name))
      throw Failure(
        .nothingSelected, code: "unknown_queue", "there is no queue '\(safe(name))'",
        hint: near.map { "did you mean '\($0)'?" } ?? "'opbatch queue ls' lists the queues")
    }
  }

  /// Each page is a request of its own, with the `--timeout` of each.
  func queueRows(_ connection: ClusterConnection) async throws -> [QueueRow] {
    try await allQueues { try await ask(connection, $0) }
  }

  /// The rows in the format of `-o`, in the order of their numbers.
  func showQueues(_ rows: [QueueRow], _ console: Console) throws {
    switch console.format {
    case .table:
      let style = console.outputStyle
      for line in queueTable(rows, style).lines(style) { try console.writeLine(line) }
    case .name: for row in rows { try console.writeLine(row.settings.name) }
    case .json, .jsonl:
      var listing = JSONListing("queues", format: console.format == .json ? .json : .jsonl)
      for row in rows { listing.row { $0.fields(of: row) } }
      listing.end()
      try console.write(bytes: listing.take())
    }
  }
}

/// A quality of service on the command line. The words are those of a manifest.
enum ServiceWord: String, CaseIterable, ExpressibleByArgument, Sendable {
  case background, utility, `default`
  case userInitiated = "user-initiated"
  case userInteractive = "user-interactive"

  var value: QualityOfService {
    switch self {
    case .background: .background
    case .utility: .utility
    case .default: .default
    case .userInitiated: .userInitiated
    case .userInteractive: .userInteractive
    }
  }
}

/// `4` or `unlimited`.
struct QueueLimit: ExpressibleByArgument, Sendable {
  var value: QueueChange.Limit

  // 0 is a limit, too. A minus sign and `-1` are refused: the word says it.
  init?(argument: String) {
    if argument == "unlimited" {
      value = .unlimited
    } else {
      guard let count = UInt32(argument) else { return nil }
      value = .atMost(count)
    }
  }
}
