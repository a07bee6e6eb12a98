// What lies in a store, what has to stay, and what leaves first. A value without I/O; ContentStore
// owns it and does to the disk what it says.

import HeapModule
import OpClusterModel

/// The contents of a store. No method costs more than what it adds or drops, times the logarithm of
/// the contents.
struct StoreIndex: Sendable {
  struct Entry: Hashable, Sendable {
    var size: Int64
    /// It has to stay: somebody may still need it.
    var isKept: Bool
    /// When it was used last, in uses of the whole store.
    fileprivate(set) var use: UInt64 = 0
    /// The file as it was when its bytes were compared with its digest; nil: never in this life.
    var checked: FileStamp?
  }

  /// A use of an entry; obsolete once the entry was used again, kept or dropped.
  private struct Use: Comparable {
    var number: UInt64
    var digest: ContentDigest
    static func < (one: Self, other: Self) -> Bool { one.number < other.number }
  }

  /// The most bytes of all contents, with those that are on their way,
  let limit: Int64
  /// and the most contents: whoever must know them all is not to be told of more than it counts.
  let mostContents: Int
  private(set) var entries: [ContentDigest: Entry] = [:]
  /// Bytes of all contents.
  private(set) var bytes: Int64 = 0
  /// Bytes of those that have to stay.
  private(set) var keptBytes: Int64 = 0
  /// Bytes promised to contents that are on their way.
  private(set) var reservedBytes: Int64 = 0
  private(set) var keptCount = 0
  private(set) var reservedCount = 0
  private var lastUse: UInt64 = 0
  /// Uses of what may leave, the earliest first.
  private var uses: Heap<Use> = []

  init(limit: Int64, mostContents: Int = Limits.contentsPerStore) {
    self.limit = max(limit, 0)
    self.mostContents = mostContents
  }

  subscript(_ digest: ContentDigest) -> Entry? { entries[digest] }

  /// Adds a content, or notes a use of one that is there; one of another size takes its place, as
  /// it was only a part.
  mutating func add(_ content: StoredContent, isKept: Bool, checked: FileStamp?) {
    let known = entries[content.digest]
    if let known, known.size != content.size { drop(content.digest) }
    let isKept = isKept || known?.isKept == true
    if entries[content.digest] == nil {
      entries[content.digest] = Entry(size: content.size, isKept: false)
      bytes += content.size
    }
    if let checked { entries[content.digest]?.checked = checked }
    if isKept { keep(content.digest) }
    noteUse(content.digest)
  }

  mutating func noteCheck(_ digest: ContentDigest, _ stamp: FileStamp) {
    entries[digest]?.checked = stamp
  }

  /// Makes it one of those that have to stay.
  mutating func keep(_ digest: ContentDigest) {
    guard let entry = entries[digest], !entry.isKept else { return }
    entries[digest]?.isKept = true
    keptBytes += entry.size
    keptCount += 1
  }

  /// Lets it leave when its room is needed.
  mutating func letGo(_ digest: ContentDigest) {
    guard let entry = entries[digest], entry.isKept else { return }
    entries[digest]?.isKept = false
    keptBytes -= entry.size
    keptCount -= 1
    noteUse(digest)
  }

  mutating func noteUse(_ digest: ContentDigest) {
    guard entries[digest] != nil else { return }
    lastUse += 1
    entries[digest]?.use = lastUse
    if uses.count > 2 * entries.count + 64 { dropObsoleteUses() }
    if entries[digest]?.isKept == false { uses.insert(Use(number: lastUse, digest: digest)) }
  }

  private mutating func dropObsoleteUses() {
    uses = Heap(uses.unordered.filter(stands))
  }

  private func stands(_ use: Use) -> Bool {
    guard let entry = entries[use.digest] else { return false }
    return entry.use == use.number && !entry.isKept
  }

  mutating func drop(_ digest: ContentDigest) {
    guard let entry = entries.removeValue(forKey: digest) else { return }
    bytes -= entry.size
    guard entry.isKept else { return }
    keptBytes -= entry.size
    keptCount -= 1
  }

  /// Promises room for a content, or more of it. Returns those that leave for it, the longest
  /// unused first; nil: there is no room, since too much has to stay.
  mutating func reserve(_ wanted: Int64, isNew: Bool = true) -> [ContentDigest]? {
    let count = isNew ? 1 : 0
    guard wanted >= 0, wanted <= limit - keptBytes - reservedBytes,
      keptCount + reservedCount + count <= mostContents
    else { return nil }
    reservedBytes += wanted
    reservedCount += count
    var left: [ContentDigest] = []
    while bytes + reservedBytes > limit || entries.count + reservedCount > mostContents,
      let use = uses.popMin()
    {
      guard stands(use) else { continue }
      drop(use.digest)
      left.append(use.digest)
    }
    return left
  }

  /// Takes back the promises for a content: it has come, or never will.
  mutating func release(_ wanted: Int64) {
    reservedBytes -= wanted
    reservedCount -= 1
  }
}
