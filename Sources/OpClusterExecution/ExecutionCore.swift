// The worker's brain: assigned attempts, running attempts, and reports. Driven by one thread of the
// body (or by a test, or by the simulated world); no clock, no I/O, no randomness of its own.
//
// A turn of the body: apply the events, call `startReady` until it starts nothing more (feed
// immediate ends back), carry out the effects, then send the messages of `takeMessage`.

public import OpClusterModel

/// The worker's brain: takes events, returns effects. `AttemptState.after` is the state machine of
/// an attempt.
public struct ExecutionCore: Sendable {
  /// The worker's hello; `assigned`, `executing` and `known` are filled in. The session changes if
  /// the coordinator's journal turns out to be another than this worker knows.
  public internal(set) var identity: WorkerHello
  let settings: ExecutionSettings
  var link: Link
  var attempts = AttemptSlots()
  var operations = OperationTable()
  var edges = AwaitEdges()
  var queue = LocalQueue()
  var outbox = Outbox()
  var timers = AttemptTimers()
  var contents = WorkerContents()
  var templates: [Template] = []
  var freeTemplates: [TemplateNumber] = []
  /// Launched attempts without a report of their start. The report omits those that have ended by
  /// then (S149).
  var newlyStarted: [SlotTicket] = []
  /// The newest progress of running attempts, for the next heartbeat.
  var progress: [AttemptID: Progress] = [:]
  var progressOrder: [AttemptID] = []
  /// `Dispatch.queueName` of moved operations until they start.
  var movedQueues: [AttemptID: String] = [:]
  /// Attempts that were killed and dropped and have not ended: their resources are still taken.
  var leftovers: [AttemptID: TemplateNumber] = [:]
  /// Attempts with processes that KILL does not end, in order.
  var unkillable: [AttemptID] = []
  /// Those of them that have ended; they are among the leftovers.
  var outlived: Set<AttemptID> = []
  /// The resources of those attempts, which the coordinator may regard as free.
  var unkillableDemand = Resources.none
  /// The capacity minus running attempts.
  var available: Resources
  /// The same per gpu.
  var gpus: GPURoom
  /// The gpus of attempts that asked for some, the newest share last.
  var gpuShares: [AttemptID: [GPUShare]] = [:]
  var assigned = 0
  var running = 0
  /// The number of exclusive ones among the running.
  var exclusivesRunning = 0
  /// The lease has run out, and the coordinator has not heard of this worker since.
  var isFenced = false
  /// A drain has begun: take nothing new.
  var isDraining = false
  /// The newest report that the coordinator had heard when it last ordered a drain in this
  /// conversation; nil: it has not. It orders it when nobody needs the worker's store any more, as
  /// far as it had heard of that.
  var drainHeard: UInt64?
  /// The worker itself wants to leave; every report says so.
  var isLeaving = false
  /// The deadline of an orderly stop for acknowledgements; nil: no stop.
  var stopDeadline: Instant?
  /// Without a coordinator for too long: nothing runs or starts until it is back.
  var isOrphaned = false
  /// This session's position in the coordinator's log.
  var known: HistoryMark?
  /// The worker's history is lost: it kills everything, then says hello in a new session.
  var isBeginningAnew = false
  var isGoodbyeDue = false
  var launched: UInt64 = 0
  var late: UInt64 = 0
  /// Set when nothing is left to do: the body flushes its socket and ends.
  public internal(set) var exit: ExitReason?

