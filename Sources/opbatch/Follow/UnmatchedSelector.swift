// The message for a selector that matches nothing: the coordinator knows only that nothing matches,
// so this offers the name that may have been meant.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

extension Reader {
  /// Runs `body`. If the coordinator finds nothing for `text`, throws the command's failure with a
  /// near name of the graph's operations, if there is one.
  func naming<Value>(
    _ text: String, _ selection: Selection, _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      return try await body()
    } catch let error as ClientError {
      guard case .refused(let refusal) = error.kind,
        [.unknownGraph, .unknownOperation].contains(refusal.code)
      else { throw error }
      throw await nothing(text, selection)
    }
  }

  /// Returns the failure for a selector that matched nothing. Costs two requests, after a failure
  /// only. An error of these is ignored: the first message is true without the hint. Near names are
  /// offered only where the selector means exactly one graph.
  func nothing(_ text: String, _ selection: Selection) async -> Failure {
    var failure = Failure.nothingSelected(text)
    let graphs = Selection(graphs: selection.graphs)
    guard let rows = try? await allGraphs(graphs), let row = rows.first, rows.count == 1 else {
      return failure
    }
    guard let wanted = selection.operation else {
      let isFiltered =
        !selection.states.isEmpty || !selection.labels.isEmpty || selection.queue != nil
      failure.message =
        isFiltered
        ? "nothing matches '\(safe(text))' with these filters"
        : "graph \(row.graph.number) has no operations"
      // Nothing can be advised about a graph without operations.
      guard isFiltered else {
        failure.hint = ""
        return failure
      }
      failure.hint = "graph \(row.graph.number) has \(row.counts.sentence())"
      return failure
    }
    guard let stages = try? await structure(row.graph).stages else { return failure }
    if let stage = stages.first(where: { $0.name == wanted }) {
      failure.hint = Self.elements(of: stage, graph: row.graph)
    } else if let near = nearest(wanted, among: stages.map(\.name)) {
      failure.hint = "did you mean '\(row.graph.number)/\(safe(near))'?"
    } else if stages.count <= 12 {
      let names = stages.map { safe($0.name) }.joined(separator: ", ")
      failure.hint = "the operations of graph \(row.graph.number) are \(names)"
    }
    return failure
  }

  /// The operation exists, so its elements or states do not match.
  private static func elements(of stage: GraphStructure.Stage, graph: GraphID) -> String {
    let path = "\(graph.number)/\(safe(stage.name))"
    guard stage.isArray else { return "\(path) is not an array: \(stage.counts.sentence())" }
    let first = stage.shownIndex(ofElement: 0)
    let last = stage.shownIndex(ofElement: max(stage.count, 1) - 1)
    return "the elements of \(path) go from \(first) to \(last): \(stage.counts.sentence())"
  }
}
