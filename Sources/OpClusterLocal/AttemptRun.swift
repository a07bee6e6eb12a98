// Runs attempts: the stepper prepares and starts them, they end on any thread.

import OpClusterAttempts
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import Synchronization

/// A template as it was announced to the execution core.
final class AnnouncedTemplate: Sendable {
  let announcement: TemplateAnnouncement
  init(_ announcement: TemplateAnnouncement) { self.announcement = announcement }
}

/// A decided start.
struct ReadyLaunch: Sendable {
  var attempt: AttemptID
  /// The number of the operation's run, counted for people.
  var run: UInt32
  /// The name of its queue if it differs from the template's.
  var queueName: String?
  /// The element's own argument.
  var argument: [UInt8]
  var inputs: [DependencyInput]
  var template: AnnouncedTemplate
}

/// One attempt of a registered type or a closure.
final class AttemptRun: Sendable {
  let context: OperationContext
  let type: OperationType
  let argument: [UInt8]
  let qos: QualityOfService
  /// Whether it runs on the main thread: its queue is the main queue.
  var isOnMain: Bool { context.queueName == LocalCluster.mainQueueName }
  /// Its position among the running attempts.
  let place = Atomic<Int>(-1)
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

  /// Ends the attempt: stopping it no longer affects the runner.
  func end() { state.withLock { $0.runner = nil } }

  /// Sets the flag and cancels the task (S87).
  func stop() {
    context.deliverCancellation()
    let task = state.withLock { state in
      state.isStopped = true
      // Under the lock: the runner must find out before the next attempt that it cannot run one.
      return state.runner?.condemn()
    }
    task?.cancel()
  }
}

/// A task that runs one attempt after the other, until it was cancelled for one of them or none is
/// left.
final class Runner: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isCancelled = false
    var next: AttemptRun?
  }
  private let state = Mutex(State())
  /// Whether it waits for another attempt.
  private let isIdle = Atomic<Bool>(false)

  /// Waits until the stepper provides an attempt or has none left, or for a maximal number of
  /// checks. That is some microseconds; ending this task and starting another would cost more.
  func waitForNext(
    _ qos: QualityOfService, in idle: IdleRunners, looks most: Int, while mayCome: () -> Bool
  ) -> AttemptRun? {
    isIdle.store(true, ordering: .sequentiallyConsistent)
    idle.add(self, qos)
    var looks = 0
    while isIdle.load(ordering: .acquiring), looks < most, mayCome() { looks += 1 }
    // Atomic: either the stepper, which gives an attempt, or the leaving runner changes the flag.
    let goes = isIdle.compareExchange(
      expected: true, desired: false, ordering: .acquiringAndReleasing
    ).exchanged
    if goes { return nil }
    while true {
      if let next = state.withLock({ state in
        defer { state.next = nil }
        return state.next
      }) {
        return next
      }
    }
  }

  /// Some ten microseconds of checks, while a thread decides.
  static let looks = 2_000

  /// Gives it an attempt; false if it no longer waits.
  func give(_ next: AttemptRun) -> Bool {
    state.withLock { state in
      guard !state.isCancelled,
        isIdle.compareExchange(
          expected: true, desired: false, ordering: .acquiringAndReleasing
        ).exchanged
      else { return false }
      state.next = next
      return true
    }
  }

  func isRun(by task: Task<Void, Never>) {
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  func cancel() { condemn()?.cancel() }

  /// Prevents further attempts. Returns the task to cancel.
  func condemn() -> Task<Void, Never>? {
    state.withLock { state in
      state.isCancelled = true
      return state.task
    }
  }

  /// Whether it was cancelled for an attempt, so that it cannot run another.
  var isCancelled: Bool { state.withLock { $0.isCancelled } }
}

/// Runners that wait for an attempt from the stepper.
final class IdleRunners: Sendable {
  private let runners = Mutex<[(qos: QualityOfService, runner: Runner)]>([])

  func add(_ runner: Runner, _ qos: QualityOfService) {
    runners.withLock { $0.append((qos, runner)) }
  }

  /// Whether a waiting runner took the attempt.
  func take(_ run: AttemptRun) -> Bool {
    while let runner = runners.withLock({ runners in
      runners.lastIndex { $0.qos == run.qos }.map { runners.remove(at: $0).runner }
    }) {
      if runner.give(run) { return true }
    }
    return false
  }
}

/// The attempts that can be asked to stop: the stepper adds them, the thread that ends one removes
/// it before reporting the end.
final class RunningAttempts: Sendable {
  private struct State {
    /// nil: a free place.
    var places: [AttemptRun?] = []
    var free: [Int] = []
  }
  private let state = Mutex(State())

  func add(_ run: AttemptRun) {
    state.withLock { state in
      if let place = state.free.popLast() {
        state.places[place] = run
        run.place.store(place, ordering: .relaxed)
      } else {
        run.place.store(state.places.count, ordering: .relaxed)
        state.places.append(run)
      }
    }
  }

  func remove(_ run: AttemptRun) {
    state.withLock { state in
      let place = run.place.load(ordering: .relaxed)
      guard state.places[place] === run else { return }
      state.places[place] = nil
      state.free.append(place)
    }
  }

  /// Whether it was one of these. A scan suffices: stops are rare, and attempts are at most the
  /// slots.
  func stop(_ attempt: AttemptID) -> Bool {
    let run = state.withLock { state in
      state.places.lazy.compactMap { $0 }.first { $0.context.attempt == attempt }
    }
    run?.stop()
    return run != nil
  }
}

