// The coordinator's loop: one thread that owns both sockets and steps the scheduler in place. A
// turn is a transaction:
//
//   sleep → take messages of other threads → receive frames (`WorkerMessages`, `ClientMessages`) →
//   the scheduler decides → append to the journal (`TurnCommit`) → send durable effects
//   (`OutgoingMessages`) → attend to clients (`Clients`)
//
// It waits only in `sleep`. While the journal accepts nothing because the disk is too slow, the
// loop receives nothing and the scheduler's time stands still, so that no worker is lost for that
// reason.

import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterSystem
import OpClusterZeroMQ

final class CoordinatorLoop {
  let settings: CoordinatorSettings
  var operatorLog: OperatorLog
  var wakeups: Wakeups
  var watch: ProcessWatch
  var clock: LoopClock
  /// The end of the loop after this turn; nil: it continues.
  var end: CoordinatorEnd?

  // The peers, and admission:
  var keys: KeysInUse
  var workers: Port
  var clients: Port
  var admission: AdmissionControl

  // Decided by turns
  var scheduler: Scheduler
  var work = TurnWork()
  var commits: PendingCommits

  // Answers that take longer:
  var subscriptions: Subscriptions
  var sources: AnswerSources

  /// The moment of this turn.
  var now: Instant { clock.now }
  var logger: Logger { operatorLog.logger }

  /// Makes the beginning of this life durable, then binds: nobody is answered before that.
  init(
    _ settings: CoordinatorSettings, _ logger: Logger, _ recovered: Scheduler,
    _ journal: any Journal, mayHaveGoneBack: Bool, _ notices: Mailbox<Notice>,
    signals: StopSignals?, lifeline: Int32?, service: ServiceNotifier?
  ) throws(CoordinatorError) {
    // First of all, so that it gets the low numbers.
    watch = ProcessWatch(
      service: service, ownsProcess: signals != nil, heartbeat: settings.timing.heartbeat)
    self.settings = settings
    wakeups = Wakeups(notices, signals: signals, lifeline: lifeline)
    scheduler = recovered
    commits = PendingCommits(journal, settings, isSettled: !mayHaveGoneBack)
    for graph in scheduler.takeRemoved() { commits.forgetting.append((0, graph)) }
    admission = AdmissionControl(
      quotas: settings.quotas, memory: settings.memory, diskReserve: settings.diskReserveBytes)
    for graph in recovered.sizesOfLivingGraphs() {
      let cost = MemoryRoom.cost(
        templates: graph.templates, operations: graph.operations, bytes: graph.bytes)
      admission.resumed(graph.graph, cost: cost)
    }
    // Reads both clocks at one moment: one computes the rest of a delay, the other waits for it.
    clock = LoopClock()
    work.turn.begin(at: clock.now, wall: .now)
    scheduler.start(
      life: UInt64.random(in: 1...UInt64.max), mayHaveGoneBack: mayHaveGoneBack, into: &work.turn)
    scheduler.close(&work.turn)
    operatorLog = OperatorLog(logger, scheduler.workers(at: clock.now))
    subscriptions = Subscriptions(told: scheduler.lastEvent)
    commits.release.becameDurable(through: work.turn.commit.number - 1)
    let first = TurnRecords.journalTurn(
      work.turn, epoch: scheduler.epoch, lastEvent: scheduler.lastEvent)
    try Self.makeDurable(first, journal, notices)
    commits.release.becameDurable(through: work.turn.commit.number)
    do throws(SystemError) {
      // Opens the gate before any address is bound (A6).
      keys = KeysInUse(
        access: try settings.keys.map { keys throws(SystemError) in
          try Access(keys, admitsAll: settings.admitsAll)
        })
      workers = try Port(settings.workerEndpoint, keys: keys.access?.serverKeys)
      clients = try Port(settings.clientEndpoint, keys: keys.access?.serverKeys)
      sources = AnswerSources(
        history: try HistoryThread(journal) { _ = notices.post(.history($0)) })
    } catch {
      throw .socket(error)
    }
    scheduler.clientEndpoint = clients.endpoint.address
    try proveGate()
  }

