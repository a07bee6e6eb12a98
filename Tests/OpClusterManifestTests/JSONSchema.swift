// As much of JSON Schema (draft 7) as the manifest's schema uses. An unknown keyword is an error,
// so that no rule of the schema is passed over.

import FoundationEssentials

@testable import OpClusterManifest

/// A JSON value; numbers keep no text.
indirect enum JSON: Hashable, Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case list([JSON])
  case object([String: JSON])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let bool = try? value.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let string = try? value.decode(String.self) {
      self = .string(string)
    } else if let list = try? value.decode([JSON].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: JSON].self))
    }
  }

  /// As a YAML 1.2 editor sees it.
  init(_ node: ManifestNode) {
    switch node.value {
    case .scalar(let text, let isPlain):
      if node.isNull {
        self = .null
      } else if isPlain, text == "true" || text == "false" {
        self = .bool(text == "true")
      } else if isPlain, ManifestNode.isNumber(text), let number = Double(text) {
        self = .number(number)
      } else {
        self = .string(text)
      }
    case .sequence(let items): self = .list(items.map { JSON($0) })
    case .mapping(let entries):
      self = .object(
        Dictionary(entries.map { ($0.key, JSON($0.value)) }, uniquingKeysWith: { a, _ in a }))
    }
  }

  subscript(path: String) -> JSON? {
    var at: JSON? = self
    for step in path.split(separator: "/") {
      switch at {
      case .object(let members): at = members[String(step)]
      case .list(let items): at = Int(step).flatMap { items.indices.contains($0) ? items[$0] : nil }
      default: return nil
      }
    }
    return at
  }
  var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }
  var items: [JSON] { if case .list(let items) = self { items } else { [] } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var number: Double? { if case .number(let number) = self { number } else { nil } }
}

struct JSONSchema {
  struct UnknownKeyword: Error {
    var keyword: String
  }
  let root: JSON

  /// Decoded once for all tests: trying one type of a value after the other takes long.
  static let ofManifests = Result {
    let bytes = Data(ManifestSchema.text.utf8)
    return JSONSchema(root: try JSONDecoder().decode(JSON.self, from: bytes))
  }

  func accepts(_ value: JSON) throws -> Bool { try accepts(value, root) }

  private func accepts(_ value: JSON, _ schema: JSON) throws -> Bool {
    if let reference = schema["$ref"]?.text {
      return try accepts(value, root[String(reference.dropFirst(2))] ?? .null)
    }
    for (keyword, rule) in schema.members where try !holds(keyword, rule, value, schema) {
      return false
    }
    return true
  }

  private func holds(_ keyword: String, _ rule: JSON, _ value: JSON, _ schema: JSON) throws -> Bool
  {
    switch keyword {
    case "$schema", "$id", "title", "description", "default", "definitions": return true
    case "type":
      return (rule.text.map { [rule, .string($0)] } ?? rule.items).contains { isA($0, value) }
    case "const": return value == rule
    case "enum": return rule.items.contains(value)
    case "anyOf": return try rule.items.contains { try accepts(value, $0) }
    case "oneOf": return try rule.items.filter { try accepts(value, $0) }.count == 1
    case "required": return rule.items.allSatisfy { value.members[$0.text ?? ""] != nil }
    case "minimum": return value.number.map { $0 >= rule.number ?? 0 } ?? true
    case "maximum": return value.number.map { $0 <= rule.number ?? 0 } ?? true
    case "minItems":
      if case .list(let items) = value { return Double(items.count) >= rule.number ?? 0 }
      return true
    case "maxItems":
      if case .list(let items) = value { return Double(items.count) <= rule.number ?? 0 }
      return true
    case "minProperties":
      if case .object(let members) = value { return Double(members.count) >= rule.number ?? 0 }
      return true
    case "maxProperties":
      if case .object(let members) = value { return Double(members.count) <= rule.number ?? 0 }
      return true
    case "minLength": return value.text.map { Double($0.count) >= rule.number ?? 0 } ?? true
    case "pattern":
      return try value.text.map { try $0.contains(Regex(rule.text ?? "")) } ?? true
    case "items": return try value.items.allSatisfy { try accepts($0, rule) }
    case "propertyNames":
      return try value.members.keys.allSatisfy { try accepts(.string($0), rule) }
    case "properties":
      return try rule.members.allSatisfy { key, rule in
        try value.members[key].map { try accepts($0, rule) } ?? true
      }
    case "patternProperties": return true
    case "additionalProperties": return try others(rule, value, schema)
    default: throw UnknownKeyword(keyword: keyword)
    }
  }

  private func others(_ rule: JSON, _ value: JSON, _ schema: JSON) throws -> Bool {
    let patterns = try (schema["patternProperties"]?.members.keys.map { try Regex($0) }) ?? []
    return try value.members.allSatisfy { key, value in
      if schema["properties"]?.members[key] != nil { return true }
      if patterns.contains(where: { key.contains($0) }) { return true }
      return try rule == .bool(false) ? false : accepts(value, rule)
    }
  }

  private func isA(_ type: JSON, _ value: JSON) -> Bool {
    switch (type.text, value) {
    case ("object", .object), ("array", .list), ("string", .string), ("boolean", .bool),
      ("null", .null), ("number", .number):
      true
    case ("integer", .number(let number)): number == number.rounded(.towardZero)
    default: false
    }
  }
}
