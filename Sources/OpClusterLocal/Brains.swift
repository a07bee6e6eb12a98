// The scheduler and the execution core, and the messages between them, as values. Only the stepper
// uses them. A round: handle arrivals, exchange messages until neither has any left, collect the
// work for outside.

import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

struct Brains: Sendable {
  var scheduler: Scheduler
  var core: ExecutionCore
  var turn = SchedulingTurn(keepsRecords: false)
  var now: Instant
  var wall: WallTime = .unknown
  /// The types that the worker announces; more may be added later.
  var types: [OperationType]
  /// The types as of this round, if some were registered.
  var newTypes: [OperationType]?
  /// The connection of the worker; each conversation has a number of its own.
  var worker = PeerID(1)
  var isObserved = false
  /// Whether the turn has handled input and is not closed.
  var isTurnOpen = false
  var output = Output()
  var history = History()
  private var closures = ClosureNumbers()
  /// Empty between turns; kept to reuse its memory, like the next two.
  private var turnEffects: [Effect] = []
  private var effects: [ExecutionEffect] = []
  private var spareEffects: [ExecutionEffect] = []
  private var templates: [AnnouncedTemplate?] = []
  private var completions: [UInt64: Completion] = [:]
  private var questions: [(ClientRequest, Completion)] = []
  private var lastRequest: UInt64 = 0
  /// The latest moment for reporting progress.
  private var tellProgressAt: Instant?
  /// The scheduler's deadline at the end of the last round; it does not change in between.
  private var schedulerDeadline: Instant?
  private static let progressUntold = Span.milliseconds(1)
  var closers: [@Sendable () -> Void] = []
  var byHand = HandWorker()

  /// The work of a round outside of the lock, in this order.
  struct Output: Sendable {
    var deeds: [Deed] = []
    var events: [EventRun] = []
    var answers: [(Completion, Result<ClientReply, Refusal>)] = []
    /// The closures whose operations have finished.
    var usedClosures: [UInt64] = []
    var calls: [@Sendable () -> Void] = []
    /// Values that no unfinished operation needs.
    var released: [ContentDigest] = []
    /// Values that one needs again.
    var retained: [ContentDigest] = []
    /// The moment for the next round without arrivals; nil: never.
    var deadline: Instant?

    /// The attempts started in a round that also contains stops: such starts are deferred.
    var startingAndStopping: Set<AttemptID> {
      var starting: Set<AttemptID> = []
      let hasStops = deeds.contains { $0.starting == nil }
      if !hasStops { return starting }
      for deed in deeds { if let attempt = deed.starting { starting.insert(attempt) } }
      return starting
    }

    mutating func clear() {
      deeds.removeAll(keepingCapacity: true)
      events.removeAll(keepingCapacity: true)
      answers.removeAll(keepingCapacity: true)
      usedClosures.removeAll(keepingCapacity: true)
      calls.removeAll(keepingCapacity: true)
      released.removeAll(keepingCapacity: true)
      retained.removeAll(keepingCapacity: true)
    }
  }

  enum Deed: Sendable {
    case launch(ReadyLaunch)
    /// Prepares an attempt for the thread that starts it by hand.
    case handOver(ReadyLaunch, HandStart.Handler)
    case stop(AttemptID)
    case kill(AttemptID)

    /// The attempt that it starts; nil: it ends one.
    var starting: AttemptID? {
      switch self {
      case .launch(let launch), .handOver(let launch, _): launch.attempt
      case .stop, .kill: nil
      }
    }
  }

  init(types: [OperationType], slots: Int, labels: [Label] = [], at now: Instant) {
    self.now = now
    self.types = types
    scheduler = Scheduler(timing: .withoutSilence, share: .all)
    var hello = WorkerHello(
      name: Brains.workerName, session: WorkerSession(1),
      capacity: Resources(cpus: ResourceAmount(Int64(slots)), memoryBytes: .max / 4),
      labels: labels, types: types)
    hello.store = Brains.store
    var settings = ExecutionSettings()
    settings.shortestBackoff = .zero
    settings.longestBackoff = .zero
    settings.maximumRunning = slots
    core = ExecutionCore(identity: hello, jitterSeed: 1, settings: settings, at: now)
    turn.begin(at: now, wall: wall)
    scheduler.start(into: &turn)
    isTurnOpen = true
    converse(.timePassed)
    settle()
    seatHandWorker()
    settle()
    output.clear()
    schedulerDeadline = scheduler.nextDeadline()
  }

  static let workerName = "local"
  /// Values are in the memory of this process; nobody connects there.
  static let store = ContentSource(endpoint: "inproc://values")
  static let client = PeerID(UInt64.max)

