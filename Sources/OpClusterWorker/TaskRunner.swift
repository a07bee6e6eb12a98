// Runs registered types that may wait, as tasks on Swift's own threads; their ends come back
// through a mailbox. Lives on the loop thread.

import OpClusterModel
import OpClusterZeroMQ

/// What a task tells the loop.
enum TaskNews: Sendable {
  case ended(Part, AttemptResult)
  case progress(Part, fraction: Double, text: String)
}

final class TaskRunner {
  /// Never full: what may run is bounded where it is started.
  let ends: Mailbox<TaskNews>
  /// What does not fit here is not told: only the newest matters.
  let progress: Mailbox<TaskNews>
  private let registry: OperationRegistry
  private let scratch: Scratch
  private var running: [Part: (context: OperationContext, task: Task<Void, Never>)] = [:]

  init(_ registry: OperationRegistry, scratch: Scratch) throws(SocketError) {
    self.registry = registry
    self.scratch = scratch
    ends = try Mailbox(capacity: .max)
    progress = try Mailbox(capacity: 1_024)
  }

  func isRunning(_ part: Part) -> Bool { running[part] != nil }

  /// Starts the work; its result, if it has ended by then.
  func start(
    _ part: Part, _ job: Job, _ type: OperationType, argument: [UInt8]
  ) -> AttemptResult? {
    switch registry.kind(of: type) {
    case nil:
      return AttemptProblem(
        cause: .unknownType,
        message: "this worker has no operation type '\(type.name)' version \(type.version)"
      ).result
    case .inline(let run):
      do {
        return Self.result(of: try run(argument, job.inputs))
      } catch {
        return AttemptProblem(
          cause: error is BadArgument ? .badArgument : .failed, message: "\(error)"
        ).result
      }
    case .task(let make):
      let context = context(part, job)
      let priority = Self.priority(job.announcement.qos)
      running[part] = (context, Self.task(part, context, priority, argument, make, ends))
      return nil
    }
  }

  private func context(_ part: Part, _ job: Job) -> OperationContext {
    let progress = progress
    return OperationContext(
      attempt: job.attempt, name: job.announcement.name, graphName: job.announcement.graphName,
      index: job.announcement.isArray ? job.shownIndex : nil,
      inputs: job.inputs, scratchPath: scratch.taskFolder(part)
    ) { _, fraction, text in
      _ = progress.post(.progress(part, fraction: fraction, text: text))
    }
  }

  private static func task(
    _ part: Part, _ context: OperationContext, _ priority: TaskPriority, _ argument: [UInt8],
    _ make: @escaping @Sendable ([UInt8]) throws -> OperationRegistry.Work,
    _ ends: Mailbox<TaskNews>
  ) -> Task<Void, Never> {
    Task.detached(priority: priority) {
      let result = await run(context, argument, make)
      _ = ends.post(.ended(part, result))
    }
  }

  private static func priority(_ qos: QualityOfService) -> TaskPriority {
    switch qos {
    case .background: .background
    case .utility: .utility
    case .default: .medium
    case .userInitiated, .userInteractive: .high
    }
  }

  /// Catches everything: whatever is thrown is a failure of the attempt (S16).
  private static func run(
    _ context: OperationContext, _ argument: [UInt8],
    _ make: @Sendable ([UInt8]) throws -> OperationRegistry.Work
  ) async -> AttemptResult {
    let startedAt = WallTime(milliseconds: WallClock.now())
    var result = AttemptResult()
    do {
      let work = try make(argument)
      do {
        result = Self.result(of: try await work(context))
      } catch is CancellationError {
        result.cause = .failed
        result.wasStopped = context.isCancelled
        result.diagnostic = "it was cancelled"
      } catch {
        result = AttemptProblem(cause: .failed, message: "\(error)").result
      }
    } catch {
      result = AttemptProblem(cause: .badArgument, message: "\(error)").result
    }
    result.startedAt = startedAt
    result.endedAt = WallTime(milliseconds: WallClock.now())
    return result
  }

  /// A success, if its output is not too long.
  static func result(of output: [UInt8]) -> AttemptResult {
    guard output.count <= Limits.outputBytes else {
      return AttemptProblem(
        cause: .badOutput,
        message: "its output has \(output.count) bytes, more than \(Limits.outputBytes); leave a "
          + "reference to larger data"
      ).result
    }
    var result = AttemptResult()
    result.output = output
    return result
  }

  /// Sets the flag and cancels the task; heeding it is the operation's affair (S87, S134).
  func stop(_ part: Part) {
    guard let (context, task) = running[part] else { return }
    context.cancel()
    task.cancel()
  }

  /// What was told since the last call: of each the newest comes last.
  func takeProgress() -> [(Part, Double, String)] {
    var news: [TaskNews] = []
    if !running.isEmpty { progress.takeAll(into: &news) }
    return news.compactMap { news in
      if case .progress(let part, let fraction, let text) = news {
        (part, fraction, text)
      } else {
        nil
      }
    }
  }

  /// What has ended since the last call; its folder is gone.
  func takeEnded() -> [(Part, AttemptResult)] {
    guard !running.isEmpty else { return [] }
    var news: [TaskNews] = []
    ends.takeAll(into: &news)
    var ended: [(Part, AttemptResult)] = []
    for case .ended(let part, let result) in news {
      guard let (context, _) = running.removeValue(forKey: part) else { continue }
      if context.madeScratch { Folders.removeTree(scratch.taskFolder(part)) }
      ended.append((part, result))
    }
    return ended
  }
}
