// Runs registered types that may wait, as tasks on Swift's own threads; their ends come back
// through a mailbox. Lives on the loop thread.

import OpClusterModel
import OpClusterZeroMQ

/// What a task tells the loop.
enum TaskNews: Sendable {
  case ended(AttemptID, AttemptResult)
  case progress(AttemptID, fraction: Double, text: String)
}

final class TaskRunner {
  /// Ends never find it full: it has room for all that may run.
  let ends: Mailbox<TaskNews>
  /// What does not fit here is not told: only the newest matters.
  let progress: Mailbox<TaskNews>
  private var running: [AttemptID: (context: OperationContext, task: Task<Void, Never>)] = [:]

  init(maximumRunning: Int) throws(SocketError) {
    ends = try Mailbox(capacity: maximumRunning * 2)
    progress = try Mailbox(capacity: 1_024)
  }

  var count: Int { running.count }

  func isRunning(_ attempt: AttemptID) -> Bool { running[attempt] != nil }

  func start(
    _ context: OperationContext, qos: QualityOfService, argument: [UInt8],
    _ make: @escaping @Sendable ([UInt8]) throws -> OperationRegistry.Work
  ) {
    let task = Self.task(context, Self.priority(qos), argument, make, ends)
    running[context.attempt] = (context, task)
  }

  private static func task(
    _ context: OperationContext, _ priority: TaskPriority, _ argument: [UInt8],
    _ make: @escaping @Sendable ([UInt8]) throws -> OperationRegistry.Work,
    _ ends: Mailbox<TaskNews>
  ) -> Task<Void, Never> {
    Task.detached(priority: priority) {
      let result = await run(context, argument, make)
      // Cannot be full; see above.
      _ = ends.post(.ended(context.attempt, result))
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
  func stop(_ attempt: AttemptID) {
    guard let (context, task) = running[attempt] else { return }
    context.cancel()
    task.cancel()
  }

  /// The task has ended: forgets it and removes its folder.
  func forget(_ attempt: AttemptID, folder: String) {
    guard let (context, _) = running.removeValue(forKey: attempt) else { return }
    if context.madeScratch { Folders.removeTree(folder) }
  }
}
