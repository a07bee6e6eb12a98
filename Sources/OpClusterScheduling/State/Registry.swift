// Elements with ascending numbers that are removed in any order: graphs, queues, workers. A look-up
// costs two array accesses if elements leave roughly in the order of arrival, and a binary search
// if few old ones remain among many. Memory and iteration are proportional to the living elements.
// Iteration is by ascending number, so that behaviour never depends on hashing.

import DequeModule

/// An element type with a blank value, so that free slots hold no memory. Slots are not optional,
/// because reading through an optional copies the whole element.
protocol Blankable: Sendable {
  static var blank: Self { get }
}

struct Registry<Element: Blankable>: Sendable {
  private struct Entry: Sendable {
    var number: UInt32
    /// Negative if the element was removed, or is to be copied before it changes: what looks for
    /// an element often need not ask for the two.
    private(set) var code: Int32

    init(number: UInt32, slot: Int32) { (self.number, code) = (number, slot) }

    var isRemoved: Bool { code == -1 }
    var isCopiedFirst: Bool { code < -1 }
    /// The slot of an element that is there.
    var slot: Int { Int(isCopiedFirst ? -2 - code : code) }

    mutating func remove() { code = -1 }
    mutating func copyFirst() { if code >= 0 { code = -2 - code } }
    mutating func noteCopy() { if isCopiedFirst { code = -2 - code } }
  }

  private var slots: [Element] = []
  private var freeSlots: [Int32] = []
  /// Blank elements of slots that nobody needs any more. Freed in parts, since a million of them
  /// take a tenth of a second.
  private var retired: [Element] = []
  /// Ascending. The first is present; others may be removed, but not many more than are present.
  private var entries: Deque<Entry> = []
  private(set) var count = 0
  /// The elements of an earlier moment, while they are copied; else empty. An array is one word,
  /// and views have copies of this value.
  private var copies: [RegistryCopy<Element>] = []

  /// The number of entries, including removed elements, for tests.
  var entryCount: Int { entries.count }

  @inline(__always)
  private func slot(_ number: UInt32) -> Int? {
    guard let at = position(of: number) else { return nil }
    let code = entries[at].code
    if code >= 0 { return Int(code) }
    return entries[at].isRemoved ? nil : entries[at].slot
  }

  /// Found at once if no number is missing between it and the first or the last.
  @inline(__always)
  private func position(of number: UInt32) -> Int? {
    guard !entries.isEmpty, number >= entries[0].number else { return nil }
    let last = entries.count - 1
    guard number <= entries[last].number else { return nil }
    let fromFirst = Int(number - entries[0].number)
    if fromFirst <= last, entries[fromFirst].number == number { return fromFirst }
    let fromLast = last - Int(entries[last].number - number)
    if fromLast >= 0, entries[fromLast].number == number { return fromLast }
    return search(number, from: max(fromLast, 0), through: min(fromFirst, last))
  }

  private func search(_ number: UInt32, from: Int, through: Int) -> Int? {
    var (low, high) = (from, through)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return entries[low].number == number ? low : nil
  }

  func contains(_ number: UInt32) -> Bool { slot(number) != nil }

  /// A copy of the element, or nil if there is none. What is asked often, or at each end of a turn,
  /// asks `contains` and reads through the subscript, which copies nothing but what is read.
  func find(_ number: UInt32) -> Element? { slot(number).map { slots[$0] } }

  /// The element, which must exist; a bug otherwise. Inlined, because the accessors as functions of
  /// their own copy the whole element and allocate memory, whichever field is read.
  subscript(number: UInt32) -> Element {
    @inline(__always) _read { yield slots[knownSlot(number)] }
    @inline(__always) _modify { yield &slots[slotToChange(number)] }
  }

  /// The element of a known slot. While a copy is taken, `slotToChange` gives the slot of one that
  /// changes.
  subscript(slot slot: Int) -> Element {
    @inline(__always) _read { yield slots[slot] }
    @inline(__always) _modify { yield &slots[slot] }
  }

  /// The slot of an element, which must exist; valid until an element is added or removed. Only the
  /// most frequent case is inlined.
  @inline(__always)
  func knownSlot(_ number: UInt32) -> Int {
    if let first = entries.first, number >= first.number {
      let at = Int(number - first.number)
      if at < entries.count {
        let entry = entries[at]
        if entry.number == number, entry.code >= 0 { return Int(entry.code) }
      }
    }
    return distantSlot(number)
  }

  /// The same, of an element that is about to change.
  @inline(__always)
  mutating func slotToChange(_ number: UInt32) -> Int {
    if let first = entries.first, number >= first.number {
      let at = Int(number - first.number)
      if at < entries.count {
        let entry = entries[at]
        if entry.number == number, entry.code >= 0 { return Int(entry.code) }
      }
    }
    return distantSlotToChange(number)
  }

  @inline(never)
  private mutating func distantSlotToChange(_ number: UInt32) -> Int {
    let slot = distantSlot(number)
    if !copies.isEmpty, let at = position(of: number) { keep(at) }
    return slot
  }

