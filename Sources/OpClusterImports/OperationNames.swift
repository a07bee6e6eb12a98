// Valid names for a manifest, made of any texts, each given once.

struct OperationNames {
  private var used: Set<String> = []
  /// By the name that was wanted, so that many equal ones are not tried one after another.
  private var next: [String: Int] = [:]

  /// The nearest valid name that is free: other signs become `_`, and `-2` and so on follows.
  mutating func claim(_ text: String) -> String {
    let name = Self.valid(text)
    if used.insert(name).inserted { return name }
    var number = next[name] ?? 2
    while !used.insert("\(name)-\(number)").inserted { number += 1 }
    next[name] = number + 1
    return "\(name)-\(number)"
  }

  /// At most 112 bytes, so that a number fits behind it.
  static func valid(_ text: String) -> String {
    var bytes = text.utf8.prefix(112).map { isNameByte($0) ? $0 : UInt8(ascii: "_") }
    if bytes.first.map({ !isLetter($0) && $0 != UInt8(ascii: "_") }) ?? true {
      bytes.insert(UInt8(ascii: "_"), at: 0)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

func isLetter(_ byte: UInt8) -> Bool {
  (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}
func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
/// Letters, digits, `_`, `.` and `-`.
func isNameByte(_ byte: UInt8) -> Bool {
  isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    || byte == UInt8(ascii: "-")
}
/// Whether a text can be the name of a variable.
func isVariableName(_ text: some StringProtocol) -> Bool {
  guard let first = text.utf8.first, !isDigit(first) else { return false }
  return text.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
}

extension StringProtocol {
  /// Without blanks at both ends.
  var trimmed: String {
    var bytes = Substring(self).utf8
    while let first = bytes.first, isBlank(first) { bytes = bytes.dropFirst() }
    while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
    return String(Substring(bytes))
  }
  /// Parts between blanks.
  var words: [String] {
    utf8.split(whereSeparator: isBlank).map { String(decoding: $0, as: UTF8.self) }
  }
}