  // MARK: - A round

  /// Handles all arrivals, in order; `output` contains the resulting work. The order is fixed:
  /// time, arrivals, messages between the two, questions. Costs the arrivals and what they bring
  /// about.
  mutating func round(_ arrivals: [Arrival], at now: Instant, wall: WallTime) {
    self.now = now
    self.wall = wall
    if let deadline = schedulerDeadline, deadline <= now { steer(.tick()) }
    if let deadline = core.nextDeadline, deadline <= now {
      converse(.timePassed)
      // A due heartbeat is no news: without this message it would stay due forever.
      while let message = core.takeMessage(at: now) { hear(message) }
    }
    for arrival in arrivals { take(arrival) }
    if let moment = tellProgressAt, moment <= now { settleAll() } else { settle() }
    answerQuestions()
    if !core.hasUntoldStarts {
      tellProgressAt = nil
    } else if tellProgressAt == nil {
      tellProgressAt = now + Brains.progressUntold
    }
    tellClosers()
    output.deadline = nextDeadline()
  }

  /// One arrival. Nothing here waits or calls the program.
  private mutating func take(_ arrival: Arrival) {
    switch arrival {
    case .request(let request, let completion): take(request, completion)
    case .ended(let attempt, let result):
      let kept = OperationOutput.contents(of: result.output)
      if !kept.isEmpty { converse(.contentsGained(kept)) }
      if byHand.running[attempt] != nil {
        endByHand(attempt, result)
      } else {
        converse(.ended(attempt, result))
      }
    case .valuesGone(let digests): converse(.contentsLost(digests))
    case .progress(let attempt, let fraction, let text):
      converse(.progress(attempt, fraction: fraction, text: text))
    case .typesChanged:
      guard let types = newTypes, types != self.types else { return }
      self.types = types
      greetAgain()
    case .wake: break
    case .start(let operation, let answer): startByHand(operation, answer)
    case .awaitByHand(let attempt, let answer): awaitByHand(attempt, answer)
    case .close(let tell): close(tell)
    }
  }

  private mutating func take(_ request: ClientRequest, _ completion: @escaping Completion) {
    if request.isQuestion { return questions.append((request, completion)) }
    if let refusal = request.localRefusal {
      output.answers.append((completion, .failure(refusal)))
      return
    }
    if case .addBlocks(let operation, let blocks) = request,
      history.living(operation.graph) != nil
    {
      closures.take(blocks, of: operation)
    }
    lastRequest += 1
    completions[lastRequest] = completion
    steer(.client(Brains.client, RequestID(lastRequest), request))
  }

  /// Answers questions when all requests of the round have taken effect: events of the round
  /// precede its answers, and an answer must not be older than they are (S3).
  private mutating func answerQuestions() {
    if questions.isEmpty { return }
    settleAll()
    for (request, completion) in questions { output.answers.append((completion, answer(request))) }
    questions.removeAll(keepingCapacity: true)
  }

  /// Passes an input to the scheduler in the open turn.
  mutating func steer(_ input: Input) {
    openTurn()
    scheduler.handle(input, into: &turn)
  }

  mutating func openTurn() {
    if isTurnOpen { return }
    turn.begin(at: now, wall: wall)
    isTurnOpen = true
  }

  /// Passes an event to the execution core.
  mutating func converse(_ event: ExecutionEvent) {
    core.apply(event, at: now, into: &effects)
    if !effects.isEmpty { carryOut() }
  }

  /// Exchanges messages until neither side has any left. Starts are reported at once: no operation
  /// runs before observers can know it (S9, S106, S114).
  mutating func settle() {
    while true {
      while core.startReady(atMost: 64, at: now, into: &effects) > 0 { carryOut() }
      while core.hasNews || core.hasUntoldStarts, let message = core.takeMessage(at: now) {
        hear(message)
      }
      if !isTurnOpen { return }
      closeTurn()
    }
  }

  /// Settles, and also reports the progress of operations. Otherwise that is reported with the next
  /// end, or at `tellProgressAt`.
  mutating func settleAll() {
    settle()
    tellProgressAt = nil
    guard core.hasUntoldStarts else { return }
    while let message = core.takeMessage(at: now, withProgress: true) { hear(message) }
    settle()
  }

  private mutating func hear(_ message: WorkerMessage) {
    guard case .hello(var hello) = message else { return steer(.worker(worker, message)) }
    hello.types = types
    steer(.worker(worker, .hello(hello)))
  }

