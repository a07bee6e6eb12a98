// Which worker has which contents, as the workers say. Not durable: each conversation begins with a
// list, so that a restarted coordinator knows it again from those who have to know it anyway.

import OpClusterModel

/// A change costs the contents that it names, however many others have them; the end of a
/// conversation costs the contents of its worker.
struct HolderIndex: Sendable {
  /// Contents of one worker that are counted.
  let limit: Int
  private var holdersByContent: [ContentDigest: Holders] = [:]
  /// What each worker has, and its place among the holders.
  private var placesByWorker: [UInt32: [ContentDigest: UInt32]] = [:]
  /// Workers that have no store, and reach no other.
  private(set) var without: Set<UInt32> = []

  private struct Holders {
    var workers: [UInt32] = []
    /// The first so many do not stay.
    var passed = 0
    /// Grows with each reader that is told of some.
    var turn: UInt32 = 0
  }

  init(limit: Int = Limits.contentsPerWorker) { self.limit = limit }

  /// The workers that have it, in the order in which they said so; one that leaves gives its place
  /// to another.
  func workers(with digest: ContentDigest) -> [UInt32] { holdersByContent[digest]?.workers ?? [] }
  func hasHolder(of digest: ContentDigest) -> Bool { holdersByContent[digest] != nil }
  func has(_ worker: UInt32, _ digest: ContentDigest) -> Bool {
    placesByWorker[worker]?[digest] != nil
  }

  /// What a worker has, in no order.
  func contentsHeld(by worker: UInt32) -> [ContentDigest] {
    placesByWorker[worker].map { Array($0.keys) } ?? []
  }

  /// Begins anew with a worker that is known to have nothing.
  mutating func begin(_ worker: UInt32, hasStore: Bool) {
    if !hasStore { without.insert(worker) }
  }

  /// False: it has more than are counted.
  mutating func gain(_ digest: ContentDigest, at worker: UInt32) -> Bool {
    if has(worker, digest) { return true }
    guard placesByWorker[worker]?.count ?? 0 < limit else { return false }
    let place = UInt32(holdersByContent[digest]?.workers.count ?? 0)
    holdersByContent[digest, default: Holders()].workers.append(worker)
    placesByWorker[worker, default: [:]][digest] = place
    return true
  }

  mutating func lose(_ digest: ContentDigest, at worker: UInt32) {
    guard let place = placesByWorker[worker]?.removeValue(forKey: digest) else { return }
    vacate(Int(place), of: digest)
  }

  /// Returns what it had, in no order.
  mutating func forget(_ worker: UInt32) -> [ContentDigest] {
    without.remove(worker)
    let places = placesByWorker.removeValue(forKey: worker) ?? [:]
    for (digest, place) in places { vacate(Int(place), of: digest) }
    return Array(places.keys)
  }

  /// Fills a place with the last worker: of those that were passed, and then of all.
  private mutating func vacate(_ place: Int, of digest: ContentDigest) {
    guard let at = holdersByContent.index(forKey: digest) else { return }
    var free = place
    if free < holdersByContent.values[at].passed {
      holdersByContent.values[at].passed -= 1
      free = move(from: holdersByContent.values[at].passed, to: free, of: digest, at)
    }
    free = move(from: holdersByContent.values[at].workers.count - 1, to: free, of: digest, at)
    holdersByContent.values[at].workers.removeLast()
    if holdersByContent.values[at].workers.isEmpty { holdersByContent.remove(at: at) }
  }

  /// Returns the place that is free afterwards.
  private mutating func move(
    from: Int, to: Int, of digest: ContentDigest, _ at: Dictionary<ContentDigest, Holders>.Index
  ) -> Int {
    if from == to { return from }
    let worker = holdersByContent.values[at].workers[from]
    holdersByContent.values[at].workers[to] = worker
    placesByWorker[worker]?[digest] = UInt32(to)
    return from
  }

  /// The place from which on holders are told to a reader; the next one begins behind it.
  mutating func takeTurn(of digest: ContentDigest) -> Int {
    guard let at = holdersByContent.index(forKey: digest) else { return 0 }
    defer { holdersByContent.values[at].turn &+= 1 }
    return Int(holdersByContent.values[at].turn) % holdersByContent.values[at].workers.count
  }

  // MARK: - Who stays

  /// The first of its holders that was not passed; nil: all were.
  func nextHolder(of digest: ContentDigest) -> UInt32? {
    guard let known = holdersByContent[digest] else { return nil }
    return known.passed < known.workers.count ? known.workers[known.passed] : nil
  }

  /// That one is passed for ever: it drains, and never stays again.
  mutating func passHolder(of digest: ContentDigest) { holdersByContent[digest]?.passed += 1 }

  /// Finds what is wrong here; for the invariants. Costs all contents of all workers.
  func problem(isPassed: (UInt32) -> Bool) -> String? {
    var count = 0
    for (worker, places) in placesByWorker {
      for (digest, place) in places where holdersByContent[digest]?.workers[Int(place)] != worker {
        return "worker \(worker) has no place at \(digest)"
      }
      count += places.count
    }
    if holdersByContent.values.reduce(0, { $0 + $1.workers.count }) != count {
      return "contents have holders that do not have them"
    }
    let isWrong = holdersByContent.values.contains { holders in
      !holders.workers.prefix(holders.passed).allSatisfy(isPassed)
    }
    return isWrong ? "a holder was passed that stays" : nil
  }
}
