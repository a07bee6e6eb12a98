// Contents that inputs name: who has them, who may read them, and operations that wait because
// nobody has them now. The coordinator never sees their bytes.

package import OpClusterModel

extension Scheduler {
  // MARK: - What workers have

  /// Takes what a report says of its worker's store, before its entries. Costs what it names, and
  /// the operations that waited for it.
  mutating func takeContents(
    of report: WorkerReport, at worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    let now = turn.now
    let isDraining = workers[worker.number].isDraining
    for content in report.held where holders.gain(content.digest, at: worker.number) {
      let told = ToldContent(worker: worker.number, digest: content.digest)
      let isNew = toldContents.insert(told).inserted
      reportedContents.append(told)
      // It has been left; now the submission has to come.
      if placedContents.contains(content.digest) {
        _ = placedContents.keep(content, until: now + PlacedContents.timeToSubmit)
      }
      for id in contentWaits.take(content.digest) { returnToLine(id) }
      noteCopy(content.digest, at: worker.number, now)
      if !isDraining { settleDraining(content.digest, into: &turn) }
      if isNew { noteDelivered(content.digest, at: worker.number, into: &turn) }
      if content.size >= largeContentBytes {
        tellReaders(of: content.digest, that: worker.number, into: &turn)
      }
    }
    for digest in report.lost {
      noteLoss(digest, at: worker.number, ordersTaken: report.ordersTaken, into: &turn)
    }
    if isDraining { takeDraining(report.held, of: worker, into: &turn) }
  }

  /// Puts an operation into line that has waited for a content and can have it now.
  mutating func returnToLine(_ id: OperationID) {
    guard graphs.contains(id.graph.number), graphs[id.graph.number].cell(id.index).isInLine else {
      return
    }
    state.enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
  }

  /// Tells holders of contents that nobody needs any more, or that somebody needs again; and of
  /// those that they have just named and nobody needs: the output was not kept, or its graph has
  /// ended. Decided once, at the end of a turn, since a later report of the same turn may need what
  /// an earlier one does not. Costs the changes, and the holders of each.
  mutating func tellPinChanges(into turn: inout SchedulingTurn) {
    let changes = state.takePinChanges()
    var released: Set<ToldContent> = []
    for told in reportedContents
    where mayLeave(told.digest) && workers.contains(told.worker) && released.insert(told).inserted {
      let at = turn.orders(for: WorkerID(told.worker))
      turn.orders[at].orders.released.append(told.digest)
    }
    if !reportedContents.isEmpty { reportedContents.removeAll(keepingCapacity: true) }
    for digest in changes.dear { contentCopies.look(at: digest, max(turn.now, copiesFrom)) }
    for (content, copies) in changes.dearFreed
    where state.pins.copies(of: content.digest) < Int(copies) {
      contentCopies.last(
        content, copies: copies, isNeeded: isNeeded(content.digest), turn.now)
    }
    for digest in changes.freed {
      largeContentReaders.endLine(for: digest)
      if !isNeeded(digest) { settleDraining(digest, into: &turn) }
      if mayLeave(digest) { release(digest, except: released, into: &turn) }
    }
    for digest in changes.claimed where state.pins.contains(digest) {
      if drainingStores.isAnyDraining { handOver(digest, into: &turn) }
      for number in holders.workers(with: digest) where workers.contains(number) {
        // Who has just said that it has it, keeps it until it is told otherwise.
        if toldContents.contains(ToldContent(worker: number, digest: digest)) { continue }
        let at = turn.orders(for: WorkerID(number))
        turn.orders[at].orders.retained.append(digest)
      }
    }
  }

  private func mayLeave(_ digest: ContentDigest) -> Bool {
    !isNeeded(digest)
  }

  /// Whether an operation names it, or a submission that has not come yet.
  func isNeeded(_ digest: ContentDigest) -> Bool {
    state.pins.contains(digest) || placedContents.contains(digest)
  }

