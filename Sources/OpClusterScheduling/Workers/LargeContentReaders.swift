// Workers that fetch a large content: as soon as one of them has it, some of the others are told
// that it is there, so that many do not share what one holder can send. A value; `tellReaders`
// decides. Not durable: who is not remembered goes on where it began.

import DequeModule
import OpClusterModel

/// Each method costs the same; `endLine` costs the readers of the content.
struct LargeContentReaders: Sendable {
  /// By content, the one whose turn it is first. Some have it meanwhile, or have left.
  private var readers: [ContentDigest: Deque<UInt32>] = [:]
  /// Looked up, never iterated.
  private var members: Set<ToldContent> = []
  let most: Int

  /// - Parameter most: So many pairs of a reader and a content are remembered.
  init(most: Int = Limits.readersToBeTold) { self.most = most }

  var count: Int { members.count }

  /// It fetches the content; its turn is the last one, unless it has one.
  mutating func enterLine(_ worker: UInt32, for digest: ContentDigest) {
    guard members.count < most,
      members.insert(ToldContent(worker: worker, digest: digest)).inserted
    else { return }
    readers[digest, default: []].append(worker)
  }

  /// Takes out the one whose turn it is; nil: there is none.
  mutating func takeNext(for digest: ContentDigest) -> UInt32? {
    guard let worker = readers[digest]?.popFirst() else { return nil }
    members.remove(ToldContent(worker: worker, digest: digest))
    if readers[digest]?.isEmpty == true { readers[digest] = nil }
    return worker
  }

  /// Nobody needs it any more.
  mutating func endLine(for digest: ContentDigest) {
    for worker in readers.removeValue(forKey: digest) ?? [] {
      members.remove(ToldContent(worker: worker, digest: digest))
    }
  }

  /// For the invariants.
  var isConsistent: Bool {
    readers.reduce(0) { $0 + $1.value.count } == members.count
      && !readers.contains { $0.value.isEmpty }
  }
}
