// Builds the argument of a call: the manifest's `input` as JSON with places. Common values are
// filled in here. If only the elements differ, each element gets a JSON of its own. Outputs of
// dependencies are filled in by the worker. Called by the lowering.
// JSON is made by hand, byte by byte: places can stand anywhere in it, and numbers keep the digits
// that the manifest has.

import OpClusterModel

/// Plain YAML scalars keep their kind: `1` is a number, `"1"` a string.
struct CallInputBuilder {
  let substitution: Substitution
  private var findings: Findings { substitution.findings }

  /// nil after a finding.
  /// Keys of elements are set only if a value uses them.
  func build(_ node: ManifestNode) -> CallInput? {
    var writer = CallInputWriter()
    guard write(node, into: &writer) else { return nil }
    var input = writer.finish()
    if input.readsElements { input.elementKeys = substitution.operation.elements?.keys ?? [] }
    return input
  }

  /// Writes on after a mistake in a mapping, so that all of them are reported; a list stops at the
  /// first.
  private func write(_ node: ManifestNode, into writer: inout CallInputWriter) -> Bool {
    switch node.value {
    case .scalar: return writeScalar(node, into: &writer)
    case .sequence(let items):
      writer.json.open("[")
      let isFine = items.allSatisfy { write($0, into: &writer) }
      writer.json.close("]")
      return isFine
    case .mapping(let entries):
      writer.json.open("{")
      var isFine = true
      for entry in entries {
        writer.json.key(entry.key)
        if !write(entry.value, into: &writer) { isFine = false }
      }
      writer.json.close("}")
      return isFine
    }
  }

  /// nil and an empty value are JSON's null.
  private func writeScalar(_ node: ManifestNode, into writer: inout CallInputWriter) -> Bool {
    guard case .scalar(let written, let isPlain) = node.value, !node.isNull else {
      writer.json.literal("null")
      return true
    }
    guard let text = substitution.plain(node, "an input") else { return false }
    guard let whole = text.literal else {
      writer.value(text, form(of: written, text, isPlain: isPlain))
      return true
    }
    writer.json.value(whole, isScalar: isPlain)
    return true
  }

  /// An output that is the whole text keeps its JSON kind, quoted or not: a manifest in JSON cannot
  /// leave the quotes out, so they carry no meaning here.
  /// Only a text that is the value and nothing else: inside a longer text an output is a piece of a
  /// string.
  private func form(of written: String, _ text: CommandText, isPlain: Bool) -> CallInput.Form {
    let form: CallInput.Form = isPlain ? .scalar : .string
    guard text.segments.count == 1, case .value(.output(let operation, _), _) = text.segments[0]
    else { return form }
    if written.contains("raw(") { return .string }
    let isList = substitution.outputsByNeed.contains {
      $0.value.operation == operation && $0.value.isList
    }
    return isList ? .list : .json
  }
}

/// JSON under construction, with places for values that come later.
/// Keeps pieces of JSON and values apart, in order.
struct CallInputWriter {
  var json = JSONWriter()
  private var segments: [CallInput.Segment] = []

  /// Ends the piece of JSON before the value.
  mutating func value(_ text: CommandText, _ form: CallInput.Form) {
    flush()
    segments.append(.value(text, form))
  }

  mutating func finish() -> CallInput {
    flush(isLast: true)
    return CallInput(segments: segments)
  }

  /// A comma before a value belongs to the piece that goes before it.
  private mutating func flush(isLast: Bool = false) {
    let bytes = json.take(beforeValue: !isLast)
    if !bytes.isEmpty { segments.append(.json(String(decoding: bytes, as: UTF8.self))) }
  }
}

extension CommandText {
  /// The text without its places; nil if it has any.
  fileprivate var literal: String? {
    var whole = ""
    for segment in segments {
      guard case .literal(let piece) = segment else { return nil }
      whole += piece
    }
    return whole
  }
}

extension CallInput {
  /// Decides, with the two below, how the argument is sent: once, once per element, or with places.
  var hasPlaces: Bool {
    segments.contains { if case .value = $0 { true } else { false } }
  }
  var readsOutputs: Bool { holds { if case .output = $0 { true } else { false } } }
  var readsElements: Bool { holds { if case .element = $0 { true } else { false } } }

  private func holds(_ isWanted: (CommandText.Value) -> Bool) -> Bool {
    segments.contains { segment in
      guard case .value(let text, _) = segment else { return false }
      return text.segments.contains { piece in
        if case .value(let value, _) = piece { isWanted(value) } else { false }
      }
    }
  }

  /// Returns the JSON of one element, for an input that reads no outputs.
  /// Secrets cannot be in an input, and outputs are excluded by the caller: neither has a text
  /// here.
  func json(element values: [String], index: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    for segment in segments {
      switch segment {
      case .json(let text): bytes += text.utf8
      case .value(let text, let form):
        var whole = ""
        for piece in text.segments {
          switch piece {
          case .literal(let literal): whole += literal
          case .value(.index, _): whole += String(index)
          case .value(.element(let at), _): whole += at < values.count ? values[at] : ""
          case .value(.known(let text), _): whole += text
          case .value(.output, _), .value(.secret, _): break
          }
        }
        var writer = JSONWriter()
        writer.value(whole, isScalar: form == .scalar)
        bytes += writer.bytes
      }
    }
    return bytes
  }
}

/// Writes JSON and puts in the separators.
/// Knows brackets, keys and commas, and nothing of what is valid: its caller walks a tree.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  /// Whether the next value or key needs a comma before it.
  private var needsComma = false

  mutating func open(_ bracket: String) {
    separate()
    bytes += bracket.utf8
    needsComma = false
  }
  mutating func close(_ bracket: String) {
    bytes += bracket.utf8
    needsComma = true
  }
  /// Keys are strings; a repeated key cannot occur, as the reader refuses it.
  mutating func key(_ key: String) {
    string(key)
    bytes += ":".utf8
    needsComma = false
  }
  mutating func literal(_ text: String) {
    separate()
    bytes += text.utf8
  }
  /// Writes a string; with `isScalar`, writes a text that looks like a number or boolean as one.
  /// The digits of a number are copied: `1.50` stays so.
  mutating func value(_ text: String, isScalar: Bool) {
    let isLiteral = isScalar && (text == "true" || text == "false" || ManifestNode.isNumber(text))
    if isLiteral { literal(text) } else { string(text) }
  }
  /// Returns the bytes since the last call; with `beforeValue` the caller appends a value next.
  /// With `beforeValue` the separator is written now, since the value is not written here.
  mutating func take(beforeValue: Bool) -> [UInt8] {
    if beforeValue { separate() }
    defer { bytes = [] }
    return bytes
  }
  /// Escapes what JSON demands; all other UTF-8 is copied.
  mutating func string(_ text: String) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): bytes += "\\\"".utf8
      case UInt8(ascii: "\\"): bytes += "\\\\".utf8
      case 0x0A: bytes += "\\n".utf8
      case 0x09: bytes += "\\t".utf8
      case 0x0D: bytes += "\\r".utf8
      case ..<0x20:
        let digits = Array("0123456789abcdef".utf8)
        bytes += "\\u00".utf8 + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}
