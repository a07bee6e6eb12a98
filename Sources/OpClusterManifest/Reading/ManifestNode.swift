// The manifest as a tree: texts as written, with their places. Made by the YAML reader, read by the
// decoders.
// Values only. A node has no parent: findings need its place and nothing else.

/// A place in the manifest's text, counted from 1; columns in Unicode scalars.
/// Places of libyaml, as editors show them. `length` is what a finding underlines.
struct Place: Hashable {
  var line: Int
  var column: Int
  var length: Int = 1
}

/// Aliases are copies here: a node that is used twice has the place of its anchor twice.
struct ManifestNode {
  enum Value {
    /// `isPlain`: written without quotes, so it may be a number or a boolean.
    /// The text has its escapes resolved and its lines folded.
    case scalar(String, isPlain: Bool)
    case sequence([ManifestNode])
    /// Keys are unique, and in the order of the text.
    case mapping([Entry])
  }
  /// The place of an entry is its key's; the value has its own.
  struct Entry {
    var key: String
    var place: Place
    var value: ManifestNode
  }
  var value: Value
  var place: Place

  /// Whether the value is missing (`key:`), or is `~` or `null`.
  /// A quoted `"null"` is a text. The word is null only where it is written plainly.
  var isNull: Bool {
    if case .scalar(let text, isPlain: true) = value {
      return text.isEmpty || text == "~" || text == "null"
    }
    return false
  }

  /// Whether a text is a decimal number as in JSON. No `+`, no octal, no sexagesimal form.
  /// Strict, so that `012`, `+1` and `1_000` stay texts: other tools disagree about what they are.
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
  /// Numbers are named as such, since a number where a text is wanted is a frequent mistake.
  var kind: String {
    switch value {
    case .scalar(let text, let isPlain):
      isNull ? "nothing" : isPlain && Self.isNumber(text) ? "the number \(text)" : "'\(text)'"
    case .sequence: "a list"
    case .mapping: "a mapping"
    }
  }
}
