// A JSON parser that forgives nothing: trailing commas, repeated keys, raw control characters,
// leading zeros and anything after the document are errors. For checking what the writer wrote.

indirect enum StrictJSON: Equatable {
  case string(String)
  case number(Double)
  case flag(Bool)
  case array([StrictJSON])
  case object([String: StrictJSON])

  struct Problem: Error { var what: String }

  init(_ text: String) throws {
    var parser = Parser(bytes: Array(text.utf8))
    self = try parser.document()
  }

  subscript(_ key: String) -> StrictJSON? {
    if case .object(let members) = self { members[key] } else { nil }
  }
  subscript(_ at: Int) -> StrictJSON? {
    if case .array(let elements) = self, elements.indices.contains(at) { elements[at] } else { nil }
  }
  /// Every key anywhere in it.
  var keys: [String] {
    switch self {
    case .object(let members): members.flatMap { [$0.key] + $0.value.keys }
    case .array(let elements): elements.flatMap(\.keys)
    default: []
    }
  }

  private struct Parser {
    let bytes: [UInt8]
    var at = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func document() throws -> StrictJSON {
      let value = try value()
      skipBlanks()
      guard at == bytes.count else { throw Problem(what: "text after the document at \(at)") }
      return value
    }

    private mutating func skipBlanks() {
      while at < bytes.count, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[at]) { at += 1 }
    }
    private mutating func take(_ sign: Unicode.Scalar) -> Bool {
      skipBlanks()
      guard at < bytes.count, bytes[at] == UInt8(ascii: sign) else { return false }
      at += 1
      return true
    }
    private mutating func expect(_ sign: Unicode.Scalar) throws {
      guard take(sign) else { throw Problem(what: "no \(sign) at \(at)") }
    }

    private mutating func value() throws -> StrictJSON {
      skipBlanks()
      guard at < bytes.count else { throw Problem(what: "nothing at \(at)") }
      switch bytes[at] {
      case UInt8(ascii: "{"): return try object()
      case UInt8(ascii: "["): return try array()
      case UInt8(ascii: "\""): return .string(try string())
      case UInt8(ascii: "t"): return try word("true", .flag(true))
      case UInt8(ascii: "f"): return try word("false", .flag(false))
      default: return try number()
      }
    }

    private mutating func word(_ word: String, _ value: StrictJSON) throws -> StrictJSON {
      guard bytes[at...].starts(with: word.utf8) else { throw Problem(what: "word at \(at)") }
      at += word.utf8.count
      return value
    }

    private mutating func object() throws -> StrictJSON {
      try expect("{")
      var members: [String: StrictJSON] = [:]
      if take("}") { return .object(members) }
      repeat {
        skipBlanks()
        let key = try string()
        try expect(":")
        let value = try value()
        guard members.updateValue(value, forKey: key) == nil else {
          throw Problem(what: "key \(key) twice")
        }
      } while take(",")
      try expect("}")
      return .object(members)
    }

    private mutating func array() throws -> StrictJSON {
      try expect("[")
      var elements: [StrictJSON] = []
      if take("]") { return .array(elements) }
      repeat { elements.append(try value()) } while take(",")
      try expect("]")
      return .array(elements)
    }

    private mutating func number() throws -> StrictJSON {
      let start = at
      while at < bytes.count, "+-.0123456789eE".utf8.contains(bytes[at]) { at += 1 }
      let text = String(decoding: bytes[start..<at], as: UTF8.self)
      let digits = text.drop { $0 == "-" }
      guard let value = Double(text), value.isFinite, !text.hasPrefix("+"),
        digits == "0" || !digits.hasPrefix("0") || digits.hasPrefix("0."), !text.hasSuffix(".")
      else { throw Problem(what: "number '\(text)' at \(start)") }
      return .number(value)
    }

    private mutating func string() throws -> String {
      guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else {
        throw Problem(what: "no string at \(at)")
      }
      at += 1
      var content: [UInt8] = []
      while at < bytes.count {
        let byte = bytes[at]
        at += 1
        switch byte {
        case UInt8(ascii: "\""):
          guard let text = String(validating: content, as: UTF8.self) else {
            throw Problem(what: "malformed UTF-8")
          }
          return text
        case UInt8(ascii: "\\"): content += try escape()
        case 0..<0x20: throw Problem(what: "raw control character")
        default: content.append(byte)
        }
      }
      throw Problem(what: "string without end")
    }

    private mutating func escape() throws -> [UInt8] {
      guard at < bytes.count else { throw Problem(what: "escape without end") }
      defer { at += 1 }
      switch bytes[at] {
      case UInt8(ascii: "n"): return [0x0a]
      case UInt8(ascii: "r"): return [0x0d]
      case UInt8(ascii: "t"): return [0x09]
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [bytes[at]]
      case UInt8(ascii: "u"):
        guard at + 4 < bytes.count,
          let code = UInt32(String(decoding: bytes[(at + 1)...(at + 4)], as: UTF8.self), radix: 16),
          let scalar = Unicode.Scalar(code)
        else { throw Problem(what: "\\u at \(at)") }
        at += 4
        return Array(String(scalar).utf8)
      default: throw Problem(what: "escape at \(at)")
      }
    }
  }
}
