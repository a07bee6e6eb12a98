// A listing for programs that may be longer than memory: rows are written as they come, the
// caller takes the bytes away from time to time.

/// How a listing is written for programs.
public enum ListFormat: Sendable {
  /// One document, `{"schema":"opbatch/v1","KEY":[…]}`.
  case json
  /// One row a line.
  case jsonl
}

/// `opbatch/v1`: keys may be added to it, never changed or taken away.
public let jsonSchema = "opbatch/v1"

public struct JSONListing: Sendable {
  private let format: ListFormat
  public var json = JSONText()

  /// `key` names the rows in one document: `graphs`, `operations`, `queues`, `workers`.
  public init(_ key: String, format: ListFormat) {
    self.format = format
    guard format == .json else { return }
    json.open("{")
    json.field("schema", jsonSchema)
    json.key(key)
    json.open("[")
  }

  public mutating func row(_ body: (inout JSONText) -> Void) {
    json.object(body)
    if format == .jsonl { json.endLine() }
  }

  /// After the last row.
  public mutating func end() {
    guard format == .json else { return }
    json.close("]")
    json.close("}")
    json.endLine()
  }

  /// What has been written since the last time.
  public mutating func take() -> [UInt8] {
    let bytes = json.bytes
    json.removeAll()
    return bytes
  }
}

/// A document of its own with its schema and a line end.
public func jsonDocument(_ body: (inout JSONText) -> Void) -> String {
  var json = JSONText()
  json.object { json in
    json.field("schema", jsonSchema)
    body(&json)
  }
  json.endLine()
  return json.text
}

/// What stderr carries in the JSON formats: `{"error":{"code","message","hint"}}`.
public func jsonError(code: String, message: String, hint: String = "") -> String {
  var json = JSONText()
  json.object { json in
    json.object("error") { json in
      json.field("code", code)
      json.field("message", message)
      json.field("hint", hint.isEmpty ? nil : hint)
    }
  }
  json.endLine()
  return json.text
}
