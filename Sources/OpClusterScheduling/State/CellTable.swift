// Operation cells in pages. A page costs memory only for what distinguishes its operations: nothing
// while all are as their stage says, one cell while they are equal, and a cell for each after a
// change of one alone. A million array elements that wait, or were cancelled, cost a few thousand
// cells.

import OpClusterModel

struct CellTable: Sendable {
  /// The usual size of a page, as a power of two. Tests take smaller pages too, with which few
  /// operations do what many do; one of 0 gives each operation a cell of its own.
  static let usualPageBits: UInt32 = 8
  let pageBits: UInt32
  var pageSize: UInt32 { 1 << pageBits }

  /// Empty, with one cell for all of the page's operations, or with a cell for each.
  private var pages: [[OperationCell]]
  let count: UInt32

  init(count: UInt32, pageBits: UInt32 = CellTable.usualPageBits) {
    self.count = count
    self.pageBits = pageBits
    let pageCount = (UInt64(count) + (1 << UInt64(pageBits)) - 1) >> UInt64(pageBits)
    pages = Array(repeating: [], count: Int(pageCount))
  }

  /// Whether the state of an operation is stored here, and not that of its stage.
  @inline(__always)
  func hasPage(of index: UInt32) -> Bool { !pages[Int(index >> pageBits)].isEmpty }

  /// Whether the state of any of these operations is stored here. A step for each page.
  func hasPages(in range: Range<UInt32>) -> Bool {
    if range.isEmpty { return false }
    return ((range.lowerBound >> pageBits)...((range.upperBound - 1) >> pageBits)).contains {
      !pages[Int($0)].isEmpty
    }
  }

  /// The first operation from `index` on, before `end`, that is not known to be blocked; `end` if
  /// there is none. Expects that `index` has a page. A short step for each operation.
  func firstUnblocked(from index: UInt32, before end: UInt32) -> UInt32 {
    let page = pages[Int(index >> pageBits)]
    let pageEnd = pageBoundary(after: index, before: end)
    var at = index
    while at < pageEnd, page[page.count == 1 ? 0 : Int(at & (pageSize - 1))].blockers > 0 {
      at += 1
    }
    return at
  }

  /// Whether each operation of the page has a cell of its own.
  @inline(__always)
  func hasOwnCells(of index: UInt32) -> Bool {
    let page = index >> pageBits
    return pages[Int(page)].count == Int(length(of: page))
  }

  /// The cell of an operation; nil if its page is empty: its stage then has the common state.
  @inline(__always)
  func stored(_ index: UInt32) -> OperationCell? {
    let page = pages[Int(index >> pageBits)]
    if page.isEmpty { return nil }
    return page[page.count == 1 ? 0 : Int(index & (pageSize - 1))]
  }

  /// Appends the endings of the page that begins with `index`, of which each operation has a cell
  /// of its own; returns the beginning of the next page.
  func appendEndings(ofPage index: UInt32, to endings: inout [UInt8]) -> UInt32 {
    let page = pages[Int(index >> pageBits)]
    let first = endings.count
    // Made room for at once: to append a million one by one takes several times as long.
    endings.append(contentsOf: repeatElement(0, count: page.count))
    for at in page.indices { endings[first + at] = page[at].ending.rawValue }
    return index + UInt32(page.count)
  }

  /// Changes an own cell.
  @inline(__always)
  @discardableResult
  mutating func update<Result>(
    _ index: UInt32, _ body: (inout OperationCell) -> Result
  ) -> Result {
    body(&pages[Int(index >> pageBits)][Int(index & (pageSize - 1))])
  }

  /// Gives each operation of the page of `index` a cell of its own; `pristine` gives the state of
  /// those that have none.
  mutating func materialise(_ index: UInt32, pristine: (UInt32) -> OperationCell) {
    let number = index >> pageBits
    if let common = pages[Int(number)].first {
      pages[Int(number)] = Array(repeating: common, count: Int(length(of: number)))
      return
    }
    let first = number << pageBits
    pages[Int(number)] = (first..<(first + length(of: number))).map(pristine)
  }

  /// Gives all operations of whole pages the same cell.
  mutating func fill(_ range: Range<UInt32>, with cell: OperationCell) {
    precondition(isWhole(range), "not whole pages")
    for page in (range.lowerBound >> pageBits)...((range.upperBound - 1) >> pageBits) {
      pages[Int(page)] = [cell]
    }
  }

  /// The end of the neighbours from `index` on, before `end`, that whole pages say to be equal. At
  /// least `index + 1`: an operation with a cell of its own is alone. Expects that all of them are
  /// of one stage. A step for each page.
  func equalEnd(from index: UInt32, before end: UInt32) -> UInt32 {
    guard index & (pageSize - 1) == 0 else { return index + 1 }
    let first = pages[Int(index >> pageBits)]
    var reached = index
    while reached < end {
      let page = reached >> pageBits
      let (count, next) = (pages[Int(page)].count, reached + length(of: page))
      guard next <= end, count == first.count, count <= 1,
        count == 0 || pages[Int(page)][0] == first[0]
      else { break }
      reached = next
    }
    return max(reached, index + 1)
  }

  /// The end of the neighbours from `index` on, before `end`, that a look at `index` tells of: its
  /// page, if that has no own cells.
  func lookEnd(from index: UInt32, before end: UInt32) -> UInt32 {
    hasOwnCells(of: index) ? index + 1 : pageBoundary(after: index, before: end)
  }

  /// The beginning of the next page behind `index`, at most `end`.
  func pageBoundary(after index: UInt32, before end: UInt32) -> UInt32 {
    let next = (UInt64(index >> pageBits) + 1) << pageBits
    return UInt32(min(UInt64(end), next))
  }

  /// The number of operations of a page; less than `pageSize` only for the last.
  @inline(__always)
  private func length(of page: UInt32) -> UInt32 {
    min(pageSize, count - page << pageBits)
  }

  private func isWhole(_ range: Range<UInt32>) -> Bool {
    !range.isEmpty && range.lowerBound & (pageSize - 1) == 0
      && (range.upperBound & (pageSize - 1) == 0 || range.upperBound == count)
  }

  var pageCount: Int { pages.count }

  /// Frees pages of a table that nobody needs any more.
  mutating func removeLastPages(_ count: Int) { pages.removeLast(min(pages.count, count)) }

  /// The number of stored cells.
  var cellCount: Int { pages.reduce(0) { $0 + $1.count } }
}
