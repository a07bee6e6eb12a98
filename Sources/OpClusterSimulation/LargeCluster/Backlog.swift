// What waits, the oldest first: an array whose taken front is dropped now and then.

struct Backlog<Element: Sendable>: Sendable {
  private var elements: [Element] = []
  private var taken = 0

  var count: Int { elements.count - taken }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[taken] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard let first else { return nil }
    taken += 1
    if taken == elements.count {
      elements.removeAll(keepingCapacity: true)
      taken = 0
    } else if taken >= 1_024, taken * 2 >= elements.count {
      // Amortised: as many were taken as are moved.
      elements.removeFirst(taken)
      taken = 0
    }
    return first
  }

  /// Removes what a test holds for, and returns it in order.
  mutating func takeOut(where isMeant: (Element) -> Bool) -> [Element] {
    let waiting = elements[taken...]
    let removed = waiting.filter(isMeant)
    if removed.isEmpty { return [] }
    elements = waiting.filter { !isMeant($0) }
    taken = 0
    return removed
  }
}
