// Requests about so many graphs that they are carried out in parts, a part a turn, so that nobody
// waits for the whole.

import OpClusterModel

extension Scheduler {
  /// Goes on with one request in parts; they take turns. Costs a part, and a look at each request
  /// that waits.
  mutating func continueParts(into turn: inout SchedulingTurn) {
    guard requestsInParts > 0, let at = deferred.firstIndex(where: { mayContinue($0) }) else {
      return
    }
    var request = deferred.remove(at: at)
    // Taken out, so that the rest is not copied for each part.
    var action = DeferredRequest.Action.answerSuspended([])
    swap(&action, &request.action)
    switch consume action {
    case .finishCancelling(var progress):
      request.awaiting += continueCancellation(&progress, into: &turn)
      if progress.isComplete { aheadPauses -= 1 }
      request.action = .finishCancelling(progress)
    case .finishSuspending(var progress):
      request.awaiting += continueSuspension(&progress, into: &turn)
      request.action = .finishSuspending(progress)
    case .answerSuspended, .decideAgain, .changeAgain: break
    }
    if !request.action.hasParts { requestsInParts -= 1 }
    deferred.append(request)
  }

  /// Whether a part can be done. Costs a look at each request that waits, if some are in parts.
  package var mayContinueParts: Bool {
    requestsInParts > 0 && deferred.contains { mayContinue($0) }
  }

  private func mayContinue(_ request: DeferredRequest) -> Bool {
    switch request.action {
    case .finishCancelling(let progress):
      guard let recalled = progress.waiting?.recalled else { return !progress.isComplete }
      return !recalled.contains { state.isRecalling($0) }
    case .finishSuspending(let progress): return !progress.isComplete
    case .answerSuspended, .decideAgain, .changeAgain: return false
    }
  }
}
