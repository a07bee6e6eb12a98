// Operation cells in pages. A page exists only after a change of one of its operations: a million
// array elements that all wait, or are all ready, cost only the memory of their stage.

import OpClusterModel

struct CellTable: Sendable {
  static let pageBits: UInt32 = 8
  static let pageSize: UInt32 = 1 << pageBits

  private var pages: [[OperationCell]]
  let count: UInt32

  init(count: UInt32) {
    self.count = count
    pages = Array(
      repeating: [], count: Int((UInt64(count) + UInt64(Self.pageSize) - 1) >> Self.pageBits))
  }

  @inline(__always)
  func hasPage(of index: UInt32) -> Bool { !pages[Int(index >> Self.pageBits)].isEmpty }

  /// The cell of an operation; nil if its page does not exist: its stage then has the common state.
  @inline(__always)
  func stored(_ index: UInt32) -> OperationCell? {
    let page = pages[Int(index >> Self.pageBits)]
    return page.isEmpty ? nil : page[Int(index & (Self.pageSize - 1))]
  }

  /// Changes a cell whose page exists.
  @inline(__always)
  @discardableResult
  mutating func update<Result>(
    _ index: UInt32, _ body: (inout OperationCell) -> Result
  ) -> Result {
    body(&pages[Int(index >> Self.pageBits)][Int(index & (Self.pageSize - 1))])
  }

  /// Creates the page of `index`; `pristine` gives the initial state of each operation.
  mutating func materialise(_ index: UInt32, pristine: (UInt32) -> OperationCell) {
    let number = index >> Self.pageBits
    let first = number << Self.pageBits
    let last = UInt32(min(UInt64(count), UInt64(first) + UInt64(Self.pageSize)))
    pages[Int(number)] = (first..<last).map(pristine)
  }

  /// The beginning of the next page behind `index`, at most `end`.
  func pageBoundary(after index: UInt32, before end: UInt32) -> UInt32 {
    let next = (UInt64(index >> Self.pageBits) + 1) << Self.pageBits
    return UInt32(min(UInt64(end), next))
  }

  var pageCount: Int { pages.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) } }
}