  @inline(never)
  private func distantSlot(_ number: UInt32) -> Int {
    guard let slot = slot(number) else { preconditionFailure("no element \(number)") }
    return slot
  }

  /// Adds an element whose number is higher than all before.
  mutating func insert(_ element: Element, number: UInt32) {
    var element = element
    insert(moving: &element, number: number)
  }

  /// Adds an element without a copy; leaves a blank one in its place.
  mutating func insert(moving element: inout Element, number: UInt32) {
    precondition(entries.last.map { $0.number < number } ?? true, "numbers ascend")
    if let free = freeSlots.popLast() {
      swap(&slots[Int(free)], &element)
      entries.append(Entry(number: number, slot: free))
    } else {
      entries.append(Entry(number: number, slot: Int32(slots.count)))
      slots.append(.blank)
      swap(&slots[slots.count - 1], &element)
    }
    count += 1
  }

  mutating func remove(_ number: UInt32) {
    if contains(number) { _ = take(number) }
  }

  /// Removes and returns an element, which must exist, without a copy.
  mutating func take(_ number: UInt32) -> Element {
    guard let at = position(of: number), !entries[at].isRemoved else {
      preconditionFailure("no element \(number)")
    }
    keep(at)
    let slot = entries[at].slot
    var taken = Element.blank
    swap(&taken, &slots[slot])
    freeSlots.append(Int32(slot))
    entries[at].remove()
    count -= 1
    while let first = entries.first, first.isRemoved { entries.removeFirst() }
    // Amortised: at least as many elements were removed as are moved now.
    if entries.count > 2 * count + Self.fewEntries { entries.removeAll(where: \.isRemoved) }
    if count == 0, retired.isEmpty {
      retired = slots
      (slots, freeSlots) = ([], [])
    }
    return taken
  }

  private static var fewEntries: Int { 64 }

  /// Frees some of what nobody needs any more. Called once a turn.
  mutating func freeRetired() {
    if !retired.isEmpty { retired.removeLast(min(retired.count, Self.freedPerTurn)) }
    if retired.isEmpty, retired.capacity > 0 { retired = [] }
  }

  private static var freedPerTurn: Int { 1_024 }

  // MARK: - Copies

  /// Copies an element first that is about to change or to leave.
  private mutating func keep(_ at: Int) {
    guard entries[at].isCopiedFirst else { return }
    copies[0].keep(slots[entries[at].slot], number: entries[at].number)
    entries[at].noteCopy()
  }

  /// Begins a copy of all elements as they are now; there must be none that is not whole. Costs a
  /// few nanoseconds an element.
  mutating func beginCopy() {
    precondition(copies.isEmpty, "one copy at a time")
    copies.append(RegistryCopy(numbers: numbers))
    for at in entries.indices { entries[at].copyFirst() }
  }

  /// Goes on with the copy: the elements of the moment at which it began, when it is whole. Nil
  /// before, and if none has begun. Costs the elements of a part.
  mutating func takePartOfCopy() -> RegistryCopy<Element>? {
    guard var whole = copies.popLast() else { return nil }
    whole.addPart { number in
      guard let at = position(of: number) else { preconditionFailure("no element \(number)") }
      entries[at].noteCopy()
      return slots[entries[at].slot]
    }
    if whole.isWhole { return whole }
    copies.append(whole)
    return nil
  }

  /// A copy in one piece. Costs all elements.
  func copied() -> RegistryCopy<Element> {
    var whole = RegistryCopy<Element>(numbers: numbers)
    while !whole.isWhole { whole.addPart { self[$0] } }
    return whole
  }

  // MARK: - Numbers

  /// Calls `body` with every number, ascending, while it returns true; with the numbers above
  /// `last`, if it is given, which a binary search finds.
  @inline(__always)
  func forEachNumber(after last: UInt32? = nil, _ body: (UInt32) -> Bool) {
    var at = last.map { firstPosition(above: $0) } ?? 0
    while at < entries.count {
      if !entries[at].isRemoved, !body(entries[at].number) { return }
      at += 1
    }
  }

  /// The highest number up to a given one. Costs a binary search, and the holes in between.
  func lastNumber(upTo limit: UInt32) -> UInt32? {
    var at = firstPosition(above: limit)
    while at > 0 {
      at -= 1
      if !entries[at].isRemoved { return entries[at].number }
    }
    return nil
  }

  private func firstPosition(above last: UInt32) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number <= last { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The first numbers above a given one, ascending; uses a binary search.
  func numbers(after last: UInt32?, limit: Int) -> [UInt32] {
    var found: [UInt32] = []
    forEachNumber(after: last) { number in
      guard found.count < limit else { return false }
      found.append(number)
      return true
    }
    return found
  }

  /// Numbers in ascending order.
  var numbers: [UInt32] {
    var found: [UInt32] = []
    found.reserveCapacity(count)
    for entry in entries where !entry.isRemoved { found.append(entry.number) }
    return found
  }

  /// The lowest number that is wanted. Costs those up to it.
  func firstNumber(where isWanted: (UInt32) -> Bool) -> UInt32? {
    entries.first { !$0.isRemoved && isWanted($0.number) }?.number
  }
}
