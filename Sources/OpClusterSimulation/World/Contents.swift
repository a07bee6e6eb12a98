// The stores of the simulated world: what attempts leave in them, how it comes from one to another,
// and how it gets lost. Digests are names alone; who has one, has the bytes.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// Where others read from a worker's store; nil: it has none. The first one has, so that
  /// everything can end.
  func storeSource(of at: Int) -> ContentSource? {
    var chance = draw(.store, at)
    guard plan.contentPercent > 0, at == 0 || chance.percent(80) else { return nil }
    let name = workers[at].name
    let key = Array(name.utf8) + [UInt8](repeating: 0, count: 32 - name.utf8.count)
    return ContentSource(endpoint: name, key: key)
  }

  /// Whether nobody can connect to a worker's store: it is behind a firewall.
  func isFirewalled(_ at: Int) -> Bool {
    var chance = draw(.store, -3, at)
    return at > 0 && chance.percent(plan.closedStorePercent)
  }

  /// Tells a new process what its disk has.
  func lookIntoStore(_ at: Int) {
    guard workers[at].core?.identity.store != nil else { return }
    workers[at].store.kept = Set(workers[at].store.contents.keys)
    workers[at].store.fetches = [:]
    workers[at].store.grants = [:]
    workers[at].store.writers = [:]
    for digest in workers[at].store.contents.keys.sorted() {
      guard let content = workers[at].store.contents[digest] else { continue }
      workers[at].inbox.append(.gained(content))
    }
  }

  /// A machine that comes back without its disk.
  func loseStore(_ at: Int) {
    lostContents.formUnion(workers[at].store.contents.keys)
    workers[at].store = SimulatedStore()
  }

  /// The result as the worker reports it: some outputs lie in its store. The same operation leaves
  /// the same, and some others as well.
  func storing(_ result: AttemptResult, of operation: OperationID, _ at: Int) -> AttemptResult {
    guard result.isSuccess, !result.output.isEmpty, workers[at].core?.mayStoreOutputs == true
    else { return result }
    let name = storedName(of: operation)
    var chance = draw(.store, -1, name)
    guard chance.percent(plan.contentPercent) else { return result }
    var bytes: [UInt8] = []
    for _ in 0..<ContentDigest.byteCount { bytes.append(UInt8(chance.below(256))) }
    guard let digest = ContentDigest(bytes: bytes) else { return result }
    let content = StoredContent(digest: digest, size: Int64(chance.between(1, 100)))
    gain(content, at)
    var stored = result
    // As `Outputs.contents` is encoded.
    let file =
      operation.index % 2 == 0 ? [] : [3 << 3 | 2, 1] + Array(SimulatedStore.fileName.utf8)
    stored.output = [5 << 3 | 2, UInt8(36 + file.count), 1 << 3 | 2, 32] + bytes
    stored.output += [2 << 3, UInt8(content.size)] + file
    return stored
  }

  /// What runs again mostly leaves what it left before.
  private func storedName(of operation: OperationID) -> Int {
    var origin = operation
    // The ledger may have lost the graph with its journal.
    if ledger.contains(operation),
      let other = ledger.graphs[Int(operation.graph.number)]?.submission.recomputes
    {
      var chance = draw(.store, -2, Int(operation.graph.number))
      if chance.percent(70) { origin = other }
    }
    return Int(origin.graph.number % 3) << 8 | Int(origin.index % 40)
  }

  private func gain(_ content: StoredContent, _ at: Int) {
    workers[at].store.contents[content.digest] = content
    workers[at].store.kept.insert(content.digest)
    workers[at].store.fetches[content.digest] = nil
    workers[at].inbox.append(.gained(content))
    var chance = draw(.transfer)
    guard chance.percent(plan.contentRotPercent) else { return }
    agenda.plan(
      .contentRots(worker: at, content.digest), at: now + chance.milliseconds(1, 3_000))
  }

  /// True: the worker learns of it.
  func rotContent(_ digest: ContentDigest, _ at: Int) -> Bool {
    guard workers[at].store.contents.removeValue(forKey: digest) != nil else { return false }
    workers[at].store.kept.remove(digest)
    lostContents.insert(digest)
    handovers.miss(digest, by: at)
    guard workers[at].core != nil else { return false }
    workers[at].inbox.append(.lost(digest))
    return true
  }

  /// Whether a worker has all that an attempt reads, when it is launched. Its brain must have been
  /// told so; what was released, and is needed again, may have left meanwhile.
  func hasContents(of launch: Launch, _ needs: ContentNeeds, _ at: Int) -> Bool {
    let named = launch.inputs.contents(needs)
    for content in named where workers[at].core?.holds(content.digest) != true {
      fail("S137", "\(launch.attempt) is launched without its input at \(workers[at].name)")
    }
    return named.allSatisfy { workers[at].store.contents[$0.digest] != nil }
  }

  // MARK: - Transfers

  func fetch(_ content: StoredContent, from sources: [ContentSource], _ at: Int) {
    let isNew = workers[at].store.fetches[content.digest] == nil
    workers[at].store.fetches[content.digest, default: []] += sources
    guard isNew else { return }
    planFetch(content, at, tries: 0)
  }

  private func planFetch(_ content: StoredContent, _ at: Int, tries: Int) {
    var chance = draw(.transfer)
    let wait = chance.milliseconds(1, tries == 0 ? 50 : 1_500)
    agenda.plan(
      .fetchTries(worker: at, life: workers[at].life, content, tries: tries), at: now + wait)
  }

  /// A holder gives it if it is there, has it, and was told of the reader; grants may still be on
  /// their way. True: the worker learns something.
  func tryFetch(_ content: StoredContent, _ at: Int, life: Int, tries: Int) -> Bool {
    guard let core = workers[at].core, workers[at].life == life,
      let sources = workers[at].store.fetches[content.digest]
    else { return false }
    let reader = core.identity.store?.key ?? []
    let reached = workers.indices.filter { holder in
      workers[holder].core != nil && !isFirewalled(holder)
        && sources.contains { $0.endpoint == workers[holder].name }
    }
    let isGiven = reached.contains { holder in
      workers[holder].store.contents[content.digest] != nil
        && workers[holder].store.grants[reader]?.contains(content.digest) == true
    }
    var chance = draw(.transfer)
    if isGiven, chance.percent(plan.fullStorePercent) {
      workers[at].store.fetches[content.digest] = nil
      workers[at].inbox.append(.missed(content, .storeFull))
    } else if isGiven {
      gain(content, at)
    } else if tries < (reached.isEmpty ? 3 : 10) {
      planFetch(content, at, tries: tries + 1)
      return false
    } else {
      workers[at].store.fetches[content.digest] = nil
      // What nobody reaches is brought by another way.
      if !reached.isEmpty { handovers.miss(content.digest, by: at) }
      // Who answers says that it does not have it, or has not been told of the reader.
      workers[at].inbox.append(
        .missed(content, reached.isEmpty ? .unreachable : .holdersChanged))
    }
    return true
  }

  /// A holder leaves a content with another worker.
  func deliver(_ delivery: ContentDelivery, _ at: Int) { planDelivery(delivery, at, tries: 0) }

  private func planDelivery(_ delivery: ContentDelivery, _ at: Int, tries: Int) {
    var chance = draw(.transfer)
    agenda.plan(
      .deliveryTries(worker: at, life: workers[at].life, delivery, tries: tries),
      at: now + chance.milliseconds(1, tries == 0 ? 50 : 1_500))
  }

  /// The target takes it if it is there and was told of the holder, which may come later. Returns
  /// the worker that learns something.
  func tryDelivery(_ delivery: ContentDelivery, _ at: Int, life: Int, tries: Int) -> Int? {
    guard let core = workers[at].core, workers[at].life == life else { return nil }
    let key = core.identity.store?.key ?? []
    let target = workers.indices.first { other in
      workers[other].core?.identity.store == delivery.to && !isFirewalled(other)
        && workers[other].store.writers[key]?.contains(delivery.content.digest) == true
    }
    let isHere = workers[at].store.contents[delivery.content.digest] != nil
    if let target, isHere {
      gain(delivery.content, target)
      return target
    }
    if isHere, tries < 5 {
      planDelivery(delivery, at, tries: tries + 1)
      return nil
    }
    let missing = workers.indices.first { workers[$0].core?.identity.store == delivery.to }
    if let missing { handovers.miss(delivery.content.digest, by: missing) }
    workers[at].inbox.append(.undelivered(FailedDelivery(delivery, isUnreached: isHere)))
    return at
  }

  /// Tells the oracle of the attempts that end without processes, before the worker learns it.
  func noteMissed(_ digest: ContentDigest, _ at: Int) {
    for attempt in workers[at].core?.attempts(waitingFor: digest) ?? []
    where foreign[workers[at].session] == nil {
      ledger.ended(attempt, .neverStarted, at: workers[at].session)
    }
  }

  // MARK: - What may leave

  /// Remembers what the coordinator has decided to tell a worker, however long its words are
  /// withheld or under way.
  func noteRetained(_ turn: SchedulingTurn) {
    for case .toWorker(let peer, .orders(let orders)) in turn.atOnce + turn.afterDurable
    where !(orders.retained.isEmpty && orders.released.isEmpty) {
      guard let connection = connectionByPeer[peer],
        case .worker(let at) = connections[connection].owner
      else { continue }
      for digest in orders.released { workers[at].store.retained[digest] = nil }
      for digest in orders.retained {
        workers[at].store.retained[digest] = orders.conversation
      }
    }
  }

  func letGo(_ digests: [ContentDigest], _ at: Int) {
    for digest in digests {
      workers[at].store.kept.remove(digest)
      var chance = draw(.transfer)
      guard chance.percent(50) else { continue }
      agenda.plan(
        .contentLeaves(worker: at, digest), at: now + chance.milliseconds(1, 20_000))
    }
  }

  /// Checks that what somebody needs does not leave the last store that has it (S140). True: the
  /// worker learns of it.
  func dropContent(_ digest: ContentDigest, _ at: Int) -> Bool {
    guard workers[at].store.contents[digest] != nil, !workers[at].store.kept.contains(digest)
    else { return false }
    // What a restored journal needs was released by the one that it replaces.
    if coordinator.isUp, restores.isEmpty, coordinator.scheduler.needsContent(digest),
      !workers.contains(where: { $0.store.kept.contains(digest) }),
      workers[at].store.retained[digest] == nil, !lostContents.contains(digest)
    {
      fail("S140", "\(digest.short) leaves \(workers[at].name), nobody keeps it, and it is needed")
    }
    workers[at].store.contents[digest] = nil
    handovers.miss(digest, by: at)
    guard workers[at].core != nil else { return false }
    workers[at].inbox.append(.lost(digest))
    return true
  }
}
