// Contents that somebody is leaving with workers, for a submission that has not come yet: they stay
// for a while, although nobody reads them. Not durable: after a restart they may leave.

import HeapModule
import OpClusterModel

/// Until when they stay. Each method costs a logarithm of their number.
struct PlacedContents: Sendable {
  private struct End: Comparable, Sendable {
    var until: Instant
    var digest: ContentDigest
    static func < (one: Self, other: Self) -> Bool {
      (one.until, one.digest) < (other.until, other.digest)
    }
  }

  private var placed: [ContentDigest: (until: Instant, size: Int64)] = [:]
  /// Obsolete where a time was changed since.
  private var ends: Heap<End> = []
  private let limit: Int
  /// How long they wait for their submission, once they are there.
  static let timeToSubmit = Span.seconds(600)

  init(limit: Int = Limits.placedContents) { self.limit = limit }

  var count: Int { placed.count }
  var nextEnd: Instant? { ends.min?.until }
  func contains(_ digest: ContentDigest) -> Bool { placed[digest] != nil }
  func size(of digest: ContentDigest) -> Int64? { placed[digest]?.size }

  /// False: there are too many.
  mutating func keep(_ content: StoredContent, until moment: Instant) -> Bool {
    let known = placed[content.digest]
    if known == nil, placed.count >= limit { return false }
    if known?.until == moment { return true }
    placed[content.digest] = (moment, content.size)
    ends.insert(End(until: moment, digest: content.digest))
    return true
  }

  /// Those whose time is over, in order.
  mutating func takeDue(at now: Instant) -> [ContentDigest] {
    var due: [ContentDigest] = []
    while let first = ends.min, first.until <= now {
      _ = ends.removeMin()
      guard placed[first.digest]?.until == first.until else { continue }
      placed[first.digest] = nil
      due.append(first.digest)
    }
    return due
  }
}
