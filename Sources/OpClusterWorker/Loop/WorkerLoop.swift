// The worker's one thread: waits, takes in, lets the brain decide, carries out, sends. Owns the
// socket, the processes, the mailboxes and the signals. Everything here runs on that thread.

import Glibc
import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterHTTP
import OpClusterMetrics
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterTransfer
import OpClusterZeroMQ

/// Orders to a running worker, from any thread.
enum WorkerOrder: Sendable {
  /// Asks everything to stop, or kills it.
  case stop(now: Bool)
  case tellMetrics(MetricsQuestion)
}

final class WorkerLoop {
  let configuration: WorkerConfiguration
  let orders: Mailbox<WorkerOrder>
  let disk: WorkerDisk
  let attempts: AttemptRunner
  var oversight: Oversight
  var guardian: ProcessGuard?
  var core: ExecutionCore
  var decisions: Decisions
  var connection: CoordinatorConnection
  var wakeups = Wakeups()
  var reports: ReportPace
  var ending = WorkerEnding()
  var lease = LeaseState()
  var sweeps = LogSweeps()
  /// The moment of this turn.
  var now: Instant

  var logger: Logger { configuration.logger }
  var service: ServiceNotifier? { oversight.service }
  var scratch: Scratch { disk.scratch }
  var store: WorkerStore? { disk.store }

  /// Maximum launches of one turn, and the time after which it starts no more.
  static let launchesPerTurn = 4_096
  static let startingTime = OpClusterModel.Span.milliseconds(20)
  static let messagesPerTurn = 8

