// Entries of the operations of a graph that stand elsewhere than the graph's own block of places:
// for single ones, and for whole pages (`CellTable`) that changed together.

/// An entry with a place in a queue; the operations of a page have places that follow each other.
protocol Placed: Sendable {
  var place: UInt64 { get set }
}

struct PlaceTable<Entry: Placed>: Sendable {
  /// By index. Looked up; iterated only sorted.
  private var single: [UInt32: Entry] = [:]
  /// By page, with the place of its first operation. A single entry of the page is newer.
  private var pages: [UInt32: Entry] = [:]
  private let pageBits: UInt32

  init(pageBits: UInt32) { self.pageBits = pageBits }

  @inline(__always)
  var isEmpty: Bool { single.isEmpty && pages.isEmpty }

  subscript(index: UInt32) -> Entry? {
    get {
      if let own = single[index] { return own }
      guard var entry = pages[index >> pageBits] else { return nil }
      entry.place += UInt64(index & ((1 << pageBits) - 1))
      return entry
    }
    set { single[index] = newValue }
  }

  /// Gives the operations of a span the entry, with places that follow each other. A step for each
  /// page.
  mutating func set(_ entry: Entry, for span: OperationSpan) {
    if span.isSingle {
      single[span.first] = entry
      return
    }
    // The last page may be of one operation, with an older entry of its own.
    single[span.range.upperBound - 1] = nil
    var entry = entry
    for page in (span.first >> pageBits)...(span.range.upperBound - 1)
      >> pageBits
    {
      pages[page] = entry
      entry.place += 1 << UInt64(pageBits)
    }
  }

  /// The operations below `count` that have an entry, ascending; some overlap. Costs their number,
  /// and its logarithm.
  func ranges(below count: UInt32) -> [Range<UInt32>] {
    let whole = pages.keys.map { page in
      let first = page << pageBits
      return first..<first + min(1 << pageBits, count - first)
    }
    let alone = single.keys.map { $0..<($0 + 1) }
    return (whole + alone).sorted {
      ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound)
    }
  }

  /// The indices below `count` that have an entry, ascending, each once.
  func indices(below count: UInt32) -> [UInt32] {
    var found: [UInt32] = []
    for range in ranges(below: count) {
      for index in range where found.last.map({ $0 < index }) ?? true { found.append(index) }
    }
    return found
  }
}
