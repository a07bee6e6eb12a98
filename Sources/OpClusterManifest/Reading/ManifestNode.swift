// The manifest as a tree: texts as written, with their places. Made by the YAML reader, read by the
// decoders.

/// A place in the manifest's text, counted from 1; columns in Unicode scalars.
struct Place: Hashable {
  var line: Int
  var column: Int
  var length: Int = 1
}

struct ManifestNode {
  enum Value {
    /// `isPlain`: written without quotes, so it may be a number or a boolean.
    case scalar(String, isPlain: Bool)
    case sequence([ManifestNode])
    case mapping([Entry])
  }
  struct Entry {
    var key: String
    var place: Place
    var value: ManifestNode
  }
  var value: Value
  var place: Place

  /// Whether the value is missing (`key:`), or is `~` or `null`.
  var isNull: Bool {
    if case .scalar(let text, isPlain: true) = value {
      return text.isEmpty || text == "~" || text == "null"
    }
    return false
  }

  /// Whether a text is a decimal number as in JSON. No `+`, no octal, no sexagesimal form.
  static func isNumber(_ text: String) -> Bool {
    var rest = Substring(text)
    if rest.first == "-" { rest = rest.dropFirst() }
    let whole = rest.prefix { $0.isASCII && $0.isNumber }
    rest = rest.dropFirst(whole.count)
    guard !whole.isEmpty, whole.count == 1 || whole.first != "0" else { return false }
    if rest.first == "." {
      let fraction = rest.dropFirst().prefix { $0.isASCII && $0.isNumber }
      guard !fraction.isEmpty else { return false }
      rest = rest.dropFirst(1 + fraction.count)
    }
    if rest.first == "e" || rest.first == "E" {
      rest = rest.dropFirst()
      if rest.first == "+" || rest.first == "-" { rest = rest.dropFirst() }
      return !rest.isEmpty && rest.allSatisfy { $0.isASCII && $0.isNumber }
    }
    return rest.isEmpty
  }

  /// The node's kind, for messages.
  var kind: String {
    switch value {
    case .scalar(let text, let isPlain):
      isNull ? "nothing" : isPlain && Self.isNumber(text) ? "the number \(text)" : "'\(text)'"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }
}
