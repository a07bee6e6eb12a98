// Restores an older journal: a copy is made, and later replaces the journal while workers and
// clients live on (G12 to G14, G16 "restored"). Facts after the copy are lost, as they must be;
// peers that were told of them, and their processes, then belong to another history. Part of the
// world.

import OpClusterModel
import OpClusterScheduling

extension World {
  /// The copy has what was durable at this moment, as an online copy has; the oracles are copied
  /// along.
  func takeBackup() {
    guard coordinator.isUp else { return }
    note(.disk, 2, ledger.commit.number) { "the journal is copied at \(self.ledger.commit.number)" }
    var disk = coordinator.disk
    _ = disk.crash(keeping: 0, losesDurable: false)
    backup = Backup(disk: disk, ledger: ledger, shadow: shadow)
  }

  /// Peers that were told more than the copy knows are `foreign` from here on: the coordinator must
  /// find that out by itself. `acknowledged` forgets what is gone, since its loss is no broken
  /// promise (G12).
  func restoreJournal(_ mishap: Mishap) {
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
}
