// What a registry had at one moment, taken in parts while the registry changes. An array that is
// shared would be copied whole at the next change of one element, which takes 50 ms with 100,000
// graphs. An element that is about to change is copied by itself instead, and the others follow a
// few at a time.

struct RegistryCopy<Element: Blankable>: Sendable {
  /// Of all elements, ascending.
  let numbers: [UInt32]
  /// The elements of the first numbers.
  private var parts: [[Element]] = []
  /// Elements of later numbers, which were about to change.
  private var early: [UInt32: Element] = [:]

  /// Has no elements yet.
  init(numbers: [UInt32]) { self.numbers = numbers }

  static var elementsOfPart: Int { 256 }

  private var copied: Int { parts.count * Self.elementsOfPart }
  var isWhole: Bool { copied >= numbers.count }

  /// Takes an element before its turn.
  mutating func keep(_ element: Element, number: UInt32) { early[number] = element }

  /// Takes the next elements. Costs `elementsOfPart`.
  ///
  /// - Parameter element: Has those that were not taken early.
  mutating func addPart(of element: (UInt32) -> Element) {
    if isWhole { return }
    let end = min(copied + Self.elementsOfPart, numbers.count)
    parts.append(
      numbers[copied..<end].map { number in
        early.removeValue(forKey: number) ?? element(number)
      })
  }

  /// The element, which must exist. Costs a binary search.
  subscript(number: UInt32) -> Element {
    var (low, high) = (0, numbers.count)
    while low < high {
      let middle = (low + high) / 2
      if numbers[middle] < number { low = middle + 1 } else { high = middle }
    }
    precondition(low < numbers.count && numbers[low] == number, "no element \(number)")
    return parts[low / Self.elementsOfPart][low % Self.elementsOfPart]
  }
}
