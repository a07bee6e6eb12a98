// JSON as a test reads it: what the contract's keys hold, without a type for each command.

import FoundationEssentials
import RealCluster

/// One value of a JSON document.
enum JSONValue: Decodable, Equatable {
  case null
  case bool(Bool)
  case number(Double)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  init(_ text: String) throws {
    do {
      self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    } catch {
      throw Trouble("this is not JSON: \(text.prefix(500))")
    }
  }

  subscript(_ key: String) -> JSONValue {
    if case .object(let members) = self { members[key] ?? .null } else { .null }
  }

  var keys: Set<String> {
    if case .object(let members) = self { Set(members.keys) } else { [] }
  }
  var elements: [JSONValue] { if case .list(let elements) = self { elements } else { [] } }
  var text: String? { if case .text(let text) = self { text } else { nil } }
  var number: Double? { if case .number(let number) = self { number } else { nil } }
  var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// Whether there is a null anywhere: the contract leaves out what it does not know.
  var hasNull: Bool {
    switch self {
    case .null: true
    case .list(let elements): elements.contains { $0.hasNull }
    case .object(let members): members.values.contains { $0.hasNull }
    case .bool, .number, .text: false
    }
  }
}
