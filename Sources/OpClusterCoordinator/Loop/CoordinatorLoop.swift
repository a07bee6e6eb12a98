// The coordinator's loop: one thread that owns both sockets and steps the scheduler in place. Reads
// top to bottom; a turn is a transaction:
//
//   sleep → hear what other threads say → take frames in (`WorkerMessages`, `ClientMessages`) →
//   the scheduler decides → append to the journal (`TurnCommit`) → what is durable leaves
//   (`OutgoingMessages`) → clients (`Clients`)
//
// It never waits but in `sleep`. While the disk lags behind so far that the journal takes no more,
// nobody is listened to and the scheduler's time stands still, so that no worker is lost by it.

import DequeModule
import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterZeroMQ

final class CoordinatorLoop {
  let settings: CoordinatorSettings
  let logger: Logger
  let journal: any Journal
  let history: HistoryThread
  let notices: Mailbox<Notice>
  private let signals: StopSignals?
  private let lifeline: Int32?
  let service: ServiceNotifier?

  // Decided by turns
  var scheduler: Scheduler
  var turn = SchedulingTurn()
  var release: ReleaseQueue
  /// The turn that the journal had no room for.
  var unappended: JournalTurn?
  var snapshots: SnapshotPolicy
  /// Graphs that were removed, of which the journal has still to forget the attempts, with the
  /// commits that have to be durable before.
  var forgetting: Deque<(commit: UInt64, graph: GraphID)> = []
  /// The next life of the coordinator will know that this journal is where it was left.
  private var isSettled: Bool
  /// The journal takes nothing any more; the reason is on its way.
  var isJournalClosed = false

  // Peers
  /// nil: nobody is served over TCP.
  var access: Access?
  /// Holders of invitations whose keys are being written.
  var enrolling: Set<PeerID> = []
  var workers: Port
  var clients: Port
  var lastPeer: UInt64 = 0
  /// Messages that were not understood, of both sockets (G33).
  var malformed: UInt64 = 0
  /// Words of workers about attempts that were never given to them.
  var lies: UInt64 = 0

  // What this turn has heard
  var now: Instant = .now
  var hasInput = false
  /// Workers whose conversations ended since the last turn.
  var pendingGone: [PeerID] = []
  var questions: [ClientQuestion] = []

  /// What the log says of workers.
  var workerLines: WorkerLines
  var refusedWorkers = RefusedWorkers()

  // Clients
  var subscriptions: Subscriptions
  var effects: [Subscriptions.Effect] = []
  /// Which graphs the turns that wait for the disk have changed.
  var undurable = UndurableGraphs()
  var logs = LogRelay()
  /// What of all this is let through, and whose turn it is.
  var admission: AdmissionControl
  /// What does not hold of the history; nil: nothing is known to be wrong.
  var historyProblem: String?
  var lastAttended: Instant = .zero

  /// Whether the coordinator is the whole process, and may do with its descriptors what it likes.
  var ownsProcess: Bool { signals != nil }
  /// Descriptors that connections may take. Counted when everything of ours is open.
  lazy var descriptors = DescriptorBudget(
    limit: Kernel.descriptorLimit(raising: ownsProcess),
    own: Kernel.openDescriptors() - spares.count)
  let spares = SpareDescriptors()
  /// Connections that were cut, as far as the log has been told.
  var toldRefused: UInt64 = 0
  var toldSilent: UInt64 = 0
  var threads: ThreadWatch
  var nextTrafficLook: Instant = .zero

  // Waiting
  private var poller = Poller()
  private var lifelineItem: Poller.Item?
  private var batch: [Notice] = []
  private var lastTick: Instant = .now
  var end: CoordinatorEnd?