  private mutating func release(
    _ digest: ContentDigest, except released: Set<ToldContent> = [],
    into turn: inout SchedulingTurn
  ) {
    for number in holders.workers(with: digest)
    where workers.contains(number)
      && !released.contains(ToldContent(worker: number, digest: digest))
    {
      let at = turn.orders(for: WorkerID(number))
      turn.orders[at].orders.released.append(digest)
    }
  }

  /// Lets go of what was left for submissions that have not come in time.
  mutating func endPlacements(into turn: inout SchedulingTurn) {
    for digest in placedContents.takeDue(at: turn.now) where !state.pins.contains(digest) {
      settleDraining(digest, into: &turn)
      release(digest, into: &turn)
    }
  }

  /// Whether an output of a living graph names it, so that it has to stay.
  package func needsContent(_ digest: ContentDigest) -> Bool { state.pins.contains(digest) }

  // MARK: - What operations need

  /// Whether an operation may read contents. Without any, nothing is looked at.
  func mayNeedContents(_ graph: UInt32, _ stage: Int) -> Bool {
    !state.pins.isEmpty && graphs[graph].stages[stage].readsInputs
      && !graphs[graph].stages[stage].template.contentNeeds.isEmpty
  }

  /// The contents that an operation with these inputs reads, each once.
  func contentsRead(
    from inputs: [DependencyInput], _ graph: UInt32, _ stage: Int
  ) -> [StoredContent] {
    inputs.contents(graphs[graph].stages[stage].template.contentNeeds)
  }

  /// Workers that never reach what an operation reads: they have no store. Costs its inputs, if
  /// there are such workers.
  func workersWithoutReach(of id: OperationID) -> Set<UInt32> {
    if holders.without.isEmpty { return [] }
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    guard mayNeedContents(graph, stage) else { return [] }
    return contentsRead(from: inputs(of: id, stage), graph, stage).isEmpty ? [] : holders.without
  }

  /// The first of these contents that no worker has now.
  func missing(of contents: [StoredContent], for worker: WorkerID) -> StoredContent? {
    contents.first { content in
      !holders.workers(with: content.digest).contains { number in
        number == worker.number || isReadable(number)
      }
    }
  }

