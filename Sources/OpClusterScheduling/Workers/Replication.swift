// Keeps contents in as many stores as their operation wants (`replicas`), and in one that stays.
// What lies in too few is fetched by a worker that does not have it. Only a worker that drains
// waits for a copy.

import OpClusterModel

extension Scheduler {
  /// A look at a content that is to lie in several stores, soon after something has changed about
  /// it: a worker that connects anew says again what it has.
  mutating func noteDear(_ digest: ContentDigest, at now: Instant) {
    guard isDear(digest) else { return }
    contentCopies.look(at: digest, max(now + timing.heartbeat + timing.heartbeat, copiesFrom))
  }

  private func isDear(_ digest: ContentDigest) -> Bool {
    contentCopies.lasting(digest) != nil || isDearWithoutClients(digest)
  }

  private func isDearWithoutClients(_ digest: ContentDigest) -> Bool {
    state.pins.copies(of: digest) > 1 || drainingStores.isAwaited(digest)
  }

  /// What a worker had is not there any more, or not known. Costs its contents.
  mutating func forgetContents(of worker: UInt32, at now: Instant) {
    forgetDeliveries(of: worker)
    drainingStores.forget(worker)
    var lacking: [ContentDigest] = []
    for digest in holders.forget(worker) where isDear(digest) || isLeftToDraining(digest) {
      lacking.append(digest)
    }
    // It may say at once that it still has them.
    let moment = max(now + timing.heartbeat + timing.heartbeat, copiesFrom)
    for digest in lacking.sorted() { contentCopies.look(at: digest, moment) }
  }

  /// Whether somebody needs it, and only workers that drain have it: those that were told to leave
  /// are held back at the next look.
  private mutating func isLeftToDraining(_ digest: ContentDigest) -> Bool {
    drainingStores.isAnyDraining && isNeeded(digest) && onlyDraining(have: digest)
  }

  /// A content has come to a worker.
  mutating func noteCopy(_ digest: ContentDigest, at worker: UInt32, _ now: Instant) {
    if contentCopies.isEmpty, state.pins.copies(of: digest) < 2 { return }
    contentCopies.end(digest, at: worker)
    noteDear(digest, at: now)
  }

  /// A worker has a content no more, or a copy did not come to it.
  mutating func noteLoss(
    _ digest: ContentDigest, at worker: UInt32, ordersTaken taken: UInt64,
    into turn: inout SchedulingTurn
  ) {
    let now = turn.now
    if contentCopies.end(digest, at: worker, ordersTaken: taken) {
      contentCopies.refuse(digest, by: worker)
    }
    holders.lose(digest, at: worker)
    dropDraining(digest, at: worker, into: &turn)
    forgetDeliveries(of: digest, at: worker)
    noteDear(digest, at: now)
    if isLeftToDraining(digest) { contentCopies.look(at: digest, max(now, copiesFrom)) }
  }

  /// Orders copies of what lies in too few stores. Looks at `Limits.replicationsPerTurn` contents,
  /// or at `Limits.replicationLooksPerTurn` of their holders and of the stores that are passed,
  /// whatever is over first.
  mutating func replicate(into turn: inout SchedulingTurn) {
    let end = looks + Limits.replicationLooksPerTurn
    for _ in 0..<Limits.replicationsPerTurn where looks < end {
      guard let digest = contentCopies.takeNext(at: turn.now) else { return }
      replicate(digest, into: &turn)
    }
  }