  struct Template: Sendable {
    var graph: Int32
    var firstIndex: UInt32
    var name: String
    var queueName: String
    var isArray: Bool
    var indexRuns: [IndexRun]
    /// The position in the local queue's classes.
    var demandClass: Int32
    /// Whether the worker is large enough to run it at all.
    var isPossible: Bool
    /// Two process trees of one operation never run at once (G16).
    var isExclusive: Bool
    /// What its operations read of stores.
    var contentNeeds: ContentNeeds
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
    if !settings.isRelay {
      self.identity.capacity.gpus = min(
        identity.capacity.gpus, ResourceAmount(Int64(Limits.gpusPerWorker)))
    }
    self.settings = settings
    link = Link(chance: jitterSeed, at: now)
    available = self.identity.capacity
    gpus = GPURoom(settings.isRelay ? .zero : available.gpus)
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
    case .contentsGained(let contents): gained(contents, at: now, into: &effects)
    case .contentsLost(let digests): lost(digests, at: now, into: &effects)
    case .contentMissed(let content, let reason, let miss):
      switch miss {
      case .holdersChanged: giveBackReaders(of: content.digest, at: now, into: &effects)
      case .storeFull: missed(content, .storeFull, reason, at: now, into: &effects)
      case .unreachable: noteUnreached(content, reason, at: now, into: &effects)
      case .failed: missed(content, .cannotStart, reason, at: now, into: &effects)
      }
    case .undelivered(let deliveries): contents.addUndelivered(deliveries)
    case .slept:
      link.forgetContact()
      fenceIfDue(at: now, into: &effects)
    case .stop: beginStop(at: now, into: &effects)
    case .stopNow: killEverything(at: now, into: &effects)
    }
    leaveIfDone(at: now)
  }

  /// The moment of the next `.timePassed`; nil: none.
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
      assigned: assigned, running: awaited, unacknowledged: outbox.count, launched: launched,
      late: late, conversations: link.welcomes)
  }
  /// The present conversation; nil if there is none.
  public var conversation: Conversation? { link.conversation }
  /// The moment until which the coordinator certainly heard of this worker: when the newest message
  /// was made that the coordinator is known to have taken. The lease of exclusive operations begins
  /// there (G16). nil if nothing is known.
  public var contact: Instant? { link.contact }
  /// The coordinator's times from the last welcome.
  public var timing: Timing { link.timing }
  /// The time after `contact` at which exclusive operations are killed.
  public var fence: Span { link.timing.fence }
  /// Whether nobody waits for what is untold: an attempt is ready to start as soon as there is
  /// room, or another has begun here on each end. The last end of a chain is told at once. Once
  /// more has ended than is left to start, the coordinator is told, so that more comes in time. A
  /// due heartbeat takes along what there is; without a conversation there is nothing to tell.
  public func reportsCanWait(at now: Instant) -> Bool {
    link.conversation != nil && now < link.nextHeartbeat
      && (queue.ready > 0 || outbox.isFollowed) && outbox.ends <= assigned
      && !isStopping && !isDraining
  }
  public var isStopping: Bool { stopDeadline != nil }
}

extension ExecutionCore {
  /// Whether an attempt runs that the orphan deadline would stop.
  private var isOrphanable: Bool {
    running > 0 && link.conversation == nil && link.welcomes > 0 && !isOrphaned && !isStopping
  }

  /// Handles the deadlines up to now.
  mutating func timePassed(at now: Instant, into effects: inout [ExecutionEffect]) {
    switch link.state {
    case .waiting(let until) where now >= until && isBeginningAnew && awaited > 0:
      // Wait: others may get exclusive operations as soon as the new session says hello (G16).
      link.wait(for: settings.shortestBackoff, at: now)
    case .waiting(let until) where now >= until:
      isBeginningAnew = false
      link.greet(settings, at: now)
      effects.append(.renewConversation)
    case .greeting(let deadline, _) where now >= deadline: link.giveUpGreeting(settings, at: now)
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

  /// Kills exclusive operations before the coordinator may give them to another worker. The guard
  /// also kills their processes, in case this process cannot (G16).
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

  /// Handles the loss of the socket. Running attempts continue (G24).
  mutating func disconnected(at now: Instant) {
    switch link.state {
    case .greeting, .talking: link.fail(settings, at: now)
    case .waiting, .closed: break
    }
  }

  /// Begins to leave: running attempts continue, and the coordinator learns of it at once.
  mutating func beginLeaving(at now: Instant) {
    isLeaving = true
    isDraining = true
    link.nextHeartbeat = now
  }

  /// Whether the coordinator wants it to leave, although it knows what is in its store.
  private var isDismissed: Bool { drainHeard.map { contents.areHeard(through: $0) } ?? false }

  /// Says goodbye and ends when nothing runs, every report is durable, and nobody fetches what only
  /// this worker has.
  mutating func leaveIfDone(at now: Instant) {
    guard exit == nil, awaited == 0, isDraining || isStopping else { return }
    let hasWaitedEnough = stopDeadline.map { now >= $0 } ?? false
    switch link.state {
    case .talking:
      let isDone = outbox.isEmpty && newlyStarted.isEmpty && (isStopping || isDismissed)
      if isDone || hasWaitedEnough { isGoodbyeDue = true }
    case .waiting, .greeting:
      if isStopping, outbox.isEmpty || hasWaitedEnough { exit = .stopped }
      // Without a coordinator and without unreported news, the worker just ends.
      if isLeaving, !isStopping, outbox.isEmpty { exit = .drained }
    case .closed: break
    }
  }
}
