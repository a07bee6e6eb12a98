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

  private var until: [ContentDigest: Instant] = [:]
  /// Obsolete where a time was changed since.
  private var ends: Heap<End> = []
  private let limit: Int
  /// How long they wait for their submission, once they are there.
  static let timeToSubmit = Span.seconds(600)

  init(limit: Int = Limits.placedContents) { self.limit = limit }

  var count: Int { until.count }
  var nextEnd: Instant? { ends.min?.until }
  func contains(_ digest: ContentDigest) -> Bool { until[digest] != nil }

  /// False: there are too many.
  mutating func keep(_ digest: ContentDigest, until moment: Instant) -> Bool {
    if until[digest] == nil, until.count >= limit { return false }
    if until[digest] == moment { return true }
    until[digest] = moment
    ends.insert(End(until: moment, digest: digest))
    return true
  }

  /// Those whose time is over, in order.
  mutating func takeDue(at now: Instant) -> [ContentDigest] {
    var due: [ContentDigest] = []
    while let first = ends.min, first.until <= now {
      _ = ends.removeMin()
      guard until[first.digest] == first.until else { continue }
      until[first.digest] = nil
      due.append(first.digest)
    }
    return due
  }
}
