// Questions of what of a graph was done before, answered in parts over several turns.

import DequeModule
import OpClusterModel

extension Scheduler {
  /// Begins a forecast; turns that follow at once go on with it.
  mutating func beginForecast(
    _ submission: GraphSubmission, for asker: Asker, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    if submission.operationCount > Limits.forecastOperations {
      throw Refusal(
        .limitExceeded,
        "only of graphs of \(Limits.forecastOperations) operations is it told what was done before")
    }
    // One of each client, so that nobody keeps the others from asking.
    let isAsking = forecasts.contains { $0.asker.peer == asker.peer }
    guard !isAsking, forecasts.count < Limits.forecasts else {
      throw Refusal(
        .busy, "the same is being looked up for this client or for \(Limits.forecasts) others",
        hint: "ask again", retryAfter: .seconds(1))
    }
    var submission = submission
    submission.continued = nil
    _ = try SubmissionChecks(submission).run()
    try admit(submission, GraphPlan.Outline(submission), at: turn.wall)
    forecasts.append(
      (asker, ReuseForecast(submission, at: turn.now, wall: turn.wall)))
    return .later
  }

  /// Goes on with one forecast; they take turns, so that a small graph does not wait for a large
  /// one. Costs at most `Limits.forecastOperationsPerTurn` looks.
  mutating func continueForecasts(into turn: inout SchedulingTurn) {
    if forecasts.isEmpty { return }
    // Taken out, so that it changes in place while the state is read.
    var asked: Deque<(asker: Asker, forecast: ReuseForecast)> = []
    swap(&asked, &forecasts)
    asked[0].forecast.step(atMost: Limits.forecastOperationsPerTurn) { heldOutcome($0) }
    let first = asked.removeFirst()
    if first.forecast.isEnded {
      turn.answer(first.asker, first.forecast.answer)
    } else {
      asked.append(first)
    }
    swap(&asked, &forecasts)
  }
}
