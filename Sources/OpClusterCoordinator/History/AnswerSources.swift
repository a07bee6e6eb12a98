// The sources of answers besides the scheduler: the history, and the logs of workers.

import OpClusterModel

/// The sources of answers besides the scheduler.
struct AnswerSources {
  let history: HistoryThread
  /// The damage of the history; nil if none is known.
  var historyProblem: String?
  /// Relays pieces of logs, which are at the workers.
  var logs = LogRelay()

  init(history: HistoryThread) { self.history = history }
}
