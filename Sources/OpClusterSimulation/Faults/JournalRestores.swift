// Restores an older journal: a copy is made, and later replaces the journal while workers and
// clients live on (G12 to G14, G16 "restored"). Facts after the copy are lost, as they must be;
// peers that were told of them, and their processes, then belong to another history. Part of the
// world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

/// A copy of the coordinator's disk, with the oracles' knowledge of it.
struct Backup {
  var disk: Disk
  var ledger: ShadowLedger
  var shadow: Scheduler
}

/// The limits of what a restore kept: the commits up to this one, and the graphs below this number.
struct Restore {
  var at: Instant
  var commit: CommitIndex
  var graphs: UInt32
}

/// A client's position in the events.
struct Follower: Sendable {
  var mark: EventMark?
  /// The life of the coordinator that it follows.
  var life = 1
  /// Whether a restored journal has lost events that it knows.
  var knowsMore = false
}

extension Plan {
  /// A copy, and its later restore.
  func restoring(_ at: Instant, from start: Instant, _ chance: inout Chance) -> [Mishap] {
    let age = chance.milliseconds(100, 15_000)
    let copied = max(start, at - age)
    return [
      Mishap(at: copied, fault: .backup),
      Mishap(
        at: at, fault: .restore, length: chance.milliseconds(10, 8_000),
        detail: chance.percent(60) ? 1 : 0),
    ]
  }
}

extension World {
  func takeBackup() {
    guard coordinator.isUp else { return }
    note(.disk, 2, ledger.commit.number) { "the journal is copied at \(self.ledger.commit.number)" }
    var disk = coordinator.disk
    _ = disk.crash(keeping: 0, losesDurable: false)
    backup = Backup(disk: disk, ledger: ledger, shadow: shadow)
  }

  func restore(_ mishap: Mishap) {
    guard coordinator.isUp, let backup else { return }
    crashCoordinator(mishap, "is stopped, and an older journal takes its place")
    if mishap.detail == 1 { pauseUnknownExclusives(backup.ledger, after: mishap.length) }
    let known = UInt32(backup.ledger.graphs.count)
    restores.append(Restore(at: now, commit: backup.ledger.commit, graphs: known))
    for (session, commit) in told where commit > backup.ledger.commit {
      foreign[session] = min(foreign[session] ?? .max, known)
    }
    for (session, graphs) in foreign { foreign[session] = min(graphs, known) }
    ledger = restored(backup.ledger)
    shadow = backup.shadow
    coordinator.disk = backup.disk
    coordinator.mayHaveGoneBack = true
    welcomes = welcomes.filter { $0.value <= backup.ledger.commit }
    keys.removeAll { (acknowledged[$0]?.graph.number ?? 0) >= known }
    acknowledged = acknowledged.filter { $0.value.graph.number < known }
    let end = EventMark(life: backup.shadow.life, sequence: ledger.lastEvent)
    for at in clients.indices { clients[at].noteRestore(known, end) }
  }

  /// Pauses workers with exclusive processes that the older journal does not know, so that no
  /// worker reports them in time: then only the coordinator's waiting time keeps it from starting
  /// the same operations elsewhere (G16).
  private func pauseUnknownExclusives(_ copy: ShadowLedger, after length: Span) {
    for at in workers.indices {
      let isUnknown = workers[at].processes.contains { process in
        process.isExclusive && copy.contains(process.attempt.operation)
          && !copy.isCurrent(process.attempt, at: process.session)
      }
      guard isUnknown, workers[at].core != nil else { continue }
      workers[at].pausedUntil = now + length + .seconds(12)
      note(.pause, UInt64(at)) { "w\(at) stands still with what the older journal does not know" }
    }
  }

  /// The copy's ledger, with later starts and ends of attempts that the restored journal still
  /// knows.
  private func restored(_ copy: ShadowLedger) -> ShadowLedger {
    var restored = copy
    restored.isRestored = true
    func isItsOwn(_ attempt: AttemptID, _ session: WorkerSession) -> Bool {
      foreign[session] == nil && copy.contains(attempt.operation)
        && copy.isCurrent(attempt, at: session)
    }
    for (attempt, session) in ledger.launched where isItsOwn(attempt, session) {
      restored.launched[attempt] = session
    }
    for (attempt, ending) in ledger.endings where isItsOwn(attempt, ending.session) {
      restored.endings[attempt] = ending
    }
    return restored
  }

  /// Notes how much of the journal a worker was told, when it handles a message; the message may
  /// have been sent before a restore.
  func noteTold(_ message: CoordinatorMessage, saidAt: Instant, _ at: Int) {
    let (conversation, commit): (Conversation, CommitIndex)
    switch message {
    case .welcome(let welcome):
      (conversation, commit) = (welcome.conversation, welcome.known?.commit ?? CommitIndex(0))
    case .orders(let orders):
      (conversation, commit) = (orders.conversation, orders.commit)
      if orders.number == 0 { return }
    case .refused, .logRequest: return
    }
    guard workers[at].core?.conversation == conversation else { return }
    let session = conversation.session
    told[session] = max(told[session] ?? CommitIndex(0), commit)
    for restore in restores where saidAt <= restore.at && commit > restore.commit {
      foreign[session] = min(foreign[session] ?? .max, restore.graphs)
    }
  }

  /// Whether an operation means the same for a session and for the journal.
  func isOfThisHistory(_ operation: OperationID, _ session: WorkerSession) -> Bool {
    foreign[session].map { operation.graph.number < $0 } ?? true
  }

  /// Lets most clients return with the position of their newest event: one that knows more than the
  /// journal must be told so and begins again, all others continue (G12).
  func reconnectFollowers() {
    for at in clients.indices {
      var chance = draw(.reconnect, 5_000 + at, coordinator.life)
      if !isHealed, chance.percent(30) { continue }
      if let mark = clients[at].follower.mark {
        let isKnown = coordinator.scheduler.knows(mark)
        if isKnown == clients[at].follower.knowsMore {
          fail("G12", "client \(at) is at event \(mark.sequence), known: \(isKnown)")
        }
      }
      if clients[at].follower.knowsMore { clients[at].follower.mark = nil }
      clients[at].follower.knowsMore = false
      clients[at].follower.life = coordinator.life
    }
  }

  /// Notes that an answer shows a client the newest events.
  func follow(_ at: Int) {
    guard clients[at].follower.life == coordinator.life, coordinator.isUp else { return }
    clients[at].follower.mark = EventMark(
      life: shadow.life, sequence: ledger.lastEvent)
  }
}

extension Client {
  fileprivate mutating func noteRestore(_ graphs: UInt32, _ end: EventMark) {
    known.removeAll { $0.graph.number >= graphs }
    // The restore has lost the counts of resumptions.
    for asked in pending.indices { pending[asked].resumesBefore = -1 }
    // A life that began after the copy is unknown to this journal, however few its events were.
    guard let mark = follower.mark else { return }
    if mark.sequence > end.sequence || mark.life.epoch > end.life.epoch {
      follower.knowsMore = true
    }
  }
}