  /// Serves nobody until a random key was refused at each address (G35).
  private func proveGate() throws(CoordinatorError) {
    for endpoint in [workers.endpoint, clients.endpoint] {
      let problem: String?
      do throws(SystemError) {
        problem = try keys.access?.proof(at: endpoint, .now)
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
      do throws(SystemError) {
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
    watch.service?.ready("serving as epoch \(scheduler.epoch.number)", at: MonotonicClock.now())
    do throws(CoordinatorError) {
      while end == nil { try step() }
    } catch {
      end = .failed(error)
    }
    return finish()
  }

  private func joinPoller() {
    if let descriptor = keys.access?.descriptor { wakeups.add(descriptor) }
    workers.join(&wakeups.poller)
    clients.join(&wakeups.poller)
  }

  /// Whether the journal accepts nothing, or too much waits for it (G27).
  var isStalled: Bool { commits.unappended != nil || commits.isClosed || commits.release.isFull }

  private func step() throws(CoordinatorError) {
    try sleep()
    clock.now = .now
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
    // Last, so that only a complete turn feeds the watchdog.
    watchThreads()
  }

  /// Settles the journal once no operation unknown to a restored journal can still run (G16).
  private func settle() {
    guard !commits.isSettled, !commits.isClosed, scheduler.isSettled(at: now) else { return }
    commits.isSettled = commits.journal.settle() == .accepted
  }

  /// Runs one turn of the scheduler, if there is anything to decide.
  private func decide() {
    work.turn.begin(at: now, wall: .now)
    work.hasInput = false
    let start = Instant.now
    hear()
    for peer in work.pendingGone {
      work.hasInput = true
      scheduler.handle(.gone(peer), into: &work.turn)
    }
    work.pendingGone.removeAll(keepingCapacity: true)
    if isTickDue {
      clock.lastTick = now
      work.hasInput = true
      scheduler.handle(.tick(durable: CommitIndex(commits.release.durable)), into: &work.turn)
    }
    let heardEverybody = Instant.now
    if work.hasInput { scheduler.close(&work.turn) }
    if !work.turn.lies.isEmpty { answerLies() }
    if work.hasInput || !work.questions.isEmpty { keep() }
    let end = Instant.now
    admission.queue.chargeRest(end - heardEverybody, after: heardEverybody - start, at: end)
  }

  /// Sends heartbeats while everything else waits for the disk.
  private func keepTalking() {
    work.turn.begin(at: now, wall: .now)
    scheduler.keepTalking(CommitIndex(commits.release.durable), into: &work.turn)
    say(work.turn.atOnce)
  }

  // MARK: - Waiting

  private var isTickDue: Bool { now >= nextTick }

  /// At least twice per heartbeat, so that the scheduler can distinguish its own pause from
  /// silence.
  private var nextTick: Instant {
    let regular = clock.lastTick + settings.timing.heartbeat / 2
    guard let wish = scheduler.nextDeadline() else { return regular }
    return max(min(wish, regular), clock.lastTick + CoordinatorLimits.tickPause)
  }

  /// Whether a queued request need not wait for others.
  private var isAnybodyHeardNext: Bool { admission.queue.hasNext(at: .now) }

  private func sleep() throws(CoordinatorError) {
    workers.listen(!isStalled, &wakeups.poller)
    clients.listen(!isStalled, &wakeups.poller)
    var moment =
      isStalled
      ? now + settings.timing.heartbeat / 2 : nextTick
    if keys.access != nil { moment = min(moment, now + Access.lookPause) }
    if let deadline = sources.logs.nextDeadline { moment = min(moment, deadline) }
    if !workers.peers.waiting.isEmpty || !clients.peers.waiting.isEmpty {
      moment = min(moment, now + CoordinatorLimits.retryPause)
    }
    if !isStalled, !admission.queue.isEmpty {
      moment = min(moment, now + (isAnybodyHeardNext ? .zero : CoordinatorLimits.retryPause))
    }
    if let feed = watch.service?.nextFeed { moment = min(moment, Instant(nanoseconds: feed)) }
    do throws(SystemError) {
      _ = try wakeups.poller.wait(until: moment.nanoseconds)
    } catch {
      throw .socket(error)
    }
  }

  private func takeSignals() {
    while let signal = wakeups.nextSignal() {
      logger.info(
        "told to stop",
        metadata: ["signal": "\(signal.number)", "by": "\(signal.senderProcess)"])
      end = .stopped
    }
    if wakeups.hasLostLifeline {
      logger.info("the program that started this one has ended")
      end = .stopped
    }
  }

  private func takeNotices() {
    for notice in wakeups.takeNotices() {
      switch notice {
      case .durable(let commit):
        commits.release.becameDurable(through: commit)
        commits.undurable.becameDurable(through: commit)
        watch.threads.heard(.journal, at: now)
      case .failed(let error): end = .failed(.journal(error))
      case .snapshot(let commit):
        commits.snapshots.ended()
        logger.debug("snapshot written", metadata: ["commit": "\(commit)"])
        retain()
      case .reserve: takeRoom(0)
      case .history(let answer):
        watch.threads.heard(.history, at: now)
        take(answer)
      case .enrolled(let enrolment): take(enrolment)
      case .stop: end = .stopped
      }
    }
  }

  /// Ends the loop: after a failure nothing more leaves (G7); otherwise everything accepted becomes
  /// durable.
  private func finish() -> CoordinatorEnd {
    watch.service?.stopping("making everything durable")
    sources.history.stop()
    commits.journal.close()
    for case .failed(let error) in wakeups.takeNotices() { end = .failed(.journal(error)) }
    logger.info(
      "ended",
      metadata: [
        "malformed": "\(operatorLog.malformed)", "late": "\(scheduler.lateReports)",
        "lies": "\(operatorLog.lies)",
      ])
    return end ?? .stopped
  }
}

/// The input and the decisions of one turn, until they are journaled.
struct TurnWork {
  var turn = SchedulingTurn()
  /// Whether the scheduler got any input.
  var hasInput = false
  /// Workers whose conversations ended since the last turn.
  var pendingGone: [PeerID] = []
  var questions: [ClientQuestion] = []
  /// The pending effects for subscribers.
  var effects: [Subscriptions.Effect] = []
}

/// The moments that the loop uses.
struct LoopClock {
  /// The moment of this turn.
  var now = Instant.now
  /// The time of the scheduler's last tick.
  var lastTick = Instant.now
  /// The time when clients were last attended to.
  var lastAttended = Instant.zero
}
