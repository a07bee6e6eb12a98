// Runs an ended graph again (S11): the same operations under a new number. Operations that
// succeeded before may be taken over instead of run again; they begin as finished.

import OpClusterModel

extension Scheduler {
  /// Checks that everything a submission would take over still exists.
  func checkContinued(_ submission: GraphSubmission) throws(Refusal) {
    guard let continued = submission.continued else { return }
    let before = continued.graph
    if graphs.contains(before.number) {
      throw Refusal(
        .badRequest, "graph \(before.number) has not ended, so it cannot be run again",
        hint: "wait for it, or cancel what is left of it")
    }
    guard let known = ended[before] else { throw gone(before) }
    guard known.operationCount == UInt32(submission.operationCount) else {
      throw Refusal(
        .badRequest,
        "graph \(before.number) had \(known.operationCount) operations, this one has "
          + "\(submission.operationCount): it is another graph",
        hint: "submit it without taking anything over")
    }
    try checkReused(continued.reused, of: known)
    if submission.templates.contains(where: \.wantsInputs) {
      try checkOutputs(of: continued.reused, in: known)
    }
  }

  /// Checks that the outputs of the reused operations are kept, since repeated operations may read
  /// them.
  private func checkOutputs(
    of reused: OperationRuns, in known: EndedGraph
  ) throws(Refusal) {
    let lacks = known.outputsAreForgotten || known.outputs.contains { $0.output.isEmpty }
    guard lacks else { return }
    for at in 0..<reused.runCount {
      for index in reused.run(at) {
        try state.checkOutput(of: OperationID(graph: known.graph, index: index))
      }
    }
  }

  /// Completes a submission that leaves its secrets to the coordinator: uses those of the graph
  /// that it continues, if both have the same submitter (G39).
  func withSecrets(_ submission: GraphSubmission) throws(Refusal) -> GraphSubmission {
    let bound = UInt32(clamping: submission.secrets.count)
    let hasAll = submission.templates.allSatisfy { $0.secrets.allSatisfy { $0 < bound } }
    if hasAll { return submission }
    guard let continued = submission.continued, submission.secrets.isEmpty else {
      throw Refusal(
        .badRequest, "the submission names secrets that it does not hold",
        hint: "submit it again from its manifest")
    }
    guard let known = ended[continued.graph] else { throw gone(continued.graph) }
    guard known.submitter == submission.submitter else {
      throw Refusal(
        .forbidden,
        "graph \(continued.graph.number) has secrets, which only who submitted it can use again",
        hint: "submit it anew from its manifest")
    }
    var whole = submission
    whole.secrets = known.secrets
    let count = UInt32(clamping: whole.secrets.count)
    guard whole.templates.allSatisfy({ $0.secrets.allSatisfy { $0 < count } }) else {
      throw Refusal(
        .expired, "the secrets of graph \(continued.graph.number) are not kept any more",
        hint: "submit it anew from its manifest")
    }
    return whole
  }

  private func gone(_ graph: GraphID) -> Refusal {
    if graph.number > 0, graph.number <= counters.lastGraph {
      return Refusal(
        .expired, "graph \(graph.number) ended too long ago: its outputs are not kept any more",
        hint: "submit it without taking anything over")
    }
    return Refusal(
      .unknownGraph, "there is no graph \(graph.number)", hint: "see them with: opbatch ls -a")
  }

  private func checkReused(_ reused: OperationRuns, of known: EndedGraph) throws(Refusal) {
    guard reused.graph == known.graph || reused.isEmpty else {
      throw Refusal(
        .badRequest,
        "what is to be taken over is of graph \(reused.graph.number), not of graph "
          + "\(known.graph.number)")
    }
    var next: UInt32 = 0
    for at in 0..<reused.runCount {
      let run = reused.run(at)
      guard run.lowerBound >= next, run.upperBound <= known.operationCount else {
        throw Refusal(
          .badRequest,
          "the operations to be taken over are not in ascending order, or there are "
            + "only \(known.operationCount) of them")
      }
      next = run.upperBound
      for index in run where known.outcome(of: index) & 0x7F != Outcome.succeeded.rawValue {
        let id = OperationID(graph: known.graph, index: index)
        let word = Outcome(rawValue: known.outcome(of: index) & 0x7F).map { StateWord($0) }
        throw Refusal(
          .badRequest,
          "operation \(state.shown(id)) ended as \(word?.rawValue ?? "unknown"): only what "
            + "succeeded can be taken over", hint: "let it run again", operations: [id])
      }
    }
  }

  // MARK: - Run again

  /// A living graph's submission, and the outcomes so far. The history keeps a version closer to
  /// the original.
  func submission(of id: GraphID) throws(Refusal) -> ClientReply {
    guard let graph = graphs.find(id.number) else {
      throw Refusal(
        .unknownGraph, "there is no graph \(id.number)", hint: "see them with: opbatch ls -a")
    }
    return .submission(
      graph.fullSubmission.withoutSecrets,
      outcomes: (0..<graph.operationCount).map { graph.cell($0).ending.rawValue & 0x7F })
  }
}

