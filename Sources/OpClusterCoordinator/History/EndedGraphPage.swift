// The operations of one graph that has ended, as rows and sentences: its submission, its outcomes
// and its line in lists put together. On the reader's thread.

import OpClusterModel
import OpClusterWire

struct EndedGraphPage {
  private let outline: GraphOutline
  private let ended: EndedGraph
  private let row: GraphRow
  private let selection: Selection
  /// How dependencies in other graphs ended, as far as those have ended as a whole.
  private var outside: [OperationID: Outcome] = [:]

  /// nil when the graph's documents are not there.
  init?(_ graph: GraphID, _ selection: Selection, _ reader: inout HistoryReader) throws {
    guard let outline = try reader.outline(of: graph),
      let outcomes = try reader.document(.outcomes, of: graph),
      let row = try reader.document(.row, of: graph)
    else { return nil }
    self.outline = outline
    ended = try DocumentKind.outcomes(in: outcomes)
    self.row = try Wire.decodeGraphRow(row)
    self.selection = selection
    reader.willLook(at: ended.operationCount)
    guard ended.outcomes.contains(Outcome.skipped.rawValue) else { return }
    for edge in outline.submission.externalEdges.prefix(Self.outsideLimit) {
      guard outside[edge.from] == nil,
        let document = try reader.document(.outcomes, of: edge.from.graph)
      else { continue }
      let other = try DocumentKind.outcomes(in: document)
      guard edge.from.index < other.operationCount else { continue }
      outside[edge.from] = Self.outcome(of: edge.from.index, in: other)
    }
  }

  /// Edges from other graphs that are looked up for the reasons of skipped operations.
  private static let outsideLimit = 1_000

  private static func outcome(of index: UInt32, in ended: EndedGraph) -> Outcome {
    let raw = ended.outcomes.count == 1 ? ended.outcomes[0] : ended.outcomes[Int(index)]
    return Outcome(rawValue: raw) ?? .lost
  }

  private func outcome(of index: UInt32) -> Outcome {
    Self.outcome(of: index, in: ended)
  }

  /// Rows of the selection with an index of at least `first`, ascending.
  func rows(from first: UInt32, limit: Int) -> [OperationRow] {
    var found: [UInt32] = []
    // All ended alike, and not as is asked for.
    if ended.outcomes.count == 1, !isWanted(0) { return [] }
    let numbers = ElementNumbers(selection.elements)
    for stage in outline.submission.templates.indices
    where found.count < limit && outline.firsts[stage + 1] > first {
      guard outline.matches(selection, stage) else { continue }
      outline.forEachRange(of: stage, from: first, numbers) { range in
        for index in range where index < ended.operationCount && isWanted(index) {
          if found.count >= limit { return false }
          found.append(index)
        }
        return true
      }
    }
    var rows = found.compactMap { index in
      outline.stage(of: index).map { row(of: index, stage: $0) }
    }
    addNeeds(to: &rows)
    return rows
  }

  private func isWanted(_ index: UInt32) -> Bool {
    selection.states.isEmpty || selection.states.contains(StateWord(outcome(of: index)))
  }

  private func row(of index: UInt32, stage: Int) -> OperationRow {
    let template = outline.submission.templates[stage]
    let outcome = outcome(of: index)
    var row = OperationRow(
      id: OperationID(graph: outline.graph, index: index), name: template.name,
      index: outline.shownIndex(index, stage: stage), state: StateWord(outcome))
    row.isReady = true
    row.isFinished = true
    row.isCancelled = outcome == .cancelled || outcome == .skipped
    row.outcome = outcome
    let queue = outline.queue(of: stage)
    row.queue = queue.name
    row.priority = template.priority
    row.qos = template.qos ?? queue.qos
    row.submittedAt = self.row.submittedAt
    return row
  }

  // MARK: - Dependencies

  /// At most a hundred each; one on all elements of a template is named once.
  private func addNeeds(to rows: inout [OperationRow]) {
    for at in rows.indices {
      guard let stage = outline.stage(of: rows[at].id.index) else { continue }
      for edge in outline.submission.groupEdges where Int(edge.to) == stage {
        let from = outline.firsts[Int(edge.from)]
        switch edge.match {
        case .all:
          let name = outline.submission.templates[Int(edge.from)].name
          rows[at].need(
            OperationID(graph: outline.graph, index: from), "\(outline.graph.number)/\(name)",
            edge.policy)
        case .sameIndex:
          let index = from + (rows[at].id.index - outline.firsts[stage])
          rows[at].need(
            OperationID(graph: outline.graph, index: index), outline.shown(index), edge.policy)
        }
      }
    }
    addSingleNeeds(to: &rows)
    for at in rows.indices where rows[at].outcome == .skipped {
      rows[at].reason = cause(of: rows[at])
    }
  }

