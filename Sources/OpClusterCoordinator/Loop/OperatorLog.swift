// The log that the operator reads, with what keeps it short: what was told already, and counts of
// what is told ever less often. On the loop's thread.

import Logging
import OpClusterModel

struct OperatorLog {
  let logger: Logger
  /// Names of workers that come and go.
  var workerLines: WorkerLines
  var refusedWorkers = RefusedWorkers()
  /// Messages that were not understood, of both sockets (G33).
  var malformed: UInt64 = 0
  /// Words of workers about attempts that were never given to them.
  var lies: UInt64 = 0

  /// - Parameter workers: Those of the coordinator's former life.
  init(_ logger: Logger, _ workers: [WorkerRow]) {
    self.logger = logger
    workerLines = WorkerLines(workers)
  }
}