  /// Whether nobody who is heard now has something that an operation at this worker reads. Costs
  /// its inputs and their holders.
  func lacksHolder(_ id: OperationID, of worker: WorkerID) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    guard mayNeedContents(graph, stage) else { return false }
    return contentsRead(from: inputs(of: id, stage), graph, stage).contains { content in
      !holders.workers(with: content.digest).contains { number in
        number == worker.number || isReadable(number) && !conversations[number].isSuspect
      }
    }
  }

  func isReadable(_ number: UInt32) -> Bool {
    workers.contains(number) && conversations[number].peer != nil
      && conversations[number].store != nil
  }

  /// Keeps an operation out of line until somebody has what it needs: a worker that comes back, or
  /// one that is just being connected to. What somebody may still have is missed after the time in
  /// which a silent worker is lost. What nobody has, whose worker was lost before, may only come
  /// back with a worker that starts again; who waits for what runs again has waited for that.
  mutating func awaitContent(_ id: OperationID, _ content: StoredContent, at now: Instant) {
    var patience = timing.lost
    if now >= resyncEnd, holders.workers(with: content.digest).isEmpty {
      let isRecomputation = graphs[id.graph.number].submission.recomputes != nil
      patience = isRecomputation ? .zero : timing.heartbeat + timing.heartbeat
    }
    contentWaits.wait(id, for: content.digest, until: now + patience)
  }

  /// Who has these contents; tells them that somebody may read them.
  mutating func locate(
    _ digests: [ContentDigest], for reader: ContentAsker, into turn: inout SchedulingTurn
  ) -> [ContentHolders] {
    digests.compactMap { digest in
      let known = tellHolders(of: digest, that: reader.key, isNamed: true, into: &turn)
      return known.sources.isEmpty ? nil : known
    }
  }

  /// Tells some of the holders of a content that somebody may read it, and returns where they are:
  /// each time from another one on, so that none has all readers. Costs these, and the holders that
  /// it passes since they cannot be read.
  mutating func tellHolders(
    of digest: ContentDigest, that reader: [UInt8], at worker: UInt32? = nil,
    isNamed: Bool = false, except unreached: Set<String> = [], into turn: inout SchedulingTurn
  ) -> ContentHolders {
    var known = ContentHolders(digest: digest, sources: [])
    let having = holders.workers(with: digest)
    let first = holders.takeTurn(of: digest)
    for step in having.indices {
      if known.sources.count == Limits.holdersTold { break }
      let number = having[(first + step) % having.count]
      guard isReadable(number) else { continue }
      if let worker, !contentDeliveries.reaches(worker, number) { continue }
      if !unreached.isEmpty, unreached.contains(workers[number].name) { continue }
      guard var source = conversations[number].store else { continue }
      if isNamed { source.worker = workers[number].name }
      known.sources.append(source)
      let at = turn.orders(for: WorkerID(number))
      // A store without a key knows its readers by none.
      turn.orders[at].orders.grants.append(
        GrantOrder(digest: digest, reader: source.key.isEmpty ? [] : reader))
    }
    return known
  }

  /// Tells the worker where these contents are, and their holders who may read them.
  mutating func tellHolders(
    of contents: [StoredContent], to worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    for content in contents
    where !holders.has(worker.number, content.digest) {
      let told = ToldContent(worker: worker.number, digest: content.digest)
      guard toldContents.insert(told).inserted else { continue }
      let reader = conversations[worker.number].store?.key ?? []
      let known = tellHolders(
        of: content.digest, that: reader, at: worker.number, into: &turn)
      if known.sources.isEmpty {
        deliverIfUnreached(content, to: worker, into: &turn)
        continue
      }
      let at = turn.orders(for: worker)
      turn.orders[at].orders.holders.append(known)
      if content.size >= largeContentBytes, state.pins.contains(content.digest) {
        largeContentReaders.enterLine(worker.number, for: content.digest)
      }
    }
  }

  /// A worker has a large content now: some of those that fetch it elsewhere, or wait for their
  /// turn there, are told. Costs these, and each that has it or has left once.
  private mutating func tellReaders(
    of digest: ContentDigest, that holder: UInt32, into turn: inout SchedulingTurn
  ) {
    guard isReadable(holder), let source = conversations[holder].store else { return }
    var told: [UInt32] = []
    while told.count < Limits.readersOfLargeContent,
      let reader = largeContentReaders.takeNext(for: digest)
    {
      looks += 1
      guard mayFetch(digest, at: reader) else { continue }
      told.append(reader)
      // What is brought to it comes from where it was told, or otherwise.
      let want = ContentDeliveries.Want(digest: digest, reader: reader)
      if contentDeliveries.reaches(reader, holder), contentDeliveries.deliveries[want] == nil {
        tell(reader, that: source, of: holder, has: digest, into: &turn)
      }
    }
    // Further holders may come before these have it.
    for reader in told { largeContentReaders.enterLine(reader, for: digest) }
  }

  /// Whether a worker has not got a content, and something that waits for contents.
  private func mayFetch(_ digest: ContentDigest, at worker: UInt32) -> Bool {
    guard workers.contains(worker), conversations[worker].peer != nil, !holders.has(worker, digest)
    else { return false }
    return workers[worker].assigned > 0
      || contentCopies.copies(of: digest).keys.contains { $0.worker == worker }
  }

  /// Tells a reader where a content is, and its holder who may read it.
  mutating func tell(
    _ reader: UInt32, that source: ContentSource, of holder: UInt32, has digest: ContentDigest,
    into turn: inout SchedulingTurn
  ) {
    let reading = turn.orders(for: WorkerID(reader))
    turn.orders[reading].orders.holders.append(ContentHolders(digest: digest, sources: [source]))
    let key = conversations[reader].store?.key ?? []
    let granting = turn.orders(for: WorkerID(holder))
    // A store without a key knows its readers by none.
    turn.orders[granting].orders.grants.append(
      GrantOrder(digest: digest, reader: source.key.isEmpty ? [] : key))
  }
}