  private mutating func replicate(
    _ digest: ContentDigest, into turn: inout SchedulingTurn
  ) {
    let lasting = contentCopies.lasting(digest)
    let isHandedOver = holdBack(digest, into: &turn) || drainingStores.isAwaited(digest)
    let wanted = max(
      state.pins.copies(of: digest), Int(lasting?.copies ?? 0), isHandedOver ? 1 : 0)
    // One copy may be wanted of what only workers that drain have.
    guard wanted > 1 || lasting != nil || isHandedOver,
      let size = state.pins.size(of: digest) ?? lasting?.size ?? placedContents.size(of: digest)
    else { return contentCopies.forget(digest) }
    let having = holders.workers(with: digest).filter { workers.contains($0) }
    looks += having.count
    endCopies(of: digest, size, at: turn.now)
    let coming = contentCopies.copies(of: digest).keys
    let lacking = wanted - having.count { !workers[$0].isDraining } - coming.count
    if !coming.isEmpty { contentCopies.look(at: digest, turn.now + Self.copyCheck) }
    if having.isEmpty { settleDraining(digest, into: &turn) }
    let isSettled = coming.isEmpty && (lacking <= 0 || having.isEmpty)
    if isSettled, !isNeeded(digest) { return contentCopies.forget(digest) }
    if isSettled { contentCopies.endLasting(digest) }
    // Without a holder that can be reached there is nothing to copy; its return is told.
    guard lacking > 0, let source = having.first(where: { isReadable($0) }) else {
      if isHandedOver { contentCopies.look(at: digest, turn.now + Self.copyCheck) }
      return
    }
    if contentCopies.underWayCount >= Limits.copiesUnderWay {
      return contentCopies.look(at: digest, turn.now + timing.heartbeat)
    }
    let unfit = Set(having).union(coming.map(\.worker))
      .union(contentCopies.workersThatRefused(digest))
    let found = storesToFill(
      lacking, avoiding: Set(unfit.filter { workers.contains($0) }.map { workers[$0].name }),
      for: ContentAsker(key: conversations[source].store?.key ?? []))
    if found.stores.count < lacking { contentCopies.strand(digest) }
    if found.stores.isEmpty, coming.isEmpty {
      // A worker that is not heard comes back, or is lost, within this time.
      if isHandedOver, found.hasSilent {
        let end = drainingStores.endOfSilence(digest, atMost: turn.now + timing.lost)
        if turn.now < end { return contentCopies.look(at: digest, end) }
      }
      // No store takes it: nobody waits for the next one, which takes it if it comes in time.
      settleDraining(digest, into: &turn)
      if isHandedOver { contentCopies.strand(digest) }
      // What a client said of it may be wrong, and it asks again.
      if contentCopies.isBrought(digest) {
        if !isDearWithoutClients(digest) { return contentCopies.forget(digest) }
        contentCopies.endLasting(digest)
      }
    }
    for store in found.stores.sorted() {
      let worker = WorkerID(store.worker)
      let content = StoredContent(digest: digest, size: size)
      tellHolders(of: [content], to: worker, into: &turn)
      let at = turn.orders(for: worker)
      turn.orders[at].orders.copies.append(content)
      contentCopies.order(
        digest,
        ContentCopies.Copy(
          worker: store.worker, conversation: conversations[store.worker].increment,
          order: conversations[store.worker].ordersSent + 1),
        at: turn.now)
    }
    if !found.stores.isEmpty {
      drainingStores.endSilence(digest)
      contentCopies.look(at: digest, turn.now + Self.copyCheck)
    }
  }

  /// Counts no more with copies whose worker has left or begun anew, nor with those that take too
  /// long: a worker that says nothing would hold one that drains for ever.
  private mutating func endCopies(of digest: ContentDigest, _ size: Int64, at now: Instant) {
    let patience =
      Limits.copyPatience + .seconds(size / Limits.leastBytesPerSecondOfCopy)
    for (copy, began) in contentCopies.copies(of: digest) {
      let isThere =
        workers.contains(copy.worker)
        && conversations[copy.worker].increment == copy.conversation
      if isThere, now - began <= patience { continue }
      contentCopies.end(digest, at: copy.worker)
      if isThere { contentCopies.refuse(digest, by: copy.worker) }
    }
  }

  /// How often it is looked whether a copy that is under way still is: its worker may have left.
  private static var copyCheck: Span { .seconds(60) }
}
