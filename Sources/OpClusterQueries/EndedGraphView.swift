// A view of an ended graph for queries: its submission and the outcome of each operation.

package import OpClusterModel

package struct EndedGraphView: GraphView, Sendable {
  package let outline: GraphOutline
  /// One raw `Outcome` per operation, or one for all of them.
  private let outcomes: [UInt8]
  private let submittedAt: WallTime
  /// The outcomes of dependencies in other graphs, as far as those graphs have ended.
  private let outside: [OperationID: Outcome]

  package init(
    _ outline: GraphOutline, outcomes: [UInt8], submittedAt: WallTime,
    outside: [OperationID: Outcome] = [:]
  ) {
    self.outline = outline
    self.outcomes = outcomes
    self.submittedAt = submittedAt
    self.outside = outside
  }

  // MARK: - As any graph

  package var graph: GraphID { outline.graph }
  package var labels: [Label] { outline.labels }
  package var stageCount: Int { outline.stageCount }
  package func template(of stage: Int) -> OperationTemplate { outline.template(of: stage) }
  package func name(of stage: Int) -> String { outline.name(of: stage) }
  package func labels(of stage: Int) -> [Label] { outline.labels(of: stage) }
  package func indices(of stage: Int) -> Range<UInt32> { outline.indices(of: stage) }
  package func stage(of index: UInt32) -> Int? { outline.stage(of: index) }
  package func queueName(of stage: Int) -> String { outline.queueName(of: stage) }

  package func state(of index: UInt32) -> StateWord { StateWord(outcome(of: index)) }
  package func mayHave(_ states: [StateWord], stage: Int) -> Bool {
    outcomes.count != 1 || states.contains(state(of: 0))
  }
  /// False: later changes of single operations are not kept.
  package var hasMoved: Bool { false }
  package var hasOwnPriorities: Bool { false }
  package func queueName(of index: UInt32, stage: Int) -> String { queueName(of: stage) }
  package func priority(of index: UInt32, stage: Int) -> Priority {
    template(of: stage).priority
  }

  package func equalEnd(from index: UInt32, before end: UInt32) -> UInt32 {
    if outcomes.count == 1 { return end }
    var reached = index + 1
    while reached < end, outcome(of: reached) == outcome(of: index) { reached += 1 }
    return reached
  }

  /// The outcome of an operation; `lost` if the outcomes do not match the submission.
  package func outcome(of index: UInt32) -> Outcome {
    Self.outcome(of: index, in: outcomes) ?? .lost
  }

  /// The outcome of an operation in raw outcomes; nil if there is none.
  package static func outcome(of index: UInt32, in outcomes: [UInt8]) -> Outcome? {
    let position = outcomes.count == 1 ? 0 : Int(index)
    return position < outcomes.count ? Outcome(rawValue: outcomes[position]) : nil
  }

  // MARK: - Rows

  /// The rows of the selection with an index of at least `first`, ascending, without the results of
  /// attempts.
  ///
  /// - Parameter hasNeeds: Whether rows include dependencies and the causes of skips; that costs
  ///   all edges of the graph.
  package func rows(
    _ filter: OperationFilter, from first: UInt32, limit: Int, hasNeeds: Bool = true
  ) -> [OperationRow] {
    var rows: [OperationRow] = []
    if limit == 0 { return rows }
    filter.forEachOperation(of: self, from: first) { index in
      rows.append(row(of: index))
      return rows.count < limit
    }
    if hasNeeds { addNeeds(to: &rows) }
    return rows
  }

  private func row(of index: UInt32) -> OperationRow {
    let stage = stage(of: index) ?? 0
    let template = template(of: stage)
    let outcome = outcome(of: index)
    var row = OperationRow(
      id: OperationID(graph: graph, index: index), name: template.name,
      index: shownIndex(index, stage: stage), state: StateWord(outcome))
    row.isReady = true
    row.isFinished = true
    row.isCancelled = outcome == .cancelled || outcome == .skipped
    row.outcome = outcome
    let queue = outline.queue(of: stage)
    row.queue = queue.name
    row.priority = template.priority
    row.qos = template.qos ?? queue.qos
    row.submittedAt = submittedAt
    return row
  }

  // MARK: - Dependencies

  private static let needsShown = 100

  /// Adds at most a hundred dependencies per row; one on a whole stage is named once. Costs all
  /// edges once, and those of its stage for each row.
  private func addNeeds(to rows: inout [OperationRow]) {
    if rows.isEmpty { return }
    var incoming: [Int: [GroupEdge]] = [:]
    for edge in outline.submission.groupEdges { incoming[Int(edge.to), default: []].append(edge) }
    for at in rows.indices {
      guard let stage = stage(of: rows[at].id.index) else { continue }
      for edge in incoming[stage] ?? [] {
        let from = indices(of: Int(edge.from)).lowerBound
        switch edge.match {
        case .all where rows[at].needs.count < Self.needsShown:
          let name = StageName(graph: graph, name: template(of: Int(edge.from)).name)
          rows[at].need(OperationID(graph: graph, index: from), name.text, edge.policy)
        case .sameIndex where rows[at].needs.count < Self.needsShown:
          let index = from + (rows[at].id.index - indices(of: stage).lowerBound)
          rows[at].need(OperationID(graph: graph, index: index), path(of: index), edge.policy)
        case .all, .sameIndex: break
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
      guard let at = position[edges.to[edge]], rows[at].needs.count < Self.needsShown
      else { continue }
      let from = edges.from[edge]
      rows[at].need(OperationID(graph: graph, index: from), path(of: from), edges.policy(edge))
    }
    for edge in outline.submission.externalEdges {
      guard let at = position[edge.to], rows[at].needs.count < Self.needsShown
      else { continue }
      rows[at].need(edge.from, edge.from.numbered, edge.policy)
    }
  }

  /// The dependency whose end made a skipped operation impossible, if it is still known.
  private func cause(of row: OperationRow) -> CancelReason? {
    for need in row.needs where need.id.graph == graph {
      guard let stage = stage(of: need.id.index) else { continue }
      let isWhole = need.shown == StageName(graph: graph, name: template(of: stage).name).text
      for index in isWhole ? indices(of: stage) : need.id.index..<(need.id.index + 1) {
        let outcome = outcome(of: index)
        if !need.policy.isSatisfied(by: outcome) {
          return .dependency(OperationID(graph: graph, index: index), outcome)
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

  /// Explains the end of an operation.
  ///
  /// - Parameter name: Returns the name of an operation of another graph; nil if it is unknown.
  package func explanation(
    of row: OperationRow, naming name: (OperationID) -> String? = { _ in nil }
  ) -> Explanation {
    var lines: [Explanation.Line] = []
    if let reason = row.reason {
      let sentence = reason.sentence(hasEnded: true) { on in
        on.graph == graph ? path(of: on.index) : name(on) ?? "an operation of another graph"
      }
      lines.append(Explanation.Line(sentence))
    }
    if let result = row.result, !result.isSuccess {
      let sentence = result.sentence(attempt: row.attempt, worker: row.workerName)
      lines.append(Explanation.Line(sentence))
      if !result.diagnostic.isEmpty { lines.append(Explanation.Line(result.diagnostic)) }
    }
    lines.append(Explanation.Line("it has ended: \(row.state.rawValue)", meaning: .ended))
    return Explanation(
      operation: row.id, shown: path(of: row.id.index), state: row.state, lines: lines)
  }
}

extension OperationRow {
  fileprivate mutating func need(_ id: OperationID, _ shown: String, _ policy: EdgePolicy) {
    // The same edge may have been submitted twice (S30).
    guard !needs.contains(where: { $0.id == id }) else { return }
    needs.append(Need(id: id, shown: shown, policy: policy))
  }
}
