// What only workers that drain have, and somebody needs: they stay for it. A value;
// `StoreHandover` decides.

import DequeModule
import OpClusterModel

/// The contents that workers stay for. Not durable: it follows from what they say that they have.
/// Each method costs the contents, or the workers of the content, that it is given.
struct DrainingStores: Sendable {
  /// Those that have begun a conversation, whether they stay for something or not.
  private var draining: Set<UInt32> = []
  private var contentsByWorker: [UInt32: Set<ContentDigest>] = [:]
  private var workersByContent: [ContentDigest: [UInt32]] = [:]
  /// Until when a store that is not heard is waited for; of contents that workers stay for.
  private var silenceEnds: [ContentDigest: Instant] = [:]
  /// What workers have that began to drain, as far as nobody has looked at it; some have left
  /// since.
  private var unexamined: Deque<Part> = []
  /// How many parts of it are a worker's. Looked up, never iterated.
  private var unexaminedParts: [UInt32: Int] = [:]

  /// Some of what a worker has.
  struct Part: Sendable {
    var worker: UInt32
    /// In no order.
    var contents: [ContentDigest]
  }
  /// The contents of a part; few parts have more, and none twice as many.
  static let contentsOfPart = 1_024

  /// Whether a worker has to stay for something, as far as is known.
  func keeps(_ worker: UInt32) -> Bool {
    contentsByWorker[worker] != nil || unexaminedParts[worker] != nil
  }
  /// Whether a worker stays for it.
  func isAwaited(_ digest: ContentDigest) -> Bool { workersByContent[digest] != nil }

  /// The workers that stay for it.
  func workersStaying(for digest: ContentDigest) -> [UInt32] { workersByContent[digest] ?? [] }

  var isAnyDraining: Bool { !draining.isEmpty }

  /// A worker that drains begins a conversation, in which it says what it has.
  mutating func greet(_ worker: UInt32) { draining.insert(worker) }

  /// A worker begins to drain. What it has is to be looked at in parts, the same ones wherever and
  /// whenever that is.
  mutating func addUnexamined(of worker: UInt32, _ contents: [ContentDigest]) {
    draining.insert(worker)
    if contents.isEmpty { return }
    var parts: [[ContentDigest]] = []
    if contents.count <= Self.contentsOfPart {
      parts.append(contents)
    } else {
      parts = Array(repeating: [], count: 256)
      for digest in contents { parts[Int(digest.leadingByte)].append(digest) }
      parts = parts.flatMap { Self.cut($0) }
    }
    for part in parts { unexamined.append(Part(worker: worker, contents: part)) }
    unexaminedParts[worker] = parts.count
  }

  /// A worker that means ill may have contents that begin alike.
  private static func cut(_ part: [ContentDigest]) -> [[ContentDigest]] {
    if part.count < 2 * contentsOfPart { return part.isEmpty ? [] : [part] }
    let sorted = part.sorted()
    return stride(from: 0, to: sorted.count, by: contentsOfPart).map {
      Array(sorted[$0..<min($0 + contentsOfPart, sorted.count)])
    }
  }

  var hasUnexamined: Bool { !unexamined.isEmpty }

  /// The part to look at next, and whether it is its worker's last.
  mutating func takeUnexamined() -> (part: Part, isLast: Bool)? {
    while let part = unexamined.popFirst() {
      // Its worker has left, or has begun a conversation and says anew what it has.
      guard let left = unexaminedParts[part.worker] else { continue }
      unexaminedParts[part.worker] = left > 1 ? left - 1 : nil
      return (part, left == 1)
    }
    return nil
  }

  /// Whether it has not stayed for it before.
  @discardableResult
  mutating func keep(_ worker: UInt32, for digest: ContentDigest) -> Bool {
    guard contentsByWorker[worker, default: []].insert(digest).inserted else { return false }
    workersByContent[digest, default: []].append(worker)
    return true
  }

  /// A worker does not stay for it any more. Whether it stays for nothing else.
  mutating func drop(_ worker: UInt32, for digest: ContentDigest) -> Bool {
    guard contentsByWorker[worker]?.remove(digest) != nil else { return false }
    removeStaying(worker, for: digest)
    guard contentsByWorker[worker]?.isEmpty == true else { return false }
    contentsByWorker[worker] = nil
    return true
  }

  private mutating func removeStaying(_ worker: UInt32, for digest: ContentDigest) {
    workersByContent[digest]?.removeAll { $0 == worker }
    if workersByContent[digest]?.isEmpty == true {
      workersByContent[digest] = nil
      endSilence(digest)
    }
  }

  /// Until when a store that is not heard just now is waited for: a worker that is heard and silent
  /// in turns would otherwise hold one that drains for ever. Expects that a worker stays for it.
  ///
  /// - Parameter end: When those that are silent now are back or lost.
  mutating func endOfSilence(_ digest: ContentDigest, atMost end: Instant) -> Instant {
    if let known = silenceEnds[digest] { return known }
    silenceEnds[digest] = end
    return end
  }

  /// A store has been found that takes it.
  mutating func endSilence(_ digest: ContentDigest) { silenceEnds[digest] = nil }

  /// Nobody has to stay for it. Returns the workers that stay for nothing else.
  mutating func settle(_ digest: ContentDigest) -> [UInt32] {
    guard let workers = workersByContent.removeValue(forKey: digest) else { return [] }
    endSilence(digest)
    return workers.filter { worker in
      contentsByWorker[worker]?.remove(digest)
      guard contentsByWorker[worker]?.isEmpty == true else { return false }
      contentsByWorker[worker] = nil
      return true
    }
  }

  /// It has left, or says anew what it has.
  mutating func forget(_ worker: UInt32) {
    draining.remove(worker)
    unexaminedParts[worker] = nil
    for digest in contentsByWorker.removeValue(forKey: worker) ?? [] {
      removeStaying(worker, for: digest)
    }
  }

  /// For the invariants.
  var all: [ContentDigest: [UInt32]] { workersByContent }
  var waitingForSilent: Dictionary<ContentDigest, Instant>.Keys { silenceEnds.keys }
}
