// When logs of ended attempts are looked through (`LogSweep`), and what is said of it. The loop
// begins it and hears no more of it; one is at work at a time.

import Logging
import OpClusterExecution
import OpClusterModel
import OpClusterProcesses
import OpClusterZeroMQ
import Synchronization

/// What the loop and the thread share.
final class SweepState: Sendable {
  let isRunning = Atomic(false)
  /// How long the last one took, in nanoseconds.
  let took = Atomic<Int64>(0)
  var isAtWork: Bool { isRunning.load(ordering: .acquiring) }
}

extension WorkerLoop {
  /// Between two looks; longer where one takes long, so that it is never more than a twentieth of
  /// the time.
  private static let interval = OpClusterModel.Span.seconds(300)

  /// Removes old logs, and the oldest of those that are too much.
  func sweepLogsIfDue() {
    guard now >= nextSweep, !sweepState.isAtWork else { return }
    let took = OpClusterModel.Span(nanoseconds: sweepState.took.load(ordering: .relaxed))
    nextSweep = now + max(configuration.logSweepInterval ?? Self.interval, took * 20)
    let folders = scratch.outdated(olderThan: configuration.logRetention.wholeSeconds)
    let sweep = LogSweep(
      folder: scratch.path,
      bytes: configuration.logBytes ?? LogSweep.usualBytes(of: scratch.path),
      running: Set(core.executingAttempts.map(LogSweep.name)))
    let (state, logger) = (sweepState, logger)
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
