// Hands over what only workers that drain have, and somebody needs. They are told to leave once it
// lies in another store, nobody needs it any more, or no store takes it; without that, what a
// machine made would have to be made again because somebody has switched it off in good order.
// `Replication` orders the copies.

import OpClusterModel

extension Scheduler {
  /// Workers have begun to drain: has others fetch what only these have, a part of it in each turn.
  /// Each stays until all that it has was looked at.
  mutating func continueHandover(into turn: inout SchedulingTurn) {
    var examined = 0
    while examined < DrainingStores.contentsOfPart,
      let (part, isLast) = drainingStores.takeUnexamined()
    {
      examined += part.contents.count
      // What has come since was told since, and what has gone does not stay.
      for digest in part.contents.sorted()
      where isNeeded(digest) && holders.has(part.worker, digest) {
        handOver(digest, at: turn.now)
      }
      if isLast { _ = turn.orders(for: WorkerID(part.worker)) }
    }
    looks += examined
  }

  /// Lets workers that drain stay for a content that nobody else has. Costs its holders.
  mutating func handOver(_ digest: ContentDigest, at now: Instant) {
    if keepDraining(for: digest) { contentCopies.look(at: digest, max(now, copiesFrom)) }
  }

  /// A store has come after those that drain were told to leave: who is still here stays for it.
  /// Whether somebody does.
  mutating func holdBack(_ digest: ContentDigest, into turn: inout SchedulingTurn) -> Bool {
    guard isNeeded(digest), keepDraining(for: digest) else { return false }
    for worker in holders.workers(with: digest) where workers.contains(worker) {
      _ = turn.orders(for: WorkerID(worker))
    }
    return true
  }

  /// Lets all that have it stay, if all of them drain. Whether they do.
  private mutating func keepDraining(for digest: ContentDigest) -> Bool {
    let having = holders.workers(with: digest).filter { workers.contains($0) }
    guard !having.isEmpty, having.allSatisfy({ workers[$0].isDraining }) else { return false }
    for worker in having { drainingStores.keep(worker, for: digest) }
    return true
  }

  /// A worker that drains says what it has. Its order to leave is repeated: it waits for one that
  /// knows of what it said.
  mutating func takeDraining(
    _ held: [StoredContent], of worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    if held.isEmpty { return }
    _ = turn.orders(for: worker)
    for content in held where isNeeded(content.digest) {
      handOver(content.digest, at: turn.now)
    }
  }

  /// Nobody has to stay for it any more: those who stay for nothing else are told to leave.
  mutating func settleDraining(_ digest: ContentDigest, into turn: inout SchedulingTurn) {
    guard drainingStores.isAwaited(digest) else { return }
    if state.pins.copies(of: digest) < 2, contentCopies.lasting(digest) == nil {
      contentCopies.forget(digest)
    }
    for worker in drainingStores.settle(digest) where workers.contains(worker) {
      _ = turn.orders(for: WorkerID(worker))
    }
  }
}
