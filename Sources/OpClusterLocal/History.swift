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
  /// How operations ended that no attempt ended, by graph, oldest first; of living graphs, too.
  private var unattempted: [GraphID: [AttemptHistory]] = [:]
  private var bytes = 0
  private(set) var newest = GraphID(0)

  /// Graphs, and results of attempts, that are remembered.
  static let endings = 10_000
  /// Of both together, by estimate.
  static let maximumBytes = 64 << 20

  /// Takes in what a turn left.
  mutating func take(_ turn: borrowing Turn) {
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
      let graph = turn.endings[at].structure.row.graph
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

  /// Adds what the operation's attempts came to; the list of them only to a single row.
  func addAttempts(to row: inout OperationRow, isSingle: Bool) {
    if let known = attempts[row.id], let newest = known.last {
      if isSingle { row.attempts = known }
      if row.isFinished {
        row.result = newest.result
        row.attempt = max(row.attempt, newest.run)
        row.workerName = newest.workerName
        if row.reason == nil, row.isCancelled { row.reason = newest.reason }
        row.readyAt = newest.readyAt
        row.startedAt = newest.result.startedAt
        row.finishedAt = newest.result.endedAt
      }
    }
    if row.isFinished, let line = end(of: row.id) {
      if let reason = line.reason { row.reason = reason }
      row.finishedAt = line.result.endedAt
    }
  }

  /// How an operation ended that no attempt ended.
  private func end(of id: OperationID) -> AttemptHistory? {
    if let ended = ended[id.graph] { return ended.unattempted(id.index) }
    return unattempted[id.graph]?.last { $0.members.contains(id.index) }
  }

  func explanation(of row: OperationRow) -> Explanation {
    var row = row
    addAttempts(to: &row, isSingle: false)
    var lines: [String] = []
    switch row.reason {
    case .dependency(let on, let outcome)?:
      lines.append(
        "\(shown(on)) ended as \(StateWord(outcome).rawValue), so its edge could never be met")
    case .request(let text)?:
      lines.append(text.isEmpty ? "somebody cancelled it" : "somebody cancelled it: \(text)")
    case .failurePolicy?:
      lines.append("the on_failure or max_failures of its graph, group or array took effect")
    case nil: break
    }
    if let result = row.result, !result.isSuccess, !result.diagnostic.isEmpty {
      lines.append("attempt \(row.attempt) said: \(result.diagnostic)")
    }
    lines.append("it has ended: \(row.state.rawValue)")
    return Explanation(
      operation: row.id, shown: shown(row.id), state: row.state, lines: lines)
  }

  /// `12/align/3`, as far as the graph is remembered.
  private func shown(_ id: OperationID) -> String {
    let submission = ended[id.graph]?.submission ?? submissions[id.graph]
    var first: UInt32 = 0
    for template in submission?.templates ?? [] {
      if id.index < first + template.count {
        let path = "\(id.graph.number)/\(template.name)"
        return template.isArray
          ? "\(path)/\(template.shownIndex(ofElement: id.index - first))" : path
      }
      first += template.count
    }
    return "\(id.graph.number)/#\(id.index)"
  }
}

/// One graph that has ended. An object: there are thousands, in tables that grow.
final class EndedGraphMemory: Sendable {
  let graph: GraphID
  let submission: GraphSubmission
  let ending: GraphEnding
  /// How operations ended that no attempt ended, ascending.
  let unattempted: [AttemptHistory]
  /// Bytes, by estimate.
  let weight: Int

  init(
    graph: GraphID, submission: GraphSubmission, ending: GraphEnding,
    unattempted: [AttemptHistory]
  ) {
    self.graph = graph
    self.submission = submission
    self.ending = ending
    self.unattempted = unattempted
    var weight = 1_024 + ending.outcomes.count + unattempted.count * 512
    for at in submission.templates.indices { weight += submission.templates[at].weight }
    weight += submission.elementEdges.count * 9 + submission.groupEdges.count * 10
    self.weight = weight
  }

  /// Explanations of one answer.
  static let explained = 100

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

  func matchesAsGraph(_ selection: Selection) -> Bool {
    let row = ending.structure.row
    let isWanted =
      selection.states.isEmpty || selection.states.contains { $0.rawValue == row.state.rawValue }
    return isWanted && selection.labels.allSatisfy { row.labels.contains($0) }
  }

  /// The operations that are meant, ascending.
  func rows(_ selection: Selection, after: OperationID?, limit: Int) -> [OperationRow] {
    var rows: [OperationRow] = []
    let numbers = ElementNumbers(selection.elements)
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
        guard numbers.contains(shown) else { continue }
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

extension AttemptHistory {
  /// Bytes, by estimate.
  fileprivate var weight: Int { 512 + result.output.count + result.diagnostic.utf8.count }
}

extension OperationTemplate {
  /// Bytes, by estimate.
  fileprivate var weight: Int {
    768 + payload.count + elementArguments.bytes.count + name.utf8.count
  }
}