  private mutating func closeTurn() {
    scheduler.close(&turn)
    isTurnOpen = false
    history.take(turn)
    collectEvents()
    // Separate from the turn: the consequences of an effect belong to the next turn.
    var effects: [Effect] = []
    swap(&effects, &turnEffects)
    turn.takeEffects(&effects)
    for at in effects.indices { carryOut(effects[at]) }
    effects.removeAll(keepingCapacity: true)
    swap(&effects, &turnEffects)
  }

  private mutating func collectEvents() {
    for at in turn.submissions.indices {
      closures.take(turn.submissions[at].submission, graph: turn.submissions[at].graph)
    }
    for at in turn.events.indices {
      guard case .isFinished = turn.events[at].first.kind,
        case .operation(let first, _) = turn.events[at].first.subject
      else { continue }
      closures.finish(first, count: turn.events[at].count, into: &output.usedClosures)
    }
    if isObserved { output.events += turn.events }
    for at in turn.endings.indices { closures.forget(turn.endings[at].row.graph) }
  }

  private mutating func carryOut(_ effect: Effect) {
    switch effect {
    case .toWorker(let peer, let message):
      if peer == worker { converse(.message(message)) } else { hearByHand(message) }
    case .toClient(_, let request, let reply):
      guard let completion = completions.removeValue(forKey: request.number) else { return }
      if case .refused(let refusal) = reply {
        output.answers.append((completion, .failure(refusal)))
      } else {
        output.answers.append((completion, .success(reply)))
      }
    case .close: break
    }
  }

  /// In the order of the requests.
  mutating func takeAllCompletions() -> [Completion] {
    defer { completions = [:] }
    return completions.keys.sorted().compactMap { completions[$0] }
  }

  // MARK: - The worker's side

  /// Effects may produce further effects: the list grows during processing.
  private mutating func carryOut() {
    while !effects.isEmpty {
      swap(&effects, &spareEffects)
      for effect in spareEffects { carryOut(effect) }
      spareEffects.removeAll(keepingCapacity: true)
    }
  }

  private mutating func carryOut(_ effect: ExecutionEffect) {
    switch effect {
    case .renewConversation: worker.number += 1
    case .learn(let number, let announcement): learn(number, announcement)
    case .forget(let number): templates[Int(number.position)] = nil
    case .forgetGraph: break
    case .keep(let digests): output.retained += digests
    case .letGo(let digests): output.released += digests
    // Every value is here, and nobody else reads it.
    case .fetch, .dropFetch, .deliver, .grant, .revoke: break
    case .launch(let launch):
      guard let template = templates[Int(launch.template.position)] else {
        preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
      }
      output.deeds.append(
        .launch(
          ReadyLaunch(
            attempt: launch.attempt, run: launch.run, queueName: launch.queueName,
            argument: launch.argument, inputs: launch.inputs, template: template)))
    case .stop(let attempt): output.deeds.append(.stop(attempt))
    case .kill(let attempt): output.deeds.append(.kill(attempt))
    }
  }

  private mutating func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    while templates.count <= Int(number.position) { templates.append(nil) }
    templates[Int(number.position)] = AnnouncedTemplate(announcement)
    let limits = CommandExecutor.limits(of: announcement)
    if limits.timeout != nil || limits.grace != nil {
      let limits = TemplateLimits(timeout: limits.timeout, grace: limits.grace)
      core.apply(.prepared(number, limits), at: now, into: &effects)
    }
  }

  /// Says hello again, because a worker announces its types in its hello.
  private mutating func greetAgain() {
    settle()
    converse(.disconnected)
    converse(.timePassed)
    settle()
  }

  // MARK: - Time

  /// The next deadline, without the very distant ones of silence.
  private mutating func nextDeadline() -> Instant? {
    schedulerDeadline = scheduler.nextDeadline()
    var next = schedulerDeadline
    if let other = core.nextDeadline, other < next ?? .distantFuture { next = other }
    if let other = tellProgressAt, other < next ?? .distantFuture { next = other }
    guard let next, next - now < .seconds(365 * 24 * 3600) else { return nil }
    return next
  }
}

extension Timing {
  /// The timing of two sides called in turn, which never miss each other: all times of silence
  /// exceed any program's life. Graces are unchanged.
  static var withoutSilence: Timing {
    let year = Span.seconds(365 * 24 * 3600)
    var timing = Timing()
    timing.heartbeat = year * 10
    timing.suspect = year * 20
    timing.lost = year * 30
    timing.resync = year * 40
    timing.fence = year * 25
    timing.orphan = year * 50
    return timing
  }
}
