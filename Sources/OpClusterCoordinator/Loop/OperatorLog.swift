// The log for operators, with the state that keeps it short: earlier lines, and counts of events
// that it reports less and less often. On the loop's thread.

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

  /// - Parameter workers: The workers of the coordinator's previous life.
  init(_ logger: Logger, _ workers: [WorkerRow]) {
    self.logger = logger
    workerLines = WorkerLines(workers)
  }
}
