// What a registry had at one moment, taken in parts while the registry changes. An array that is
// shared would be copied whole at the next change of one element, which takes 50 ms with 100,000
// graphs. An element that is about to change is copied by itself instead, and the others follow a
// few at a time.

import DequeModule

struct RegistryCopy<Element: Blankable>: Sendable {
  private var entries: Deque<Registry<Element>.Entry> = []
  private var slotCount = 0
  /// The first slots, a part after the other.
  private var parts: [[Element]] = []
  /// Elements of later slots, which were about to change.
  private var early: [Int: Element] = [:]

  /// Has no elements, and all of them.
  init() {}

  /// Constant time. Nothing is copied yet.
  init(_ entries: Deque<Registry<Element>.Entry>, slotCount: Int) {
    self.entries = entries
    self.slotCount = slotCount
  }

  static var slotsOfPart: Int { 256 }

  private var nextSlot: Int { parts.count * Self.slotsOfPart }
  var isWhole: Bool { nextSlot >= slotCount }

  /// Copies an element that is about to change or to leave. A slot that was free is copied too, and
  /// nobody looks it up.
  mutating func keep(_ slot: Int, of slots: [Element]) {
    if slot < nextSlot || slot >= slotCount || early[slot] != nil { return }
    early[slot] = slots[slot]
  }

  /// Copies the next elements. Costs `slotsOfPart`.
  mutating func copyPart(of slots: [Element]) {
    let end = min(nextSlot + Self.slotsOfPart, slotCount)
    parts.append(
      (nextSlot..<end).map { slot in
        if !early.isEmpty, let element = early.removeValue(forKey: slot) { return element }
        // The registry may have given its slots up, when all that it had was taken out.
        return slot < slots.count ? slots[slot] : .blank
      })
  }

  /// Numbers in ascending order.
  var numbers: [UInt32] { entries.compactMap { $0.slot < 0 ? nil : $0.number } }

  /// The element, which must exist. Costs a binary search.
  subscript(number: UInt32) -> Element {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    precondition(low < entries.count && entries[low].number == number, "no element \(number)")
    let slot = Int(entries[low].slot)
    return parts[slot / Self.slotsOfPart][slot % Self.slotsOfPart]
  }
}
