// Brings contents to workers that reach none of their holders: a holder behind a firewall connects
// to the reader, or to a third worker that both reach. Slower than to fetch it, since the bytes may
// go twice; nobody has to say which machines reach which (S154).

import HeapModule
import OpClusterModel

extension Scheduler {
  /// Takes what a report says about contents that do not come by themselves. Costs what it names,
  /// and the holders of that.
  mutating func takeDeliveries(
    of report: WorkerReport, at worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    for unreached in report.unreached {
      let digest = unreached.content.digest
      for holder in holders.workers(with: digest) where holder != worker.number {
        guard workers.contains(holder), let store = conversations[holder].store,
          unreached.sources.contains(store)
        else { continue }
        contentDeliveries.noteUnreached(holder, from: worker.number)
      }
      let want = ContentDeliveries.Want(digest: digest, reader: worker.number)
      if case .waiting(let middle)? = contentDeliveries.deliveries[want]?.way {
        // An earlier search may have ended only now.
        if contentDeliveries.reaches(worker.number, middle) { continue }
        contentDeliveries.leaveWay(of: want)
        bring(want, into: &turn)
      } else if contentDeliveries.deliveries[want] == nil {
        beginDelivery(want, size: unreached.content.size, into: &turn)
      }
    }
    // Each content once, however often the report names it: no more than all deliveries.
    let failures = Dictionary(grouping: report.undelivered) { $0.delivery.content.digest }
      .mapValues { Dictionary($0.map { ($0.delivery.to, $0.isUnreached) }) { $0 || $1 } }
    for digest in failures.keys.sorted() {
      for want in contentDeliveries.wants(of: digest).sorted()
      where contentDeliveries.deliveries[want]?.way?.holder == worker.number {
        let target = contentDeliveries.deliveries[want]?.way?.middle ?? want.reader
        guard workers.contains(target), let store = conversations[target].store,
          let isUnreached = failures[digest]?[store]
        else { continue }
        if isUnreached { contentDeliveries.noteUnreached(target, from: worker.number) }
        contentDeliveries.leaveWay(of: want)
        bring(want, into: &turn)
      }
    }
  }

  private mutating func beginDelivery(
    _ want: ContentDeliveries.Want, size: Int64, into turn: inout SchedulingTurn
  ) {
    if contentDeliveries.seek(want, size: size) {
      bring(want, into: &turn)
    } else if contentDeliveries.deliveries[want] == nil {
      refuse(want, into: &turn)
    }
  }

  /// Chooses the next way for a content: a holder that leaves it with its reader; then one that
  /// leaves it with a third. Costs its holders, and the workers that are passed until a store is
  /// found.
  private mutating func bring(
    _ want: ContentDeliveries.Want, into turn: inout SchedulingTurn
  ) {
    guard let delivery = contentDeliveries.deliveries[want], workers.contains(want.reader),
      let store = conversations[want.reader].store
    else { return contentDeliveries.end(want) }
    let content = StoredContent(digest: want.digest, size: delivery.size)
    let having = holders.workers(with: want.digest)
      .filter { $0 != want.reader && isReadable($0) }
    guard let first = having.first else {
      // Nobody has it now: whoever waits for it is given back, and waits for a holder, or for the
      // content to be made again. That its copy does not come is not the reader's fault.
      contentDeliveries.end(want)
      if contentCopies.end(want.digest, at: want.reader) { noteDear(want.digest, at: turn.now) }
      let at = turn.orders(for: WorkerID(want.reader))
      turn.orders[at].orders.holders.append(ContentHolders(digest: want.digest, sources: []))
      return
    }
    if let holder = having.first(where: { holder in
      !delivery.tried.contains(holder) && contentDeliveries.reaches(holder, want.reader)
    }) {
      contentDeliveries.take(.from(holder: holder), for: want)
      return order(content, from: holder, to: want.reader, store, into: &turn)
    }
    guard delivery.triedMiddles.count < Limits.deliveryTries,
      let middle = storeBetween(want, delivery, having)
    else { return refuse(want, into: &turn) }
    contentDeliveries.take(.through(middle.worker, from: first), for: want)
    order(content, from: first, to: middle.worker, middle.source, into: &turn)
  }

  /// A store that has not been tried, and from which the reader may be able to fetch.
  private mutating func storeBetween(
    _ want: ContentDeliveries.Want, _ delivery: ContentDeliveries.Delivery, _ having: [UInt32]
  ) -> StoreToFill? {
    let avoided = delivery.triedMiddles.union(having).union([want.reader])
      .union(contentDeliveries.unreached(from: want.reader))
      .union(having.first.map { contentDeliveries.unreached(from: $0) } ?? [])
      .filter { workers.contains($0) }
    let key = conversations[want.reader].store?.key ?? []
    return storesToFill(
      1, avoiding: Set(avoided.map { workers[$0].name }), for: ContentAsker(key: key)
    ).stores.first
  }

