// Reads Ninja files: the grammar of Ninja 1.12. Includes start from the build folder.

import OpClusterModel

struct NinjaReader {
  let session: ImportSession
  /// The build folder.
  let folder: String
  var ninja = NinjaFile()

  /// Names that a rule may bind.
  private static let ruleKeys: Set = [
    "command", "depfile", "dyndep", "deps", "description", "generator", "msvc_deps_prefix", "pool",
    "restat", "rspfile", "rspfile_content",
  ]

  mutating func read(
    _ file: String, scope: Int, depth: Int, from place: SourcePlace
  ) throws(ImportStop) {
    try session.checkDepth(depth, place)
    guard let lines = try session.lines(of: file, for: place) else {
      throw session.stop(place, "there is no file \(file)")
    }
    var tokens = NinjaTokens(
      ByteReader(lines.joined(separator: "\n") + "\n"), SourcePlace(file, 1), session)
    while try tokens.skipToStatement() {
      let place = tokens.place
      let word = tokens.reader.text { isNameByte($0) }
      tokens.skipBlanks()
      switch word {
      case "rule": try rule(&tokens, place, scope)
      case "build": try build(&tokens, place, scope)
      case "pool": try pool(&tokens, place, scope)
      case "default":
        let paths = try tokens.paths()
        try tokens.endLine()
        ninja.defaults += try paths.map { (text) throws(ImportStop) in
          NinjaFile.canonical(try expand(text, scope, place))
        }
      case "include", "subninja":
        guard let text = try tokens.paths().first else {
          throw session.stop(place, "\(word) needs a file")
        }
        try tokens.endLine()
        let name = path(try expand(text, scope, place), in: folder)
        var inner = scope
        if word == "subninja" {
          inner = ninja.scopes.count
          ninja.scopes.append(NinjaScope(parent: scope))
        }
        try read(name, scope: inner, depth: depth + 1, from: place)
      case "": throw session.stop(place, "this is no statement of Ninja")
      default:
        let value = try tokens.value(place)
        ninja.scopes[scope].variables[word] = try expand(value, scope, place)
      }
    }
  }

  private func expand(
    _ text: NinjaText, _ scope: Int, _ place: SourcePlace, edge: [String: String] = [:]
  ) throws(ImportStop) -> String {
    let result = ninja.expand(text, in: scope, edge: edge)
    try session.spend(text: result.utf8.count, place)
    return result
  }

  private mutating func rule(
    _ tokens: inout NinjaTokens, _ place: SourcePlace, _ scope: Int
  ) throws(ImportStop) {
    let name = tokens.reader.text { isNameByte($0) }
    try tokens.endLine()
    var rule = NinjaRule(name: name, place: place)
    while let (key, value) = try tokens.binding() {
      guard Self.ruleKeys.contains(key) else {
        throw session.stop(tokens.place, "a rule has no '\(key)'")
      }
      rule.bindings[key] = value
    }
    guard !name.isEmpty, rule.bindings["command"] != nil else {
      throw session.stop(place, "the rule '\(name)' has no command")
    }
    guard ninja.scopes[scope].rules.updateValue(ninja.rules.count, forKey: name) == nil else {
      throw session.stop(place, "the rule '\(name)' is there twice")
    }
    ninja.rules.append(rule)
  }

  private mutating func pool(
    _ tokens: inout NinjaTokens, _ place: SourcePlace, _ scope: Int
  ) throws(ImportStop) {
    let name = tokens.reader.text { isNameByte($0) }
    try tokens.endLine()
    var depth: Int?
    while let (key, value) = try tokens.binding() {
      guard key == "depth" else { throw session.stop(tokens.place, "a pool has no '\(key)'") }
      depth = Int(try expand(value, scope, place))
    }
    guard let depth, depth >= 0, depth <= Int(Int32.max) else {
      throw session.stop(place, "the pool '\(name)' needs a depth from 0 on")
    }
    guard ninja.pools.updateValue(depth, forKey: name) == nil else {
      throw session.stop(place, "the pool '\(name)' is there twice")
    }
  }

  private mutating func build(
    _ tokens: inout NinjaTokens, _ place: SourcePlace, _ scope: Int
  ) throws(ImportStop) {
    try session.spend(operations: 1, place)
    let outputs = try tokens.paths()
    let implicitOutputs = tokens.take("|") ? try tokens.paths() : []
    guard tokens.take(":") else { throw session.stop(place, "'build' without ':'") }
    let ruleName = tokens.reader.text { isNameByte($0) }
    let inputs = try tokens.paths()
    var parts: [String: [NinjaText]] = [:]
    // The longer signs begin with the short one.
    if !tokens.isAt("||"), !tokens.isAt("|@"), tokens.take("|") {
      parts["|"] = try tokens.paths()
    }
    if tokens.take("||") { parts["||"] = try tokens.paths() }
    if tokens.take("|@") { parts["|@"] = try tokens.paths() }
    try tokens.endLine()
    var edge = NinjaEdge(scope: scope, place: place)
    while let (key, value) = try tokens.binding() {
      edge.bindings[key] = try expand(value, scope, place)
    }
    if ruleName != "phony" {
      guard let rule = ninja.rule(ruleName, in: scope) else {
        throw session.stop(place, "there is no rule '\(ruleName)'")
      }
      edge.rule = rule
    }
    let bindings = edge.bindings
    let path = { (text: NinjaText) throws(ImportStop) -> String in
      NinjaFile.canonical(try expand(text, scope, place, edge: bindings))
    }
    edge.explicitOutputs = try outputs.map(path)
    edge.outputs = edge.explicitOutputs + (try implicitOutputs.map(path))
    edge.explicitInputs = try inputs.map(path)
    edge.implicitInputs = try (parts["|"] ?? []).map(path)
    edge.orderOnlyInputs = try (parts["||"] ?? []).map(path)
    edge.validations = try (parts["|@"] ?? []).map(path)
    guard !edge.outputs.isEmpty else { throw session.stop(place, "'build' without an output") }
    for output in edge.outputs {
      let former = ninja.makers.updateValue(ninja.edges.count, forKey: output)
      guard former == nil || former == ninja.edges.count else {
        throw session.stop(place, "'\(output)' is made by two edges")
      }
    }
    ninja.edges.append(edge)
  }
}

