// The sources of answers besides the scheduler: the history, large requests that are prepared, and
// the logs of workers.

import OpClusterModel

/// The sources of answers besides the scheduler.
struct AnswerSources {
  let history: HistoryThread
  /// Decodes large requests.
  let preparation: RequestPreparation
  /// The damage of the history; nil if none is known.
  var historyProblem: String?
  /// Relays pieces of logs, which are at the workers.
  var logs = LogRelay()

  init(history: HistoryThread, preparation: RequestPreparation) {
    (self.history, self.preparation) = (history, preparation)
  }
}
