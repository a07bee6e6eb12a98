// Rows and explanations of one ended graph's operations, from its documents in the history. On the
// reader's thread.

import OpClusterModel
import OpClusterQueries
import OpClusterWire

struct EndedGraphPage {
  private let view: EndedGraphView
  private let filter: OperationFilter

  /// nil if the graph's documents do not exist.
  init?(_ graph: GraphID, _ filter: OperationFilter, _ reader: inout HistoryReader) throws {
    guard let outline = try reader.outline(of: graph),
      let outcomes = try reader.document(.outcomes, of: graph),
      let row = try reader.document(.row, of: graph)
    else { return nil }
    let ended = try DocumentKind.outcomes(in: outcomes)
    reader.willLook(at: ended.operationCount)
    view = EndedGraphView(
      outline, outcomes: ended.outcomes, submittedAt: try Wire.decodeGraphRow(row).submittedAt,
      outside: ended.outcomes.contains(Outcome.skipped.rawValue)
        ? try Self.outsideOutcomes(outline, &reader) : [:])
    self.filter = filter
  }

  /// The outcomes of dependencies in other graphs.
  private static func outsideOutcomes(
    _ outline: GraphOutline, _ reader: inout HistoryReader
  ) throws -> [OperationID: Outcome] {
    var outside: [OperationID: Outcome] = [:]
    for edge in outline.submission.externalEdges.prefix(outsideLimit) {
      guard outside[edge.from] == nil,
        let document = try reader.document(.outcomes, of: edge.from.graph)
      else { continue }
      let other = try DocumentKind.outcomes(in: document)
      guard edge.from.index < other.operationCount else { continue }
      outside[edge.from] = EndedGraphView.outcome(of: edge.from.index, in: other.outcomes)
    }
    return outside
  }

  /// The limit of external edges that are looked up for the reasons of skipped operations.
  private static let outsideLimit = 1_000

  /// The rows of the selection with an index of at least `first`, ascending.
  func rows(from first: UInt32, limit: Int) -> [OperationRow] {
    view.rows(filter, from: first, limit: limit)
  }

  func explanation(of row: OperationRow) -> Explanation { view.explanation(of: row) }
}