/// The signs of a Ninja file, with the number of the line.
struct NinjaTokens {
  var reader: ByteReader
  private(set) var place: SourcePlace
  private let session: ImportSession

  init(_ reader: ByteReader, _ place: SourcePlace, _ session: ImportSession) {
    self.reader = reader
    self.place = place
    self.session = session
  }

  /// Also over the end of a line that a dollar continues.
  mutating func skipBlanks() {
    while true {
      if reader.next == UInt8(ascii: " ") {
        reader.at += 1
      } else if reader.take("$\n") {
        place.line += 1
      } else {
        return
      }
    }
  }

  /// Skips empty lines and comments. False at the end.
  mutating func skipToStatement() throws(ImportStop) -> Bool {
    while let byte = reader.next {
      let start = reader.at
      _ = reader.text { $0 == UInt8(ascii: " ") }
      if reader.next == UInt8(ascii: "#") {
        _ = reader.text { $0 != UInt8(ascii: "\n") }
      }
      if reader.take("\n") {
        place.line += 1
        continue
      }
      guard !reader.isAtEnd else { return false }
      guard byte != UInt8(ascii: " ") else {
        throw session.stop(place, "an indented line belongs to nothing")
      }
      guard byte != UInt8(ascii: "\t") else { throw session.stop(place, "tabs do not indent") }
      reader.at = start
      return true
    }
    return false
  }

  func isAt(_ text: String) -> Bool {
    reader.bytes[min(reader.at, reader.bytes.count)...].starts(with: text.utf8)
  }

  mutating func take(_ text: String) -> Bool {
    skipBlanks()
    guard reader.take(text) else { return false }
    skipBlanks()
    return true
  }

  mutating func endLine() throws(ImportStop) {
    skipBlanks()
    guard reader.take("\n") else { throw session.stop(place, "the line goes on unexpectedly") }
    place.line += 1
  }

  /// `key = value` of an indented line; nil if the next line is none.
  mutating func binding() throws(ImportStop) -> (key: String, value: NinjaText)? {
    while reader.next == UInt8(ascii: " ") || reader.next == UInt8(ascii: "#") {
      let start = (reader.at, place)
      _ = reader.text { $0 == UInt8(ascii: " ") }
      if reader.next == UInt8(ascii: "#") {
        _ = reader.text { $0 != UInt8(ascii: "\n") }
      }
      if reader.take("\n") {
        place.line += 1
        continue
      }
      if start.0 == reader.at || reader.isAtEnd { return nil }
      let key = reader.text { isNameByte($0) }
      let at = place
      return (key, try value(at))
    }
    return nil
  }

  /// Behind a name: `= value` up to the end of the line.
  mutating func value(_ at: SourcePlace) throws(ImportStop) -> NinjaText {
    skipBlanks()
    guard reader.take("=") else { throw session.stop(at, "a name without '='") }
    skipBlanks()
    let text = try text(isPath: false)
    try endLine()
    return text
  }

  mutating func paths() throws(ImportStop) -> [NinjaText] {
    var paths: [NinjaText] = []
    while true {
      skipBlanks()
      let text = try text(isPath: true)
      if text.pieces.isEmpty { return paths }
      paths.append(text)
    }
  }

  /// A path ends at a blank, `:`, `|` or the line's end.
  private mutating func text(isPath: Bool) throws(ImportStop) -> NinjaText {
    var text = NinjaText()
    var literal: [UInt8] = []
    func isEnd(_ byte: UInt8) -> Bool {
      if byte == UInt8(ascii: "\n") { return true }
      return isPath
        && (byte == UInt8(ascii: " ") || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "|"))
    }
    while let byte = reader.next, !isEnd(byte) {
      reader.at += 1
      guard byte == UInt8(ascii: "$") else {
        literal.append(byte)
        continue
      }
      guard let escaped = reader.next else { throw session.stop(place, "'$' at the end") }
      switch escaped {
      case UInt8(ascii: "$"), UInt8(ascii: " "), UInt8(ascii: ":"):
        literal.append(escaped)
        reader.at += 1
      case UInt8(ascii: "^"):
        literal.append(UInt8(ascii: "\n"))
        reader.at += 1
      case UInt8(ascii: "\n"):
        reader.at += 1
        place.line += 1
        _ = reader.text { $0 == UInt8(ascii: " ") }
      default:
        let isBraced = reader.take("{")
        let name = reader.text {
          isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
            || isBraced && $0 == UInt8(ascii: ".")
        }
        guard !name.isEmpty, !isBraced || reader.take("}") else {
          throw session.stop(place, "'$' escapes nothing: write '$$' for a dollar")
        }
        if !literal.isEmpty {
          text.pieces.append(.literal(String(decoding: literal, as: UTF8.self)))
        }
        literal = []
        text.pieces.append(.variable(name))
      }
    }
    if !literal.isEmpty { text.pieces.append(.literal(String(decoding: literal, as: UTF8.self))) }
    return text
  }
}
