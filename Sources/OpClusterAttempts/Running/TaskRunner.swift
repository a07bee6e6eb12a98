// Runs registered types in this process, as tasks on Swift's threads; their news return through
// mailboxes. Belongs to `AttemptRunner`, on its thread.

import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterSystem

/// The news of a task for the loop.
enum TaskNews: Sendable {
  case ended(Part, AttemptResult)
  case progress(Part, fraction: Double, text: String)
}

final class TaskRunner {
  /// Never full: the number of running tasks is limited at their start.
  let ends: Mailbox<TaskNews>
  /// Drops what does not fit: only the newest progress matters.
  let progress: Mailbox<TaskNews>
  private let registry: OperationRegistry
  private let scratch: Scratch
  private let logger: Logger
  private var running: [Part: RunningAttempt] = [:]

  init(
    _ registry: OperationRegistry, scratch: Scratch, logger: Logger
  ) throws(SystemError) {
    self.registry = registry
    self.scratch = scratch
    self.logger = logger
    ends = try Mailbox(capacity: .max)
    progress = try Mailbox(capacity: 1_024)
  }

  func isRunning(_ part: Part) -> Bool { running[part] != nil }

  /// Starts the work; returns its result if it has ended already.
  func start(
    _ part: Part, _ job: Job, _ type: OperationType, argument: [UInt8], home: OperationHome
  ) -> AttemptResult? {
    let (ends, progress) = (ends, progress)
    let started = registry.start(
      type, argument: argument,
      context: job.context(
        scratch: scratch.taskFolder(part), home: home, logger: logger(for: part.attempt)
      ) {
        _ = progress.post(.progress(part, fraction: $0, text: $1))
      },
      qos: job.announcement.qos
    ) { result in _ = ends.post(.ended(part, result)) }
    switch started {
    case .ended(let result): return result
    case .running(let work):
      running[part] = work
      return nil
    }
  }

  /// Logs to the worker's log and to the attempt's own.
  private func logger(for attempt: AttemptID) -> Logger {
    let path = scratch.log(attempt, .standardError)
    return Logger(label: logger.label) { [logger] _ in OperationLog(logger, path: path) }
  }

  /// Sets the flag and cancels the task; the operation must react to it (S87, S134).
  func stop(_ part: Part) { running[part]?.cancel() }

  /// Returns the progress since the last call; each task's newest comes last.
  func takeProgress() -> [(Part, Double, String)] {
    guard !running.isEmpty else { return [] }
    var news: [TaskNews] = []
    progress.takeAll(into: &news)
    return news.compactMap { news in
      guard case .progress(let part, let fraction, let text) = news else { return nil }
      return (part, fraction, text)
    }
  }

  /// Returns the tasks that have ended since the last call.
  func takeEnded() -> [(Part, AttemptResult)] {
    guard !running.isEmpty else { return [] }
    var news: [TaskNews] = []
    ends.takeAll(into: &news)
    return news.compactMap { news in
      guard case .ended(let part, let result) = news else { return nil }
      return running.removeValue(forKey: part).map { _ in (part, result) }
    }
  }
}

extension Job {
  /// The context of a registered operation of this job.
  func context(
    scratch folder: String, home: OperationHome, logger: Logger,
    say: @escaping @Sendable (Double, String) -> Void
  ) -> OperationContext {
    OperationContext(
      attempt: attempt, run: run, name: announcement.name, graphName: announcement.graphName,
      index: announcement.isArray ? shownIndex : nil, queueName: queueName,
      inputs: inputs, gpus: gpus ?? [], home: home, logger: logger,
      scratch: OperationScratch(
        make: {
          try Folders.makeEmpty(folder)
          return folder
        }, remove: { Folders.removeTree($0) }),
      onProgress: say)
  }
}
