// Sorts names as people expect: `w2` before `w10`. Pure.

/// Whether a name comes before another. Compares runs of digits by value and everything else by
/// bytes; names that differ only in leading zeros by bytes. Linear in the lengths.
public func comesBefore(_ one: String, _ other: String) -> Bool {
  var (left, right) = (Array(one.utf8)[...], Array(other.utf8)[...])
  while let first = left.first, let second = right.first {
    if isDigit(first), isDigit(second) {
      let (number, otherNumber) = (takeNumber(&left), takeNumber(&right))
      if number.count != otherNumber.count { return number.count < otherNumber.count }
      if number != otherNumber { return number.lexicographicallyPrecedes(otherNumber) }
    } else {
      if first != second { return first < second }
      left.removeFirst()
      right.removeFirst()
    }
  }
  if left.isEmpty != right.isEmpty { return left.isEmpty }
  return one.utf8.lexicographicallyPrecedes(other.utf8)
}

private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

/// Takes the digits at the beginning, without leading zeros. Returns bytes: there may be too many
/// digits for a number.
private func takeNumber(_ bytes: inout ArraySlice<UInt8>) -> [UInt8] {
  let digits = bytes.prefix(while: isDigit)
  bytes = bytes.dropFirst(digits.count)
  return Array(digits.drop { $0 == 0x30 })
}