extension LocalCluster {
  /// Prepares a launch; nil: it has ended, or runs elsewhere.
  func prepare(_ ready: ReadyLaunch) -> AttemptRun? {
    let template = ready.template.announcement
    let attempt = ready.attempt
    switch template.work {
    case .call(let type) where !template.fillsInput && !isIsolated(type):
      let argument = ready.argument.isEmpty ? template.payload : ready.argument
      let run = AttemptRun(context(of: ready), type, argument: argument, qos: template.qos)
      running.add(run)
      return run
    case .nothing:
      post(.ended(attempt, .success))
    case .command, .blocks, .call:
      do throws(WorkerError) {
        try executors.start(ready, for: self)
      } catch {
        var result = AttemptResult()
        result.cause = .cannotStart
        result.diagnostic = "\(error)"
        post(.ended(attempt, result))
      }
    }
    return nil
  }

  private func context(of ready: ReadyLaunch) -> OperationContext {
    let template = ready.template.announcement
    let attempt = ready.attempt
    let element = attempt.operation.index - template.firstIndex
    return OperationContext(
      attempt: attempt, run: ready.run, name: template.name,
      graphName: template.graphName,
      index: template.isArray ? template.indexRuns.number(ofElement: element) : nil,
      queueName: ready.queueName ?? template.queueName, inputs: ready.inputs, home: .local(self),
      scratch: .temporary, contents: values.contents,
      inputFiles: template.inputFiles.isEmpty
        ? nil
        : OperationInputFiles(template.inputFiles, of: ready.inputs, in: values.contents),
      fileStore: values.files,
      // The context keeps the cluster alive in any case, as its home.
      onProgress: { [self] fraction, text in
        post(.progress(attempt, fraction: fraction, text: text))
      })
  }

  /// Runs an attempt, and the following ones, in a task.
  func run(_ first: AttemptRun) {
    if first.isOnMain { return runOnMain(first) }
    if short.add(first) {
      alarm.set(Instant(nanoseconds: MonotonicClock.now()) + ShortStarts.patience)
      return
    }
    if idle.take(first) { return }
    let runner = Runner()
    let task = Task.detached(
      executorPreference: threads, priority: first.qos.taskPriority
    ) { [self] in
      await runAll(first, on: runner)
    }
    runner.isRun(by: task)
  }

  /// Runs an attempt alone, on the main thread.
  private func runOnMain(_ run: AttemptRun) {
    let runner = Runner()
    let task = Task.detached(
      executorPreference: MainThread.shared, priority: run.qos.taskPriority
    ) { [self] in
      run.begin(on: runner)
      let registry = registry.withLock { $0 }
      let result = keepingValue(
        of: await registry.run(run.type, argument: run.argument, context: run.context), run.context)
      tellError(of: run.context, result)
      run.end()
      running.remove(run)
      post(.ended(run.context.attempt, result))
    }
    runner.isRun(by: task)
  }

  private func runAll(_ first: AttemptRun, on runner: Runner) async {
    let isShared = first.qos == .default
    if isShared { short.join() }
    var next: AttemptRun? = first
    while let run = next {
      if runner.isCancelled {
        // The runner cannot run another attempt.
        if isShared { for left in short.abandon() { self.run(left) } }
        return self.run(run)
      }
      run.begin(on: runner)
      short.begins()
      let began = MonotonicClock.now()
      let registry = registry.withLock { $0 }
      let result = keepingValue(
        of: await registry.run(run.type, argument: run.argument, context: run.context), run.context)
      tellError(of: run.context, result)
      run.end()
      running.remove(run)
      let now = MonotonicClock.now()
      short.ended(after: now - began)
      next = ended(run.context.attempt, result, qos: run.qos, on: runner, isShared, at: now)
    }
  }

  /// Reports an end, and returns the next attempt to run.
  private func ended(
    _ attempt: AttemptID, _ result: AttemptResult, qos: QualityOfService, on runner: Runner,
    _ isShared: Bool, at now: Int64
  ) -> AttemptRun? {
    if isShared, let next = short.take() {
      // The end is handled with the next one, or when the alarm finds no progress.
      inbox.add(.ended(attempt, result))
      alarm.set(Instant(nanoseconds: now) + ShortStarts.patience)
      return next
    }
    if isShared, short.isAdding(at: now) {
      // The adding thread handles the end with its next addition: one step for both, and no wait
      // for this thread. If none follows soon, that was the last one.
      inbox.add(.ended(attempt, result))
      alarm.set(Instant(nanoseconds: now) + ShortStarts.patience)
      let given = runner.waitForNext(
        qos, in: idle, looks: .max,
        while: { short.isEmpty && short.isAdding(at: MonotonicClock.now()) })
      return given ?? short.take() ?? next(after: .wake, qos, on: runner, isShared)
    }
    return next(after: .ended(attempt, result), qos, on: runner, isShared)
  }

  /// Handles an arrival, and returns the next attempt to run.
  private func next(
    after arrival: Arrival, _ qos: QualityOfService, on runner: Runner, _ isShared: Bool
  ) -> AttemptRun? {
    var next: AttemptRun?
    switch inbox.post(arrival) {
    case .mayStep: next = step(as: .runner(qos))
    case .isStepped:
      next = runner.waitForNext(
        qos, in: idle, looks: Runner.looks,
        while: { inbox.isStepping && (!isShared || short.isEmpty) })
    case .isClosed: break
    }
    return next ?? (isShared ? short.leave() : nil)
  }

  /// Handles the alarm: a deadline has come, or starts and ends wait for a runner that may take
  /// long.
  func look() {
    guard let starts = short.look() else {
      // Runners make progress: they handle what is due.
      return alarm.set(Instant(nanoseconds: MonotonicClock.now()) + ShortStarts.patience)
    }
    for start in starts { run(start) }
    post(.wake)
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