  /// Makes the beginning of this life durable, then binds: nobody is answered before that.
  init(
    _ settings: CoordinatorSettings, _ logger: Logger, _ recovered: Scheduler,
    _ journal: any Journal, mayHaveGoneBack: Bool, _ notices: Mailbox<Notice>,
    signals: StopSignals?, lifeline: Int32?, service: ServiceNotifier?
  ) throws(CoordinatorError) {
    // Before anything else takes the low numbers.
    if signals != nil {
      spares.keep(
        DescriptorBudget(limit: Kernel.descriptorLimit(raising: true), own: 0).spares)
    }
    self.settings = settings
    self.logger = logger
    self.journal = journal
    self.notices = notices
    self.signals = signals
    self.lifeline = lifeline
    self.service = service
    scheduler = recovered
    for graph in scheduler.takeRemoved() { forgetting.append((0, graph)) }
    isSettled = !mayHaveGoneBack
    admission = AdmissionControl(
      quotas: settings.quotas, memory: settings.memory, diskReserve: settings.diskReserveBytes)
    threads = ThreadWatch(at: now, heartbeat: settings.timing.heartbeat)
    for graph in recovered.sizesOfLivingGraphs() {
      let cost = MemoryRoom.cost(
        templates: graph.templates, operations: graph.operations, bytes: graph.bytes)
      admission.resumed(graph.graph, cost: cost)
    }
    snapshots = SnapshotPolicy(turns: settings.snapshotTurns, bytes: settings.snapshotBytes)
    // Both clocks at one moment: what is left of a delay is reckoned by one and waited for by the
    // other.
    now = .now
    turn.begin(at: now, wall: .now)
    scheduler.start(
      life: UInt64.random(in: 1...UInt64.max), mayHaveGoneBack: mayHaveGoneBack, into: &turn)
    scheduler.close(&turn)
    workerLines = WorkerLines(scheduler.workers(at: now))
    release = ReleaseQueue(durable: turn.commit.number - 1)
    subscriptions = Subscriptions(told: scheduler.lastEvent)
    let first = TurnWriting.journalTurn(
      turn, epoch: scheduler.epoch, lastEvent: scheduler.lastEvent)
    try Self.makeDurable(first, journal, notices)
    release.becameDurable(through: turn.commit.number)
    do throws(SocketError) {
      // The gate before any address (A6).
      access = try settings.keys.map { keys throws(SocketError) in
        try Access(keys, admitsAll: settings.admitsAll)
      }
      workers = try Port(settings.workerEndpoint, keys: access?.serverKeys)
      clients = try Port(settings.clientEndpoint, keys: access?.serverKeys)
      history = try HistoryThread(journal) { _ = notices.post(.history($0)) }
    } catch {
      throw .socket(error)
    }
    scheduler.clientEndpoint = clients.endpoint.address
    try proveGate()
  }

  /// Nobody is served until a random key was refused at each address (G35).
  private func proveGate() throws(CoordinatorError) {
    for endpoint in [workers.endpoint, clients.endpoint] {
      let problem: String?
      do throws(SocketError) {
        problem = try access?.proof(at: endpoint, .now)
      } catch {
        throw .socket(error)
      }
      if let problem { throw .open(problem) }
    }
  }

  /// Appends the first turn of this life and waits for it.
  private static func makeDurable(
    _ turn: JournalTurn, _ journal: any Journal, _ notices: Mailbox<Notice>
  ) throws(CoordinatorError) {
    _ = journal.append(turn)
    var poller = Poller()
    _ = poller.add(descriptor: notices.descriptor)
    var batch: [Notice] = []
    while true {
      do throws(SocketError) {
        _ = try poller.wait(until: nil)
      } catch {
        throw .socket(error)
      }
      notices.takeAll(into: &batch)
      for notice in batch {
        switch notice {
        case .durable(let commit) where commit >= turn.sequence: return
        case .failed(let error): throw .journal(error)
        default: break
        }
      }
    }
  }

  func run(onReady: (CoordinatorReady) -> Void) -> CoordinatorEnd {
    joinPoller()
    let ready = CoordinatorReady(
      clientEndpoint: clients.endpoint, workerEndpoint: workers.endpoint, epoch: scheduler.epoch,
      stateFolder: settings.stateFolder)
    let memory = settings.memory.map { "\($0.resident >> 20) MiB" } ?? "unknown"
    logger.info(
      "serving", metadata: ["epoch": "\(scheduler.epoch.number)", "memory": "\(memory)"])
    onReady(ready)
    service?.ready("serving as epoch \(scheduler.epoch.number)", at: MonotonicClock.now())
    do throws(CoordinatorError) {
      while end == nil { try step() }
    } catch {
      end = .failed(error)
    }
    return finish()
  }

  private func joinPoller() {
    _ = poller.add(descriptor: notices.descriptor)
    if let signals { _ = poller.add(descriptor: signals.descriptor) }
    if let descriptor = access?.descriptor { _ = poller.add(descriptor: descriptor) }
    if let lifeline { lifelineItem = poller.add(descriptor: lifeline) }
    workers.join(&poller)
    clients.join(&poller)
  }

  /// Whether the journal lets us go on, and what waits for it is not too much (G27).
  var isStalled: Bool { unappended != nil || isJournalClosed || release.isFull }

  private func step() throws(CoordinatorError) {
    try sleep()
    now = .now
    admission.queue.beginTurn(at: now)
    defer { admission.queue.endTurn(at: .now) }
    limitConnections()
    cutUnendedMessages()
    takeSignals()
    takeNotices()
    attendToKeys()
    guard end == nil else { return }
    appendWaiting()
    if isStalled { keepTalking() } else { decide() }
    speak()
    attend()
    forgetRemoved()
    considerSnapshot()
    settle()
    // Last, so that nothing but a whole turn feeds the watchdog.
    watchThreads()
  }

