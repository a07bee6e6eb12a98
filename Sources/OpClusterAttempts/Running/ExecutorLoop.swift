// The thread of a `CommandExecutor`: takes orders, carries them out, reports the ends. Everything
// here runs on that thread.

import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem

/// The orders to an executor.
enum ExecutorOrder: Sendable {
  case start(
    AttemptID, TemplateAnnouncement, [UInt8], [DependencyInput], run: UInt32, queue: String?)
  case stop(AttemptID)
  case kill(AttemptID)
  case end
}

extension AttemptResult {
  /// The result of an attempt that was killed, or never begun, because the program ends.
  static var stoppedWithWorker: AttemptResult {
    AttemptProblem(cause: .workerStopped, message: "what ran it has ended").result
  }
}

final class ExecutorLoop {
  private let folder: String
  private let orders: Mailbox<ExecutorOrder>
  private let onProgress: @Sendable (AttemptID, Double, String) -> Void
  private let onEnd: @Sendable (AttemptID, AttemptResult) -> Void
  private let store: AttemptStore?
  /// The runner, or the reason why there is none.
  private let attempts: Result<AttemptRunner, WorkerError>
  private var running: Set<AttemptID> = []
  private var isEnding = false

  init(
    _ folder: String, _ registry: OperationRegistry, _ home: OperationHome,
    _ store: AttemptStore?, _ logger: Logger, _ orders: Mailbox<ExecutorOrder>,
    _ onProgress: @escaping @Sendable (AttemptID, Double, String) -> Void,
    _ onEnd: @escaping @Sendable (AttemptID, AttemptResult) -> Void
  ) {
    self.folder = folder
    self.store = store
    self.orders = orders
    self.onProgress = onProgress
    self.onEnd = onEnd
    do throws(WorkerError) {
      attempts = .success(try Self.open(folder, registry, home, store, logger))
    } catch {
      attempts = .failure(error)
    }
  }

  private static func open(
    _ folder: String, _ registry: OperationRegistry, _ home: OperationHome,
    _ store: AttemptStore?, _ logger: Logger
  ) throws(WorkerError) -> AttemptRunner {
    let scratch = try Scratch(folder, logger: logger)
    try scratch.clear()
    let session = UInt64.random(in: 1...UInt64.max)
    guard let fence = ProcessFence(worker: "local-" + String(session, radix: 16)) else {
      preconditionFailure("a fence of digits")
    }
    // Such programs have no guard, so each cleans up after the previous one.
    ProcessHost.removeAbandonedGroups()
    for left in ExecutorFolder.abandoned(beside: folder) { scratch.removeLater(left) }
    do {
      // If the program is killed, the kernel kills the main processes with this thread.
      let host = try ProcessHost(fence: fence, adoptsOrphans: false)
      return try AttemptRunner(
        host: host, scratch: scratch, session: session, types: registry, home: home,
        logger: logger, childCommand: ChildProgram.command, isLibrary: true, store: store)
    } catch {
      throw WorkerError(.machine, "\(error)")
    }
  }

  /// Runs until the order to end.
  func run() {
    var poller = Poller()
    _ = poller.add(descriptor: orders.descriptor)
    if case .success(let attempts) = attempts {
      for descriptor in attempts.descriptors { _ = poller.add(descriptor: descriptor) }
    }
    var batch: [ExecutorOrder] = []
    while !isEnding {
      // The wait fails only for lack of memory; the next one may succeed.
      _ = try? poller.wait(until: nextDeadline)
      orders.takeAll(into: &batch)
      for order in batch { obey(order) }
      collect()
    }
    leave()
  }

  private var nextDeadline: Int64? {
    guard case .success(let attempts) = attempts else { return nil }
    return attempts.nextDeadline(at: now)?.nanoseconds
  }

  private var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }

  private func obey(_ order: ExecutorOrder) {
    let attempts: AttemptRunner
    switch self.attempts {
    case .success(let runner): attempts = runner
    case .failure(let problem):
      if case .end = order { isEnding = true }
      guard case .start(let attempt, _, _, _, _, _) = order else { return }
      return onEnd(
        attempt, AttemptProblem(cause: .cannotStart, message: problem.description).result)
    }
    switch order {
    case .start(let attempt, let announcement, let argument, let inputs, let run, let queue):
      let job = Job(
        attempt: attempt, run: run, ownQueueName: queue,
        template: PreparedTemplate(announcement), inputs: inputs)
      if let result = attempts.start(job, argument: argument, at: now) {
        onEnd(attempt, result)
      } else {
        running.insert(attempt)
      }
    case .stop(let attempt): attempts.stop(attempt)
    case .kill(let attempt): attempts.kill(attempt)
    case .end: isEnding = true
    }
  }

  private func collect() {
    guard case .success(let attempts) = attempts else { return }
    let ended = attempts.collect(at: now, progress: onProgress)
    // The executor reports the end even if processes survive.
    _ = attempts.takeSurvivals()
    // Who asked for the attempt finds what was kept in its result, if that came to something.
    store?.forget(attempts.takeKept(), notIn: ended.map(\.1))
    // Move the logs before the end is reported, so that a reader finds them.
    attempts.tidy()
    for (attempt, result) in ended {
      running.remove(attempt)
      onEnd(attempt, result)
    }
  }

  /// Kills everything. Registered operations that ignore their flag continue unobserved.
  private func leave() {
    if case .success(let attempts) = attempts {
      for attempt in running { attempts.stop(attempt) }
      attempts.endAll(within: .seconds(5))
    }
    for attempt in running { onEnd(attempt, .stoppedWithWorker) }
    Folders.removeTree(folder)
  }
}
