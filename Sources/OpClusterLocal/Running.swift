// Attempts that run: prepared and started by the stepper, ended on whatever thread they end.

import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import Synchronization

/// A template as the worker's brain was told it.
final class AnnouncedTemplate: Sendable {
  let announcement: TemplateAnnouncement
  init(_ announcement: TemplateAnnouncement) { self.announcement = announcement }
}

/// A decided start.
struct ReadyLaunch: Sendable {
  var launch: Launch
  var template: AnnouncedTemplate
}

/// One attempt of a registered type or a closure.
final class AttemptRun: Sendable {
  let context: OperationContext
  let type: OperationType
  let argument: [UInt8]
  let qos: QualityOfService
  private struct State {
    var isStopped = false
    var runner: Runner?
  }
  private let state = Mutex(State())

  init(
    _ context: OperationContext, _ type: OperationType, argument: [UInt8], qos: QualityOfService
  ) {
    self.context = context
    self.type = type
    self.argument = argument
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
}

/// A task that runs one attempt after the other, until it was cancelled for one of them or there is
/// none.
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

  /// Cancelled for an attempt, it is of no use for another.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }
}

/// What can be asked to stop. Changed by the stepper alone.
final class RunningAttempts: Sendable {
  private let attempts = Mutex<[AttemptID: AttemptRun]>([:])

  func add(_ run: AttemptRun) { attempts.withLock { $0[run.context.attempt] = run } }
  func remove(_ attempt: AttemptID) { attempts.withLock { $0[attempt] = nil } }
  func stop(_ attempt: AttemptID) { attempts.withLock { $0[attempt] }?.stop() }
}

extension LocalCluster {
  /// What a launch comes to; nil: it has ended, or runs elsewhere.
  func prepare(_ ready: ReadyLaunch) -> AttemptRun? {
    let template = ready.template.announcement
    let attempt = ready.launch.attempt
    switch template.work {
    case .call(let type):
      let argument = ready.launch.argument.isEmpty ? template.payload : ready.launch.argument
      let run = AttemptRun(context(of: ready), type, argument: argument, qos: template.qos)
      running.add(run)
      return run
    case .nothing:
      post(.ended(attempt, .success))
    case .command, .blocks:
      var result = AttemptResult()
      result.cause = .cannotStart
      result.diagnostic = "this cluster runs operations of this process only"
      post(.ended(attempt, result))
    }
    return nil
  }

  private func context(of ready: ReadyLaunch) -> OperationContext {
    let template = ready.template.announcement
    let attempt = ready.launch.attempt
    let element = attempt.operation.index - template.firstIndex
    return OperationContext(
      attempt: attempt, run: ready.launch.run, name: template.name,
      graphName: template.graphName,
      index: template.isArray ? template.shownIndex(ofElement: element) : nil,
      queueName: template.queueName, inputs: ready.launch.inputs, home: .local(self),
      onProgress: { [weak self] fraction, text in
        self?.post(.progress(attempt, fraction: fraction, text: text))
      })
  }

  /// Runs an attempt, and what comes after it, as a task.
  func run(_ first: AttemptRun) {
    let runner = Runner()
    let task = Task.detached(priority: first.qos.taskPriority) { [self] in
      await runAll(first, on: runner)
    }
    runner.isRun(by: task)
  }

  private func runAll(_ first: AttemptRun, on runner: Runner) async {
    let registry = registry.withLock { $0 }
    var next: AttemptRun? = first
    while let run = next {
      run.begin(on: runner)
      let result = await registry.run(run.type, argument: run.argument, context: run.context)
      next = ended(run.context.attempt, result, qos: run.qos)
      if let waiting = next, runner.isCancelled {
        self.run(waiting)
        return
      }
    }
  }

  private func ended(
    _ attempt: AttemptID, _ result: AttemptResult, qos: QualityOfService
  ) -> AttemptRun? {
    switch inbox.post(.ended(attempt, result)) {
    case .mayStep: step(as: .runner(qos))
    case .isStepped, .isClosed: nil
    }
  }
}

extension TemplateAnnouncement {
  /// The number that people see for an element, counted from 0 inside the template.
  func shownIndex(ofElement element: UInt32) -> UInt32 {
    var rest = element
    for run in indexRuns {
      if rest < run.count { return run.first &+ rest &* run.step }
      rest -= run.count
    }
    return element + 1
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
