// A journal that goes back: a copy is put aside, and some time later it takes the journal's place
// while workers and clients live on (G12 to G14, G16 "restored"). What was told after the copy was
// made is lost, and rightly so; whoever was told of it belongs to another history from then on, and
// so do its processes. The world's.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

/// A copy of the coordinator's disk, with what the witnesses knew of it.
struct Backup {
  var disk: Disk
  var book: Book
  var shadow: Scheduler
}

/// What a restore left of everything: as many commits, and all graphs below this number.
struct Restore {
  var at: Instant
  var commit: CommitIndex
  var graphs: UInt32
}

/// How far a client follows the events.
struct Follower: Sendable {
  var mark: EventMark?
  /// The life of the coordinator that it follows.
  var life = 1
  /// What it knows was lost with a restored journal.
  var knowsMore = false
}

extension Plan {
  /// A copy, and its return.
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
    note(.disk, 2, book.commit.number) { "the journal is copied at \(self.book.commit.number)" }
    var disk = coordinator.disk
    _ = disk.crash(keeping: 0, losesDurable: false)
    backup = Backup(disk: disk, book: book, shadow: shadow)
  }

  func restore(_ mishap: Mishap) {
    guard coordinator.isUp, let backup else { return }
    crashCoordinator(mishap, "is stopped, and an older journal takes its place")
    if mishap.detail == 1 { pauseUnknownExclusives(backup.book, after: mishap.length) }
    let known = UInt32(backup.book.graphs.count)
    restores.append(Restore(at: now, commit: backup.book.commit, graphs: known))
    for (session, commit) in told where commit > backup.book.commit {
      foreign[session] = min(foreign[session] ?? .max, known)
    }
    for (session, graphs) in foreign { foreign[session] = min(graphs, known) }
    book = restored(backup.book)
    shadow = backup.shadow
    coordinator.disk = backup.disk
    coordinator.mayHaveGoneBack = true
    welcomes = welcomes.filter { $0.value <= backup.book.commit }
    keys.removeAll { (acknowledged[$0]?.graph.number ?? 0) >= known }
    acknowledged = acknowledged.filter { $0.value.graph.number < known }
    let end = EventMark(life: backup.shadow.life, sequence: book.lastEvent)
    for at in clients.indices { clients[at].noteRestore(known, end) }
  }

  /// Workers whose exclusive processes the older journal does not know stand still when it begins,
  /// so that nobody tells it of them in time: only the time that it waits keeps it from starting
  /// the same operations elsewhere (G16).
  private func pauseUnknownExclusives(_ copy: Book, after length: Span) {
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

  /// The copy's own book, with what those that know no more have started and ended since.
  private func restored(_ copy: Book) -> Book {
    var restored = copy
    restored.isRestored = true
    func isItsOwn(_ attempt: AttemptID, _ session: WorkerSession) -> Bool {
      foreign[session] == nil && copy.contains(attempt.operation)
        && copy.isCurrent(attempt, at: session)
    }
    for (attempt, session) in book.launched where isItsOwn(attempt, session) {
      restored.launched[attempt] = session
    }
    for (attempt, ending) in book.endings where isItsOwn(attempt, ending.session) {
      restored.endings[attempt] = ending
    }
    return restored
  }

  /// How far a worker was told of the journal, by what it has taken in; perhaps only now, though it
  /// was said before a restore.
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

  /// Whether what a session means by an operation is what the journal means by it.
  func isOfThisHistory(_ operation: OperationID, _ session: WorkerSession) -> Bool {
    foreign[session].map { operation.graph.number < $0 } ?? true
  }

  /// Most clients come back with the place of the newest event that they know: one that knows more
  /// than the journal is told so and begins anew, all others go on (G12).
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

  /// A client hears of the newest events with an answer.
  func follow(_ at: Int) {
    guard clients[at].follower.life == coordinator.life, coordinator.isUp else { return }
    clients[at].follower.mark = EventMark(
      life: shadow.life, sequence: book.lastEvent)
  }
}

extension Client {
  fileprivate mutating func noteRestore(_ graphs: UInt32, _ end: EventMark) {
    known.removeAll { $0.graph.number >= graphs }
    // What was resumed meanwhile nobody knows any more.
    for asked in pending.indices { pending[asked].resumesBefore = -1 }
    // A life that began after the copy is none of this journal, however little it said.
    guard let mark = follower.mark else { return }
    if mark.sequence > end.sequence || mark.life.epoch > end.life.epoch {
      follower.knowsMore = true
    }
  }
}
