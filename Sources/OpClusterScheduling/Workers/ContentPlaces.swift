// Where a submitter leaves its files: in the stores of workers, spread over them by bytes.

import HeapModule
import OpClusterModel

extension Scheduler {
  /// A worker for each content that nobody has who stays, and its leave to write it there. Costs
  /// the contents and their holders: as many stores are looked for as there are contents, behind
  /// those of the last request.
  ///
  /// - Throws: `workerUnavailable` if there is no worker for them; with a time after which to ask
  ///   again if waiting is no worse than for operations, which wait for workers as well.
  mutating func place(
    _ contents: [StoredContent], avoided: [String], for writer: ContentAsker,
    into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    let wanted = contents.filter { content in
      !holders.workers(with: content.digest).contains {
        isReadable($0) && !workers[$0].isDraining
      }
    }
    try keepPlaced(contents, except: Set(wanted), into: &turn)
    if wanted.isEmpty { return .placed([]) }
    let found = storesToFill(wanted.count, avoiding: Set(avoided), for: writer)
    if found.stores.isEmpty { throw lackOfStores(found, isFirst: avoided.isEmpty, at: turn.now) }
    // Others who wait ask again, and say so then.
    storesWantedUntil = .distantPast
    var stores = Heap(found.stores)
    return .placed(
      wanted.map { content in
        guard var store = stores.popMin() else {
          return ContentHolders(digest: content.digest, sources: [])
        }
        // As in `InputPlaces`, so that no sum traps.
        store.bytes = min(store.bytes + content.size, 1 << 56)
        stores.insert(store)
        let order = turn.orders(for: WorkerID(store.worker))
        turn.orders[order].orders.grants.append(
          GrantOrder(
            digest: content.digest, reader: store.source.key.isEmpty ? [] : writer.key,
            mayWrite: true))
        return ContentHolders(digest: content.digest, sources: [store.source])
      })
  }

  /// Why nothing can be left. Where workers come and go, their number follows what waits for them,
  /// so that this is kept for a while.
  private mutating func lackOfStores(
    _ found: StoresToFill, isFirst: Bool, at now: Instant
  ) -> Refusal {
    // Workers may have come or gone in this turn.
    renewIndex(at: now)
    let mayWait = found.hasSilent || workerIndex.whole.takers == 0
    if isFirst, mayWait { storesWantedUntil = now + Limits.storesAreWanted }
    let reason =
      switch (isFirst, mayWait) {
      case (true, true): "no worker with a store is there yet, so that files can be left nowhere"
      case (true, false):
        "no connected worker has a store that you can reach, so that files can be left nowhere"
      case (false, _): "no other connected worker has a store"
      }
    return Refusal(
      .workerUnavailable, reason, hint: .listWorkers,
      retryAfter: isFirst && mayWait ? Limits.storeWait : nil)
  }

  /// Nobody reads them before the submission comes; until then they stay.
  private mutating func keepPlaced(
    _ contents: [StoredContent], except wanted: Set<StoredContent>,
    into turn: inout SchedulingTurn
  ) throws(Refusal) {
    for content in contents {
      let isWanted = wanted.contains(content)
      let time = isWanted ? GrantOrder.time : PlacedContents.timeToSubmit
      guard placedContents.keep(content, until: turn.now + time) else {
        throw Refusal(
          .busy, "too many files have been left for submissions that have not come",
          retryAfter: .seconds(60))
      }
      if isWanted || state.pins.contains(content.digest) { continue }
      for number in holders.workers(with: content.digest) where workers.contains(number) {
        let order = turn.orders(for: WorkerID(number))
        turn.orders[order].orders.retained.append(content.digest)
      }
    }
  }

  /// Stores that take contents, in turn, at most so many. Costs those that it passes because they
  /// are avoided, out of reach or silent; workers that drain or have left are passed once.
  ///
  /// - Parameter writer: Who reaches them: stores with keys are for others with keys.
  mutating func storesToFill(
    _ count: Int, avoiding avoided: Set<String>, for writer: ContentAsker
  ) -> StoresToFill {
    var found = StoresToFill()
    var untried = storeRotation.count
    while untried > 0, found.stores.count < count, let number = storeRotation.next() {
      untried -= 1
      looks += 1
      guard workers.contains(number), !workers[number].isDraining,
        var source = conversations[number].store
      else {
        storeRotation.removeCurrent()
        continue
      }
      let name = workers[number].name
      if avoided.contains(name) || !writer.reaches(source) { continue }
      guard takesContents(number) else {
        found.hasSilent = true
        continue
      }
      source.worker = name
      found.stores.append(StoreToFill(bytes: 0, worker: number, source: source))
    }
    if found.stores.isEmpty, isAnyUnheard() { found.hasSilent = true }
    return found
  }

  /// Whether a worker has not come back since a restart: nobody knows whether it has a store. Each
  /// that has, or drains, is passed once.
  private mutating func isAnyUnheard() -> Bool {
    while let number = unheardWorkers.last {
      if workers.contains(number), conversations[number].increment == 0,
        !workers[number].isDraining
      {
        return true
      }
      unheardWorkers.removeLast()
    }
    return false
  }

  /// A worker has said that it has a store.
  mutating func addStore(of worker: UInt32) {
    storeRotation.append(worker)
    // Others have left since, and nobody has looked for a store.
    if storeRotation.count > 2 * workers.count + 64 {
      let known = workers
      storeRotation.keep { known.contains($0) }
    }
  }
}

/// Some stores, and what there is besides.
struct StoresToFill {
  var stores: [StoreToFill] = []
  /// Whether there may soon be another one: of a worker that is not heard now.
  var hasSilent = false
}

extension ContentAsker {
  /// Whether it can be known at a store.
  fileprivate func reaches(_ store: ContentSource) -> Bool {
    store.key.isEmpty ? isLocal || key.isEmpty : !key.isEmpty
  }
}

/// A store, and what one request has given it.
struct StoreToFill: Comparable {
  var bytes: Int64
  var worker: UInt32
  var source: ContentSource

  static func < (one: Self, other: Self) -> Bool {
    (one.bytes, one.worker) < (other.bytes, other.worker)
  }
}
