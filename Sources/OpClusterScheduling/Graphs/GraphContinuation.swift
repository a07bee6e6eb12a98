// Runs an ended graph again (S11): the same operations under a new number. Operations that
// succeeded before may be taken over instead of run again; they begin as finished.

import OpClusterModel

extension Scheduler {
  /// Checks that everything a submission would take over still exists.
  func checkContinued(_ submission: GraphSubmission, _ plan: GraphPlan.Outline) throws(Refusal) {
    guard let continued = submission.continued else { return }
    let before = continued.graph
    if graphs.contains(before.number) {
      throw Refusal(
        .badRequest, "graph \(before.number) has not ended, so it cannot be run again",
        hint: "wait for it, or cancel what is left of it")
    }
    guard let known = ended[before] else { throw refusalOfGone(before) }
    guard known.operationCount == plan.operationCount else {
      throw Refusal(
        .badRequest,
        "graph \(before.number) had \(known.operationCount) operations, this one has "
          + "\(plan.operationCount): it is another graph",
        hint: "submit it without taking anything over")
    }
    try checkReused(continued.reused, of: known)
    if plan.wantsInputs {
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
  /// that it continues, if both have the same submitter (G39). Returns whether it did.
  func borrowSecrets(
    for submission: inout GraphSubmission, _ plan: GraphPlan.Outline
  ) throws(Refusal) -> Bool {
    if plan.secrets <= UInt32(clamping: submission.secrets.count) { return false }
    guard let continued = submission.continued, submission.secrets.isEmpty else {
      throw Refusal(
        .badRequest, "the submission names secrets that it does not hold",
        hint: "submit it again from its manifest")
    }
    guard let known = ended[continued.graph] else { throw refusalOfGone(continued.graph) }
    guard known.submitter == submission.submitter else {
      throw Refusal(
        .forbidden,
        "graph \(continued.graph.number) has secrets, which only who submitted it can use again",
        hint: "submit it anew from its manifest")
    }
    guard plan.secrets <= UInt32(clamping: known.secrets.count) else {
      throw Refusal(
        .expired, "the secrets of graph \(continued.graph.number) are not kept any more",
        hint: "submit it anew from its manifest")
    }
    submission.secrets = known.secrets
    return true
  }

  private func refusalOfGone(_ graph: GraphID) -> Refusal {
    if graph.number > 0, graph.number <= counters.lastGraph {
      return Refusal(
        .expired, "graph \(graph.number) ended too long ago: its outputs are not kept any more",
        hint: "submit it without taking anything over")
    }
    return Refusal(
      .unknownGraph, "there is no graph \(graph.number)", hint: .listGraphs)
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
        .unknownGraph, "there is no graph \(id.number)", hint: .listGraphs)
    }
    return .submission(
      graph.fullSubmission.withoutSecrets,
      outcomes: (0..<graph.operationCount).map { graph.cell($0).ending.rawValue & 0x7F })
  }
}
