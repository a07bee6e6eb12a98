// A worker of the model, or a relay that looks like one: it starts what it was given as far as it
// has slots, and reports at the pace of `opworker`. A value; the world plans its ends and carries
// its messages.

import OpClusterExecution
import OpClusterModel

struct ModelMachine: Sendable {
  /// An attempt that begins, and since when its slot was free.
  struct Begin: Sendable {
    var attempt: AttemptID
    var freeSince: Instant
  }

  private var conversation: Conversation?
  /// Since when each free slot is free, the oldest first.
  private var free = Backlog<Instant>()
  private var backlog = Backlog<AttemptID>()
  private var entries: [WorkerReport.Entry] = []
  /// Ends among the entries.
  private var ends = 0
  private var pace: ReportPace
  /// The moment for which it was told to speak later.
  private var speaksAt: Instant?
  private var reports: UInt64 = 0
  private var ordersTaken: UInt64 = 0
  /// A relay waits with its reports also while all that it has is started.
  private let isRelay: Bool

  init(slots: Int, isRelay: Bool, at now: Instant) {
    for _ in 0..<slots { free.append(now) }
    self.isRelay = isRelay
    pace = ReportPace(at: now)
  }

  var isGreeted: Bool { conversation != nil }
  var freeSlots: Int { free.count }

  // MARK: - What happens to it

  mutating func hear(_ welcome: Welcome) { conversation = welcome.conversation }

  /// Takes orders; returns what begins at once.
  mutating func obey(_ orders: WorkerOrders) -> [Begin] {
    guard orders.conversation == conversation else { return [] }
    if orders.number > 0 { ordersTaken = orders.number }
    for dispatch in orders.dispatches { backlog.append(dispatch.attempt) }
    if !orders.recalls.isEmpty {
      let recalled = Set(orders.recalls)
      entries += backlog.takeOut { recalled.contains($0) }.map { .recalled($0) }
    }
    return start()
  }

  /// An attempt ends; returns what begins in its slot.
  mutating func end(_ attempt: AttemptID, _ result: AttemptResult, at now: Instant) -> [Begin] {
    entries.append(.finished(attempt, result))
    ends += 1
    pace.noteEnd()
    free.append(now)
    return start()
  }

  private mutating func start() -> [Begin] {
    var begun: [Begin] = []
    while !free.isEmpty, let attempt = backlog.popFirst(), let since = free.popFirst() {
      entries.append(.started(attempt))
      begun.append(Begin(attempt: attempt, freeSince: since))
    }
    return begun
  }

  // MARK: - What it says

  enum Speech: Sendable {
    case nothing
    case later(Instant)
    case report(WorkerReport)
  }

  /// As in the execution core: more is to be started here, and no more has ended than is left. A
  /// relay waits in any case.
  private var reportsCanWait: Bool {
    isRelay || (!backlog.isEmpty && ends <= backlog.count)
  }

  /// What it says now, by the pace of a worker's loop.
  mutating func speak(at now: Instant, heartbeat: Span) -> Speech {
    guard let conversation else { return .nothing }
    let isBeat = now - pace.lastSpoken >= heartbeat
    if entries.isEmpty, !isBeat { return .nothing }
    guard pace.maySpeak(canWait: !isBeat && reportsCanWait, at: now) else {
      guard let moment = pace.speakAt, moment != speaksAt else { return .nothing }
      speaksAt = moment
      return .later(moment)
    }
    speaksAt = nil
    ends = 0
    reports += 1
    let report = WorkerReport(
      conversation: conversation, number: reports, entries: entries, ordersTaken: ordersTaken)
    entries = []
    return .report(report)
  }

  /// The moment of the next heartbeat, if it says nothing before.
  func nextBeat(heartbeat: Span) -> Instant { pace.lastSpoken + heartbeat }
}
