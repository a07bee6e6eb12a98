// Which graphs live, as bits. A question takes this along to the history, which must know of each
// graph whether it had ended: a copy costs a reference for every 4,096 numbers, whereas a list of
// the numbers would cost what the cluster is large.

package import OpClusterModel

package struct GraphBitmap: Sendable {
  /// The bits of 4,096 consecutive numbers. Copies share them until one is changed.
  private struct Block: Sendable {
    /// The numbers divided by 4,096.
    let position: UInt32
    var count = 0
    var words = [UInt64](repeating: 0, count: GraphBitmap.wordsEach)

    init(position: UInt32) { self.position = position }
  }

  private static let numberBits: UInt32 = 12
  private static let wordsEach = 1 << (Int(numberBits) - 6)

  /// Ascending, none of them without a bit.
  private var blocks: [Block] = []

  package init() {}

  package init(_ graphs: some Sequence<GraphID>) {
    for graph in graphs { insert(graph) }
  }

  /// The bytes that a copy may come to keep for itself.
  package var bytes: Int {
    blocks.count * (MemoryLayout<Block>.stride + Self.wordsEach * MemoryLayout<UInt64>.stride)
  }

  // MARK: - Changes

  /// Costs a binary search; with the first number of a block also the blocks behind it, of which
  /// there are none where numbers ascend.
  package mutating func insert(_ graph: GraphID) {
    let (position, word, bit) = Self.place(of: graph.number)
    let at = self.at(position)
    if at == blocks.count || blocks[at].position != position {
      blocks.insert(Block(position: position), at: at)
    }
    guard blocks[at].words[word] & bit == 0 else { return }
    blocks[at].words[word] |= bit
    blocks[at].count += 1
  }

  /// Costs a binary search; with the last number of a block also the blocks behind it.
  package mutating func remove(_ graph: GraphID) {
    let (position, word, bit) = Self.place(of: graph.number)
    let at = self.at(position)
    guard at < blocks.count, blocks[at].position == position,
      blocks[at].words[word] & bit != 0
    else { return }
    blocks[at].words[word] &= ~bit
    blocks[at].count -= 1
    if blocks[at].count == 0 { blocks.remove(at: at) }
  }

  // MARK: - Questions

  package func contains(_ number: UInt32) -> Bool {
    let (position, word, bit) = Self.place(of: number)
    let at = self.at(position)
    return at < blocks.count && blocks[at].position == position && blocks[at].words[word] & bit != 0
  }

  /// The smallest number that is at least `number` and not in the set; nil if there is none. Costs
  /// a binary search, and a sixty-fourth of the numbers in between.
  package func nextAbsent(from number: UInt32) -> UInt32? {
    var (position, word, bit) = Self.place(of: number)
    var at = self.at(position)
    // The bits below the first number do not count.
    var below = bit - 1
    while at < blocks.count, blocks[at].position == position {
      while word < Self.wordsEach {
        let absent = ~blocks[at].words[word] & ~below
        if absent != 0 {
          return position << Self.numberBits + UInt32(word) << 6
            + UInt32(absent.trailingZeroBitCount)
        }
        (word, below) = (word + 1, 0)
      }
      if position == UInt32.max >> Self.numberBits { return nil }
      (position, word, at) = (position + 1, 0, at + 1)
    }
    return max(number, position << Self.numberBits)
  }

  /// Ascending, disjoint, not adjacent. Costs the blocks and the ranges.
  package var ranges: [ClosedRange<UInt32>] {
    var found: [ClosedRange<UInt32>] = []
    for block in blocks {
      for (word, bits) in block.words.enumerated() {
        var (bits, passed) = (bits, UInt32(0))
        let first = block.position << Self.numberBits + UInt32(word) << 6
        while bits != 0 {
          let absent = UInt32(bits.trailingZeroBitCount)
          bits >>= UInt64(absent)
          let present = UInt32((~bits).trailingZeroBitCount)
          let lower = first + passed + absent
          let range = lower...(lower + (present - 1))
          if let last = found.last, last.upperBound + 1 == lower {
            found[found.count - 1] = last.lowerBound...range.upperBound
          } else {
            found.append(range)
          }
          passed += absent + present
          bits = present == 64 ? 0 : bits >> UInt64(present)
        }
      }
    }
    return found
  }

  // MARK: -

  private static func place(of number: UInt32) -> (position: UInt32, word: Int, bit: UInt64) {
    let rest = number & (1 << numberBits - 1)
    return (number >> numberBits, Int(rest >> 6), 1 << UInt64(rest & 63))
  }

  /// The first block that is not before a position.
  private func at(_ position: UInt32) -> Int {
    // Most graphs that come and go are among the newest.
    if let last = blocks.last, last.position <= position {
      return last.position == position ? blocks.count - 1 : blocks.count
    }
    var (low, high) = (0, blocks.count)
    while low < high {
      let middle = (low + high) / 2
      if blocks[middle].position < position { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
