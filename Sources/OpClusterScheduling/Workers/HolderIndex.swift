// Which worker has which contents, as the workers say. Not durable: each conversation begins with a
// list, so that a restarted coordinator knows it again from those who have to know it anyway.

import OpClusterModel

/// Costs the contents that a report names; the end of a conversation costs those of its worker.
struct HolderIndex: Sendable {
  /// Contents of one worker that are counted.
  let limit: Int
  private var workersByContent: [ContentDigest: [UInt32]] = [:]
  private var contentsByWorker: [UInt32: Set<ContentDigest>] = [:]
  /// Workers that have no store, and reach no other.
  private(set) var without: Set<UInt32> = []

  init(limit: Int = Limits.contentsPerWorker) { self.limit = limit }

  /// The workers that have it, the longest known first.
  func workers(with digest: ContentDigest) -> [UInt32] { workersByContent[digest] ?? [] }
  func has(_ worker: UInt32, _ digest: ContentDigest) -> Bool {
    contentsByWorker[worker]?.contains(digest) ?? false
  }

  /// What a worker has, in no order.
  func contentsHeld(by worker: UInt32) -> Set<ContentDigest> { contentsByWorker[worker] ?? [] }

  /// Begins anew with a worker that is known to have nothing.
  mutating func begin(_ worker: UInt32, hasStore: Bool) {
    if !hasStore { without.insert(worker) }
  }

  /// False: it has more than are counted.
  mutating func gain(_ digest: ContentDigest, at worker: UInt32) -> Bool {
    guard contentsByWorker[worker]?.count ?? 0 < limit || has(worker, digest) else {
      return false
    }
    if contentsByWorker[worker, default: []].insert(digest).inserted {
      workersByContent[digest, default: []].append(worker)
    }
    return true
  }

  mutating func lose(_ digest: ContentDigest, at worker: UInt32) {
    guard contentsByWorker[worker]?.remove(digest) != nil else { return }
    leave(digest, worker)
  }

  /// Returns what it had.
  mutating func forget(_ worker: UInt32) -> Set<ContentDigest> {
    without.remove(worker)
    let contents = contentsByWorker.removeValue(forKey: worker) ?? []
    for digest in contents { leave(digest, worker) }
    return contents
  }

  private mutating func leave(_ digest: ContentDigest, _ worker: UInt32) {
    workersByContent[digest]?.removeAll { $0 == worker }
    if workersByContent[digest]?.isEmpty == true { workersByContent[digest] = nil }
  }
}
