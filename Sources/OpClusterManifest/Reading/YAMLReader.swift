// Reads YAML into nodes with Yams' basic resolver: every scalar stays as written. Limits the size,
// the depth, and the number of nodes (aliases count at each use). Called by the compiler, and for
// `json:` arrays.
// Everything that a hostile or huge text could cost is bounded before Yams sees it: bytes, nodes,
// keys of aliases. The coordinator never reads YAML.

import Yams

/// Keeps the scalar's text and whether it was quoted: decoders alone decide what is a number.
struct YAMLReader {
  /// Limits of one manifest (interface, section 2).
  /// A file of this size is read as a whole; longer lists belong into `lines`.
  static let maximumBytes = 64 * 1024 * 1024
  /// Maximum number of characters after which a node may begin. The parser makes all nodes before
  /// this reader counts any, so this limit bounds its memory. 4 MiB of text reach it if every
  /// second character is such a mark.
  static let maximumMarks = 2 * 1024 * 1024
  /// Counted while nodes are converted, so an alias counts as often as it is used.
  static let maximumNodes = 200_000
  /// Bounds the recursion of `convert` and of the decoders behind it.
  static let maximumDepth = 100
  /// Each repeated key costs another pass over the text.
  /// Beyond it one repeated key is reported as it is, and reading ends.
  private static let maximumRepeatedKeys = 20

  private var diagnostics: [Diagnostic] = []
  private var nodes = 0
  /// Whether a limit was hit: then half a tree is no tree, and the root is dropped.
  private var gaveUp = false
  /// Keys that were replaced by a stand-in, by the stand-in's number.
  private var replacedKeys: [String] = []

  /// Returns the root; nil after an error that leaves nothing to read, and for an empty text.
  /// An empty text has no root and no finding; the caller says what that means.
  static func read(_ source: String) -> (root: ManifestNode?, diagnostics: [Diagnostic]) {
    var reader = YAMLReader()
    let root = reader.read(source)
    return (reader.gaveUp ? nil : root, reader.diagnostics)
  }

  /// The checks are in the order of their cost: size, marks, aliases, parsing.
  private mutating func read(_ source: String) -> ManifestNode? {
    if source.utf8.count > Self.maximumBytes {
      report(
        "the manifest is larger than \(Self.maximumBytes >> 20) MiB", nil,
        hint: "keep data in files of its own")
      return nil
    }
    guard Self.hasRoomForNodes(source) else {
      report(
        "the manifest has more than 2,097,152 lines, list items and keys", nil,
        hint: "keep data in files of its own")
      return nil
    }
    if let place = AliasKeys.first(in: source) {
      report("an alias cannot be a key", place)
      return nil
    }
    guard let root = compose(source) else { return nil }
    return convert(root, depth: 0)
  }

  /// Counts the marks after which a node may begin, and compares them with the limit. Overestimates
  /// for texts in which the marks mean nothing, such as scripts.
  /// A text of at most 4 MiB is not counted: hardly every second character begins a node.
  static func hasRoomForNodes(_ source: String) -> Bool {
    guard source.utf8.count > 2 * maximumMarks else { return true }
    var marks = 0
    for byte in source.utf8 where isMark[Int(byte)] { marks += 1 }
    return marks <= maximumMarks
  }

  /// A table, since the loop runs over every byte of up to 64 MiB.
  private static let isMark: [Bool] = (0..<256).map { "\n\r,:[{-?".utf8.contains(UInt8($0)) }

