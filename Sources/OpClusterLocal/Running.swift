// Attempts that run: prepared and started by the stepper, ended on whatever thread they end.

import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import Synchronization

/// A template as the worker's brain was told it.
final class AnnouncedTemplate: Sendable {
  let announcement: TemplateAnnouncement
  let isClosure: Bool
  init(_ announcement: TemplateAnnouncement) {
    self.announcement = announcement
    if case .call(let type) = announcement.work {
      isClosure = type.name == OperationRegistry.closureType.name
    } else {
      isClosure = false
    }
  }
}

/// A decided start.
struct ReadyLaunch: Sendable {
  var launch: Launch
  var template: AnnouncedTemplate
  /// The element's own argument, or the template's.
  var argument: [UInt8] {
    launch.argument.isEmpty ? template.announcement.payload : launch.argument
  }
}

/// One attempt that runs a closure.
final class ClosureRun: Sendable {
  let context: OperationContext
  let closure: OperationClosure
  let qos: QualityOfService
  private struct State {
    var isStopped = false
    var runner: Runner?
  }
  private let state = Mutex(State())

  init(_ context: OperationContext, _ closure: @escaping OperationClosure, qos: QualityOfService) {
    self.context = context
    self.closure = closure
    self.qos = qos
  }

  func begin(on runner: Runner) {
    let isStopped = state.withLock { state in
      state.runner = runner
      return state.isStopped
    }
    if isStopped { runner.cancel() }
  }

  /// Sets the flag and cancels the task (S87).
  func stop() {
    context.cancel()
    let runner = state.withLock { state in
      state.isStopped = true
      return state.runner
    }
    runner?.cancel()
  }

  /// Catches everything: whatever is thrown is a failure of the attempt (S16).
  func result() async -> AttemptResult {
    var result = AttemptResult()
    do {
      let output = try await closure(context)
      if output.count > Limits.outputBytes {
        result.cause = .badOutput
        result.diagnostic = "its output has \(output.count) bytes, more than \(Limits.outputBytes)"
      } else {
        result.output = output
      }
    } catch is CancellationError {
      result.cause = .failed
      result.wasStopped = context.isCancelled
      result.diagnostic = "it was cancelled"
    } catch {
      result.cause = .failed
      result.diagnostic = String("\(error)".prefix(Limits.diagnosticBytes / 4))
    }
    return result
  }
}

/// A task that runs closures one after the other, until it was cancelled for one of them or there
/// is none.
final class Runner: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isCancelled = false
  }
  private let state = Mutex(State())

  func isRun(by task: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task
    }
    task?.cancel()
  }

  /// It is of no use for another closure.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }
}

/// What can be asked to stop.
final class RunningAttempts: Sendable {
  private let attempts = Mutex<[AttemptID: ClosureRun]>([:])

  func add(_ run: ClosureRun) { attempts.withLock { $0[run.context.attempt] = run } }
  func remove(_ attempt: AttemptID) { attempts.withLock { $0[attempt] = nil } }
  func stop(_ attempt: AttemptID) { attempts.withLock { $0[attempt] }?.stop() }
}

extension LocalCluster {
  /// What a launch comes to; nil: it has ended or runs on its own already.
  func prepare(_ ready: ReadyLaunch) -> ClosureRun? {
    let template = ready.template.announcement
    guard ready.template.isClosure else {
      post(.ended(ready.launch.attempt, .success))
      return nil
    }
    guard let closure = closures.closure(ClosureTable.number(in: ready.argument)) else {
      var result = AttemptResult()
      result.cause = .badArgument
      result.diagnostic = "there is no closure of this number; register it before its operation"
      post(.ended(ready.launch.attempt, result))
      return nil
    }
    let context = OperationContext(attempt: ready.launch.attempt, name: template.name)
    let run = ClosureRun(context, closure, qos: template.qos)
    running.add(run)
    return run
  }

  /// Runs a closure, and what comes after it, as a task.
  func run(_ first: ClosureRun) {
    let runner = Runner()
    let task = Task.detached(priority: first.qos.taskPriority) { [self] in
      await runAll(first, on: runner)
    }
    runner.isRun(by: task)
  }

  private func runAll(_ first: ClosureRun, on runner: Runner) async {
    var next: ClosureRun? = first
    while let run = next {
      run.begin(on: runner)
      let result = await run.result()
      let attempt = run.context.attempt
      running.remove(attempt)
      next = ended(attempt, result, qos: run.qos)
      if let waiting = next, runner.isCancelled {
        self.run(waiting)
        return
      }
    }
  }

  private func ended(
    _ attempt: AttemptID, _ result: AttemptResult, qos: QualityOfService
  ) -> ClosureRun? {
    switch inbox.post(.ended(attempt, result)) {
    case .mayStep: step(as: .runner(qos))
    case .isStepped, .isClosed: nil
    }
  }
}

extension QualityOfService {
  var taskPriority: TaskPriority {
    switch self {
    case .background: .background
    case .utility: .utility
    case .default: .medium
    case .userInitiated, .userInteractive: .high
    }
  }
}
