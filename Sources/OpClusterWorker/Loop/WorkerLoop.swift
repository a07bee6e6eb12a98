// The worker's one thread: waits, takes in, lets the brain decide, does it, speaks. Owns the
// socket, the processes, the mailboxes and the signals. Everything here runs on that thread.

import Glibc
import Logging
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterZeroMQ

/// Orders to a running worker, from any thread.
enum WorkerOrder: Sendable {
  case stop
  case stopNow
}

final class WorkerLoop {
  let configuration: WorkerConfiguration
  let registry: OperationRegistry
  let logger: Logger
  let orders: Mailbox<WorkerOrder>
  let scratch: Scratch
  let attempts: AttemptRunner
  /// What the brain's gpus are called; nil: operations are told nothing of any.
  let gpuNames: [String]?
  var session: WorkerSession
  var core: ExecutionCore
  var effects: [ExecutionEffect] = []
  var templates: [PreparedTemplate?] = []
  var socket: Socket?
  var poller = Poller()
  var items = Items()
  var signals: SignalDescriptor?
  var guardian: ProcessGuard?
  /// A message that the socket would not take yet.
  var unsent: [UInt8]?
  /// Pieces of logs to be sent; bounded, what comes beyond is not answered.
  var chunks: [LogChunk] = []
  var now: Instant
  /// News that wait for more news are sent at this moment.
  var speakAt: Instant?
  var lastSpoken: Instant
  /// Attempts that have ended since.
  var endedSince = 0
  /// There is more to start than one turn may.
  var isHurried = false
  var stops = 0
  var lifelineIsCut = false
  var wasKilled = false
  /// Since when there has been no coordinator.
  var aloneSince: Instant
  var hasServed = false
  /// Why there is no use in trying: before it has ever served.
  var keyRefusal: Refusal?
  /// Handshakes in a row that the other side broke off, and when the last one began.
  var hangUps = 0
  /// What the log was told last of tries that all fail alike.
  var toldTrouble = ""
  var socketOpenedAt: Instant
  /// Connected, and our hello has had no answer that is one.
  var isUnanswered = false
  /// What came instead.
  var foreignAnswer = ""
  var wasTalking = false
  var sleepWatch = SleepWatch()
  /// What the guard has been told last.
  var leasedContact: Instant?
  /// When the goodbye has surely left.
  var leaveAt: Instant?
  /// When a drain that began with a signal becomes a stop.
  var drainEnd: Instant?
  let service: ServiceNotifier?
  let sweepState = SweepState()
  /// When logs are looked through again.
  var nextSweep = Instant.distantPast

  struct Items {
    var socket: Poller.Item?
    var signals: Poller.Item?
    var guardian: Poller.Item?
    var lifeline: Poller.Item?
  }

  /// Launches of one turn at most, and the time after which it starts no more.
  static let launchesPerTurn = 4_096
  static let startingTime = OpClusterModel.Span.milliseconds(20)
  static let messagesPerTurn = 8
  /// While there is more to start here, nobody is in a hurry to hear what has ended: reports are at
  /// least so far apart, which saves both sides most of the messages of short operations.
  static let reportInterval = OpClusterModel.Span.milliseconds(2)
  /// The same while there is little to tell: operations then take so long that a report of each
  /// would cost the coordinator a turn of its own.
  static let smallReportInterval = OpClusterModel.Span.milliseconds(5)
  static let smallReport = 16
  static let chunksWaiting = 64

