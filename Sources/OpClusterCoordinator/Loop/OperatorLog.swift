// What operators are told: the log, with the state that keeps it short (earlier lines, and counts
// of events that it reports less and less often), and figures for monitoring. On the loop's thread.

import Logging
import OpClusterModel

struct OperatorLog {
  let logger: Logger
  /// The names of workers that join and leave.
  var workerLines: WorkerLines
  var refusedWorkers = RefusedWorkers()
  /// The number of invalid messages at both sockets (G33).
  var malformed: UInt64 = 0
  /// The number of workers' reports about attempts that were never given to them.
  var lies: UInt64 = 0
  var figures: CoordinatorFigures

  /// - Parameters:
  ///   - workers: The workers of the coordinator's previous life.
  ///   - unfinished: The operations that it has left.
  init(_ logger: Logger, _ workers: [WorkerRow], unfinished: UInt64) {
    self.logger = logger
    figures = CoordinatorFigures(unfinished: unfinished)
    workerLines = WorkerLines(workers)
  }
}
