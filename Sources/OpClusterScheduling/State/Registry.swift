// Things that come with ascending numbers and go in any order: graphs, queues, seats. Look-up is
// two array accesses; iteration is by ascending number, so that behaviour never depends on hashing.

import DequeModule

/// Something that can stand for nothing, so that free slots hold no memory. Slots are not optional
/// because reading through an optional copies the whole element.
protocol Blankable: Sendable {
  static var blank: Self { get }
}

struct Registry<Element: Blankable>: Sendable {
  private var slots: [Element] = []
  private var freeSlots: [Int32] = []
  /// Slot by number, from `firstNumber` on; −1 where nothing is left.
  private var slotByNumber: Deque<Int32> = []
  private var firstNumber: UInt32 = 0
  private(set) var count = 0

  @inline(__always)
  private func slot(_ number: UInt32) -> Int? {
    guard number >= firstNumber, Int(number - firstNumber) < slotByNumber.count else {
      return nil
    }
    let slot = slotByNumber[Int(number - firstNumber)]
    return slot < 0 ? nil : Int(slot)
  }

  func contains(_ number: UInt32) -> Bool { slot(number) != nil }

  /// The element, or nil where there is none.
  func find(_ number: UInt32) -> Element? { slot(number).map { slots[$0] } }

  /// The element that the caller knows to be there; a bug otherwise.
  subscript(number: UInt32) -> Element {
    _read { yield slots[knownSlot(number)] }
    _modify { yield &slots[knownSlot(number)] }
  }

  @inline(__always)
  private func knownSlot(_ number: UInt32) -> Int {
    guard let slot = slot(number) else { preconditionFailure("no element \(number)") }
    return slot
  }

  /// Adds an element whose number is higher than any before.
  mutating func insert(_ element: Element, number: UInt32) {
    var element = element
    insert(moving: &element, number: number)
  }

  /// The same without a copy: a blank one is left in its place.
  mutating func insert(moving element: inout Element, number: UInt32) {
    if slotByNumber.isEmpty { firstNumber = number }
    precondition(number >= firstNumber + UInt32(slotByNumber.count), "numbers ascend")
    while firstNumber + UInt32(slotByNumber.count) < number { slotByNumber.append(-1) }
    if let free = freeSlots.popLast() {
      swap(&slots[Int(free)], &element)
      slotByNumber.append(free)
    } else {
      slotByNumber.append(Int32(slots.count))
      slots.append(element)
    }
    count += 1
  }

  mutating func remove(_ number: UInt32) {
    if contains(number) { _ = take(number) }
  }

  /// Takes out an element that the caller knows to be there, without a copy of it.
  mutating func take(_ number: UInt32) -> Element {
    let slot = knownSlot(number)
    var taken = Element.blank
    swap(&taken, &slots[slot])
    freeSlots.append(Int32(slot))
    slotByNumber[Int(number - firstNumber)] = -1
    count -= 1
    while slotByNumber.first == -1 {
      slotByNumber.removeFirst()
      firstNumber += 1
    }
    return taken
  }

  /// Calls `body` with every number, ascending, while it returns true.
  @inline(__always)
  func forEachNumber(_ body: (UInt32) -> Bool) {
    for at in 0..<slotByNumber.count where slotByNumber[at] >= 0 {
      if !body(firstNumber + UInt32(at)) { return }
    }
  }

  /// Numbers in ascending order.
  var numbers: [UInt32] {
    slotByNumber.indices.compactMap {
      slotByNumber[$0] < 0 ? nil : firstNumber + UInt32($0)
    }
  }
}
