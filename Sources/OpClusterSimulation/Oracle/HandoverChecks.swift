// Checks that a worker which drains takes nothing with it that another store would have taken: what
// somebody needs has to lie there before it leaves (S140, S148). Only what is certain is demanded:
// the other store was connected all the time, and nothing has kept the content from it.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// A turn has decided that a worker is to drain.
  func noteDrain(_ worker: WorkerID) {
    guard let session = sessionOf[worker],
      let at = workers.firstIndex(where: { $0.session == session && $0.core != nil })
    else { return }
    let needed = workers[at].store.kept.filter { coordinator.scheduler.needsContent($0) }
    handovers.drains[session] = (now, needed)
  }

  /// Checks what a worker leaves behind that says goodbye because it was told to drain.
  func expectHandedOver(_ at: Int) {
    guard workers[at].core?.exit == .drained, coordinator.isUp, restores.isEmpty,
      plan.fullStorePercent == 0, plan.unablePercent == 0,
      let drain = handovers.drains[workers[at].session]
    else { return }
    for digest in drain.needed.intersection(workers[at].store.kept).sorted()
    where workers[at].store.contents[digest] != nil && coordinator.scheduler.needsContent(digest) {
      // Whoever had it may not have said yet that it is lost.
      if lostContents.contains(digest) { continue }
      if workers.indices.contains(where: { $0 != at && has(digest, $0) }) { continue }
      let other = workers.indices.first {
        $0 != at && canTake(digest, $0, from: at, since: drain.since)
      }
      guard let other else { continue }
      return fail(
        "S148",
        "\(workers[at].name) leaves with \(digest.short), which \(workers[other].name) could take")
    }
  }

  private func has(_ digest: ContentDigest, _ at: Int) -> Bool {
    workers[at].store.contents[digest] != nil
  }

  private func canTake(
    _ digest: ContentDigest, _ at: Int, from holder: Int, since moment: Instant
  ) -> Bool {
    guard let store = workers[at].core?.identity.store, !store.key.isEmpty,
      let since = handovers.welcomedSince[workers[at].session], since <= moment
    else { return false }
    return handovers.drains[workers[at].session] == nil
      && welcomedAt[workers[at].session] != nil
      && !(isFirewalled(at) && isFirewalled(holder))
      && !handovers.isMissed(digest, by: at)
  }
}
