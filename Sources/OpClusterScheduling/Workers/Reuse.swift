// What was done before in the same way need not be done again: an operation whose work and inputs
// are those of one that has succeeded ends with what that one left. Only where it is asked for.

import OpClusterModel

extension Scheduler {
  private mutating func reuseKey(of id: OperationID, _ stage: Int) -> ContentDigest? {
    reuseDigests.key(of: id, stage, in: state)
  }

  /// Notes that a reusable operation has just succeeded. Call it in the turn of its end, before its
  /// graph leaves.
  mutating func noteReusable(_ id: OperationID, into turn: inout SchedulingTurn) {
    guard graphs.contains(id.graph.number) else { return }
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    guard state.graphs[id.graph.number].stages[stage].template.isReusable,
      graphs[id.graph.number].cell(id.index).ending.outcome == .succeeded,
      let key = reuseKey(of: id, stage)
    else { return }
    commit(.madeReusable(id, key: key), into: &turn)
  }

  /// What an operation like this one has left.
  private mutating func earlierOutcome(of id: OperationID, _ stage: Int) -> ReusableOutcome? {
    reuseKey(of: id, stage).flatMap { heldOutcome($0) }
  }

  /// What an operation with this key has left, if all of it can still be had.
  func heldOutcome(_ key: ContentDigest) -> ReusableOutcome? {
    guard let known = state.reusable[key] else { return nil }
    let isThere = OperationOutput.contents(of: known.output).allSatisfy { content in
      holders.workers(with: content.digest).contains { isReadable($0) }
    }
    return isThere ? known : nil
  }

  /// Ends an operation with what one like it has left, without an attempt. False: there is none.
  mutating func reuse(
    _ id: OperationID, _ stage: Int, into turn: inout SchedulingTurn
  ) -> Bool {
    guard graphs[id.graph.number].stages[stage].template.isReusable,
      let known = earlierOutcome(of: id, stage)
    else { return false }
    var result = AttemptResult.success
    result.output = known.output
    if known.output.isEmpty {
      commit(.succeeded, id, into: &turn)
    } else {
      commit(.finished(id, state.withinRoom(result, of: id)), into: &turn)
    }
    noteReusable(id, into: &turn)
    guard graphs[id.graph.number].cell(id.index).ending.outcome == .succeeded else { return true }
    result.endedAt = turn.wall
    result.diagnostic = "reused: \(shownEarlier(known.operation)) has done the same before"
    // As of an operation that ended without an attempt: no attempt could report it.
    var line = AttemptHistory(
      attempt: AttemptID(operation: id, attempt: 0), outcome: .succeeded, reason: nil,
      workerName: "", result: result)
    line.run = 0
    turn.history.append(line)
    return true
  }

  /// By its name, as long as its graph lives.
  private func shownEarlier(_ id: OperationID) -> String {
    graphs.contains(id.graph.number)
      ? "operation \(state.shown(id))"
      : "operation \(id.index) of graph \(id.graph.number)"
  }
}
