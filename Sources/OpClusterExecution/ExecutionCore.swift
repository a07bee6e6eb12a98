// The worker's brain: what it holds, what runs, what it has to tell. Driven by one thread of the
// body (or by a test, or by the simulated world); no clock, no I/O, no chance of its own.
//
// A turn of the body: apply the events, `startReady` until it starts nothing more (feeding back
// what ends at once), carry out the effects, then send what `takeMessage` gives.

public import OpClusterModel

/// Events in, effects out. The life of an attempt is `AttemptState.after`.
public struct ExecutionCore: Sendable {
  /// What it says of itself in a hello; `held`, `executing` and `known` are filled in. It has a new
  /// session once the coordinator's journal turns out to be another than this one was told of.
  public internal(set) var identity: WorkerHello
  let settings: ExecutionSettings
  var link: Link
  var attempts = AttemptSlots()
  var operations = OperationTable()
  var edges = AwaitEdges()
  var queue = LocalQueue()
  var outbox = Outbox()
  var timers = AttemptTimers()
  var templates: [Template] = []
  var freeTemplates: [TemplateNumber] = []
  /// Launched, but not yet told so: the report leaves out those that have ended by then (S149).
  var newlyStarted: [SlotTicket] = []
  /// Newest progress of running attempts, told with the next heartbeat.
  var progress: [AttemptID: Progress] = [:]
  var progressOrder: [AttemptID] = []
  /// `Dispatch.queueName` of the few that were moved, until they start.
  var movedQueues: [AttemptID: String] = [:]
  /// Killed and forgotten, not yet ended: their room is still taken.
  var leftovers: [AttemptID: TemplateNumber] = [:]
  /// Attempts of which processes live that KILL does not end, in order.
  var unkillable: [AttemptID] = []
  /// Of those, the ones that are over: they are among the leftovers.
  var outlived: Set<AttemptID> = []
  /// What those take whose room the coordinator may take to be free.
  var unkillableDemand = Resources.none
  /// Capacity minus what runs.
  var available: Resources
  /// The same, gpu by gpu.
  var gpus: GPURoom
  /// What the attempts have of them that asked for some, the newest share last.
  var gpuShares: [AttemptID: [GPUShare]] = [:]
  var held = 0
  var running = 0
  /// Of those, the exclusive ones.
  var exclusivesRunning = 0
  /// The fence has come down, and the coordinator has not heard of this worker since.
  var isFenced = false
  /// The coordinator wants it to take nothing new and to leave.
  var isDraining = false
  /// It wants that itself; every report says so.
  var isLeaving = false
  /// When an orderly stop gives up waiting for acknowledgements; nil: it is not stopping.
  var stopDeadline: Instant?
  /// Without a coordinator for too long: nothing runs and nothing starts until it is back.
  var isOrphaned = false
  /// How far the coordinator's log was told to this session.
  var known: HistoryMark?
  /// It belongs to no history any more: what it ran dies, and then it says hello as another.
  var isBeginningAnew = false
  var isGoodbyeDue = false
  var launched: UInt64 = 0
  var late: UInt64 = 0
  /// Set when there is nothing left to do: the body flushes its socket and goes.
  public internal(set) var exit: ExitReason?

  struct Template: Sendable {
    var graph: Int32
    var firstIndex: UInt32
    var name: String
    var queueName: String
    var isArray: Bool
    var indexRuns: [IndexRun]
    /// Position in the local queue's classes.
    var demandClass: Int32
    /// Whether a worker of this size can ever run it.
    var isPossible: Bool
    /// Never two process trees of one operation at once (G16).
    var isExclusive: Bool
    var limits = TemplateLimits()
  }
  struct Progress: Sendable {
    var fraction: Double
    var text: String
  }

  /// `jitterSeed` is random; everything else about this core follows from its events.
  public init(
    identity: WorkerHello, jitterSeed: UInt64, settings: ExecutionSettings = ExecutionSettings(),
    at now: Instant
  ) {
    self.identity = identity
    self.identity.capacity.gpus = min(
      identity.capacity.gpus, ResourceAmount(Int64(Limits.gpusPerWorker)))
    self.settings = settings
    link = Link(chance: jitterSeed, at: now)
    available = self.identity.capacity
    gpus = GPURoom(available.gpus)
  }

  public mutating func apply(
    _ event: ExecutionEvent, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    switch event {
    case .message(let message): take(message, at: now, into: &effects)
    case .disconnected: disconnected(at: now)
    case .prepared(let number, let limits): templates[Int(number.position)].limits = limits
    case .ended(let attempt, let result): ended(attempt, result, at: now, into: &effects)
    case .unkillable(let attempt): noteUnkillable(attempt, at: now)
    case .outlived(let attempt, let result):
      ended(attempt, result, isOutlived: true, at: now, into: &effects)
    case .survivorsGone(let attempt): survivorsGone(attempt, at: now, into: &effects)
    case .progress(let attempt, let fraction, let text):
      noteProgress(attempt, Progress(fraction: fraction, text: text))
    case .timePassed: timePassed(at: now, into: &effects)
    case .leave: beginLeaving(at: now)
    case .slept:
      link.forgetContact()
      fenceIfDue(at: now, into: &effects)
    case .stop: beginStop(at: now, into: &effects)
    case .stopNow: killEverything(at: now, into: &effects)
    }
    leaveIfDone(at: now)
  }

