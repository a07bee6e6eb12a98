// What a graph that does another one again took over: where it ran, so that its page and its logs
// can be shown. Known once the graph has ended; the coordinator gives submissions of no other.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Looks up where operations ran that their graph only took over.
struct TakenOver {
  private let reader: Reader
  private var known: [GraphID: ContinuedGraph?] = [:]

  /// Graphs in a row, each doing the one before again.
  private static let generations = 20

  init(_ reader: Reader) { self.reader = reader }

  /// Whether a row looks like that: it succeeded without having run.
  static func isPossible(_ row: OperationRow) -> Bool {
    row.outcome == .succeeded && row.attempt == 0
  }

  /// The operation that ran in place of this one; nil where none did, or nobody knows.
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
  /// Whether an operation is in one of the runs.
  fileprivate func holds(_ index: UInt32) -> Bool {
    (0..<runCount).contains { run($0).contains(index) }
  }
}
