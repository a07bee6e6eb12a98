// Runs one attempt of a registered type as a task on Swift's own threads, and converts every end to
// a result (S16).

import FoundationEssentials
public import OpClusterModel

/// The result of starting an attempt.
public enum StartedAttempt: Sendable {
  /// It has already ended; `onEnd` is not called.
  case ended(AttemptResult)
  /// `onEnd` will report its end.
  case running(RunningAttempt)
}

/// An attempt that runs, or has ended meanwhile.
public struct RunningAttempt: Sendable {
  public let context: OperationContext
  private let task: Task<Void, Never>

  init(
    _ context: OperationContext, qos: QualityOfService, _ argument: [UInt8],
    _ work: @escaping OperationRegistry.Work,
    _ onEnd: @escaping @Sendable (AttemptResult, OperationContext) -> Void
  ) {
    self.context = context
    task = Task.detached(priority: qos.taskPriority) {
      onEnd(await Self.run(work, argument, context), context)
    }
  }

  /// Asks it to stop: sets the flag, cancels the task, calls its handlers. The operation may ignore
  /// it; this call ends nothing by itself (S87, S134). Repetitions have no effect.
  public func cancel() {
    context.deliverCancellation()
    task.cancel()
  }

  /// Runs the whole attempt in the caller's task.
  static func run(
    _ work: OperationRegistry.Work, _ argument: [UInt8], _ context: OperationContext
  ) async -> AttemptResult {
    let startedAt = WallTime.now
    var result: AttemptResult
    do {
      // It was asked to stop before it began: `main` is not run (S91).
      try context.checkCancellation()
      result = AttemptResult()
      result.output = try await OperationContext.$current.withValue(context) {
        try await work(argument, context)
      }
    } catch {
      context.keep(thrown: error)
      result = AttemptResult(thrown: error, isCancelled: context.isCancelled)
    }
    result.startedAt = startedAt
    result.endedAt = .now
    context.end()
    return result
  }
}

extension AttemptResult {
  init(_ cause: FailureCause, _ diagnostic: String) {
    self.init()
    self.cause = cause
    self.diagnostic = CodingText.clip(diagnostic)
  }

  /// Every thrown error ends the attempt as failed, with a specific cause (S16).
  init(thrown error: any Error, isCancelled: Bool) {
    switch error {
    case is BadArgument: self.init(.badArgument, "\(error)")
    case is MissingInput: self.init(.missingInput, "\(error)")
    case is BadOutput: self.init(.badOutput, "\(error)")
    case is StoreIsFull: self.init(.storeFull, "its output was not kept: \(error)")
    case is CancellationError where isCancelled:
      self.init(.failed, "it was cancelled")
      wasStopped = true
    default: self.init(.failed, "\(error)")
    }
  }
}

extension WallTime {
  /// For people (G31).
  fileprivate static var now: WallTime {
    WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
  }
}

extension QualityOfService {
  fileprivate var taskPriority: TaskPriority {
    switch self {
    case .background: .background
    case .utility: .utility
    case .default: .medium
    case .userInitiated, .userInteractive: .high
    }
  }
}
