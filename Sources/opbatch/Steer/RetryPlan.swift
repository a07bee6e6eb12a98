// Which operations of an ended graph a new one takes over: those that succeeded, but for what is to
// run again and all that depends on it. Values only.

import OpClusterModel

struct RetryPlan {
  private let submission: GraphSubmission
  /// Raw outcomes by index; 0 for none.
  private let outcomes: [UInt8]
  private let graph: GraphID
  /// Index of the first operation of each template.
  private let firsts: [UInt32]

  init(_ submission: GraphSubmission, _ outcomes: [UInt8], of graph: GraphID) {
    self.submission = submission
    self.outcomes = outcomes
    self.graph = graph
    var next: UInt32 = 0
    firsts = submission.templates.map { template in
      defer { next += template.count }
      return next
    }
  }

  /// `chosen` nil: the whole graph, which with `onlyFailed` is what did not succeed.
  func reused(again chosen: Set<UInt32>?, onlyFailed: Bool) -> OperationRuns {
    var runs = OperationRuns(graph: graph)
    guard chosen != nil || onlyFailed else { return runs }
    let isAgain = chosen.map(withDependents) ?? []
    for (index, outcome) in outcomes.enumerated() where outcome == Outcome.succeeded.rawValue {
      if index < isAgain.count, isAgain[index] { continue }
      runs.append(UInt32(index))
    }
    return runs
  }

  /// By index: whether it is chosen, or depends on what is, directly or through others.
  private func withDependents(_ chosen: Set<UInt32>) -> [Bool] {
    var marks = Array(repeating: false, count: submission.operationCount)
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
      let stage = stage(of: index)
      for edge in edges[stage] where Int(edge.to) < firsts.count {
        let to = Int(edge.to)
        if edge.match == .sameIndex {
          reach(firsts[to] + (index - firsts[stage]))
        } else if !isWhole[to] {
          isWhole[to] = true
          for dependent in 0..<submission.templates[to].count { reach(firsts[to] + dependent) }
        }
      }
    }
    return marks
  }

  /// Who waits for a single operation, by its index.
  private func singleEdges() -> [UInt32: [UInt32]] {
    let edges = submission.elementEdges
    var found: [UInt32: [UInt32]] = [:]
    for (from, to) in zip(edges.from, edges.to) { found[from, default: []].append(to) }
    return found
  }

  /// The last template that begins at or before an index; empty ones begin where the next does.
  private func stage(of index: UInt32) -> Int {
    var low = 0
    var high = firsts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if firsts[middle] <= index { low = middle } else { high = middle }
    }
    return low
  }
}

extension OperationRuns {
  /// Operations in all runs.
  var count: Int { (0..<runCount).reduce(0) { $0 + run($1).count } }
}
