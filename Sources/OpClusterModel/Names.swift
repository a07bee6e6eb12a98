// The valid forms of names; the manifest and the coordinator both refuse others.
// `String.isValidName` is the wider form of worker and key names. Pure.

/// The valid forms of names.
public enum Names {
  /// `[A-Za-z_][A-Za-z0-9_.-]{0,127}`: operations, queues, graphs, outputs, resources.
  public static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 128 else { return false }
    return (isLetter(first) || first == UInt8(ascii: "_")) && text.utf8.allSatisfy(isNameByte)
  }
  /// `[a-z][a-z0-9_]{0,63}`.
  public static func isParameterName(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 64 else { return false }
    return isLower(first)
      && text.utf8.allSatisfy { isLower($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }
  /// `[A-Za-z_][A-Za-z0-9_]*`.
  public static func isVariableName(_ text: String) -> Bool {
    isName(text) && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
  }
  /// `[A-Za-z][A-Za-z0-9_./-]{0,62}`.
  public static func isLabelKey(_ text: String) -> Bool {
    guard let first = text.utf8.first, text.utf8.count <= 63 else { return false }
    return isLetter(first) && text.utf8.allSatisfy { isNameByte($0) || $0 == UInt8(ascii: "/") }
  }

  public static func isNameByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "_.-".utf8.contains(byte)
  }
  public static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
  private static func isLower(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
  }
  private static func isLetter(_ byte: UInt8) -> Bool {
    isLower(byte) || byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
  }
}
