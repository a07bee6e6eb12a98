// Contents that are to lie in several stores (`replicas`): when to look at each, and which copies
// are under way. A value; `Replication` decides. Not durable: who has what is told anew by each
// worker, and what is wanted follows from the submissions.

import DequeModule
import HeapModule
import OpClusterModel

/// Each method costs a logarithm of the contents, and those that it returns.
struct ContentCopies: Sendable {
  /// A copy that a worker was told to make, in one conversation.
  struct Copy: Hashable, Sendable {
    var worker: UInt32
    var conversation: UInt32
    /// The number of the order, or of an earlier part of it: what the worker says of the content
    /// before it has that, is about something else.
    var order: UInt64 = 0
  }

  private struct Look: Comparable, Sendable {
    var due: Instant
    var digest: ContentDigest
    static func < (one: Self, other: Self) -> Bool {
      (one.due, one.digest) < (other.due, other.digest)
    }
  }

  /// When each is looked at next.
  private var due: [ContentDigest: Instant] = [:]
  /// Obsolete where it is looked at earlier.
  private var looks: Heap<Look> = []
  /// With the moment of the order.
  private var underWay: [ContentDigest: [Copy: Instant]] = [:]
  /// The workers that did not take it.
  private var refused: [ContentDigest: Set<UInt32>] = [:]
  /// What nobody needs any more and was to lie in several stores, until it does; at most
  /// `Limits.lastingCopies`.
  private var lasting: [ContentDigest: (size: Int64, copies: UInt8)] = [:]
  /// Of these the ones that clients ask for; at most `Limits.broughtContents` besides the others.
  private var brought: Set<ContentDigest> = []
  /// Those for which there was no further store, until one comes.
  private var stranded: Set<ContentDigest> = []
  /// The same in the order in which they were found; some have left since.
  private var strandedOrder: Deque<ContentDigest> = []
  /// How many of these are to be looked at again, since a store has come.
  private var reopened = 0
  /// Whether the workers that did not take these are asked again.
  private var isForgiving = false
  private(set) var underWayCount = 0

  /// For the invariants: whether it is looked at again.
  func isFollowed(_ digest: ContentDigest) -> Bool {
    due[digest] != nil || underWay[digest] != nil
  }

  var isEmpty: Bool { due.isEmpty && underWay.isEmpty && stranded.isEmpty }
  /// For tests: entries that are kept.
  var strandedCount: Int { strandedOrder.count }
  /// Whether there is something to look at whatever the time is.
  var hasReopened: Bool { reopened > 0 }
  var nextLook: Instant? { looks.min?.due }

  /// Looks at it at this moment, or earlier.
  mutating func look(at digest: ContentDigest, _ moment: Instant) {
    if let known = due[digest], known <= moment { return }
    due[digest] = moment
    looks.insert(Look(due: moment, digest: digest))
  }

  /// The one to look at now.
  mutating func takeNext(at now: Instant) -> ContentDigest? {
    if let digest = takeReopened() { return digest }
    while let first = looks.min, first.due <= now {
      _ = looks.removeMin()
      guard due[first.digest] == first.due else { continue }
      due[first.digest] = nil
      return first.digest
    }
    return nil
  }

  mutating func order(_ digest: ContentDigest, _ copy: Copy, at now: Instant) {
    if underWay[digest, default: [:]].updateValue(now, forKey: copy) == nil { underWayCount += 1 }
  }

  /// Those that were begun and have not ended, with the moment of their order; some of their
  /// workers may have left.
  func copies(of digest: ContentDigest) -> [Copy: Instant] { underWay[digest] ?? [:] }

  /// It has arrived at a worker, or has not. Whether it was on its way there.
  ///
  /// - Parameter taken: The newest order that the worker has obeyed.
  @discardableResult
  mutating func end(
    _ digest: ContentDigest, at worker: UInt32, ordersTaken taken: UInt64 = .max
  ) -> Bool {
    let copy = underWay[digest]?.keys.first { $0.worker == worker && $0.order <= taken }
    guard let copy else { return false }
    underWay[digest]?[copy] = nil
    underWayCount -= 1
    if underWay[digest]?.isEmpty == true { underWay[digest] = nil }
    return true
  }

  mutating func refuse(_ digest: ContentDigest, by worker: UInt32) {
    refused[digest, default: []].insert(worker)
  }
  func workersThatRefused(_ digest: ContentDigest) -> Set<UInt32> { refused[digest] ?? [] }

  /// Goes on until it lies in so many stores, although nobody needs so many any more: a result is
  /// to outlive its graph.
  ///
  /// - Parameter isNeeded: Whether somebody needs it in fewer stores.
  mutating func last(
    _ content: StoredContent, copies: UInt8, isNeeded: Bool, _ now: Instant
  ) {
    let known = lasting[content.digest]
    guard known != nil || lasting.count - brought.count < Limits.lastingCopies else {
      if !isNeeded { forget(content.digest) }
      return
    }
    lasting[content.digest] = (content.size, max(copies, known?.copies ?? 0))
    brought.remove(content.digest)
    look(at: content.digest, now)
  }

  /// Goes on until it lies in so many stores, or none takes it: a client reaches none of those that
  /// have it. False: too many are being brought.
  mutating func bring(_ content: StoredContent, copies: UInt8, _ now: Instant) -> Bool {
    let digest = content.digest
    if let known = lasting[digest], !brought.contains(digest) {
      lasting[digest] = (known.size, max(known.copies, copies))
    } else if brought.contains(digest) || brought.count < Limits.broughtContents {
      lasting[digest] = (content.size, copies)
      brought.insert(digest)
    } else {
      return false
    }
    look(at: digest, now)
    return true
  }
  func isBrought(_ digest: ContentDigest) -> Bool { brought.contains(digest) }

  /// It lies in so many, or nobody goes on.
  mutating func endLasting(_ digest: ContentDigest) {
    lasting[digest] = nil
    brought.remove(digest)
  }
  func lasting(_ digest: ContentDigest) -> (size: Int64, copies: UInt8)? { lasting[digest] }

  mutating func strand(_ digest: ContentDigest) {
    guard stranded.insert(digest).inserted else { return }
    strandedOrder.append(digest)
    guard strandedOrder.count > 2 * stranded.count + 1_024 else { return }
    // Each has left by an event of its own.
    strandedOrder.removeAll { !stranded.contains($0) }
    reopened = min(reopened, strandedOrder.count)
  }

  /// A store has come, or is heard again: all that found none is looked at again, in parts.
  ///
  /// - Parameter isNew: Whoever did not take something is asked again. One that is heard and silent
  ///   in turns would otherwise be asked for ever.
  mutating func reopenStranded(isNew: Bool) {
    reopened = strandedOrder.count
    if reopened > 0, isNew { isForgiving = true }
  }

  private mutating func takeReopened() -> ContentDigest? {
    while reopened > 0, let digest = strandedOrder.popFirst() {
      reopened -= 1
      let isForgiven = isForgiving
      if reopened == 0 { isForgiving = false }
      guard stranded.remove(digest) != nil else { continue }
      if isForgiven { refused[digest] = nil }
      due[digest] = nil
      return digest
    }
    return nil
  }

  /// Nobody wants copies of it any more.
  mutating func forget(_ digest: ContentDigest) {
    due[digest] = nil
    refused[digest] = nil
    endLasting(digest)
    stranded.remove(digest)
    underWayCount -= underWay.removeValue(forKey: digest)?.count ?? 0
  }
}