  private mutating func order(
    _ content: StoredContent, from holder: UInt32, to target: UInt32, _ store: ContentSource,
    into turn: inout SchedulingTurn
  ) {
    var named = store
    named.worker = ""
    let key = conversations[holder].store?.key ?? []
    let granting = turn.orders(for: WorkerID(target))
    turn.orders[granting].orders.grants.append(
      GrantOrder(digest: content.digest, reader: named.key.isEmpty ? [] : key, mayWrite: true))
    let sending = turn.orders(for: WorkerID(holder))
    turn.orders[sending].orders.deliveries.append(ContentDelivery(content, to: named))
  }

  /// Nobody can bring it: who waits for it cannot start there.
  private mutating func refuse(
    _ want: ContentDeliveries.Want, into turn: inout SchedulingTurn
  ) {
    contentDeliveries.end(want)
    guard workers.contains(want.reader) else { return }
    let at = turn.orders(for: WorkerID(want.reader))
    turn.orders[at].orders.unobtainable.append(want.digest)
  }

  /// A content has come to a worker: to one that waited for it, or to one that stands between.
  mutating func noteDelivered(
    _ digest: ContentDigest, at worker: UInt32, into turn: inout SchedulingTurn
  ) {
    for want in contentDeliveries.wants(of: digest).sorted() {
      if want.reader == worker {
        contentDeliveries.end(want)
      } else if case .through(worker, _)? = contentDeliveries.deliveries[want]?.way,
        workers.contains(want.reader), let source = conversations[worker].store
      {
        contentDeliveries.take(.waiting(at: worker), for: want)
        tell(want.reader, that: source, of: worker, has: digest, into: &turn)
      }
    }
  }

  /// A worker's conversation has ended, or begins: what it was to bring is brought otherwise, once
  /// the turn ends.
  mutating func forgetDeliveries(of worker: UInt32) {
    if contentDeliveries.isEmpty { return }
    undecidedDeliveries += contentDeliveries.forget(worker)
  }

  /// A worker has lost a content that it was to leave with others, or that they were to fetch from
  /// it: they would wait for it for ever. Costs the wants of the content.
  mutating func forgetDeliveries(of digest: ContentDigest, at worker: UInt32) {
    for want in contentDeliveries.wants(of: digest).sorted() {
      let way = contentDeliveries.deliveries[want]?.way
      guard way?.holder == worker || way == .waiting(at: worker) else { continue }
      contentDeliveries.leaveWay(of: want)
      undecidedDeliveries.append(want)
    }
  }

  /// Chooses new ways for those that lost theirs in this turn.
  mutating func decideDeliveries(into turn: inout SchedulingTurn) {
    if undecidedDeliveries.isEmpty { return }
    let undecided = undecidedDeliveries
    undecidedDeliveries = []
    for want in undecided
    where contentDeliveries.deliveries[want].map({ $0.way == nil }) == true {
      bring(want, into: &turn)
    }
  }

  /// Has a content brought at once to a worker that is known to reach none of those who have it.
  mutating func deliverIfUnreached(
    _ content: StoredContent, to worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    let want = ContentDeliveries.Want(digest: content.digest, reader: worker.number)
    let isHeld = holders.workers(with: content.digest).contains { isReadable($0) }
    guard isHeld, contentDeliveries.deliveries[want] == nil else { return }
    beginDelivery(want, size: content.size, into: &turn)
  }

  // MARK: - Explained

  /// How an input comes to the worker that has an operation and cannot fetch it; nil: it can. Costs
  /// its inputs, if anything is delivered.
  func deliveryLine(_ id: OperationID, _ stage: Int) -> Explanation.Line? {
    let graph = id.graph.number
    let reader = graphs[graph].cell(id.index).worker
    guard contentDeliveries.count > 0, mayNeedContents(graph, stage), workers.contains(reader)
    else { return nil }
    for content in contentsRead(from: inputs(of: id, stage), graph, stage) {
      let want = ContentDeliveries.Want(digest: content.digest, reader: reader)
      guard let way = contentDeliveries.deliveries[want]?.way else { continue }
      let start =
        "it waits for an input of \(content.size) bytes: worker \(workers[reader].name) cannot "
        + "connect to who has it"
      func name(_ worker: UInt32) -> String { workers.contains(worker) ? workers[worker].name : "" }
      switch way {
      case .from(let holder): return .init("\(start); \(name(holder)) sends it there")
      case .through(let middle, let holder):
        return .init(
          "\(start); \(name(holder)) sends it to \(name(middle)), where it can be fetched")
      case .waiting(let middle):
        return .init("\(start); it fetches it from \(name(middle)) instead")
      }
    }
    return nil
  }
}
