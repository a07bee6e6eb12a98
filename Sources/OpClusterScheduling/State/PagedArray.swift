// An array that grows without a pause. The standard one moves all elements when it doubles: of
// 200,000 demand classes that takes as long as many turns. Amortised that costs the same; but
// everybody waits for the one turn in which it happens.

/// Elements in pages, of which only the last ever moves.
struct PagedArray<Element: Sendable>: Sendable {
  private static var pageBits: Int { 9 }
  private static var pageSize: Int { 1 << pageBits }
  private var pages: [[Element]] = []
  private(set) var count = 0

  @inline(__always)
  subscript(index: Int) -> Element {
    _read { yield pages[index >> Self.pageBits][index & (Self.pageSize - 1)] }
    _modify { yield &pages[index >> Self.pageBits][index & (Self.pageSize - 1)] }
  }

  mutating func append(_ element: Element) {
    if count & (Self.pageSize - 1) == 0 { pages.append([]) }
    pages[pages.count - 1].append(element)
    count += 1
  }

  func forEach(_ body: (Element) -> Void) {
    for page in pages { for element in page { body(element) } }
  }
}
