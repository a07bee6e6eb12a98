// The coordinator's loop: one thread that owns both sockets and steps the scheduler in place. Here
// are its parts and its beginning; `LoopTurn` is what it does in a turn.

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
  /// Through accessors: where a function of another module reads a stored property of a class, all
  /// of the value is copied before.
  var scheduler: Scheduler {
    _read { yield ownScheduler }
    _modify { yield &ownScheduler }
  }
  private var ownScheduler: Scheduler
  var work = TurnWork()
  var commits: PendingCommits

  // What takes longer than a turn:
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
    ownScheduler = recovered
    commits = PendingCommits(journal, settings, isSettled: !mayHaveGoneBack)
    for graph in ownScheduler.takeRemoved() { commits.forgetting.append((0, graph)) }
    admission = AdmissionControl(
      quotas: settings.quotas, memory: settings.memory, diskReserve: settings.diskReserveBytes,
      banishment: settings.banishment)
    for graph in recovered.sizesOfLivingGraphs() {
      let cost = MemoryRoom.cost(
        templates: graph.templates, operations: graph.operations, bytes: graph.bytes)
      admission.resumed(graph.graph, cost: cost)
    }
    // Reads both clocks at one moment: one computes the rest of a delay, the other waits for it.
    clock = LoopClock()
    work.turn.begin(at: clock.now, wall: .now)
    ownScheduler.start(
      life: UInt64.random(in: 1...UInt64.max), mayHaveGoneBack: mayHaveGoneBack, into: &work.turn)
    ownScheduler.close(&work.turn)
    // What the former life left unfollowed may have been the last of them.
    for ending in work.turn.endings { admission.ended(ending.row.graph) }
    operatorLog = OperatorLog(
      logger, ownScheduler.workers(at: clock.now), unfinished: ownScheduler.unfinishedOperations)
    subscriptions = Subscriptions(told: ownScheduler.lastEvent)
    commits.release.becameDurable(through: work.turn.commit.number - 1)
    let first = TurnRecords.journalTurn(
      work.turn, epoch: ownScheduler.epoch, lastEvent: ownScheduler.lastEvent)
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
        history: try HistoryThread(journal) { _ = notices.post(.history($0)) },
        preparation: try RequestPreparation { _ = notices.post(.prepared) })
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

  /// Whether the journal accepts nothing, or too much waits for it (G27).
  var isStalled: Bool { commits.unappended != nil || commits.isClosed || commits.release.isFull }
}

/// The input and the decisions of one turn, until they are journaled.
struct TurnWork {
  var turn = SchedulingTurn()
  /// Whether the scheduler got any input.
  var hasInput = false
  /// Workers whose conversations ended since the last turn.
  var pendingGone: [PeerID] = []
  var questions: [ClientQuestion] = []
  /// Those that earlier turns have left to this one, in the order of their turns to go on,
  var begunQuestions: [ClientQuestion] = []
  /// and how many of them each principal has.
  var unfinishedSearches: [QuotaHolder: Int] = [:]
  var hasQuestions: Bool { !questions.isEmpty || !begunQuestions.isEmpty }

  /// Takes all questions out, in the order in which a turn goes on with them: one that has begun,
  /// the new ones, and the others that have begun.
  mutating func takeQuestions() -> (all: [ClientQuestion], new: Range<Int>) {
    let first = begunQuestions.prefix(1)
    let all = first + questions + begunQuestions.dropFirst()
    let new = first.count..<(first.count + questions.count)
    questions.removeAll(keepingCapacity: true)
    begunQuestions = []
    unfinishedSearches.removeAll(keepingCapacity: true)
    return (Array(all), new)
  }
  /// Whether a large message has been prepared and is to be heard.
  var hasPrepared = false
  /// The pending effects for subscribers.
  var effects: [Subscriptions.Effect] = []
}

/// The moments that the loop uses.
struct LoopClock {
  /// The moment of this turn.
  var now = Instant.now
  /// The time of the scheduler's last tick.
  var lastTick = Instant.now
  /// How long it took in the last turn to decide and keep what was heard.
  var lastRest = Span.zero
  /// The time for hearing clients: as long as the rest of a turn takes, so that many small turns do
  /// not cost more than what they decide.
  var hearingTime: Span {
    max(CoordinatorLimits.hearingTime, min(lastRest, CoordinatorLimits.longestHearing))
  }
  /// The time when clients were last attended to.
  var lastAttended = Instant.zero
}
