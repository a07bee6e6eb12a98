// Questions of what of a graph was done before, answered in parts over several turns.

import DequeModule
import OpClusterModel

extension Scheduler {
  /// Begins a forecast; turns that follow at once go on with it.
  mutating func beginForecast(
    _ submission: GraphSubmission, for asker: Asker, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    var submission = submission
    submission.continued = nil
    try admit(submission, at: turn.wall)
    if submission.operationCount > Limits.forecastOperations {
      throw Refusal(
        .limitExceeded,
        "only of graphs of \(Limits.forecastOperations) operations is it told what was done before")
    }
    guard forecasts.count < Limits.forecasts else {
      throw Refusal(
        .busy, "\(Limits.forecasts) others ask as well what of their graphs was done before",
        hint: "ask again", retryAfter: .seconds(1))
    }
    forecasts.append(
      (asker, ReuseForecast(submission, at: turn.now, wall: turn.wall)))
    return .later
  }

  /// Goes on with the oldest forecast. Costs at most `Limits.forecastOperationsPerTurn` looks.
  mutating func continueForecasts(into turn: inout SchedulingTurn) {
    if forecasts.isEmpty { return }
    // Taken out, so that it changes in place while the state is read.
    var asked: Deque<(asker: Asker, forecast: ReuseForecast)> = []
    swap(&asked, &forecasts)
    asked[0].forecast.step(atMost: Limits.forecastOperationsPerTurn) { heldOutcome($0) }
    if asked[0].forecast.isEnded {
      let first = asked.removeFirst()
      turn.answer(first.asker, first.forecast.answer)
    }
    swap(&asked, &forecasts)
  }
}
