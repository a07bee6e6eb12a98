// Where a submitter leaves its files: in the stores of workers, spread over them by bytes.

import HeapModule
import OpClusterModel

extension Scheduler {
  /// A worker for each content that nobody has, and its leave to write it there. Costs the workers
  /// once, and for each content a logarithm of them.
  ///
  /// - Throws: `workerUnavailable` if there is no worker for them.
  mutating func place(
    _ contents: [StoredContent], avoided: [String], for writer: [UInt8],
    into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    let wanted = contents.filter { content in
      !holders.workers(with: content.digest).contains { isReadable($0) }
    }
    if wanted.isEmpty { return .placed([]) }
    var stores = storesToFill(avoiding: Set(avoided))
    if stores.isEmpty {
      throw Refusal(
        .workerUnavailable,
        avoided.isEmpty
          ? "no connected worker has a store, so that files can be left nowhere"
          : "no other connected worker has a store",
        hint: .listWorkers)
    }
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
          GrantOrder(digest: content.digest, reader: writer, mayWrite: true))
        return ContentHolders(digest: content.digest, sources: [store.source])
      })
  }

  private func storesToFill(avoiding avoided: Set<String>) -> Heap<StoreToFill> {
    var stores: [StoreToFill] = []
    for number in workers.numbers where isReadable(number) && takesWork(number) {
      let name = workers[number].name
      guard !avoided.contains(name), var source = conversations[number].store else { continue }
      source.worker = name
      stores.append(StoreToFill(bytes: 0, worker: number, source: source))
    }
    return Heap(stores)
  }
}

/// A store, and what one request has given it.
private struct StoreToFill: Comparable {
  var bytes: Int64
  var worker: UInt32
  var source: ContentSource

  static func < (one: Self, other: Self) -> Bool {
    (one.bytes, one.worker) < (other.bytes, other.worker)
  }
}
