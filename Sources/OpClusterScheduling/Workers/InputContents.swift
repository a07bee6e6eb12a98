// Contents that inputs name: who has them, who may read them, and operations that wait because
// nobody has them now. The coordinator never sees their bytes.

import OpClusterModel

extension Scheduler {
  // MARK: - What workers have

  /// Takes what a report says of its worker's store, before its entries. Costs what it names, and
  /// the operations that waited for it.
  mutating func takeContents(of report: WorkerReport, at worker: WorkerID) {
    for content in report.held where holders.gain(content.digest, at: worker.number) {
      for id in contentWaits.take(content.digest) { returnToLine(id) }
    }
    for digest in report.lost { holders.lose(digest, at: worker.number) }
  }

  private mutating func returnToLine(_ id: OperationID) {
    guard graphs.contains(id.graph.number), graphs[id.graph.number].cell(id.index).isInLine else {
      return
    }
    state.enterLine(id, graphs[id.graph.number].stageNumber(of: id.index))
  }

  /// Lets go of what a report named and nobody needs: its output was not kept, or its graph has
  /// ended. After the report's entries.
  mutating func releaseUnneeded(
    of report: WorkerReport, at worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    for content in report.held where !state.pins.contains(content.digest) {
      let at = turn.orders(for: worker)
      turn.orders[at].orders.released.append(content.digest)
    }
  }

  /// Tells the holders of contents that nobody needs any more.
  mutating func releaseFreed(into turn: inout SchedulingTurn) {
    for digest in state.takeFreedContents() where !state.pins.contains(digest) {
      for number in holders.workers(with: digest) where workers.contains(number) {
        let at = turn.orders(for: WorkerID(number))
        turn.orders[at].orders.released.append(digest)
      }
    }
  }

  // MARK: - What operations need

  /// The contents that these inputs name, each once.
  private func contents(of inputs: [DependencyInput]) -> [StoredContent] {
    var seen: Set<ContentDigest> = []
    return inputs.flatMap(\.contents).filter { seen.insert($0.digest).inserted }
  }

  /// Whether an operation's inputs may name contents. Without any, nothing is looked at.
  func mayNeedContents(_ graph: UInt32, _ stage: Int) -> Bool {
    (!state.pins.isEmpty || state.remembersContents)
      && graphs[graph].stages[stage].template.wantsInputs
  }

  /// Whether the inputs of an operation name contents.
  func needsContents(_ id: OperationID) -> Bool {
    let stage = graphs[id.graph.number].stageNumber(of: id.index)
    return inputs(of: id, stage).contains { !$0.contents.isEmpty }
  }

  /// The first content of the inputs that no worker has now.
  func missingContent(of inputs: [DependencyInput], for worker: WorkerID) -> StoredContent? {
    contents(of: inputs).first { content in
      !holders.workers(with: content.digest).contains { number in
        number == worker.number || isReadable(number)
      }
    }
  }

  private func isReadable(_ number: UInt32) -> Bool {
    workers.contains(number) && conversations[number].peer != nil
      && conversations[number].store != nil
  }

  /// Keeps an operation out of line until somebody has what it needs: a worker that comes back, or
  /// one that is just being connected to. What is gone for good is missed after the time in which a
  /// silent worker is lost.
  mutating func awaitContent(_ id: OperationID, _ content: StoredContent, at now: Instant) {
    contentWaits.wait(id, for: content.digest, until: now + timing.lost)
  }

  /// Fails the operations whose content has not come.
  mutating func missContents(into turn: inout SchedulingTurn) {
    if contentWaits.isEmpty { return }
    for wait in contentWaits.takeDue(at: turn.now) {
      let id = wait.operation
      guard graphs.contains(id.graph.number), graphs[id.graph.number].cell(id.index).isInLine
      else { continue }
      refuseInputs(
        id, .inputUnavailable,
        "an output that it needs (\(wait.digest.short)) lay in the store of a worker that is gone, "
          + "and nobody else has it; run what made it again", into: &turn)
    }
  }

  /// Who has these contents; tells them that somebody may read them.
  mutating func locate(
    _ digests: [ContentDigest], for reader: [UInt8], into turn: inout SchedulingTurn
  ) -> [ContentHolders] {
    digests.compactMap { digest in
      let known = tellHolders(of: digest, that: reader, into: &turn)
      return known.sources.isEmpty ? nil : known
    }
  }

  /// Tells some of the holders of a content that somebody may read it, and returns where they are.
  private mutating func tellHolders(
    of digest: ContentDigest, that reader: [UInt8], into turn: inout SchedulingTurn
  ) -> ContentHolders {
    var known = ContentHolders(digest: digest, sources: [])
    for number in holders.workers(with: digest)
    where isReadable(number) && known.sources.count < Limits.holdersTold {
      guard let source = conversations[number].store else { continue }
      known.sources.append(source)
      let at = turn.orders(for: WorkerID(number))
      turn.orders[at].orders.grants.append(GrantOrder(digest: digest, reader: reader))
    }
    return known
  }

  /// Tells the worker where the contents of the inputs are, and their holders who may read them.
  mutating func tellHolders(
    of inputs: [DependencyInput], to worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    for content in contents(of: inputs)
    where !holders.has(worker.number, content.digest) {
      let told = ToldContent(worker: worker.number, digest: content.digest)
      guard toldContents.insert(told).inserted else { continue }
      let reader = conversations[worker.number].store?.key ?? []
      let known = tellHolders(of: content.digest, that: reader, into: &turn)
      if known.sources.isEmpty { continue }
      let at = turn.orders(for: worker)
      turn.orders[at].orders.holders.append(known)
    }
  }

  /// The reason why an operation in line waits for a content; nil if it does not. Visits the
  /// contents that are waited for.
  func contentLine(_ id: OperationID) -> String? {
    guard let digest = contentWaits.digest(of: id) else { return nil }
    return "an output that it needs (\(digest.short)) lies in the store of a worker that is not "
      + "connected; it is waited for"
  }
}
