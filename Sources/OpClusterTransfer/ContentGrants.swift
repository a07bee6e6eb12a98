// Who may read what of a store, and until when. A value; the server of the store owns it.

import HeapModule
import OpClusterModel

/// The grants that have not ended. Each method costs the logarithm of their number for each grant
/// that it adds or ends.
struct ContentGrants: Sendable {
  private struct End: Comparable {
    var until: Instant
    var reader: ContentReader
    var digest: ContentDigest
    static func < (one: Self, other: Self) -> Bool { one.until < other.until }
  }

  private var byReader: [ContentReader: [ContentDigest: Instant]] = [:]
  /// By time; obsolete where a grant was renewed or revoked since.
  private var ends: Heap<End> = []
  private(set) var count = 0
  let limit: Int

  init(limit: Int = Limits.contentGrants) { self.limit = limit }

  /// Everybody who may read something.
  var readers: some Sequence<ContentReader> { byReader.keys }

  /// Adds a grant, or renews it; never shortens one. False if there are too many.
  mutating func add(_ grant: ContentGrant) -> Bool {
    if let known = byReader[grant.reader]?[grant.digest] {
      if grant.until <= known { return true }
    } else {
      if count >= limit { return false }
      count += 1
    }
    byReader[grant.reader, default: [:]][grant.digest] = grant.until
    ends.insert(End(until: grant.until, reader: grant.reader, digest: grant.digest))
    if ends.count > 2 * count + 64 { dropObsoleteEnds() }
    return true
  }

  private mutating func dropObsoleteEnds() {
    ends = Heap(ends.unordered.filter { byReader[$0.reader]?[$0.digest] == $0.until })
  }

  /// Ends all grants of a reader.
  mutating func revoke(_ reader: ContentReader) {
    count -= byReader.removeValue(forKey: reader)?.count ?? 0
  }

  /// Ends the grants whose time is over; true if a reader may read nothing any more.
  mutating func endOld(at now: Instant) -> Bool {
    var hasReaderLeft = false
    while let end = ends.min, end.until <= now {
      _ = ends.removeMin()
      guard byReader[end.reader]?[end.digest] == end.until else { continue }
      byReader[end.reader]?[end.digest] = nil
      count -= 1
      if byReader[end.reader]?.isEmpty == true {
        byReader[end.reader] = nil
        hasReaderLeft = true
      }
    }
    return hasReaderLeft
  }

  func count(of reader: ContentReader) -> Int { byReader[reader]?.count ?? 0 }

  /// When the next grant ends; nil: there is none.
  var nextEnd: Instant? { ends.min?.until }

  func allows(_ reader: ContentReader, _ digest: ContentDigest, at now: Instant) -> Bool {
    guard let until = byReader[reader]?[digest] else { return false }
    return now < until
  }
}
