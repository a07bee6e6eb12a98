// The worker's one thread: waits, takes in, lets the brain decide, carries out, sends. Owns the
// socket, the processes, the mailboxes and the signals. Everything here runs on that thread.

import Glibc
import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
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
  /// The names of the brain's gpus; nil: operations are told nothing of gpus.
  let gpuNames: [String]?
  var session: WorkerSession
  var core: ExecutionCore
  var effects: [ExecutionEffect] = []
  var templates: [PreparedTemplate?] = []
  var socket: Socket?
  var poller = SocketPoller()
  var items = Items()
  var signals: SignalDescriptor?
  var guardian: ProcessGuard?
  /// A message that the socket did not take yet.
  var unsent: [UInt8]?
  /// Pieces of logs to send; bounded, further requests get no answer.
  var chunks: [LogChunk] = []
  var now: Instant
  /// The moment at which collected news are sent.
  var speakAt: Instant?
  var lastSpoken: Instant
  /// Attempts that have ended since the last report.
  var endedSince = 0
  /// There is more to start than one turn may.
  var isHurried = false
  var stops = 0
  var lifelineIsCut = false
  var wasKilled = false
  /// The begin of the time without a coordinator.
  var aloneSince: Instant
  var hasServed = false
  /// The reason why trying is useless, before the worker has ever served.
  var keyRefusal: Refusal?
  /// Consecutive handshakes that the peer broke off.
  var hangUps = 0
  /// The last logged trouble of repeated tries.
  var toldTrouble = ""
  var socketOpenedAt: Instant
  /// Connected, but without a proper answer to our hello.
  var isUnanswered = false
  /// The improper answer.
  var foreignAnswer = ""
  var wasTalking = false
  var sleepWatch = SleepWatch()
  /// The last contact given to the guard.
  var leasedContact: Instant?
  /// The moment when the goodbye has certainly left.
  var leaveAt: Instant?
  /// The moment when a drain that a signal began becomes a stop.
  var drainEnd: Instant?
  let service: ServiceNotifier?
  let sweepState = SweepState()
  /// The next sweep of logs.
  var nextSweep = Instant.distantPast

  struct Items {
    var socket: SocketPoller.Item?
    var signals: SocketPoller.Item?
    var guardian: SocketPoller.Item?
    var lifeline: SocketPoller.Item?
  }

  /// Maximum launches of one turn, and the time after which it starts no more.
  static let launchesPerTurn = 4_096
  static let startingTime = OpClusterModel.Span.milliseconds(20)
  static let messagesPerTurn = 8
  /// The minimum time between reports while there is more to start here: nobody waits for the ends,
  /// and both sides save most messages of short operations.
  static let reportInterval = OpClusterModel.Span.milliseconds(2)
  /// The same while there is little to report. Operations then take so long that each would cost
  /// the coordinator a turn of its own.
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
    // Block signals before the first thread starts, and before the guard is forked.
    if configuration.handlesSignals {
      signals = try Self.blockSignals()
      ProcessHost.hideMemory()
    }
    scratch = try Scratch(
      configuration.scratch, runAs: configuration.runAs, logger: configuration.logger)
    guard let fence = ProcessFence(worker: scratch.fenceName(worker: configuration.name)) else {
      preconditionFailure("the name was looked at: \(configuration.name)")
    }
    // The lock on the folder makes this the only worker of that fence; workers of other clusters
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
    do throws(SystemError) {
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
    do throws(SystemError) {
      return try SignalDescriptor([SIGTERM, SIGINT])
    } catch {
      throw WorkerError(.machine, error.description)
    }
  }

  /// Turns until nothing is left to do.
  func run() throws(WorkerError) -> WorkerExit {
    // The service manager need not wait for a coordinator.
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
    do throws(SystemError) {
      _ = try poller.wait(until: deadline)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    now = Instant(nanoseconds: MonotonicClock.now())
  }

  /// Rebuilds the list of polled items after each change of socket or guard.
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

  /// The first signal asks everything to stop, the second kills it. With a time for draining, one
  /// more comes first: running operations may end by themselves.
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

  /// Nothing is ever written to the lifeline, so any event is its end.
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

  /// Takes in the ends of processes and tasks, and progress.
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

  /// The attempt's operation as a selector: the worker knows no names.
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

  /// Carries out the decisions and starts what fits; an operation that ends at once makes room at
  /// once. A turn starts a bounded number, so that the socket is served.
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

  /// Carries out the effects; they may append further ones meanwhile.
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

  /// Returns the reason of the end, once there is one.
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
    // libzmq needs a moment to send the goodbye. Without a coordinator there is none to send.
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
