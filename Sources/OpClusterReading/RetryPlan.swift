// Computes the operations that a new graph takes over from an ended one: the succeeded ones,
// without those that run again and all their dependents. Values only.

package import OpClusterModel
import OpClusterQueries

package struct RetryPlan {
  private let outline: GraphOutline
  /// Raw outcomes by index; 0 for none.
  private let outcomes: [UInt8]

  package init(_ submission: GraphSubmission, _ outcomes: [UInt8], of graph: GraphID) {
    outline = GraphOutline(submission, graph: graph)
    self.outcomes = outcomes
  }

  /// `chosen` nil means the whole graph; with `onlyFailed`, its operations that did not succeed.
  package func reused(again chosen: Set<UInt32>?, onlyFailed: Bool) -> OperationRuns {
    var runs = OperationRuns(graph: outline.graph)
    // The whole graph again: nothing is taken over.
    guard chosen != nil || onlyFailed else { return runs }
    let isAgain = chosen.map(withDependents) ?? []
    for (index, outcome) in outcomes.enumerated() where outcome == Outcome.succeeded.rawValue {
      if index < isAgain.count, isAgain[index] { continue }
      runs.append(UInt32(index))
    }
    return runs
  }

  /// Marks by index the chosen operations and all their direct and indirect dependents. A walk
  /// along edges that takes each operation once. A whole-array edge marks its dependents at the
  /// first element that reaches it, so that arrays cost their sum and not their product. Indices
  /// beyond the graph are passed over: both lists come from the network.
  private func withDependents(_ chosen: Set<UInt32>) -> [Bool] {
    let submission = outline.submission
    var marks = Array(repeating: false, count: Int(outline.operationCount))
    var work = chosen.filter { $0 < UInt32(marks.count) }.sorted()
    for index in work { marks[Int(index)] = true }
    func reach(_ index: UInt32) {
      guard index < UInt32(marks.count), !marks[Int(index)] else { return }
      marks[Int(index)] = true
      work.append(index)
    }
    var edges: [[GroupEdge]] = Array(repeating: [], count: submission.templates.count)
    for edge in submission.groupEdges where Int(edge.from) < edges.count {
      edges[Int(edge.from)].append(edge)
    }
    let singles = singleEdges()
    var isWhole = Array(repeating: false, count: edges.count)
    while let index = work.popLast() {
      for to in singles[index] ?? [] { reach(to) }
      guard let stage = outline.stage(of: index) else { continue }
      for edge in edges[stage] where Int(edge.to) < edges.count {
        let to = Int(edge.to)
        let dependents = outline.indices(of: to)
        if edge.match == .sameIndex {
          reach(dependents.lowerBound + (index - outline.indices(of: stage).lowerBound))
        } else if !isWhole[to] {
          isWhole[to] = true
          for dependent in dependents { reach(dependent) }
        }
      }
    }
    return marks
  }

  /// The operations that wait for a single operation, by its index.
  private func singleEdges() -> [UInt32: [UInt32]] {
    let edges = outline.submission.elementEdges
    var found: [UInt32: [UInt32]] = [:]
    for (from, to) in zip(edges.from, edges.to) { found[from, default: []].append(to) }
    return found
  }
}

extension OperationRuns {
  /// Operations in all runs.
  package var count: Int { (0..<runCount).reduce(0) { $0 + run($1).count } }
}
