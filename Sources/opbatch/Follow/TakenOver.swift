// Finds where operations ran that their graph took over from an earlier graph, for their page and
// logs. Works only after the graph has ended: the coordinator gives out submissions of ended graphs
// only.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Looks up the earlier operation of one that was taken over.
struct TakenOver {
  private let reader: Reader
  private var known: [GraphID: ContinuedGraph?] = [:]

  /// Maximum length of a chain of graphs that repeat each other.
  private static let generations = 20

  init(_ reader: Reader) { self.reader = reader }

  /// Whether the row may be taken over: it succeeded without having run.
  static func isPossible(_ row: OperationRow) -> Bool {
    row.outcome == .succeeded && row.attempt == 0
  }

  /// Returns the operation that ran in place of this one; nil if there is none, or it is unknown.
  mutating func source(of row: OperationRow) async throws -> OperationRow? {
    var source = row
    for _ in 0..<Self.generations where Self.isPossible(source) {
      guard let continued = try await continued(source.id.graph),
        continued.reused.holds(source.id.index)
      else { break }
      var selection = Selection.operation(source)
      selection.graphs = Selection.graph(continued.graph).graphs
      guard let (rows, _) = try? await reader.firstOperations(selection, limit: 1),
        let found = rows.first
      else { break }
      source = found
    }
    return source.id == row.id ? nil : source
  }

  private mutating func continued(_ graph: GraphID) async throws -> ContinuedGraph? {
    if let answer = known[graph] { return answer }
    let answer = try await reader.continued(graph)
    known[graph] = .some(answer)
    return answer
  }
}

extension OperationRuns {
  /// Whether one of the runs contains an operation.
  fileprivate func holds(_ index: UInt32) -> Bool {
    (0..<runCount).contains { run($0).contains(index) }
  }
}
