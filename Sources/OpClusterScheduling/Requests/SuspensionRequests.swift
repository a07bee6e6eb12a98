// Requests to suspend or resume graphs (S72).

import OpClusterModel

extension Scheduler {
  /// Suspends or resumes graphs: few in one turn, more in several. Costs the graphs; of what
  /// workers have, one walk.
  mutating func suspendOrResume(
    _ asker: Asker, _ selection: Selection, _ isSuspended: Bool, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    let chosen = try resolveGraphs(selection, by: asker)
    // Else its later parts would undo this.
    if deferred.contains(where: { $0.action.willChange(anyOf: chosen) }) {
      throw Refusal(
        .busy, "these graphs are being suspended or resumed", hint: "ask again",
        retryAfter: .seconds(1))
    }
    var progress = SuspensionProgress(of: chosen, isSuspended)
    if progress.graphs.count > share.graphsSuspended {
      try deferInParts(asker, .finishSuspending(progress))
      return .later
    }
    let recalled = continueSuspension(&progress, into: &turn)
    if !isSuspended { return .now(.done(turn.commit)) }
    deferred.append(
      DeferredRequest(
        asker: asker, awaiting: recalled, action: .answerSuspended(progress.members)))
    return .later
  }

  /// Does the next part: one fact for each graph; a graph that is already so changes nothing in
  /// `suspendGraph`. The recalls of the last one also repeat for a graph that was suspended before,
  /// since a restart forgets them. Returns what workers must return before the answer.
  mutating func continueSuspension(
    _ progress: inout SuspensionProgress, into turn: inout SchedulingTurn
  ) -> [OperationID] {
    let part = progress.graphs[progress.next...].prefix(share.graphsSuspended)
    progress.next += part.count
    for graph in part {
      // It may have ended since the request.
      if !graphs.contains(graph.number) { continue }
      commit(.graphSuspended(graph, progress.isSuspended), into: &turn)
      if graphs[graph.number].inFlight > 0 { progress.handedOver.append(graph) }
    }
    guard progress.isComplete, progress.isSuspended else { return [] }
    let present = progress.handedOver.filter { graphs.contains($0.number) }
    let (assigned, running) = byStart(operationsAtWorkers(of: present))
    for id in assigned { state.askRecall(id, into: &turn) }
    progress.members = assigned + running
    return assigned.filter { state.isRecalling($0) }
  }
}