  private func addSingleNeeds(to rows: inout [OperationRow]) {
    let edges = outline.submission.elementEdges
    var position: [UInt32: Int] = [:]
    for at in rows.indices { position[rows[at].id.index] = at }
    for edge in 0..<edges.count {
      guard let at = position[edges.to[edge]] else { continue }
      rows[at].need(
        OperationID(graph: outline.graph, index: edges.from[edge]),
        outline.shown(edges.from[edge]), edges.policy(edge))
    }
    for edge in outline.submission.externalEdges {
      guard let at = position[edge.to] else { continue }
      rows[at].need(
        edge.from, "\(edge.from.graph.number)/#\(edge.from.index)", edge.policy)
    }
  }

  /// The dependency whose end made a skipped operation impossible, if that is still known.
  private func cause(of row: OperationRow) -> CancelReason? {
    for need in row.needs where need.id.graph == outline.graph {
      guard let stage = outline.stage(of: need.id.index) else { continue }
      let isWhole =
        need.shown == "\(outline.graph.number)/\(outline.submission.templates[stage].name)"
      for index in isWhole ? outline.indices(of: stage) : need.id.index..<(need.id.index + 1) {
        let outcome = outcome(of: index)
        if !need.policy.isSatisfied(by: outcome) {
          return .dependency(OperationID(graph: outline.graph, index: index), outcome)
        }
      }
    }
    for need in row.needs {
      guard let outcome = outside[need.id], !need.policy.isSatisfied(by: outcome) else { continue }
      return .dependency(need.id, outcome)
    }
    return nil
  }

  // MARK: - Sentences

  func explanation(of row: OperationRow) -> Explanation {
    var lines: [String] = []
    switch row.reason {
    case .dependency(let on, let outcome)?:
      let name =
        on.graph == outline.graph ? outline.shown(on.index) : "an operation of another graph"
      lines.append(
        "\(name) ended as \(StateWord(outcome).rawValue), so its edge could never be met")
    case .request(let text)?:
      lines.append(text.isEmpty ? "somebody cancelled it" : "somebody cancelled it: \(text)")
    case .failurePolicy?:
      lines.append("the on_failure or max_failures of its graph, group or array took effect")
    case nil: break
    }
    if let result = row.result, !result.isSuccess {
      lines.append(Self.sentence(result, attempt: row.attempt, worker: row.workerName))
      if !result.diagnostic.isEmpty { lines.append(result.diagnostic) }
    }
    lines.append("it has ended: \(row.state.rawValue)")
    return Explanation(
      operation: row.id, shown: outline.shown(row.id.index), state: row.state, lines: lines)
  }

  private static func sentence(
    _ result: AttemptResult, attempt: UInt32, worker: String
  ) -> String {
    let place = worker.isEmpty ? "" : " on worker \(worker)"
    let what: String
    switch result.cause {
    case .none: what = "was stopped"
    case .failed: what = "ended with exit status \(result.exitStatus)"
    case .timeout: what = "took longer than its timeout"
    case .signal: what = "was killed by signal \(result.signal)"
    case .outOfMemory: what = "ran out of memory"
    case .lost: what = "was lost with its worker"
    case .cannotStart: what = "could not be started"
    case .badArgument: what = "could not read its argument"
    case .unknownType: what = "is of a type that the worker does not have"
    case .missingInput: what = "lacked an output of a dependency"
    case .badOutput: what = "left outputs that are too large or malformed"
    case .workerStopped: what = "ended with its worker's orderly stop"
    }
    return "attempt \(attempt)\(place) \(what)"
  }
}

extension OperationRow {
  fileprivate mutating func need(_ id: OperationID, _ shown: String, _ policy: EdgePolicy) {
    // The same edge may have been submitted twice (S30).
    guard needs.count < 100, !needs.contains(where: { $0.id == id }) else { return }
    needs.append(Need(id: id, shown: shown, policy: policy))
  }
}