  /// Composes the text. Yams stops at the first mapping with a repeated key; to find all of them,
  /// this function replaces the first of the two keys by a stand-in of the same length and reads
  /// again.
  /// Each pass costs a whole parse, hence the limit on repeated keys. The stand-ins are put back in
  /// `originalKey`.
  private mutating func compose(_ source: String) -> Yams.Node? {
    var text = source
    while true {
      do {
        return try Yams.compose(yaml: text, .basic, .default, .utf8)
      } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
        let place = Place(line: context.mark.line, column: context.mark.column)
        guard let key = keys.first, replacedKeys.count < Self.maximumRepeatedKeys,
          let replaced = Self.replacingKey(in: text, at: place, number: replacedKeys.count)
        else {
          report("duplicate key '\(keys.first ?? "")'", place)
          return nil
        }
        replacedKeys.append(key)
        text = replaced
      } catch {
        reportSyntax(error)
        return nil
      }
    }
  }

  /// Returns the text with a key's first character replaced by a private-use character.
  /// Nothing else of the text moves, so that all places stay right. nil if the place is not in the
  /// text.
  private static func replacingKey(in text: String, at place: Place, number: Int) -> String? {
    let source = SourceText(text)
    guard var at = source.offset(of: place), at < source.bytes.count,
      let stand = Unicode.Scalar(0xF0000 + UInt32(number))
    else { return nil }
    var bytes = source.bytes
    // The quotes of a key stay; its first character is behind them.
    if bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") { at += 1 }
    var end = at + 1
    while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
    guard end <= bytes.count else { return nil }
    bytes.replaceSubrange(at..<end, with: Array(String(stand).utf8))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Problems are told in libyaml's words. A reader's error has no place that could be trusted.
  private mutating func reportSyntax(_ error: any Error) {
    switch error {
    case YamlError.scanner(let context, let problem, let mark, _),
      YamlError.parser(let context, let problem, let mark, _),
      YamlError.composer(let context, let problem, let mark, _):
      let place = Place(line: mark.line, column: mark.column)
      report("not valid YAML: \(problem)", place, hint: context.map { $0.text } ?? "")
    case YamlError.reader(let problem, _, _, _):
      report("not valid YAML: \(problem)", nil)
    default:
      report("not valid YAML", nil)
    }
  }

  /// nil after a limit was hit; the caller returns at once. Recursion is bounded by `maximumDepth`.
  private mutating func convert(_ node: Yams.Node, depth: Int) -> ManifestNode? {
    let place = Place(line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
    nodes += 1
    if nodes > Self.maximumNodes || depth > Self.maximumDepth {
      if !gaveUp {
        let what = depth > Self.maximumDepth ? "100 levels" : "200,000 nodes"
        report("the manifest has more than \(what)", place, hint: "aliases count where used")
      }
      gaveUp = true
      return nil
    }
    switch node {
    case .scalar(let scalar):
      checkTag(scalar.tag, place)
      // An explicit tag, such as `!!str`, says that the text is one, as quotes do.
      let isPlain = scalar.style == .plain && scalar.tag.description.isEmpty
      var marked = place
      marked.length = Self.shownLength(scalar)
      return ManifestNode(value: .scalar(scalar.string, isPlain: isPlain), place: marked)
    case .sequence(let sequence):
      checkTag(sequence.tag, place)
      var items: [ManifestNode] = []
      for item in sequence {
        guard let item = convert(item, depth: depth + 1) else { return nil }
        items.append(item)
      }
      return ManifestNode(value: .sequence(items), place: place)
    case .mapping(let mapping):
      checkTag(mapping.tag, place)
      return convert(mapping, place, depth: depth)
    case .alias:
      // Aliases were resolved by the parser; the case is there for completeness.
      return nil
    }
  }

  /// Entries keep the order of the text: decoders rely on it for variables, axes and operations.
  private mutating func convert(
    _ mapping: Yams.Node.Mapping, _ place: Place, depth: Int
  ) -> ManifestNode? {
    var entries: [ManifestNode.Entry] = []
    var merged: [ManifestNode.Entry] = []
    var seen: [String: Place] = [:]
    for (keyNode, valueNode) in mapping {
      guard case .scalar(let scalar) = keyNode else {
        let mark = keyNode.mark.map { Place(line: $0.line, column: $0.column) } ?? place
        report("a key must be a text, not a list or a mapping", mark)
        continue
      }
      let key = originalKey(scalar.string)
      var keyPlace = place
      if let mark = scalar.mark { keyPlace = Place(line: mark.line, column: mark.column) }
      keyPlace.length = Self.shownLength(scalar)
      guard let value = convert(valueNode, depth: depth + 1) else { return nil }
      // A quoted `"<<"` is a key like any other.
      if key == "<<", scalar.style == .plain {
        merge(value, into: &merged)
        continue
      }
      if let first = seen.updateValue(keyPlace, forKey: key) {
        report("duplicate key '\(key)'", keyPlace, hint: "first on line \(first.line)")
        continue
      }
      entries.append(.init(key: key, place: keyPlace, value: value))
    }
    // Written keys take precedence over merged ones, and earlier merges over later ones.
    for entry in merged where seen[entry.key] == nil {
      seen[entry.key] = entry.place
      entries.append(entry)
    }
    return ManifestNode(value: .mapping(entries), place: place)
  }

  /// `<<: *anchor` or `<<: [*one, *two]`.
  /// Entries are collected in the order of precedence; the caller decides which of them count.
  private mutating func merge(_ value: ManifestNode, into merged: inout [ManifestNode.Entry]) {
    switch value.value {
    case .mapping(let entries): merged += entries
    case .sequence(let items): for item in items { merge(item, into: &merged) }
    case .scalar: report("'<<' merges mappings, not \(value.kind)", value.place)
    }
  }

  /// A key that begins with such a character by itself could be mistaken only in a text that also
  /// repeats keys.
  private func originalKey(_ key: String) -> String {
    guard let first = key.unicodeScalars.first, first.value >= 0xF0000,
      Int(first.value - 0xF0000) < replacedKeys.count
    else { return key }
    return replacedKeys[Int(first.value - 0xF0000)]
  }

  /// Tags of other types, such as `!!int`, would change what a text is, and are refused.
  private mutating func checkTag(_ tag: Tag, _ place: Place) {
    let name = tag.description
    let known = [
      "", "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map",
    ]
    if !known.contains(name) { report("the tag '\(name)' has no meaning here", place) }
  }

  /// The scalars that a finding marks. A block of lines is marked at its beginning only.
  private static func shownLength(_ scalar: Yams.Node.Scalar) -> Int {
    switch scalar.style {
    case .literal, .folded: 1
    case .singleQuoted, .doubleQuoted: scalar.string.unicodeScalars.count + 2
    case .plain, .any: max(1, scalar.string.unicodeScalars.count)
    }
  }

  private mutating func report(_ message: String, _ place: Place?, hint: String = "") {
    diagnostics.append(
      Diagnostic(
        severity: .error, message: message, line: place?.line ?? 0, column: place?.column ?? 0,
        length: place?.length ?? 1, hint: hint))
  }
}