  init(
    _ configuration: WorkerConfiguration, _ registry: OperationRegistry,
    _ orders: Mailbox<WorkerOrder>
  ) throws(WorkerError) {
    self.configuration = configuration
    self.registry = registry
    self.orders = orders
    logger = configuration.logger
    gpuNames = configuration.givenGPUs
    service = configuration.service.flatMap(ServiceNotifier.init)
    session = WorkerSession(UInt64.random(in: 1...UInt64.max))
    now = Instant(nanoseconds: MonotonicClock.now())
    aloneSince = now
    lastSpoken = now
    socketOpenedAt = now
    // Signals are blocked before the first thread, and the guard is forked before it, too.
    if configuration.handlesSignals {
      signals = try Self.blockSignals()
      ProcessHost.hideMemory()
    }
    scratch = try Scratch(
      configuration.scratch, runAs: configuration.runAs, logger: configuration.logger)
    guard let fence = ProcessFence(worker: scratch.fenceName(worker: configuration.name)) else {
      preconditionFailure("the name was looked at: \(configuration.name)")
    }
    // The lock on the folder makes this the only worker of that fence: workers of other clusters
    // may have the same name.
    let isGone = ProcessHost.removeLeftovers(worker: fence.worker)
    if !scratch.awaitTrees(within: ProcessHost.settlingLimit) || !isGone {
      logger.error("processes of an earlier run of this worker cannot be killed; they still run")
    }
    ProcessHost.removeAbandonedGroups()
    try scratch.clear()
    let host: ProcessHost
    do throws(SpawnError) {
      host = try ProcessHost(fence: fence, hold: scratch.trees)
      guardian = try ProcessGuard.start(for: host)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    do throws(SocketError) {
      attempts = try AttemptRunner(
        host: host, scratch: scratch, session: session.number, types: registry,
        logger: logger, childCommand: configuration.childCommand, limits: configuration.limits,
        childIdleTime: configuration.childIdleTime, runAs: configuration.runAs)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    let identity = WorkerHello(
      build: Build.name, name: configuration.name, session: session,
      capacity: configuration.capacity,
      labels: MachineResources.labels + configuration.labels, types: registry.types)
    core = ExecutionCore(
      identity: identity, jitterSeed: UInt64.random(in: 0...UInt64.max), at: now)
    rebuildPoller()
    sweepLogsIfDue()
    sayWhatIsNotBounded()
  }

  private func sayWhatIsNotBounded() {
    let (limits, host) = (configuration.limits, attempts.host)
    var missing: [String] = []
    if limits.enforcesMemory, !host.limitsMemory { missing.append("memory") }
    if limits.processes != nil, !host.limitsProcesses { missing.append("processes") }
    guard !missing.isEmpty else { return }
    let what = missing.joined(separator: " and ")
    logger.notice("no cgroup here bounds \(what): operations may take more than they ask for")
  }

  private static func blockSignals() throws(WorkerError) -> SignalDescriptor {
    do throws(SocketError) {
      return try SignalDescriptor([SIGTERM, SIGINT])
    } catch {
      throw WorkerError(.machine, error.description)
    }
  }

  /// Turns until there is nothing left to do.
  func run() throws(WorkerError) -> WorkerExit {
    // Whether there is a coordinator is not for the service manager to wait for.
    service?.ready("looking for \(configuration.coordinator)", at: now.nanoseconds)
    while true {
      try wait()
      watchSleep()
      takeSignals()
      watchLifeline()
      takeOrders()
      takeConnectionEvents()
      takeFrames()
      renewLease()
      takeEnds()
      passTime()
      work()
      speak()
      attempts.tidy()
      tellService()
      if let exit = exit() {
        leave()
        return exit
      }
    }
  }

  private func wait() throws(WorkerError) {
    var deadline = core.nextDeadline?.nanoseconds
    if let next = attempts.nextDeadline(at: now)?.nanoseconds {
      deadline = min(next, deadline ?? next)
    }
    if let speakAt { deadline = deadline.map { min($0, speakAt.nanoseconds) } }
    if isHurried { deadline = now.nanoseconds }
    if let leaveAt { deadline = leaveAt.nanoseconds }
    let sweep = sweepState.isAtWork ? nil : nextSweep.nanoseconds
    for moment in [drainEnd?.nanoseconds, service?.nextFeed, sweep] {
      if let moment { deadline = min(moment, deadline ?? moment) }
    }
    if let patience = configuration.patience, core.conversation == nil {
      let end = (aloneSince + patience).nanoseconds
      deadline = deadline.map { min($0, end) } ?? end
    }
    if let item = items.socket {
      poller.change(item, to: unsent == nil ? .readable : [.readable, .writable])
    }
    do throws(SocketError) {
      _ = try poller.wait(until: deadline)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    now = Instant(nanoseconds: MonotonicClock.now())
  }

  /// Everything that is polled, anew after each change of socket or guard.
  func rebuildPoller() {
    poller.removeAll()
    items = Items()
    if socket != nil { items.socket = poller.add(socket!) }
    if let descriptor = signals?.descriptor {
      items.signals = poller.add(descriptor: descriptor)
    }
    if let guardian { items.guardian = poller.add(descriptor: guardian.descriptor) }
    if let lifeline = configuration.lifeline, !lifelineIsCut {
      items.lifeline = poller.add(descriptor: lifeline)
    }
    for descriptor in [orders.descriptor] + attempts.descriptors {
      _ = poller.add(descriptor: descriptor)
    }
  }

  // MARK: - In

  /// The first signal asks everything to stop, the second kills it. With a time for draining there
  /// is one more before them: what runs may end by itself.
  private func takeSignals() {
    guard let item = items.signals, poller.readiness(of: item).contains(.readable) else { return }
    while let signal = signals?.next() {
      logger.notice("signal \(signal.number)")
      if let time = configuration.drainTime, drainEnd == nil, stops == 0 {
        drainEnd = now + time
        apply(.leave)
      } else {
        drainEnd = nil
        obey(stops == 0 ? .stop : .stopNow)
      }
    }
  }

  private func endDrain() {
    guard let end = drainEnd, now >= end, stops == 0 else { return }
    logger.notice("what runs has not ended in time; it is asked to stop")
    drainEnd = nil
    obey(.stop)
  }

  /// Nothing is ever written to it: whatever is seen there is its end.
  private func watchLifeline() {
    guard let item = items.lifeline, !poller.readiness(of: item).isEmpty else { return }
    logger.notice("the program that started this worker has ended")
    lifelineIsCut = true
    rebuildPoller()
    obey(.stop)
  }

  private func takeOrders() {
    var batch: [WorkerOrder] = []
    orders.takeAll(into: &batch)
    for order in batch { obey(order) }
  }

  private func obey(_ order: WorkerOrder) {
    stops += 1
    switch order {
    case .stop: apply(.stop)
    case .stopNow:
      wasKilled = true
      apply(.stopNow)
    }
  }

  /// Ends of processes and of tasks, and progress.
  private func takeEnds() {
    if let item = items.guardian, !poller.readiness(of: item).isEmpty { renewGuard() }
    let ended = attempts.collect(at: now) { attempt, fraction, text in
      apply(.progress(attempt, fraction: fraction, text: text))
    }
    let (found, gone) = attempts.takeSurvivals()
    for attempt in found { noteUnkillable(attempt) }
    for (attempt, result) in ended {
      apply(attempts.hasSurvivors(attempt) ? .outlived(attempt, result) : .ended(attempt, result))
    }
    for attempt in gone {
      logger.notice("the processes of operation \(Self.shown(attempt)) have ended after all")
      apply(.survivorsGone(attempt))
    }
  }

  /// As a selector: the worker knows no names.
  private static func shown(_ attempt: AttemptID) -> String {
    attempt.operation.numbered
  }

  private func noteUnkillable(_ attempt: AttemptID) {
    logger.error(
      """
      KILL does not end processes of operation \(Self.shown(attempt)): they hang in the kernel \
      (state D), mostly in a file system or a device that does not answer; repair that, or restart \
      this machine. What they take is given to nobody until they end
      """)
    apply(.unkillable(attempt))
  }

  private func renewGuard() {
    do throws(SpawnError) {
      guardian = try ProcessGuard.start(for: attempts.host)
      logger.warning("the guard had died; another one watches now")
    } catch {
      guardian = nil
      logger.error("there is no guard: what runs may outlive a killed worker. \(error)")
    }
    rebuildPoller()
  }

  private func passTime() {
    endDrain()
    sweepLogsIfDue()
    if let deadline = core.nextDeadline, now >= deadline { apply(.timePassed) }
  }

  func apply(_ event: ExecutionEvent) {
    if case .ended = event { endedSince += 1 }
    core.apply(event, at: now, into: &effects)
  }

  // MARK: - Out

  /// Carries out what was decided and starts what fits; what ends at once makes room at once. A
  /// turn starts a bounded number, so that the socket is looked after.
  private func work() {
    carryOut()
    var budget = Self.launchesPerTurn
    let end = now + Self.startingTime
    isHurried = true
    while budget > 0, Instant(nanoseconds: MonotonicClock.now()) < end {
      let count = core.startReady(atMost: min(64, budget), at: now, into: &effects)
      carryOut()
      if count == 0 {
        isHurried = false
        return
      }
      budget -= count
    }
  }

  /// Effects may bring further effects: the list grows while it is worked off.
  private func carryOut() {
    var next = 0
    while next < effects.count {
      let effect = effects[next]
      next += 1
      carryOut(effect)
    }
    effects.removeAll(keepingCapacity: true)
  }

  // MARK: - The end

  /// Why it is over, once it is.
  private func exit() -> WorkerExit? {
    if let keyRefusal { return .refused(keyRefusal) }
    if let patience = configuration.patience, core.conversation == nil, core.counts.running == 0,
      now - aloneSince >= patience
    {
      return .unreachable
    }
    guard let reason = core.exit else {
      return wasKilled && core.counts.running == 0 ? .killed : nil
    }
    // The goodbye is with libzmq; it takes a moment to leave. To nobody there is none to say.
    let hasSpoken = unsent == nil || core.conversation == nil
    if hasSpoken, leaveAt == nil { leaveAt = now + .milliseconds(100) }
    guard let leaveAt, now >= leaveAt else { return nil }
    switch reason {
    case .stopped: return wasKilled ? .killed : .stopped
    case .drained: return .drained
    case .refused(let refusal): return .refused(refusal)
    }
  }

  private func leave() {
    service?.stopping("leaving")
    attempts.endAll(within: .seconds(2))
    socket = nil
  }
}