  /// The moment by which `.timePassed` is wanted; nil: never.
  public var nextDeadline: Instant? {
    if exit != nil { return nil }
    var next = link.nextDeadline
    func consider(_ moment: Instant?) {
      guard let moment else { return }
      next = next.map { min($0, moment) } ?? moment
    }
    consider(timers.earliest)
    if awaited == 0 { consider(stopDeadline) }
    if isOrphanable { consider(link.orphanDeadline) }
    if exclusivesRunning > 0, !isFenced { consider(link.fenceDeadline) }
    return next
  }

  public var counts: ExecutionCounts {
    ExecutionCounts(
      held: held, running: awaited, unacknowledged: outbox.count, launched: launched,
      late: late, conversations: link.welcomes)
  }
  /// The present conversation; nil: there is none.
  public var conversation: Conversation? { link.conversation }
  /// Until when the coordinator surely heard of this worker: when the newest message was made that
  /// it is known to have taken. What the lease of exclusive operations is counted from (G16); nil:
  /// nothing is known.
  public var contact: Instant? { link.contact }
  /// How long after `contact` exclusive operations are killed.
  public var fence: Span { link.timing.fence }
  /// Something is ready to start as soon as there is room.
  public var hasMore: Bool { queue.ready > 0 && !isStopping && !isDraining }
  public var isStopping: Bool { stopDeadline != nil }
}

extension ExecutionCore {
  /// Something runs that the orphan deadline would stop.
  private var isOrphanable: Bool {
    running > 0 && link.conversation == nil && link.welcomes > 0 && !isOrphaned && !isStopping
  }

  /// Time has come to its next deadline, or somewhat past it.
  mutating func timePassed(at now: Instant, into effects: inout [ExecutionEffect]) {
    switch link.state {
    case .waiting(let until) where now >= until && isBeginningAnew && awaited > 0:
      // What is exclusive may be given to others as soon as the new session says hello (G16).
      link.wait(for: settings.shortestBackoff, at: now)
    case .waiting(let until) where now >= until:
      isBeginningAnew = false
      link.state = .greeting(deadline: now + settings.handshake, isHelloTaken: false)
      effects.append(.renewConversation)
    case .greeting(let deadline, _) where now >= deadline: link.fail(settings, at: now)
    case .talking where now - link.lastHeard >= link.timing.suspect:
      link.fail(settings, at: now)
    case .waiting, .greeting, .talking, .closed: break
    }
    while let timer = timers.popDue(at: now) { fire(timer, at: now, into: &effects) }
    if timers.needsSweep {
      let attempts = self.attempts
      timers.sweep { attempts.isCurrent($0) }
    }
    if isOrphanable, now >= link.orphanDeadline {
      isOrphaned = true
      stopEverything(at: now, into: &effects)
    }
    fenceIfDue(at: now, into: &effects)
  }

  /// The coordinator may soon give exclusive operations to another: none may run here by then. The
  /// guard kills their processes as well, should this process be unable to (G16).
  private mutating func fenceIfDue(at now: Instant, into effects: inout [ExecutionEffect]) {
    guard exclusivesRunning > 0, !isFenced, now >= link.fenceDeadline else { return }
    isFenced = true
    for slot in attempts.used
    where attempts[slot].state.isLive && isExclusive(attempts[slot].template) {
      change(slot, .fenced, at: now, into: &effects)
    }
  }

  func isExclusive(_ template: TemplateNumber) -> Bool {
    template.position >= 0 && templates[Int(template.position)].isExclusive
  }

  /// The present socket is gone. What runs goes on (G24).
  mutating func disconnected(at now: Instant) {
    switch link.state {
    case .greeting, .talking: link.fail(settings, at: now)
    case .waiting, .closed: break
    }
  }

  /// What runs goes on; of the wish the coordinator hears at once.
  mutating func beginLeaving(at now: Instant) {
    isLeaving = true
    isDraining = true
    link.nextHeartbeat = now
  }

  /// Goodbye, and the end, as soon as nothing runs and everything told is durable.
  mutating func leaveIfDone(at now: Instant) {
    guard exit == nil, awaited == 0, isDraining || isStopping else { return }
    let hasWaitedEnough = stopDeadline.map { now >= $0 } ?? false
    switch link.state {
    case .talking:
      if (outbox.isEmpty && newlyStarted.isEmpty) || hasWaitedEnough { isGoodbyeDue = true }
    case .waiting, .greeting:
      if isStopping, outbox.isEmpty || hasWaitedEnough { exit = .stopped }
      // Nobody is there to say goodbye to, and nothing is left to be told.
      if isLeaving, !isStopping, outbox.isEmpty { exit = .drained }
    case .closed: break
    }
  }
}
