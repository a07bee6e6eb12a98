// Why operations of a graph were cancelled or skipped: only for people. In pages like the cells
// (`CellTable`), so that one is found without a search, and a whole array costs little.

import OpClusterModel

struct ReasonTable: Sendable {
  /// A reason without its text, so that nothing has to be released one by one when a graph of a
  /// million leaves.
  private enum Entry: Equatable, Sendable {
    case none
    case request(text: UInt32)
    case dependency(graph: UInt32, index: UInt32, Outcome)
    case failurePolicy
  }

  private let count: UInt32
  private let pageBits: UInt32
  /// Without any as long as there is no reason. A page is empty, or has one entry for all of its
  /// operations or one for each.
  private var pages: [[Entry]] = []
  /// The texts of requests, each once.
  private var texts: [String] = []
  private var numbers: [String: UInt32] = [:]

  init(count: UInt32, pageBits: UInt32) {
    self.count = count
    self.pageBits = pageBits
  }

  subscript(index: UInt32) -> CancelReason? {
    if pages.isEmpty { return nil }
    let page = pages[Int(index >> pageBits)]
    if page.isEmpty { return nil }
    switch page[page.count == 1 ? 0 : Int(index & ((1 << pageBits) - 1))] {
    case .none: return nil
    case .request(let text): return .request(texts[Int(text)])
    case .dependency(let graph, let index, let outcome):
      return .dependency(OperationID(graph: GraphID(graph), index: index), outcome)
    case .failurePolicy: return .failurePolicy
    }
  }

  /// Gives neighbours a reason; an earlier one is forgotten. A step for each whole page, and
  /// for each operation of others. Indices beyond the table are passed over.
  mutating func set(_ reason: CancelReason, for range: Range<UInt32>) {
    let range = range.clamped(to: 0..<count)
    if range.isEmpty { return }
    if pages.isEmpty {
      pages = Array(repeating: [], count: Int((count - 1) >> pageBits) + 1)
    }
    let entry = entry(reason)
    for number in (range.lowerBound >> pageBits)...((range.upperBound - 1) >> pageBits) {
      let first = number << pageBits
      let members = first..<(first + length(of: number))
      let part = range.clamped(to: members)
      if part == members {
        pages[Int(number)] = [entry]
        continue
      }
      let known = pages[Int(number)].count
      if known < members.count {
        pages[Int(number)] = Array(
          repeating: pages[Int(number)].first ?? .none, count: members.count)
      }
      for index in part { pages[Int(number)][Int(index - first)] = entry }
    }
  }

  /// Every operation with a reason, ascending. Costs the operations of pages that have any.
  func forEach(_ body: (UInt32, CancelReason) -> Void) {
    for (number, page) in pages.enumerated() where !page.isEmpty {
      let first = UInt32(number) << pageBits
      for index in first..<(first + length(of: UInt32(number))) {
        if let reason = self[index] { body(index, reason) }
      }
    }
  }

  var pageCount: Int { pages.count }

  /// Frees pages of a table that nobody needs any more.
  mutating func removeLastPages(_ count: Int) { pages.removeLast(min(pages.count, count)) }

  /// The number of operations of a page; less than its size only for the last.
  private func length(of page: UInt32) -> UInt32 {
    min(1 << pageBits, count - page << pageBits)
  }

  private mutating func entry(_ reason: CancelReason) -> Entry {
    switch reason {
    case .request(let text): .request(text: number(of: text))
    case .dependency(let id, let outcome):
      .dependency(graph: id.graph.number, index: id.index, outcome)
    case .failurePolicy: .failurePolicy
    }
  }

  private mutating func number(of text: String) -> UInt32 {
    if let known = numbers[text] { return known }
    let number = UInt32(texts.count)
    texts.append(text)
    numbers[text] = number
    return number
  }
}
