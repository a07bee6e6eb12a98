// The memory of ended operations, bounded: the newest graphs with their submissions and outcomes,
// and the results of their attempts. Stepper only.

import DequeModule
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling

struct History: Sendable {
  /// The submissions of living graphs.
  private var submissions: [GraphID: GraphSubmission] = [:]
  private var ended: [GraphID: EndedGraphMemory] = [:]
  private var order: Deque<GraphID> = []
  /// Oldest first; includes living graphs.
  private var attempts: [OperationID: [AttemptHistory]] = [:]
  private var attemptOrder: Deque<OperationID> = []
  /// The ends of operations without an attempt, by graph, oldest first; includes living graphs.
  private var unattempted: [GraphID: [AttemptHistory]] = [:]
  private var bytes = 0
  private(set) var newest = GraphID(0)

  /// The limit of remembered graphs, and of results of attempts.
  static let endings = 10_000
  /// The limit for both together, in estimated bytes.
  static let maximumBytes = 64 << 20

  /// Takes the results of a turn. Costs what the turn brought, and what has to be forgotten for it.
  mutating func take(_ turn: borrowing SchedulingTurn) {
    for at in turn.submissions.indices {
      let graph = turn.submissions[at].graph
      submissions[graph] = turn.submissions[at].submission.withoutSecrets
      newest = max(newest, graph)
    }
    for line in turn.history {
      if line.isAttempt {
        remember(line)
      } else {
        unattempted[line.attempt.operation.graph, default: []].append(line)
      }
    }
    for at in turn.endings.indices {
      let graph = turn.endings[at].row.graph
      guard let submission = submissions.removeValue(forKey: graph) else { continue }
      let lines = unattempted.isEmpty ? nil : unattempted.removeValue(forKey: graph)
      let memory = EndedGraphMemory(
        graph: graph, submission: submission, ending: turn.endings[at],
        unattempted: (lines ?? []).sorted { $0.attempt.operation < $1.attempt.operation })
      ended[graph] = memory
      order.append(graph)
      bytes += memory.weight
    }
    while order.count > History.endings || (bytes > History.maximumBytes && !order.isEmpty) {
      forgetOldest()
    }
  }

  private mutating func remember(_ attempt: AttemptHistory) {
    attempts[attempt.attempt.operation, default: []].append(attempt)
    attemptOrder.append(attempt.attempt.operation)
    bytes += attempt.weight
    while attemptOrder.count > History.endings
      || (bytes > History.maximumBytes && attemptOrder.count > 1)
    {
      guard let oldest = attemptOrder.popFirst(), let first = attempts[oldest]?.first else { break }
      bytes -= first.weight
      attempts[oldest]?.removeFirst()
      if attempts[oldest]?.isEmpty == true { attempts[oldest] = nil }
    }
  }

  /// Its attempts stay until their own turn: they are bounded apart.
  private mutating func forgetOldest() {
    guard let oldest = order.popFirst(), let memory = ended.removeValue(forKey: oldest) else {
      return
    }
    bytes -= memory.weight
  }

  // MARK: - Asking

  func living(_ graph: GraphID) -> GraphSubmission? { submissions[graph] }
  func graph(_ graph: GraphID) -> EndedGraphMemory? { ended[graph] }

  /// The ended graphs of a selection, ascending. Visits all remembered graphs, unless the selection
  /// is a single one.
  func graphs(_ selection: Selection) -> [EndedGraphMemory] {
    if selection.graphs == .active { return [] }
    let wanted = GraphSet(selection.graphs, living: GraphBitmap(), last: newest.number)
    if wanted.ranges.count == 1, wanted.openFrom == nil,
      wanted.ranges[0].lowerBound == wanted.ranges[0].upperBound
    {
      return ended[GraphID(wanted.ranges[0].lowerBound)].map { [$0] } ?? []
    }
    return order.sorted().filter { wanted.contains($0.number) }.compactMap { ended[$0] }
  }

  /// Adds the results of the operation's attempts; their list only for a single row.
  func addAttempts(to row: inout OperationRow, isSingle: Bool) {
    for line in attempts[row.id] ?? [] { row.add(line, isSingle: isSingle) }
    if row.isFinished, let line = end(of: row.id) { row.add(line, isSingle: isSingle) }
  }

  /// The end of an operation without an attempt.
  private func end(of id: OperationID) -> AttemptHistory? {
    if let ended = ended[id.graph] { return ended.unattempted(id.index) }
    return unattempted[id.graph]?.last { $0.members.contains(id.index) }
  }

  func explanation(of row: OperationRow, in graph: EndedGraphMemory) -> Explanation {
    var row = row
    addAttempts(to: &row, isSingle: false)
    return graph.view.explanation(of: row) { path(of: $0) }
  }

  /// nil if the graph is not remembered. Only for few: visits all of its stages.
  private func path(of id: OperationID) -> String? {
    if let memory = ended[id.graph] { return memory.view.path(of: id.index) }
    return submissions[id.graph].map { GraphOutline($0, graph: id.graph).path(of: id.index) }
  }
}

/// One ended graph. A class, because there are thousands in growing tables.
final class EndedGraphMemory: Sendable {
  let view: EndedGraphView
  let ending: GraphEnding
  /// The ends of operations without an attempt, ascending.
  let unattempted: [AttemptHistory]
  /// The estimated bytes.
  let weight: Int

  init(
    graph: GraphID, submission: GraphSubmission, ending: GraphEnding,
    unattempted: [AttemptHistory]
  ) {
    view = EndedGraphView(
      GraphOutline(submission, graph: graph), outcomes: ending.outcomes,
      submittedAt: ending.submittedAt)
    self.ending = ending
    self.unattempted = unattempted
    var weight = 1_024 + ending.outcomes.count + unattempted.count * 512
    for at in submission.templates.indices { weight += submission.templates[at].weight }
    weight += submission.elementEdges.count * 9 + submission.groupEdges.count * 10
    self.weight = weight
  }

  fileprivate func unattempted(_ index: UInt32) -> AttemptHistory? {
    var low = 0
    var high = unattempted.count
    while low < high {
      let middle = (low + high) / 2
      if unattempted[middle].members.upperBound <= index { low = middle + 1 } else { high = middle }
    }
    guard low < unattempted.count, unattempted[low].members.contains(index) else { return nil }
    return unattempted[low]
  }

  var graph: GraphID { view.graph }
  var submission: GraphSubmission { view.outline.submission }

  var structure: GraphStructure { submission.structure(ending.row, outcomes: ending.outcomes) }

  func matchesAsGraph(_ selection: Selection) -> Bool {
    ending.row.state.isMeant(by: selection.states)
      && OperationFilter.carries(selection.labels, view)
  }

  /// The selected operations, ascending. Without their dependencies, which the program knows; the
  /// reasons of skips are stored separately.
  func rows(_ filter: OperationFilter, after: OperationID?, limit: Int) -> [OperationRow] {
    var first: UInt32 = 0
    if let after, after.graph == graph {
      guard after.index < .max else { return [] }
      first = after.index + 1
    }
    return view.rows(filter, from: first, limit: limit, hasNeeds: false)
  }
}

extension AttemptHistory {
  /// The estimated bytes.
  fileprivate var weight: Int { 512 + result.output.count + result.diagnostic.utf8.count }
}

extension OperationTemplate {
  /// The estimated bytes.
  fileprivate var weight: Int {
    768 + payload.count + elementArguments.bytes.count + name.utf8.count
  }
}
