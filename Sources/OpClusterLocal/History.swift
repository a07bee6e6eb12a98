// What is remembered of operations that have ended, in memory and bounded: the newest graphs with
// their submissions and outcomes, and what the attempts of their operations came to. Stepper only.

import DequeModule
import OpClusterModel
import OpClusterScheduling

struct History: Sendable {
  /// Submissions of living graphs.
  private var submissions: [GraphID: GraphSubmission] = [:]
  private var ended: [GraphID: EndedGraphMemory] = [:]
  private var order: Deque<GraphID> = []
  /// Oldest first; of living graphs, too.
  private var attempts: [OperationID: [AttemptHistory]] = [:]
  private var attemptOrder: Deque<OperationID> = []
  private var bytes = 0
  private(set) var newest = GraphID(0)

  /// Graphs, and results of attempts, that are remembered.
  static let endings = 10_000
  /// Of both together, by estimate.
  static let maximumBytes = 64 << 20

  /// Takes in what a turn left.
  mutating func take(_ turn: borrowing Turn) {
    for accepted in turn.submissions {
      submissions[accepted.graph] = accepted.submission
      newest = max(newest, accepted.graph)
    }
    for attempt in turn.history { remember(attempt) }
    for ending in turn.endings {
      let graph = ending.structure.row.graph
      guard let submission = submissions.removeValue(forKey: graph) else { continue }
      let memory = EndedGraphMemory(graph: graph, submission: submission, ending: ending)
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

  private mutating func forgetOldest() {
    guard let oldest = order.popFirst(), let memory = ended.removeValue(forKey: oldest) else {
      return
    }
    bytes -= memory.weight
  }

  // MARK: - Asking

  func living(_ graph: GraphID) -> GraphSubmission? { submissions[graph] }
  func graph(_ graph: GraphID) -> EndedGraphMemory? { ended[graph] }

  /// The ended graphs that a selection means, ascending.
  func graphs(_ selection: Selection) -> [EndedGraphMemory] {
    switch selection.graphs {
    case .active: return []
    case .all: return order.sorted().compactMap { ended[$0] }
    case .last(let back):
      guard back < newest.number else { return [] }
      return ended[GraphID(newest.number - back)].map { [$0] } ?? []
    case .numbers(let ranges):
      if ranges.count == 1, ranges[0].first == ranges[0].last {
        return ended[ranges[0].first].map { [$0] } ?? []
      }
      return order.sorted().filter { graph in
        ranges.contains { $0.first <= graph && graph <= $0.last }
      }.compactMap { ended[$0] }
    }
  }

  /// Adds what the operation's attempts came to; each of them where the row is the only one.
  func addAttempts(to row: inout OperationRow, isSingle: Bool = true) {
    guard let known = attempts[row.id], let newest = known.last else { return }
    if isSingle { row.attempts = known }
    if row.isFinished {
      row.result = newest.result
      row.attempt = max(row.attempt, newest.run)
      if row.reason == nil { row.reason = newest.reason }
    }
  }

  func explanation(of row: OperationRow) -> Explanation {
    var row = row
    addAttempts(to: &row)
    var lines: [String] = []
    if let result = row.result, !result.isSuccess, !result.diagnostic.isEmpty {
      lines.append("attempt \(row.attempt) said: \(result.diagnostic)")
    }
    lines.append("it has ended: \(row.state.rawValue)")
    let path = "\(row.id.graph.number)/\(row.name)"
    return Explanation(
      operation: row.id, shown: row.index.map { "\(path)/\($0)" } ?? path, state: row.state,
      lines: lines)
  }
}

/// One graph that has ended.
struct EndedGraphMemory: Sendable {
  var graph: GraphID
  var submission: GraphSubmission
  var ending: GraphEnding

  /// Explanations of one answer.
  static let explained = 100

  /// Bytes, by estimate.
  var weight: Int {
    submission.templates.reduce(1_024 + ending.outcomes.count) {
      $0 + 768 + $1.payload.count + $1.elementArguments.bytes.count + $1.name.utf8.count
    } + submission.elementEdges.count * 9 + submission.groupEdges.count * 10
  }

  func matchesAsGraph(_ selection: Selection) -> Bool {
    let row = ending.structure.row
    let isWanted =
      selection.states.isEmpty || selection.states.contains { $0.rawValue == row.state.rawValue }
    return isWanted && selection.labels.allSatisfy { row.labels.contains($0) }
  }

  /// The operations that are meant, ascending.
  func rows(_ selection: Selection, after: OperationID?, limit: Int) -> [OperationRow] {
    var rows: [OperationRow] = []
    for (template, stage) in zip(submission.templates, ending.structure.stages) {
      if let name = selection.operation, name != template.name { continue }
      if let queue = selection.queue, queue != stage.queue { continue }
      if let priority = selection.priority, priority != template.priority { continue }
      guard
        selection.labels.allSatisfy({
          template.labels.contains($0) || submission.labels.contains($0)
        })
      else { continue }
      for element in 0..<template.count where rows.count < limit {
        let id = OperationID(graph: graph, index: stage.firstIndex + element)
        if let after, id <= after { continue }
        let shown = template.shownIndex(ofElement: element)
        guard selection.elements.isEmpty || selection.elements.contains(where: { $0.has(shown) })
        else { continue }
        let row = row(id, template, stage, shown)
        if selection.states.isEmpty || selection.states.contains(row.state) { rows.append(row) }
      }
    }
    return rows
  }

  private func row(
    _ id: OperationID, _ template: OperationTemplate, _ stage: GraphStructure.Stage,
    _ shown: UInt32
  ) -> OperationRow {
    let outcome = Outcome(rawValue: ending.outcomes[Int(id.index)]) ?? .lost
    var row = OperationRow(
      id: id, name: template.name, index: template.isArray ? shown : nil,
      state: StateWord(outcome))
    row.isReady = true
    row.isFinished = true
    row.isCancelled = outcome == .cancelled || outcome == .skipped
    row.outcome = outcome
    row.queue = stage.queue
    row.priority = template.priority
    row.qos = template.qos ?? .default
    row.submittedAt = ending.submittedAt
    return row
  }
}

extension IndexRun {
  fileprivate func has(_ number: UInt32) -> Bool {
    let step = max(step, 1)
    return number >= first && (number - first) % step == 0 && (number - first) / step < count
  }
}

extension AttemptHistory {
  /// Bytes, by estimate.
  fileprivate var weight: Int { 512 + result.output.count + result.diagnostic.utf8.count }
}
