// The last output lines of each operation of a small graph, printed as by `logs`. Used by `run -m`
// after the graph's end.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

enum ShownOutput {
  /// Maximum number of operations; a larger graph shows nothing.
  static let operations = 10
  /// Lines of each stream of each operation.
  static let lines: UInt32 = 100

  static func show(_ row: GraphRow, _ reader: Reader, _ console: Console) async throws {
    let total = row.counts.total
    guard console.format == .table, (1...UInt32(operations)).contains(total) else { return }
    let (rows, _) = try await reader.firstOperations(.graph(row.graph), limit: operations)
    let printer = LogPrinter(console, isPrefixed: total > 1, isSplit: true)
    for row in rows where row.attempt > 0 {
      let tail = LogTail(row, streams(of: row), attempt: row.attempt)
      // An unreadable log is no failure of the graph.
      guard (try? await tail.skip(toLast: lines, reader)) != nil else { continue }
      _ = try await tail.drain(reader, printer)
      try printer.flush()
    }
  }

  /// Leaves out the stderr of a failed operation: its failure page shows it.
  private static func streams(of row: OperationRow) -> [LogStream] {
    let hasCard = row.outcome.map { [.failed, .timedOut, .lost].contains($0) } ?? false
    return hasCard && row.result?.diagnostic.isEmpty == false
      ? [.standardOutput] : [.standardOutput, .standardError]
  }
}
