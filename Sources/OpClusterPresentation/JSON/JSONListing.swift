// A listing for programs that may exceed memory: rows are written one by one, and the caller takes
// the bytes from time to time.
// A million rows take no more memory than the caller lets gather between two calls of `take`.

/// The form of a listing for programs.
public enum ListFormat: Sendable {
  /// One document, `{"schema":"opbatch/v1","KEY":[…]}`.
  case json
  /// One row a line.
  case jsonl
}

/// The version of the JSON contract. Keys may be added to it, never changed or removed.
public let jsonSchema = "opbatch/v1"

/// Begin, rows, end, in this order; anything else is no document.
public struct JSONListing: Sendable {
  private let format: ListFormat
  public var json = JSONText()

  /// `key` names the rows in a single document: `graphs`, `operations`, `queues`, `workers`.
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

  /// Ends the document; call it after the last row.
  public mutating func end() {
    guard format == .json else { return }
    json.close("]")
    json.close("}")
    json.endLine()
  }

  /// Returns the bytes written since the last call.
  public mutating func take() -> [UInt8] {
    let bytes = json.bytes
    json.removeAll()
    return bytes
  }
}

/// Returns a document with its schema and a line end.
public func jsonDocument(_ body: (inout JSONText) -> Void) -> String {
  var json = JSONText()
  json.object { json in
    json.field("schema", jsonSchema)
    body(&json)
  }
  json.endLine()
  return json.text
}

/// Returns the error that stderr carries in the JSON formats:
/// `{"error":{"code","message","hint"}}`.
/// Errors are documents too, so that a program reads one format on both streams.
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
