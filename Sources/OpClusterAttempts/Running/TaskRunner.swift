// Runs registered types in this process, as tasks on Swift's threads; their news return through
// mailboxes. Belongs to `AttemptRunner`, on its thread.

import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterSystem

/// The news of a task for the loop.
enum TaskNews: Sendable {
  /// With what was kept of it in the store.
  case ended(Part, AttemptResult, [StoredContent])
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
  /// Parts of which something is being kept.
  private var keeping: Set<Part> = []
  private let store: AttemptStore?
  private let keeper: FileKeeper?

  init(
    _ registry: OperationRegistry, scratch: Scratch, store: AttemptStore?, logger: Logger
  ) throws(SystemError) {
    self.store = store
    self.registry = registry
    self.scratch = scratch
    self.logger = logger
    let ends = try Mailbox<TaskNews>(capacity: .max)
    self.ends = ends
    keeper = store.map { FileKeeper($0, ends: ends) }
    progress = try Mailbox(capacity: 1_024)
  }

  func isRunning(_ part: Part) -> Bool { running[part] != nil || keeping.contains(part) }

  /// Keeps what a part has left on the disk; the end follows.
  func keep(_ part: Part, _ result: AttemptResult, _ left: LeftFiles) {
    guard let keeper else { preconditionFailure("a part left something without a store") }
    keeping.insert(part)
    keeper.keep(part, result, left)
  }

  /// Starts the work; returns its result if it has ended already.
  func start(
    _ part: Part, _ job: Job, _ type: OperationType, argument: [UInt8], home: OperationHome
  ) -> AttemptResult? {
    let (ends, progress) = (ends, progress)
    // The output of a block is a part of the operation's.
    let store = part.isWhole ? store : nil
    let started = registry.start(
      type, argument: argument,
      context: job.context(
        scratch: scratch.taskFolder(part), inputs: scratch.inputFolder(part.attempt), home: home,
        files: store?.files ?? .none, logger: logger(for: part.attempt)
      ) {
        _ = progress.post(.progress(part, fraction: $0, text: $1))
      },
      qos: job.announcement.qos
    ) { result, context in
      let files = context.keptFiles
      guard let store, result.output.count > Limits.outputBytes else {
        let (fitting, _) = result.fittingMessages(keep: nil)
        _ = ends.post(.ended(part, fitting, files))
        return
      }
      store.later {
        let (fitting, kept) = store.fitting(result)
        _ = ends.post(.ended(part, fitting, files + kept))
      }
    }
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
  func takeEnded() -> [(Part, AttemptResult, [StoredContent])] {
    guard !running.isEmpty || !keeping.isEmpty else { return [] }
    var news: [TaskNews] = []
    ends.takeAll(into: &news)
    return news.compactMap { news in
      guard case .ended(let part, let result, let kept) = news else { return nil }
      let isKnown = running.removeValue(forKey: part) != nil || keeping.remove(part) != nil
      return isKnown ? (part, result, kept) : nil
    }
  }
}

extension Job {
  /// The context of a registered operation of this job.
  func context(
    scratch folder: String, inputs inputFolder: String, home: OperationHome,
    files: OperationFileStore, logger: Logger,
    say: @escaping @Sendable (Double, String) -> Void
  ) -> OperationContext {
    OperationContext(
      attempt: attempt, run: run, name: announcement.name, graphName: announcement.graphName,
      index: announcement.isArray ? shownIndex : nil, queueName: queueName,
      // The submitter's files are no dependency.
      inputs: inputs.filter { $0.name != InputFile.submitter }, gpus: gpus ?? [], home: home,
      logger: logger,
      scratch: OperationScratch(
        make: {
          try Folders.makeEmpty(folder)
          return folder
        }, remove: { Folders.removeTree($0) }),
      contents: OperationContents(in: inputFolder),
      inputFiles: announcement.inputFiles.isEmpty
        ? nil : OperationInputFiles(in: AttemptStore.filesFolder(in: inputFolder)),
      fileStore: files, traceParent: traceParent,
      onProgress: say)
  }
}
