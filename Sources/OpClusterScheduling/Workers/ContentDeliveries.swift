// Contents that a worker waits for and cannot fetch, since it reaches none of their holders: how
// each is brought to it. A value; `Deliveries` decides. Not durable: a worker says anew in each
// conversation what it cannot fetch.

import OpClusterModel

/// Each method costs what it changes; the end of a conversation costs the wants that its worker has
/// a part in, and the workers that do not reach it.
struct ContentDeliveries: Sendable {
  /// A content that a worker waits for.
  struct Want: Hashable, Comparable, Sendable {
    var digest: ContentDigest
    var reader: UInt32
    static func < (one: Self, other: Self) -> Bool {
      (one.digest, one.reader) < (other.digest, other.reader)
    }
  }

  /// How it may come to its reader.
  enum Way: Hashable, Sendable {
    /// A holder leaves it there.
    case from(holder: UInt32)
    /// A holder leaves it with another worker, from which the reader fetches it.
    case through(UInt32, from: UInt32)
    /// The same, and it is there.
    case waiting(at: UInt32)

    /// The worker that was told to leave it somewhere.
    var holder: UInt32? {
      switch self {
      case .from(let holder), .through(_, let holder): holder
      case .waiting: nil
      }
    }

    var middle: UInt32? {
      switch self {
      case .from: nil
      case .through(let worker, _), .waiting(let worker): worker
      }
    }
  }

  struct Delivery: Sendable {
    var size: Int64
    /// nil: about to be decided.
    var way: Way?
    /// Holders that have tried to leave it with the reader.
    var tried: Set<UInt32> = []
    /// Workers through which it was tried.
    var triedMiddles: Set<UInt32> = []
  }

  private(set) var deliveries: [Want: Delivery] = [:]
  /// The wants in which a worker is reader, holder or between the two; and by their contents.
  private var wantsByWorker: [UInt32: Set<Want>] = [:]
  private var wantsByContent: [ContentDigest: Set<Want>] = [:]
  /// The workers that one does not reach, and those that do not reach it.
  private var unreached: [UInt32: Set<UInt32>] = [:]
  private var reachedNotBy: [UInt32: Set<UInt32>] = [:]
  private var pairs = 0

  var isEmpty: Bool { deliveries.isEmpty && unreached.isEmpty }
  var count: Int { deliveries.count }

  // MARK: - Who reaches whom

  /// Beyond `Limits.unreachedPairs` none is remembered: each fetch finds it out anew.
  mutating func noteUnreached(_ other: UInt32, from worker: UInt32) {
    guard pairs < Limits.unreachedPairs, unreached[worker, default: []].insert(other).inserted
    else { return }
    reachedNotBy[other, default: []].insert(worker)
    pairs += 1
  }

  func unreached(from worker: UInt32) -> Set<UInt32> { unreached[worker] ?? [] }

  func reaches(_ worker: UInt32, _ other: UInt32) -> Bool {
    unreached[worker]?.contains(other) != true
  }

  // MARK: - Wants

  /// Begins to look for a way. False: there is one already, or there are too many.
  mutating func seek(_ want: Want, size: Int64) -> Bool {
    guard deliveries[want] == nil, deliveries.count < Limits.deliveries else { return false }
    deliveries[want] = Delivery(size: size)
    wantsByContent[want.digest, default: []].insert(want)
    wantsByWorker[want.reader, default: []].insert(want)
    return true
  }

  /// Chooses a way.
  mutating func take(_ way: Way, for want: Want) {
    leaveWay(of: want)
    deliveries[want]?.way = way
    switch way {
    case .from(let holder): deliveries[want]?.tried.insert(holder)
    case .through(let middle, _): deliveries[want]?.triedMiddles.insert(middle)
    case .waiting: break
    }
    for worker in [way.holder, way.middle].compactMap(\.self) {
      wantsByWorker[worker, default: []].insert(want)
    }
  }

  /// The way has led nowhere.
  mutating func leaveWay(of want: Want) {
    guard let way = deliveries[want]?.way else { return }
    deliveries[want]?.way = nil
    for worker in [way.holder, way.middle].compactMap(\.self) where worker != want.reader {
      forget(want, of: worker)
    }
  }

  /// It has come, or will not.
  mutating func end(_ want: Want) {
    leaveWay(of: want)
    guard deliveries.removeValue(forKey: want) != nil else { return }
    forget(want, of: want.reader)
    wantsByContent[want.digest]?.remove(want)
    if wantsByContent[want.digest]?.isEmpty == true { wantsByContent[want.digest] = nil }
  }

  private mutating func forget(_ want: Want, of worker: UInt32) {
    wantsByWorker[worker]?.remove(want)
    if wantsByWorker[worker]?.isEmpty == true { wantsByWorker[worker] = nil }
  }

  func wants(of digest: ContentDigest) -> Set<Want> { wantsByContent[digest] ?? [] }

  /// The end of a worker's conversation, or its begin: what it waited for is not waited for any
  /// more, and what it was to bring needs another way. Returns those that do, in order.
  mutating func forget(_ worker: UInt32) -> [Want] {
    for other in unreached.removeValue(forKey: worker) ?? [] {
      pairs -= 1
      reachedNotBy[other]?.remove(worker)
      if reachedNotBy[other]?.isEmpty == true { reachedNotBy[other] = nil }
    }
    for other in reachedNotBy.removeValue(forKey: worker) ?? [] {
      pairs -= 1
      unreached[other]?.remove(worker)
      if unreached[other]?.isEmpty == true { unreached[other] = nil }
    }
    var left: [Want] = []
    for want in (wantsByWorker[worker] ?? []).sorted() {
      if want.reader == worker {
        end(want)
      } else {
        leaveWay(of: want)
        left.append(want)
      }
    }
    return left
  }
}
