// Schedules the sweeps of logs of ended attempts (`LogSweep`) and logs their results. The loop
// starts a sweep and does not wait; one runs at a time.

import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem
import Synchronization

/// State that the loop and the sweeping thread share.
final class SweepState: Sendable {
  let isRunning = Atomic(false)
  /// The duration of the last sweep, in nanoseconds.
  let took = Atomic<Int64>(0)
  var isAtWork: Bool { isRunning.load(ordering: .acquiring) }
}

extension WorkerLoop {
  /// The time between two sweeps; longer after a long sweep, so that sweeps take at most a
  /// twentieth of the time.
  private static let interval = OpClusterModel.Span.seconds(300)

  /// Removes logs that are too old, and the oldest ones beyond the limit.
  func sweepLogsIfDue() {
    guard now >= sweeps.next, !sweeps.state.isAtWork else { return }
    let took = OpClusterModel.Span(nanoseconds: sweeps.state.took.load(ordering: .relaxed))
    sweeps.next = now + max(configuration.logSweepInterval ?? Self.interval, took * 20)
    let folders = scratch.outdated(olderThan: configuration.logRetention.wholeSeconds)
    let sweep = LogSweep(
      folder: scratch.path,
      bytes: configuration.logBytes ?? LogSweep.usualBytes(of: scratch.path),
      running: Set(core.executingAttempts.map(LogSweep.name)))
    let (state, logger) = (sweeps.state, logger)
    state.isRunning.store(true, ordering: .releasing)
    let thread = try? startThread(name: "sweeper") {
      let began = MonotonicClock.now()
      if !folders.isEmpty { logger.info("removing the logs of \(folders.count) old graphs") }
      for folder in folders { Folders.removeTree(folder) }
      let outcome = sweep.run(now: Folders.secondsSince1970())
      if outcome.removedFiles > 0 {
        let (taken, most) = (outcome.bytes >> 20, sweep.bytes >> 20)
        logger.notice(
          "logs of operations took \(taken) MiB of \(most): the oldest were removed",
          metadata: ["files": "\(outcome.removedFiles)"])
      }
      state.took.store(MonotonicClock.now() - began, ordering: .relaxed)
      state.isRunning.store(false, ordering: .releasing)
    }
    if thread == nil { state.isRunning.store(false, ordering: .releasing) }
  }
}
