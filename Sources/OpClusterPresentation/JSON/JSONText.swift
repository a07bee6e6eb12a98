// Writes JSON: keys in the order given, absent instead of null, UTF-8. Escapes every character that
// could steer a terminal.
// The caller nests by closures, so brackets always match. Nothing is checked for repeated keys.

public import OpClusterModel

/// A JSON text under construction. Writes a comma unless the last byte is an opening bracket, a
/// colon or a line end; strings end with a quotation mark, so the last byte is enough.
public struct JSONText: Sendable {
  public private(set) var bytes: [UInt8] = []
  /// The byte before `bytes`, after earlier bytes were taken away.
  /// Decides whether the next value needs a comma, although the bytes are gone.
  private var taken: UInt8?
  public init() {}

  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Writes an object as the document, as an element of an array, or as the value of the last key.
  public mutating func object(_ body: (inout JSONText) -> Void) {
    comma()
    bytes.append(UInt8(ascii: "{"))
    body(&self)
    bytes.append(UInt8(ascii: "}"))
  }
  public mutating func array(_ body: (inout JSONText) -> Void) {
    comma()
    bytes.append(UInt8(ascii: "["))
    body(&self)
    bytes.append(UInt8(ascii: "]"))
  }
  public mutating func key(_ key: String) {
    comma()
    string(key)
    bytes.append(UInt8(ascii: ":"))
  }

  /// A value stands in an array, or behind a key.
  public mutating func value(_ text: String) {
    comma()
    string(text)
  }
  public mutating func value(_ number: some BinaryInteger) {
    comma()
    bytes.append(contentsOf: String(number).utf8)
  }
  public mutating func value(_ flag: Bool) {
    comma()
    bytes.append(contentsOf: (flag ? "true" : "false").utf8)
  }
  /// Writes a number; whole numbers without a fraction, non-finite numbers as 0.
  public mutating func value(_ number: Double) {
    comma()
    if !number.isFinite {
      bytes.append(UInt8(ascii: "0"))
    } else if number == number.rounded(), abs(number) < 1e15 {
      bytes.append(contentsOf: String(Int64(number)).utf8)
    } else {
      bytes.append(contentsOf: number.description.utf8)
    }
  }

  /// A field whose value is nil is left out: the contract has no null.
  public mutating func field(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    self.value(value)
  }
  public mutating func field(_ name: String, _ value: (some BinaryInteger)?) {
    guard let value else { return }
    key(name)
    self.value(value)
  }
  public mutating func field(_ name: String, _ value: Bool?) {
    guard let value else { return }
    key(name)
    self.value(value)
  }
  public mutating func field(_ name: String, _ value: Double?) {
    guard let value else { return }
    key(name)
    self.value(value)
  }
  /// Writes a time; absent if unknown.
  public mutating func field(_ name: String, _ time: WallTime) {
    if time != .unknown { field(name, rfc3339(time)) }
  }
  /// Writes bytes that the caller has checked to be JSON. Escapes characters that could steer a
  /// terminal; they stand only in strings.
  /// Blanks between tokens replace line ends, so that a document of a stream stays one line.
  public mutating func field(_ name: String, json: [UInt8]) {
    key(name)
    for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
      switch scalar {
      case "\n", "\r", "\t": bytes.append(UInt8(ascii: " "))
      case _ where scalar.canSteerTerminal: escaped(scalar)
      default: bytes.append(contentsOf: String(scalar).utf8)
      }
    }
  }
  public mutating func object(_ name: String, _ body: (inout JSONText) -> Void) {
    key(name)
    object(body)
  }
  public mutating func array(_ name: String, _ body: (inout JSONText) -> Void) {
    key(name)
    array(body)
  }
  /// Writes labels as an object; absent without labels. Of a repeated key the first label counts.
  /// O(n²) in the labels, of which there are at most 64.
  public mutating func labels(_ name: String, _ labels: [Label]) {
    guard !labels.isEmpty else { return }
    object(name) { json in
      for (position, label) in labels.enumerated()
      where !labels[..<position].contains(where: { $0.key == label.key }) {
        json.field(label.key, label.value)
      }
    }
  }

  /// Ends a line, between documents of a stream.
  public mutating func endLine() { bytes.append(UInt8(ascii: "\n")) }
  /// Opens an object or array that spans several `take`s; `close` ends it.
  /// For listings that are longer than memory.
  mutating func open(_ bracket: Unicode.Scalar) {
    comma()
    bytes.append(UInt8(ascii: bracket))
  }
  mutating func close(_ bracket: Unicode.Scalar) { bytes.append(UInt8(ascii: bracket)) }
  /// Drops the bytes that the caller has written out, and continues the text. Keeps the storage for
  /// long streams.
  public mutating func removeAll() {
    taken = bytes.last ?? taken
    bytes.removeAll(keepingCapacity: true)
  }

  /// The same, for who has not read them.
  mutating func takeBytes() -> [UInt8] {
    let written = bytes
    removeAll()
    return written
  }

  /// The line end counts as a beginning: documents of a stream are not parted by commas.
  private mutating func comma() {
    switch bytes.last ?? taken {
    case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"), UInt8(ascii: "\n"): break
    default: bytes.append(UInt8(ascii: ","))
    }
  }

  /// Pure ASCII is copied at once; it is what nearly all keys and values are.
  private mutating func string(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    let isPlain = text.utf8.allSatisfy {
      $0 >= 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    if isPlain {
      bytes.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars { escaped(scalar) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Steering characters are escaped although JSON allows some of them raw: output is often looked
  /// at in a terminal (G38).
  private mutating func escaped(_ scalar: Unicode.Scalar) {
    switch scalar {
    case "\"": bytes.append(contentsOf: "\\\"".utf8)
    case "\\": bytes.append(contentsOf: "\\\\".utf8)
    case "\n": bytes.append(contentsOf: "\\n".utf8)
    case "\r": bytes.append(contentsOf: "\\r".utf8)
    case "\t": bytes.append(contentsOf: "\\t".utf8)
    case _ where scalar.canSteerTerminal:
      let digits = String(scalar.value, radix: 16)
      bytes.append(contentsOf: "\\u".utf8)
      bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
      bytes.append(contentsOf: digits.utf8)
    default: bytes.append(contentsOf: String(scalar).utf8)
    }
  }
}
