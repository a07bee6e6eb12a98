// What only workers that drain have, and somebody needs: they stay for it. A value;
// `StoreHandover` decides.

import OpClusterModel

/// The contents that workers stay for. Not durable: it follows from what they say that they have.
/// Each method costs the contents, or the workers of the content, that it is given.
struct DrainingStores: Sendable {
  private var contentsByWorker: [UInt32: Set<ContentDigest>] = [:]
  private var workersByContent: [ContentDigest: [UInt32]] = [:]

  /// Whether a worker has to stay for something.
  func keeps(_ worker: UInt32) -> Bool { contentsByWorker[worker] != nil }
  /// Whether a worker stays for it.
  func isAwaited(_ digest: ContentDigest) -> Bool { workersByContent[digest] != nil }

  mutating func keep(_ worker: UInt32, for digest: ContentDigest) {
    if contentsByWorker[worker, default: []].insert(digest).inserted {
      workersByContent[digest, default: []].append(worker)
    }
  }

  /// Nobody has to stay for it. Returns the workers that stay for nothing else.
  mutating func settle(_ digest: ContentDigest) -> [UInt32] {
    guard let workers = workersByContent.removeValue(forKey: digest) else { return [] }
    return workers.filter { worker in
      contentsByWorker[worker]?.remove(digest)
      guard contentsByWorker[worker]?.isEmpty == true else { return false }
      contentsByWorker[worker] = nil
      return true
    }
  }

  /// It has left, or says anew what it has.
  mutating func forget(_ worker: UInt32) {
    for digest in contentsByWorker.removeValue(forKey: worker) ?? [] {
      workersByContent[digest]?.removeAll { $0 == worker }
      if workersByContent[digest]?.isEmpty == true { workersByContent[digest] = nil }
    }
  }

  /// For the invariants.
  var all: [ContentDigest: [UInt32]] { workersByContent }
}