  init(
    _ configuration: WorkerConfiguration, _ registry: OperationRegistry,
    _ orders: Mailbox<WorkerOrder>
  ) throws(WorkerError) {
    self.configuration = configuration
    self.orders = orders
    let logger = configuration.logger
    oversight = Oversight(service: configuration.service.flatMap(ServiceNotifier.init))
    decisions = Decisions(
      session: WorkerSession(UInt64.random(in: 1...UInt64.max)), gpuNames: configuration.givenGPUs)
    now = Instant(nanoseconds: MonotonicClock.now())
    connection = CoordinatorConnection(
      to: configuration.coordinator, keys: configuration.keys, logger: logger, at: now)
    reports = ReportPace(at: now)
    // Block signals before the first thread starts, and before the guard is forked.
    if configuration.handlesSignals {
      wakeups.signals = try Self.blockSignals()
      ProcessHost.hideMemory()
    }
    let scratch = try Scratch(
      configuration.scratch, runAs: configuration.runAs, logger: logger)
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
    let store = try WorkerStore.open(configuration, in: scratch.storeFolder)
    disk = WorkerDisk(scratch: scratch, store: store)
    let host: ProcessHost
    do throws(SpawnError) {
      host = try ProcessHost(fence: fence, hold: scratch.trees)
      guardian = try ProcessGuard.start(for: host)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    do throws(SystemError) {
      attempts = try AttemptRunner(
        host: host, scratch: scratch, session: decisions.session.number, types: registry,
        logger: logger, childCommand: configuration.childCommand, limits: configuration.limits,
        childIdleTime: configuration.childIdleTime, runAs: configuration.runAs,
        store: store?.forAttempts)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    var identity = WorkerHello(
      build: Build.name, name: configuration.name, session: decisions.session,
      capacity: configuration.capacity,
      labels: MachineResources.labels + configuration.labels, types: registry.types)
    // Functions of Python need child processes, and nothing of this program.
    if configuration.childCommand != nil { identity.types.append(OperationType.python) }
    identity.store = store?.source
    core = ExecutionCore(
      identity: identity, jitterSeed: UInt64.random(in: 0...UInt64.max), at: now)
    rebuildPoller()
    sweepLogsIfDue()
    sayWhatIsNotBounded()
    try serveMetrics()
  }

  private func serveMetrics() throws(WorkerError) {
    guard let address = configuration.metrics else { return }
    do throws(HTTPServerError) {
      let server = try MetricsServer(address) { [orders] in
        MetricsQuestion.ask { orders.post(.tellMetrics($0)) == .posted }
      }
      logger.notice("metrics are served at http://\(server.address)/metrics")
      oversight.metrics = server
    } catch {
      throw WorkerError(.machine, "--metrics: \(error)")
    }
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
      takeStoreNews()
      takeEnds()
      passTime()
      work()
      speak()
      attempts.tidy()
      tellService()
      leaveIfIdle()
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
    if let speakAt = reports.speakAt?.nanoseconds { deadline = min(speakAt, deadline ?? speakAt) }
    // Further questions are answered in the next turn, if the socket takes the answers.
    let mayAnswer = connection.logs.hasQuestions && connection.unsent == nil
    if decisions.isHurried || mayAnswer { deadline = now.nanoseconds }
    if let leaveAt = ending.leaveAt { deadline = leaveAt.nanoseconds }
    let sweep = sweeps.state.isAtWork ? nil : sweeps.next.nanoseconds
    for moment in [ending.drainEnd?.nanoseconds, idleEnd?.nanoseconds, service?.nextFeed, sweep] {
      if let moment { deadline = min(moment, deadline ?? moment) }
    }
    if let patience = configuration.patience, core.conversation == nil {
      let end = (connection.aloneSince + patience).nanoseconds
      deadline = deadline.map { min($0, end) } ?? end
    }
    if let item = wakeups.items.socket {
      wakeups.poller.change(
        item, to: connection.unsent == nil ? .readable : [.readable, .writable])
    }
    do throws(SystemError) {
      _ = try wakeups.poller.wait(until: deadline)
    } catch {
      throw WorkerError(.machine, error.description)
    }
    now = Instant(nanoseconds: MonotonicClock.now())
  }

  /// Rebuilds the list of polled items after each change of socket or guard.
  func rebuildPoller() {
    wakeups.poller.removeAll()
    wakeups.items = Wakeups.Items()
    if connection.socket != nil { wakeups.items.socket = wakeups.poller.add(connection.socket!) }
    if let descriptor = wakeups.signals?.descriptor {
      wakeups.items.signals = wakeups.poller.add(descriptor: descriptor)
    }
    if let guardian { wakeups.items.guardian = wakeups.poller.add(descriptor: guardian.descriptor) }
    if let lifeline = configuration.lifeline, !ending.lifelineIsCut {
      wakeups.items.lifeline = wakeups.poller.add(descriptor: lifeline)
    }
    if let store { _ = wakeups.poller.add(descriptor: store.news.descriptor) }
    for descriptor in [orders.descriptor] + attempts.descriptors {
      _ = wakeups.poller.add(descriptor: descriptor)
    }
  }

  // MARK: - In

  /// The first signal asks everything to stop, the second kills it. With a time for draining, one
  /// more comes first: running operations may end by themselves.
  private func takeSignals() {
    guard let item = wakeups.items.signals, wakeups.poller.readiness(of: item).contains(.readable)
    else { return }
    while let signal = wakeups.signals?.next() {
      logger.notice("signal \(signal.number)")
      if let time = configuration.drainTime, ending.drainEnd == nil, ending.stops == 0 {
        ending.drainEnd = now + time
        apply(.leave)
      } else {
        ending.drainEnd = nil
        stop(now: ending.stops > 0)
      }
    }
  }

  /// When it leaves for want of work; nil: it has some, or stays, or leaves already.
  private var idleEnd: Instant? {
    guard let time = configuration.idleTime, let since = ending.idleSince, !ending.isIdleEnd else {
      return nil
    }
    return since + time
  }

  private func leaveIfIdle() {
    guard configuration.idleTime != nil else { return }
    let counts = core.counts
    guard counts.assigned == 0, counts.running == 0, counts.unacknowledged == 0 else {
      ending.idleSince = nil
      return
    }
    if ending.idleSince == nil { ending.idleSince = now }
    guard let idleEnd, now >= idleEnd else { return }
    logger.notice("it has had nothing to run for its idle time, and leaves")
    ending.isIdleEnd = true
    apply(.leave)
  }

  private func endDrain() {
    guard let end = ending.drainEnd, now >= end, ending.stops == 0 else { return }
    logger.notice("what runs has not ended in time; it is asked to stop")
    ending.drainEnd = nil
    stop(now: false)
  }

  /// Nothing is ever written to the lifeline, so any event is its end.
  private func watchLifeline() {
    guard let item = wakeups.items.lifeline, !wakeups.poller.readiness(of: item).isEmpty else {
      return
    }
    logger.notice("the program that started this worker has ended")
    ending.lifelineIsCut = true
    rebuildPoller()
    stop(now: false)
  }

  private func takeOrders() {
    var batch: [WorkerOrder] = []
    orders.takeAll(into: &batch)
    for order in batch {
      switch order {
      case .stop(let now): stop(now: now)
      case .tellMetrics(let question):
        let present = WorkerPresent(
          configuration: configuration, counts: core.counts,
          isConnected: core.conversation != nil, store: store?.usage, folder: scratch.path)
        question.answer(oversight.figures.families(present))
      }
    }
  }

  private func stop(now isNow: Bool) {
    ending.stops += 1
    if isNow { ending.wasKilled = true }
    apply(isNow ? .stopNow : .stop)
  }

  /// Takes in the ends of processes and tasks, and progress.
  private func takeEnds() {
    if let item = wakeups.items.guardian, !wakeups.poller.readiness(of: item).isEmpty {
      renewGuard()
    }
    let ended = attempts.collect(at: now) { attempt, fraction, text in
      apply(.progress(attempt, fraction: fraction, text: text))
    }
    // Before the ends that name them.
    let kept = attempts.takeKept()
    if !kept.isEmpty { apply(.contentsGained(kept)) }
    let (found, gone) = attempts.takeSurvivals()
    for attempt in found { noteUnkillable(attempt) }
    for (attempt, result) in ended {
      oversight.figures.noteEnd(result)
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

  private func takeStoreNews() {
    guard let store else { return }
    store.forAttempts.mark(told: core.mayStoreOutputs)
    var batch: [StoreNews] = []
    store.news.takeAll(into: &batch)
    for news in batch {
      switch news {
      case .found(let content): apply(.contentsGained([content]))
      case .gained(let content):
        if !core.holds(content.digest) { oversight.figures.noteReceived(content) }
        apply(.contentsGained([content]))
      case .lost(let digests): apply(.contentsLost(digests))
      case .missed(let content, let failure):
        oversight.figures.noteMissed()
        apply(.contentMissed(content, failure.description, failure.miss))
      case .undelivered(let deliveries): apply(.undelivered(deliveries))
      }
    }
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
    if case .ended = event { reports.noteEnd() }
    core.apply(event, at: now, into: &decisions.effects)
  }

  // MARK: - Out

  /// Carries out the decisions and starts what fits; an operation that ends at once makes room at
  /// once. A turn starts a bounded number, so that the socket is served.
  private func work() {
    carryOut()
    var budget = Self.launchesPerTurn
    let end = now + Self.startingTime
    decisions.isHurried = true
    while budget > 0, Instant(nanoseconds: MonotonicClock.now()) < end {
      let count = core.startReady(atMost: min(64, budget), at: now, into: &decisions.effects)
      carryOut()
      if count == 0 {
        decisions.isHurried = false
        return
      }
      budget -= count
    }
  }

  /// Carries out the effects; they may append further ones meanwhile.
  private func carryOut() {
    var next = 0
    while next < decisions.effects.count {
      let effect = decisions.effects[next]
      next += 1
      carryOut(effect)
    }
    decisions.effects.removeAll(keepingCapacity: true)
  }

  // MARK: - The end

  /// Returns the reason of the end, once there is one.
  private func exit() -> WorkerExit? {
    if let refusal = connection.keyRefusal { return .refused(refusal) }
    if let patience = configuration.patience, core.conversation == nil, core.counts.running == 0,
      now - connection.aloneSince >= patience
    {
      return .unreachable
    }
    guard let reason = core.exit else {
      return ending.wasKilled && core.counts.running == 0 ? .killed : nil
    }
    // libzmq needs a moment to send the goodbye. Without a coordinator there is none to send.
    let hasSpoken = connection.unsent == nil || core.conversation == nil
    if hasSpoken, ending.leaveAt == nil { ending.leaveAt = now + .milliseconds(100) }
    guard let leaveAt = ending.leaveAt, now >= leaveAt else { return nil }
    switch reason {
    case .stopped: return ending.wasKilled ? .killed : .stopped
    case .drained: return .drained
    case .refused(let refusal): return .refused(refusal)
    }
  }

  private func leave() {
    service?.stopping("leaving")
    attempts.endAll(within: .seconds(2))
    store?.end()
    // Last: it may wait for an answer that nobody gives any more.
    oversight.metrics?.stop()
    connection.socket = nil
  }
}
