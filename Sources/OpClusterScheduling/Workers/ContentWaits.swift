// Operations that wait because nobody has a content that they need. A value; `InputContents` says
// who waits, and for how long, `Lineage` what follows.

import HeapModule
import OpClusterModel

/// When an operation has waited long enough for a content.
struct ContentDeadline: Comparable, Sendable {
  var until: Instant
  var operation: OperationID
  var digest: ContentDigest

  static func < (one: Self, other: Self) -> Bool {
    (one.until, one.operation) < (other.until, other.operation)
  }
}

/// Operations in line that wait for a content.
struct ContentWaits: Sendable {
  /// With the moment until which each waits.
  private(set) var byContent: [ContentDigest: [OperationID: Instant]] = [:]
  /// The content that each waits for last.
  private var contents: [OperationID: ContentDigest] = [:]
  private var deadlines: Heap<ContentDeadline> = []
  /// The contents that are waited for until an operation has run again.
  private var recomputed: [OperationID: Set<ContentDigest>] = [:]

  var isEmpty: Bool { byContent.isEmpty }
  var nextDeadline: Instant? { deadlines.min?.until }

  mutating func wait(_ id: OperationID, for digest: ContentDigest, until moment: Instant) {
    byContent[digest, default: [:]][id] = moment
    contents[id] = digest
    deadlines.insert(ContentDeadline(until: moment, operation: id, digest: digest))
  }

  /// Lets an operation wait until another has run again, however long that takes.
  mutating func wait(
    _ id: OperationID, for digest: ContentDigest, untilRecomputed origin: OperationID
  ) {
    byContent[digest, default: [:]][id] = .distantFuture
    contents[id] = digest
    recomputed[origin, default: []].insert(digest)
  }

  /// It has run again, or will not: those that waited for that are due.
  mutating func hasten(after origin: OperationID, at now: Instant) {
    for digest in (recomputed.removeValue(forKey: origin) ?? []).sorted() {
      for id in byContent[digest]?.keys.sorted() ?? [] { wait(id, for: digest, until: now) }
    }
  }

  /// Those that wait for it, in order.
  mutating func take(_ digest: ContentDigest) -> [OperationID] {
    let waiting = byContent.removeValue(forKey: digest).map { $0.keys.sorted() } ?? []
    for id in waiting where contents[id] == digest { contents[id] = nil }
    return waiting
  }

  /// Those whose time is over, at most so many.
  mutating func takeDue(at now: Instant, atMost limit: Int) -> [ContentDeadline] {
    var due: [ContentDeadline] = []
    while due.count < limit, let first = deadlines.min, first.until <= now {
      _ = deadlines.removeMin()
      guard byContent[first.digest]?[first.operation] == first.until else { continue }
      byContent[first.digest]?[first.operation] = nil
      if byContent[first.digest]?.isEmpty == true { byContent[first.digest] = nil }
      if contents[first.operation] == first.digest { contents[first.operation] = nil }
      due.append(first)
    }
    return due
  }

  /// What an operation waits for; nil: nothing.
  func digest(of id: OperationID) -> ContentDigest? { contents[id] }
}

/// A content that a worker was told of in this turn, or has told of.
struct ToldContent: Hashable, Sendable {
  var worker: UInt32
  var digest: ContentDigest
}
