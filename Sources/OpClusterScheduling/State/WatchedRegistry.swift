// A registry that knows which of its elements may have changed since somebody last took note: what
// is derived from each element follows the changes, and nobody compares all elements.

/// An element that carries the mark of a noted change.
protocol Watchable: Blankable {
  var isNoted: Bool { get set }
}

struct WatchedRegistry<Element: Watchable>: Sendable {
  private var registry = Registry<Element>()
  /// The numbers of elements that came, left, or may have changed; each once while it is there.
  private(set) var changed: [UInt32] = []

  var count: Int { registry.count }
  var numbers: [UInt32] { registry.numbers }
  func firstNumber(where isWanted: (UInt32) -> Bool) -> UInt32? {
    registry.firstNumber(where: isWanted)
  }
  var hasChanged: Bool { !changed.isEmpty }
  func contains(_ number: UInt32) -> Bool { registry.contains(number) }
  func find(_ number: UInt32) -> Element? { registry.find(number) }
  mutating func freeRetired() { registry.freeRetired() }
  func numbers(after last: UInt32?, limit: Int) -> [UInt32] {
    registry.numbers(after: last, limit: limit)
  }

  /// The element, which must exist; a bug otherwise. Opened for a change, it counts as changed.
  subscript(number: UInt32) -> Element {
    @inline(__always) _read { yield registry[number] }
    @inline(__always) _modify {
      let slot = registry.knownSlot(number)
      note(number, in: slot)
      yield &registry[slot: slot]
    }
  }

  /// Changes an element in what nothing is derived from: it does not count as changed.
  @inline(__always)
  mutating func updateUnnoted(_ number: UInt32, _ body: (inout Element) -> Void) {
    body(&registry[number])
  }

  @inline(__always)
  private mutating func note(_ number: UInt32, in slot: Int) {
    if registry[slot: slot].isNoted { return }
    registry[slot: slot].isNoted = true
    changed.append(number)
  }

  mutating func insert(_ element: Element, number: UInt32) {
    registry.insert(element, number: number)
    note(number, in: registry.knownSlot(number))
  }

  mutating func remove(_ number: UInt32) {
    guard registry.contains(number) else { return }
    note(number, in: registry.knownSlot(number))
    registry.remove(number)
  }

  /// The changes since the last call.
  mutating func takeChanged() -> [UInt32] {
    if changed.isEmpty { return [] }
    for number in changed where registry.contains(number) { registry[number].isNoted = false }
    var taken: [UInt32] = []
    swap(&taken, &changed)
    return taken
  }
}
