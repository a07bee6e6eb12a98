// The argument of a call: the manifest's `input` as JSON. Where it holds values of the element,
// each element gets a JSON of its own as its argument, and the template has no payload; a worker
// gives the operation type the element's argument if there is one, else the payload.

import OpClusterModel

struct CallInput {
  let substitution: Substitution
  private var findings: Findings { substitution.findings }

  /// The JSON of one element; nil after a finding.
  func json(_ node: ManifestNode, element: Int, shownIndex: UInt32) -> [UInt8]? {
    var writer = JSONWriter()
    let values = substitution.operation.elements?.values(element) ?? []
    return write(node, values, shownIndex, into: &writer) ? writer.bytes : nil
  }

  /// Whether the input is not the same for all elements.
  func dependsOnElement(_ node: ManifestNode) -> Bool {
    switch node.value {
    case .scalar(let text, _):
      guard text.contains("${{") else { return false }
      return findings.pieces(of: text, in: node).contains { piece in
        guard case .value(let value) = piece else { return false }
        if case .parameter = value.reference { return false }
        return true
      }
    case .sequence(let items): return items.contains(where: dependsOnElement)
    case .mapping(let entries): return entries.contains { dependsOnElement($0.value) }
    }
  }

  private func write(
    _ node: ManifestNode, _ values: [String], _ index: UInt32, into writer: inout JSONWriter
  ) -> Bool {
    switch node.value {
    case .scalar(_, let isPlain):
      if node.isNull {
        writer.literal("null")
        return true
      }
      guard let text = text(node, values, index) else { return false }
      let isLiteral = isPlain && (text == "true" || text == "false" || ManifestNode.isNumber(text))
      if isLiteral { writer.literal(text) } else { writer.string(text) }
      return true
    case .sequence(let items):
      writer.open("[")
      let isFine = items.allSatisfy { write($0, values, index, into: &writer) }
      writer.close("]")
      return isFine
    case .mapping(let entries):
      writer.open("{")
      for entry in entries {
        writer.key(entry.key)
        guard write(entry.value, values, index, into: &writer) else { return false }
      }
      writer.close("}")
      return true
    }
  }

  private func text(_ node: ManifestNode, _ values: [String], _ index: UInt32) -> String? {
    guard let text = substitution.plain(node, "an input") else { return nil }
    var result = ""
    for segment in text.segments {
      switch segment {
      case .literal(let literal): result += literal
      case .value(.index, _): result += String(index)
      case .value(.element(let position), _):
        result += position < values.count ? values[position] : ""
      case .value(.output, _):
        findings.error("outputs in the input of a call are not supported yet", node.place)
        return nil
      }
    }
    return result
  }
}

/// Writes JSON with separators where they belong.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
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
  mutating func key(_ key: String) {
    string(key)
    bytes += ":".utf8
    needsComma = false
  }
  mutating func literal(_ text: String) {
    separate()
    bytes += text.utf8
  }
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