  /// Once nothing can run any more of which a journal that went back knows nothing (G16).
  private func settle() {
    guard !isSettled, !isJournalClosed, scheduler.isSettled(at: now) else { return }
    isSettled = journal.settle() == .accepted
  }

  /// One turn of the scheduler, if there is anything to decide.
  private func decide() {
    turn.begin(at: now, wall: .now)
    hasInput = false
    let start = Instant.now
    hear()
    for peer in pendingGone {
      hasInput = true
      scheduler.handle(.gone(peer), into: &turn)
    }
    pendingGone.removeAll(keepingCapacity: true)
    if isTickDue {
      lastTick = now
      hasInput = true
      scheduler.handle(.tick(durable: CommitIndex(release.durable)), into: &turn)
    }
    let heardEverybody = Instant.now
    if hasInput { scheduler.close(&turn) }
    if !turn.lies.isEmpty { answerLies() }
    if hasInput || !questions.isEmpty { keep() }
    let end = Instant.now
    admission.queue.chargeRest(end - heardEverybody, after: heardEverybody - start, at: end)
  }

  /// What is said while the disk keeps everything else back.
  private func keepTalking() {
    turn.begin(at: now, wall: .now)
    scheduler.keepTalking(CommitIndex(release.durable), into: &turn)
    say(turn.atOnce)
  }

  // MARK: - Waiting

  private var isTickDue: Bool { now >= nextTick }

  /// At least twice a heartbeat, so that the scheduler can tell a pause of ours from silence.
  private var nextTick: Instant {
    let regular = lastTick + settings.timing.heartbeat / 2
    guard let wish = scheduler.nextDeadline() else { return regular }
    return max(min(wish, regular), lastTick + CoordinatorLimits.tickPause)
  }

  /// Whether somebody in the request queue needs not wait for others.
  private var isAnybodyHeardNext: Bool { admission.queue.hasNext(at: .now) }

  private func sleep() throws(CoordinatorError) {
    workers.listen(!isStalled, &poller)
    clients.listen(!isStalled, &poller)
    var moment =
      isStalled
      ? now + settings.timing.heartbeat / 2 : nextTick
    if access != nil { moment = min(moment, now + Access.lookPause) }
    if let deadline = logs.nextDeadline { moment = min(moment, deadline) }
    if !workers.peers.waiting.isEmpty || !clients.peers.waiting.isEmpty {
      moment = min(moment, now + CoordinatorLimits.retryPause)
    }
    if !isStalled, !admission.queue.isEmpty {
      moment = min(moment, now + (isAnybodyHeardNext ? .zero : CoordinatorLimits.retryPause))
    }
    if let feed = service?.nextFeed { moment = min(moment, Instant(nanoseconds: feed)) }
    do throws(SocketError) {
      _ = try poller.wait(until: moment.nanoseconds)
    } catch {
      throw .socket(error)
    }
  }

  private func takeSignals() {
    while let signal = signals?.next() {
      logger.info(
        "told to stop",
        metadata: ["signal": "\(signal.number)", "by": "\(signal.senderProcess)"])
      end = .stopped
    }
    if let lifelineItem, let lifeline, !poller.readiness(of: lifelineItem).isEmpty,
      Kernel.hasEnded(lifeline)
    {
      logger.info("the program that started this one has ended")
      end = .stopped
    }
  }

  private func takeNotices() {
    notices.takeAll(into: &batch)
    for notice in batch {
      switch notice {
      case .durable(let commit):
        release.becameDurable(through: commit)
        undurable.becameDurable(through: commit)
        threads.heard(.journal, at: now)
      case .failed(let error): end = .failed(.journal(error))
      case .snapshot(let commit):
        snapshots.ended()
        logger.debug("snapshot written", metadata: ["commit": "\(commit)"])
        retain()
      case .reserve: takeRoom(0)
      case .history(let answer):
        threads.heard(.history, at: now)
        take(answer)
      case .enrolled(let enrolment): take(enrolment)
      case .stop: end = .stopped
      }
    }
  }

  /// G7: after a failure nothing more leaves. Otherwise everything accepted becomes durable.
  private func finish() -> CoordinatorEnd {
    service?.stopping("making everything durable")
    history.stop()
    journal.close()
    notices.takeAll(into: &batch)
    for case .failed(let error) in batch { end = .failed(.journal(error)) }
    logger.info(
      "ended",
      metadata: [
        "malformed": "\(malformed)", "late": "\(scheduler.lateReports)",
        "lies": "\(lies)",
      ])
    return end ?? .stopped
  }
}
