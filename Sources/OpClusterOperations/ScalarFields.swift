// Extracts the scalar fields of an encoded value, for commands that read single values. Scans the
// JSON of our own encoder, so that numbers keep their exact spelling. Any thread.

import FoundationEssentials
import OpClusterModel

enum ScalarFields {
  /// The strings, numbers and truth values directly in an object, in its order. Ignores other
  /// values, nested lists, objects and nulls, and texts beyond `Limits.outputFieldBytes`.
  static func pairs(in json: [UInt8]) -> [OperationOutput.Pair] {
    var pairs: [OperationOutput.Pair] = []
    forEachField(in: json) { name, value in
      if let text = Self.text(value) { pairs.append(.init(key: name, value: text)) }
    }
    return pairs
  }

  /// The JSON of any field of an object; nil if there is none.
  static func field(_ key: String, in json: [UInt8]) -> String? {
    var found: String?
    forEachField(in: json) { name, value in
      if name == key { found = String(decoding: value, as: UTF8.self) }
    }
    return found
  }

  private static func forEachField(
    in json: [UInt8], _ body: (String, ArraySlice<UInt8>) -> Void
  ) {
    guard json.first == UInt8(ascii: "{") else { return }
    var scan = Scan(json)
    scan.at = 1
    while scan.at < json.count, json[scan.at] != UInt8(ascii: "}") {
      let key = scan.takeValue()
      scan.at += 1  // :
      let value = scan.takeValue()
      if scan.at < json.count, json[scan.at] == UInt8(ascii: ",") { scan.at += 1 }
      if let name = Self.text(ofString: key) { body(name, value) }
    }
  }

  private static func text(_ value: ArraySlice<UInt8>) -> String? {
    guard value.count <= Limits.outputFieldBytes else { return nil }
    switch value.first {
    case UInt8(ascii: "\""): return text(ofString: value)
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"), nil: return nil
    default: return String(decoding: value, as: UTF8.self)
    }
  }

  /// A string without its quotes and escapes.
  private static func text(ofString quoted: ArraySlice<UInt8>) -> String? {
    guard quoted.contains(UInt8(ascii: "\\")) else {
      return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
    }
    return try? JSONDecoder().decode(String.self, from: Data(quoted))
  }

  /// A position in the bytes.
  private struct Scan {
    let bytes: [UInt8]
    var at = 0
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the bytes of the value that begins here, and moves `at` behind it.
    mutating func takeValue() -> ArraySlice<UInt8> {
      let start = at
      var depth = 0
      while at < bytes.count {
        switch bytes[at] {
        case UInt8(ascii: "\""):
          skipString()
          if depth == 0 { return bytes[start..<at] }
          continue
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          // The end of the enclosing object: the value was a number or a word.
          if depth == 0 { return bytes[start..<at] }
          depth -= 1
          if depth == 0 {
            at += 1
            return bytes[start..<at]
          }
        case UInt8(ascii: ","), UInt8(ascii: ":"):
          if depth == 0 { return bytes[start..<at] }
        default: break
        }
        at += 1
      }
      return bytes[min(start, at)..<at]
    }

    private mutating func skipString() {
      at += 1
      while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
        at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
      }
      at = min(at + 1, bytes.count)
    }
  }
}
