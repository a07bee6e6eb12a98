// Runs the work of attempts: commands, registered types, blocks of both. Reports the end of each
// when no process of it is left. Lives on one thread, the worker's loop or a command executor,
// which watches `descriptors` and then calls `collect`.

package import Logging
package import OpClusterModel
package import OpClusterOperations
package import OpClusterProcesses
package import OpClusterSystem
import OpClusterWire

/// Starts and stops running attempts.
package final class AttemptRunner {
  package let host: ProcessHost
  private let scratch: Scratch
  private let commands: CommandRunner
  private let registry: OperationRegistry
  private let tasks: TaskRunner
  /// nil: every type runs in this process.
  private let children: ChildPool?
  /// This program is no worker, but may start children for the types that it has listed.
  private let isLibrary: Bool
  /// The address of the cluster for operations.
  package var home: OperationHome {
    didSet { children?.home = home }
  }
  /// nil: there is no store.
  private let layouts: InputLayouts?
  /// Attempts that read contents of the store.
  private var readers: Set<AttemptID> = []
  /// What was kept in the store, since the last `takeKept`.
  private var kept: [StoredContent] = []
  private var blockRuns: [AttemptID: BlockRun] = [:]
  /// Attempts with blocks that have ended in this turn.
  private var advanced: Set<AttemptID> = []
  /// The times at which blocks with a time limit of their own are asked to stop, and killed.
  private var blockTimers: [BlockTimer] = []

  /// Attempts with processes that KILL does not end, by token, and their unreported changes.
  private var survivors: [UInt64: AttemptID] = [:]
  private var survivals: (found: [AttemptID], gone: [AttemptID]) = ([], [])

  private struct BlockTimer {
    var part: Part
    var due: Instant
    var grace: Span?
    var isGrace: Bool
  }

  /// - Parameters:
  ///   - store: Keeps values that are too large for a message; nil: such an output is an error.
  ///   - childCommand: Starts this program as a child; nil: there are no children.
  package init(
    host: ProcessHost, scratch: Scratch, session: UInt64, types registry: OperationRegistry,
    home: OperationHome = .none, logger: Logger, childCommand: [String]? = nil,
    limits: OperationLimits = OperationLimits(), childIdleTime: Span = .seconds(60),
    runAs: OperationAccount = .worker, isLibrary: Bool = false, store: AttemptStore? = nil
  ) throws(SystemError) {
    if let store { layouts = try InputLayouts(store) } else { layouts = nil }
    self.isLibrary = isLibrary
    self.home = home
    self.host = host
    self.scratch = scratch
    self.registry = registry
    tasks = try TaskRunner(registry, scratch: scratch, store: store, logger: logger)
    let accounts = OperationAccounts(runAs)
    children = childCommand.map {
      ChildPool(
        host: host, scratch: scratch, command: $0, limits: limits, accounts: accounts,
        idleTime: childIdleTime, store: store, logger: logger)
    }
    commands = CommandRunner(
      host: host, scratch: scratch, session: session, limits: limits, accounts: accounts,
      mayKeepFiles: { store?.mayKeep == true })
  }

  /// Begins another session; the numbers of attempts begin again.
  package func beginAnew(session: UInt64) {
    commands.beginAnew(session: session)
    children?.forgetTemplates()
  }

  /// Readable if `collect` has work.
  package var descriptors: [Int32] {
    [host.descriptor, tasks.ends.descriptor, tasks.progress.descriptor]
      + (layouts.map { [$0.descriptor] } ?? [])
  }

  /// The moment at which `collect` must be called, even if nothing is readable.
  package func nextDeadline(at now: Instant) -> Instant? {
    let timers = blockTimers.lazy.map(\.due).min()
    guard let next = children?.nextDeadline(at: now) else { return timers }
    return min(next, timers ?? next)
  }

  package func isRunning(_ attempt: AttemptID) -> Bool {
    let whole = Part(attempt: attempt)
    return blockRuns[attempt] != nil || layouts?.isWaiting(attempt) ?? false
      || tasks.isRunning(whole)
      || children?.isRunning(whole) ?? false
      || commands.stream(.standardOutput, of: attempt) != nil
  }

  /// The present file of an attempt's stream.
  package func log(_ attempt: AttemptID, _ stream: LogStream) -> LogPlace {
    commands.stream(stream, of: attempt) ?? children?.stream(stream, of: attempt)
      ?? scratch.logPlace(attempt, stream)
  }

  // MARK: - Start

  /// Starts an attempt; returns its result if it has ended already.
  package func start(_ job: Job, argument: [UInt8], at now: Instant) -> AttemptResult? {
    if job.readsStore {
      guard let layouts else {
        return AttemptProblem(cause: .cannotStart, message: "this worker has no store").result
      }
      readers.insert(job.attempt)
      layouts.begin(job, argument: argument, in: scratch.inputFolder(job.attempt))
      return nil
    }
    return begin(job, argument: argument, at: now)
  }

  private func forgetInputs(of attempt: AttemptID) {
    guard !readers.isEmpty, readers.remove(attempt) != nil else { return }
    scratch.removeLater(scratch.inputFolder(attempt))
  }

  /// Returns what was kept in the store since the last call. Call it after `collect`, before the
  /// ends that it returned are told.
  package func takeKept() -> [StoredContent] {
    if kept.isEmpty { return [] }
    defer { kept = [] }
    return kept
  }

  private func begin(_ job: Job, argument: [UInt8], at now: Instant) -> AttemptResult? {
    let whole = Part(attempt: job.attempt)
    switch job.template.work {
    case .nothing: return .success
    case .unusable(let problem): return problem.result
    case .command(let command): return start(whole, job, command, argument: argument)
    case .call(let type, let own):
      return call(whole, job, type, argument: argument.isEmpty ? own : argument)
    case .python(let interpreter, let own):
      // An object replaces the template's; anything else is for the function that it names.
      if argument.first == UInt8(ascii: "{") {
        return callPython(whole, job, own: own, argument: argument)
      }
      return callPython(whole, job, interpreter, own: own, argument: argument)
    case .filledCall(let type, let input): return call(whole, job, type, input, element: argument)
    case .blocks(let blocks): return start(job, blocks, further: argument, at: now)
    }
  }

  private func call(
    _ part: Part, _ job: Job, _ type: OperationType, argument: [UInt8]
  ) -> AttemptResult? {
    if type.isPython { return callPython(part, job, argument: argument) }
    // An exclusive operation must be killable, so it needs a process.
    let needsProcess = job.announcement.isExclusive && host.lease != nil
    if isLibrary, registry.isolation(of: type) == .child, !ChildProgram.serves(type) {
      return AttemptProblem(cause: .cannotStart, message: CommandExecutor.missingDoor(for: type))
        .result
    }
    if let children, needsProcess || registry.isolation(of: type) == .child {
      return children.start(part, job, type, argument: argument)
    }
    if needsProcess {
      return AttemptProblem(
        cause: .cannotStart,
        message: "this worker runs '\(type.name)' in its own process, where nothing can be killed, "
          + "so that it cannot be exclusive here; make the program a WorkerProgram"
      ).result
    }
    return tasks.start(part, job, type, argument: argument, home: home)
  }

  /// Calls the function that an argument names.
  private func callPython(
    _ part: Part, _ job: Job, own: [UInt8] = [], argument: [UInt8]
  ) -> AttemptResult? {
    do throws(AttemptProblem) {
      let interpreter = try PythonInterpreter(argument: argument)
      return callPython(part, job, interpreter, own: own, argument: argument)
    } catch {
      return error.result
    }
  }

  /// - Parameter own: The template's argument, the same for all its operations: it names the
  ///   function if `argument` does not.
  private func callPython(
    _ part: Part, _ job: Job, _ interpreter: PythonInterpreter, own: [UInt8], argument: [UInt8]
  ) -> AttemptResult? {
    guard let children else {
      return AttemptProblem(
        cause: .cannotStart,
        message: "this program starts no processes for functions of Python; an opworker does"
      ).result
    }
    return children.start(
      part, job, OperationType.python, argument: argument,
      function: ChildPool.PythonFunction(interpreter: interpreter, argument: own))
  }

  /// Fills the argument in, then calls; a missing input ends the part (S138).
  private func call(
    _ part: Part, _ job: Job, _ type: OperationType, _ input: CallInput, element: [UInt8]
  ) -> AttemptResult? {
    do throws(AttemptProblem) {
      let values = try AttemptValues(
        job, input, element: input.elementKeys.isEmpty ? [] : element)
      return call(part, job, type, argument: try values.argument(input))
    } catch {
      return error.result
    }
  }

  private func start(
    _ part: Part, _ job: Job, _ command: CommandSpecification, argument: [UInt8]
  ) -> AttemptResult? {
    do throws(AttemptProblem) {
      try commands.start(part, job, command, argument: argument)
      return nil
    } catch {
      var result = error.result
      result.startedAt = WallTime(milliseconds: WallClock.now())
      result.endedAt = result.startedAt
      return result
    }
  }

  /// Starts the blocks. `further` holds, encoded, the element's values for the commands and the
  /// blocks that were added after the submission (S120).
  private func start(
    _ job: Job, _ blocks: [OperationBlock], further: [UInt8], at now: Instant
  ) -> AttemptResult? {
    let run: BlockRun
    do throws(AttemptProblem) {
      let (added, element) = try BlockRun.further(further, besides: blocks.count)
      run = BlockRun(
        job, blocks + added, element: element, startedAt: WallTime(milliseconds: WallClock.now()))
    } catch {
      return error.result
    }
    guard !run.blocks.isEmpty else { return .success }
    blockRuns[job.attempt] = run
    return advance(job.attempt, at: now)
  }

  /// Starts the blocks for which there is room; returns the operation's result after the last one.
  private func advance(_ attempt: AttemptID, at now: Instant) -> AttemptResult? {
    while let block = blockRuns[attempt]?.takeNext(), let run = blockRuns[attempt] {
      let part = Part(attempt: attempt, block: block)
      if let result = start(part, run, at: now) { blockRuns[attempt]?.ended(block, result) }
    }
    guard let run = blockRuns[attempt], run.isOver else { return nil }
    blockRuns[attempt] = nil
    scratch.dropEmptyLogs(attempt)
    return run.result(endedAt: WallTime(milliseconds: WallClock.now()))
  }

  private func start(_ part: Part, _ run: BlockRun, at now: Instant) -> AttemptResult? {
    switch run.blocks[Int(part.block)] {
    case .call(let type, let argument):
      return call(part, run.job, type, argument: argument)
    case .filledCall(let type, let input):
      return call(part, run.job, type, input, element: run.element)
    case .command(let command):
      let argument = command.elementKeys.isEmpty ? [] : run.element
      let result = start(part, run.job, command, argument: argument)
      if result == nil, let timeout = command.timeout {
        blockTimers.append(
          BlockTimer(part: part, due: now + timeout, grace: command.grace, isGrace: false))
      }
      return result
    }
  }

  // MARK: - Stop

  /// Asks the attempt to stop: processes by their signal, operations by their flag. Skips blocks
  /// that have not begun (S122).
  package func stop(_ attempt: AttemptID) {
    layouts?.withdraw(attempt)
    guard let run = blockRuns[attempt] else { return stop(Part(attempt: attempt)) }
    blockRuns[attempt]?.stop()
    for block in run.running { stop(Part(attempt: attempt, block: block)) }
  }

  private func stop(_ part: Part) {
    commands.stop(part)
    tasks.stop(part)
    children?.stop(part)
  }

  /// Kills process trees; asks everything else once more.
  package func kill(_ attempt: AttemptID) {
    layouts?.withdraw(attempt)
    guard let run = blockRuns[attempt] else { return kill(Part(attempt: attempt)) }
    blockRuns[attempt]?.stop()
    for block in run.running { kill(Part(attempt: attempt, block: block)) }
  }

  private func kill(_ part: Part) {
    commands.kill(part)
    tasks.stop(part)
    children?.kill(part)
  }

  // MARK: - Ends

  /// Returns the attempts that have ended since the last call. Call it after waiting for the
  /// descriptors.
  package func collect(
    at now: Instant, progress: (AttemptID, Double, String) -> Void
  ) -> [(AttemptID, AttemptResult)] {
    passTime(at: now)
    var ended = beginLaidOut(at: now)
    var news = children?.collect(at: now) ?? []
    let ends = host.collectEnded()
    for survival in host.takeSurvivals() { note(survival) }
    for end in ends {
      if let (part, result, promise) = commands.ended(end) {
        if let promise {
          tasks.keep(part, result, .files(promise))
        } else {
          finish(part, result, at: now, &ended)
        }
      } else if let children {
        news += children.ended(end, at: now)
      }
    }
    for news in news {
      switch news {
      case .ended(let part, let result, nil): finish(part, result, at: now, &ended)
      case .ended(let part, let result, let value?): tasks.keep(part, result, .value(value))
      case .progress(let part, let fraction, let text):
        if part.isWhole { progress(part.attempt, fraction, text) }
      }
    }
    for (part, fraction, text) in tasks.takeProgress()
    where part.isWhole {
      progress(part.attempt, fraction, text)
    }
    for (part, result, more) in tasks.takeEnded() {
      kept += more
      commands.filesKept(part)
      finish(part, result, at: now, &ended)
    }
    for attempt in advanced {
      guard let news = blockRuns[attempt]?.progress else { continue }
      progress(attempt, news.fraction, news.text)
    }
    advanced.removeAll()
    if !readers.isEmpty { for (attempt, _) in ended { forgetInputs(of: attempt) } }
    return ended
  }

  /// Begins attempts whose inputs are there. Returns those that have ended already.
  private func beginLaidOut(at now: Instant) -> [(AttemptID, AttemptResult)] {
    guard let layouts else { return [] }
    var (ready, ended) = layouts.takeEnded()
    for (job, argument) in ready {
      if let result = begin(job, argument: argument, at: now) {
        ended.append((job.attempt, result))
      }
    }
    return ended
  }

  private func note(_ survival: Survival) {
    switch survival {
    case .found(let tree):
      guard let part = commands.part(of: tree.token) ?? children?.part(of: tree.token) else {
        return
      }
      if !hasSurvivors(part.attempt) { survivals.found.append(part.attempt) }
      survivors[tree.token] = part.attempt
    case .gone(let tree):
      commands.survivorsGone(tree.token)
      guard let attempt = survivors.removeValue(forKey: tree.token) else { return }
      if !hasSurvivors(attempt) { survivals.gone.append(attempt) }
    }
  }

  /// Whether KILL has left processes of an attempt; this is rare.
  package func hasSurvivors(_ attempt: AttemptID) -> Bool {
    !survivors.isEmpty && survivors.values.contains(attempt)
  }

  /// Returns the attempts for which such processes were found since the last call, and those that
  /// have none left. Call it after `collect`.
  package func takeSurvivals() -> (found: [AttemptID], gone: [AttemptID]) {
    defer { survivals = ([], []) }
    return survivals
  }

  private func finish(
    _ part: Part, _ result: AttemptResult, at now: Instant,
    _ ended: inout [(AttemptID, AttemptResult)]
  ) {
    if part.isWhole { return ended.append((part.attempt, result)) }
    var result = result
    if !blockTimers.isEmpty {
      if blockTimers.contains(where: { $0.part == part && $0.isGrace }) { result.cause = .timeout }
      blockTimers.removeAll { $0.part == part }
    }
    blockRuns[part.attempt]?.ended(part.block, result)
    advanced.insert(part.attempt)
    if let whole = advance(part.attempt, at: now) { ended.append((part.attempt, whole)) }
  }

  /// Asks blocks whose own time is up to stop, and kills them after their grace.
  private func passTime(at now: Instant) {
    for index in blockTimers.indices where now >= blockTimers[index].due {
      let timer = blockTimers[index]
      if timer.isGrace { kill(timer.part) } else { stop(timer.part) }
      blockTimers[index].isGrace = true
      blockTimers[index].due = now + (timer.grace ?? Timing().grace)
    }
  }

  /// Keeps the logs of ended attempts and frees their resources; call it at the end of a turn.
  package func tidy() { commands.tidy() }

  /// Kills everything; for the end of the worker.
  package func endAll(within limit: Duration) { _ = host.endAll(within: limit) }
}

extension BlockRun {
  /// Decodes further blocks, for which there must be room, and the element's values.
  static func further(
    _ bytes: [UInt8], besides count: Int
  ) throws(AttemptProblem) -> (blocks: [OperationBlock], element: [UInt8]) {
    if bytes.isEmpty { return ([], []) }
    let blocks: [OperationBlock]
    let element: [UInt8]
    do throws(WireError) {
      blocks = try Wire.decodeBlocks(bytes)
      element = try Wire.decodeBlockElement(bytes)
    } catch {
      throw .unreadable("list of further blocks", error)
    }
    guard count + blocks.count <= Limits.blocksPerOperation else {
      throw AttemptProblem(
        cause: .badArgument,
        message: "it has \(count + blocks.count) blocks, more than "
          + "\(Limits.blocksPerOperation); spread them over several operations")
    }
    return (blocks, element)
  }
}
