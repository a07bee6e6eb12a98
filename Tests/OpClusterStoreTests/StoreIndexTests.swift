// What may leave a store, and in which order.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterStore

@Suite struct StoreIndexTests {
  @Test("What may leave leaves in the order of its last use, and only as much as is needed")
  func order() {
    var index = StoreIndex(limit: 100)
    for number in 1...4 {
      #expect(index.reserve(25) == [])
      index.release(25)
      index.add(content(number, size: 25), isKept: false, checked: nil)
    }
    index.noteUse(content(1, size: 25).digest)
    #expect(index.reserve(30) == [content(2, size: 25).digest, content(3, size: 25).digest])
    #expect(index.bytes == 50)
    index.release(30)
  }

  @Test("What has to stay stays, and then the store is full")
  func kept() {
    var index = StoreIndex(limit: 100)
    index.add(content(1, size: 60), isKept: true, checked: nil)
    index.add(content(2, size: 30), isKept: false, checked: nil)
    #expect(index.reserve(41) == nil)
    #expect(index.entries.count == 2, "who is refused costs nobody anything")
    #expect(index.reserve(40) == [content(2, size: 30).digest])
    #expect(index.reserve(1) == nil)
    index.release(40)
    index.letGo(content(1, size: 60).digest)
    #expect(index.reserve(100) == [content(1, size: 60).digest])
    #expect(index.keptBytes == 0)
  }

  /// A worker that has run for long had more small files than the coordinator counts, and then
  /// nobody could fetch what was new.
  @Test("However small contents are, there are so many, and new ones come in")
  func number() {
    #expect(StoreIndex(limit: 1).mostContents == Limits.contentsPerStore)
    #expect(Limits.contentsPerStore < Limits.contentsPerWorker)
    var index = StoreIndex(limit: 1_000_000, mostContents: 5)
    for number in 1...100 {
      let left = index.reserve(1)
      #expect(left == (number > 5 ? [content(number - 5, size: 1).digest] : []))
      index.add(content(number, size: 1), isKept: false, checked: nil)
      index.release(1)
    }
    for number in 96...100 { index.keep(content(number, size: 1).digest) }
    #expect(index.reserve(0) == nil, "all have to stay")
    index.letGo(content(98, size: 1).digest)
    #expect(index.reserve(0) == [content(98, size: 1).digest])
    #expect(index.reserve(0) == nil, "there is one on its way")
    #expect(index.reserve(7, isNew: false) == [], "which grows")
    index.release(7)
    #expect(index.reserve(0) == [])
  }

  @Test("Random uses: the figures add up, the limit holds, nothing that has to stay leaves")
  func random() {
    for seed in 0..<50 as Range<UInt64> { randomUses(seed) }
  }

  private func randomUses(_ seed: UInt64) {
    var chance = Chance(seed: seed)
    var index = StoreIndex(limit: 1_000)
    var kept: Set<ContentDigest> = []
    var promised: [Int64] = []
    for _ in 0..<2_000 {
      let number = Int(chance.next() % 40)
      let one = content(number, size: Int64(number) * 9)
      switch chance.next() % 6 {
      case 0, 1:
        guard let left = index.reserve(one.size) else { break }
        #expect(kept.isDisjoint(with: left))
        if chance.next() % 4 == 0 {
          promised.append(one.size)
        } else {
          index.release(one.size)
          let stays = chance.next() % 3 == 0
          index.add(one, isKept: stays, checked: nil)
          if stays { kept.insert(one.digest) }
        }
      case 2:
        index.letGo(one.digest)
        kept.remove(one.digest)
      case 3: index.noteUse(one.digest)
      case 4:
        index.keep(one.digest)
        if index[one.digest] != nil { kept.insert(one.digest) }
      default:
        if let last = promised.popLast() { index.release(last) }
      }
      #expect(index.bytes == index.entries.values.reduce(0) { $0 + $1.size })
      #expect(
        index.keptBytes == index.entries.values.reduce(0) { $0 + ($1.isKept ? $1.size : 0) })
      #expect(index.reservedBytes == promised.reduce(0, +))
      #expect(index.reservedCount == promised.count)
      #expect(index.keptCount == index.entries.values.count { $0.isKept })
      #expect(index.bytes + index.reservedBytes <= index.limit)
      #expect(kept.allSatisfy { index[$0]?.isKept == true })
    }
  }
}

/// A content that exists in name only.
func content(_ number: Int, size: Int64) -> StoredContent {
  StoredContent(
    digest: ContentHash.digest(of: Array("content \(number)".utf8)), size: size)
}

/// Chance from a seed.
struct Chance {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
