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
        handOver(digest, of: part.worker, into: &turn)
      }
      if isLast { _ = turn.orders(for: WorkerID(part.worker)) }
    }
    looks += examined
  }

  /// Lets workers that drain stay for a content that nobody else has. Only its first holders are
  /// looked at, since a report or a part may name many contents; `replicate` looks at the others.
  ///
  /// - Parameter worker: One that has it, and was not told to leave.
  mutating func handOver(
    _ digest: ContentDigest, of worker: UInt32? = nil, into turn: inout SchedulingTurn
  ) {
    guard keepDraining(for: digest, worker, among: Limits.holdersCompared, into: &turn) else {
      return
    }
    contentCopies.look(at: digest, max(turn.now, copiesFrom))
  }

  /// A store has come after those that drain were told to leave, or some that stayed are gone: who
  /// is still here stays for it. Whether somebody does.
  mutating func holdBack(_ digest: ContentDigest, into turn: inout SchedulingTurn) -> Bool {
    isNeeded(digest) && keepDraining(for: digest, nil, among: .max, into: &turn)
  }

  /// Lets `Limits.workersStayingForContent` of those that have it stay, if all of them drain: first
  /// of all the one that is named, then those that can be read; some may have been told to leave.
  /// Whether somebody stays. Costs these, and the holders that it passes since they are not heard.
  ///
  /// - Parameter most: The first so many holders are looked at.
  private mutating func keepDraining(
    for digest: ContentDigest, _ named: UInt32?, among most: Int,
    into turn: inout SchedulingTurn
  ) -> Bool {
    var staying = drainingStores.workersStaying(for: digest).count { isReadable($0) }
    if staying >= Limits.workersStayingForContent { return true }
    guard onlyDraining(have: digest) else { return false }
    if let named, holders.has(named, digest), drainingStores.keep(named, for: digest) {
      staying += 1
    }
    for worker in holders.workers(with: digest).prefix(most) {
      if staying >= Limits.workersStayingForContent { break }
      looks += 1
      guard isReadable(worker), drainingStores.keep(worker, for: digest) else { continue }
      _ = turn.orders(for: WorkerID(worker))
      staying += 1
    }
    // Nobody is heard: whoever is back first hands it over.
    if !drainingStores.isAwaited(digest) {
      for worker in holders.workers(with: digest).prefix(Limits.workersStayingForContent) {
        drainingStores.keep(worker, for: digest)
      }
    }
    return true
  }

  /// Whether somebody has it, and all of these drain. Each that drains is passed once, however
  /// often this is asked.
  mutating func onlyDraining(have digest: ContentDigest) -> Bool {
    guard holders.hasHolder(of: digest) else { return false }
    while let worker = holders.nextHolder(of: digest) {
      looks += 1
      if workers.contains(worker), !workers[worker].isDraining { return false }
      holders.passHolder(of: digest)
    }
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
      handOver(content.digest, of: worker.number, into: &turn)
    }
  }

  /// A worker that drains has it no more, and does not stay for it.
  mutating func dropDraining(
    _ digest: ContentDigest, at worker: UInt32, into turn: inout SchedulingTurn
  ) {
    if drainingStores.drop(worker, for: digest) { _ = turn.orders(for: WorkerID(worker)) }
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