extension Graph {
  /// Whether an operation was taken over from the graph that this one continues.
  fileprivate func isReused(_ index: UInt32) -> Bool {
    let cell = cell(index)
    return cell.phase == .finished && cell.ending.outcome == .succeeded && cell.runs == 0
  }
}

extension ClusterState {
  // MARK: - The fact

  /// Finishes the operations that are taken over, before anything is queued or opened.
  mutating func takeOver(_ id: GraphID, into turn: inout Turn) {
    let graph = id.number
    guard let continued = graphs[graph].submission.continued else { return }
    let reused = continued.reused
    for at in 0..<reused.runCount {
      for index in reused.run(at) { finishReused(graph, index) }
    }
    takeOutputs(of: continued, to: id)
    for kind in [Event.Kind.isFinished(.succeeded), .completion] {
      let own: UInt32 = kind == .completion ? 2 : 1
      for at in 0..<reused.runCount {
        let run = reused.run(at)
        emitRun(
          kind, first: graphs[graph].operation(run.lowerBound), count: UInt32(run.count), own: own,
          into: &turn)
      }
    }
  }

  /// Takes over the outputs, including the note that some are not kept.
  mutating func takeOutputs(of continued: ContinuedGraph, to id: GraphID) {
    guard let known = ended[continued.graph] else { return }
    for entry in known.outputs where graphs[id.number].isReused(entry.index) {
      keep(entry.output, of: OperationID(graph: id, index: entry.index))
    }
    guard known.outputsAreForgotten else { return }
    for at in 0..<continued.reused.runCount {
      for index in continued.reused.run(at) { keep([], of: OperationID(graph: id, index: index)) }
    }
  }

  mutating func finishReused(_ graph: UInt32, _ index: UInt32) {
    let stage = graphs[graph].stageNumber(of: index)
    let before = graphs[graph].cell(index).word
    graphs[graph].update(index) { cell in
      cell.phase = .finished
      cell.ending = OperationCell.Ending(.succeeded)
      cell.blockers = 0
      cell.flags = []
      // Two events, the end and the completion, told in runs.
      cell.eventSequence = 2
    }
    count(graphs[graph].operation(index), stage, from: before, to: .succeeded)
    graphs[graph].stages[stage].unfinished -= 1
    graphs[graph].unfinished -= 1
  }

  /// Meets the edges from operations that are taken over; returns the ends that they cause. Opens
  /// nothing and ends nothing: the caller does that for the whole graph.
  mutating func releaseReused(_ id: GraphID) -> [End] {
    let graph = id.number
    guard let reused = graphs[graph].submission.continued?.reused else { return [] }
    var impossible: [End] = []
    for at in 0..<reused.runCount {
      for index in reused.run(at) { releaseSingle(graph, index, &impossible) }
    }
    for stage in graphs[graph].stages.indices {
      releaseWhole(graph, stage, &impossible)
    }
    return impossible
  }

  /// Meets the edges on one operation.
  mutating func releaseSingle(_ graph: UInt32, _ index: UInt32, _ impossible: inout [End]) {
    let end = reusedEnd(graph, index)
    for position in graphs[graph].dependents.range(of: index) {
      let edge = graphs[graph].dependents[position]
      meet(graph, edge.index, edge.policy, end, &impossible)
    }
    let from = graphs[graph].stages[graphs[graph].stageNumber(of: index)]
    for edge in from.outgoing where edge.match == .sameIndex {
      let dependent = graphs[graph].stages[edge.stage].firstIndex + from.element(index)
      meet(graph, dependent, edge.policy, end, &impossible)
    }
  }

  mutating func meet(
    _ graph: UInt32, _ dependent: UInt32, _ policy: EdgePolicy, _ end: End,
    _ impossible: inout [End]
  ) {
    let cell = graphs[graph].cell(dependent)
    if cell.phase == .finished { return }
    if policy.isSatisfied(by: .succeeded) {
      graphs[graph].update(dependent) { $0.blockers -= 1 }
    } else if let skip = skip(graphs[graph].operation(dependent), cell, because: end) {
      impossible.append(skip)
    }
  }

  /// Meets the edges on a whole stage.
  mutating func releaseWhole(
    _ graph: UInt32, _ stage: Int, _ impossible: inout [End]
  ) {
    let from = graphs[graph].stages[stage]
    guard from.unfinished < from.template.count,
      let first = from.indices.first(where: { graphs[graph].cell($0).phase == .finished })
    else { return }
    for edge in from.outgoing where edge.match == .all {
      if !edge.policy.isSatisfied(by: .succeeded) {
        for index in graphs[graph].stages[edge.stage].indices {
          meet(graph, index, edge.policy, reusedEnd(graph, first), &impossible)
        }
      } else if from.unfinished == 0, graphs[graph].stages[edge.stage].gates > 0 {
        graphs[graph].stages[edge.stage].gates -= 1
      }
    }
  }

  func reusedEnd(_ graph: UInt32, _ index: UInt32) -> End {
    End(
      id: graphs[graph].operation(index), ending: OperationCell.Ending(.succeeded), reason: nil)
  }
}
