// The replacement strings of GNU parallel, `{}`, `{.}`, `{2/}`, `{#}`…: what a template holds, and
// what each becomes. Pure.

/// One place of a template.
package struct Replacement: Hashable, Sendable {
  /// Which argument.
  package enum Position: Hashable, Sendable {
    /// All arguments of the job.
    case all
    /// The n-th, from 1; negative counts from the end.
    case number(Int)
    /// That of the input source or column with this header.
    case name(String)
  }
  /// What is taken of it.
  package enum Form: Hashable, Sendable {
    case whole, withoutExtension, baseName, folder, baseNameWithoutExtension
    /// The job's number, from 1.
    case sequence
    /// The number of the place in which it runs, from 1.
    case slot
  }
  package var position: Position
  package var form: Form

  package init(_ position: Position, _ form: Form) {
    self.position = position
    self.form = form
  }

  /// What is between braces: the empty text is all arguments. nil: no replacement string.
  ///
  /// - Parameter names: The headers of the input sources.
  init?(inside text: Substring, names: [String]) {
    switch text {
    case "#": self.init(.all, .sequence)
    case "%": self.init(.all, .slot)
    default:
      // Longest first, so that `{/.}` is not read as `{/` and a rest.
      for (ending, form) in Self.endings where text.hasSuffix(ending) {
        let place = text.dropLast(ending.count)
        guard let position = Self.position(place, names) else { continue }
        self.init(position, form)
        return
      }
      return nil
    }
  }

  private static let endings: [(String, Form)] = [
    ("/.", .baseNameWithoutExtension), ("//", .folder), (".", .withoutExtension),
    ("/", .baseName), ("", .whole),
  ]

  private static func position(_ text: Substring, _ names: [String]) -> Position? {
    if text.isEmpty { return .all }
    if names.contains(String(text)) { return .name(String(text)) }
    let digits = text.hasPrefix("-") ? text.dropFirst() : text
    guard (1...6).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(text), number != 0
    else { return nil }
    return .number(number)
  }

  /// What a value becomes by the form of a replacement string.
  package static func formed(_ value: String, _ form: Form) -> String {
    switch form {
    case .whole, .sequence, .slot: value
    case .withoutExtension: withoutExtension(value)
    case .baseName: baseName(value)
    case .folder: folder(value)
    case .baseNameWithoutExtension: withoutExtension(baseName(value))
    }
  }

  // Bytes, not characters: a combining mark behind a slash would hide it.
  private static let slash = UInt8(ascii: "/")

  private static func baseName(_ value: String) -> String {
    guard let last = value.utf8.lastIndex(of: slash) else { return value }
    return String(decoding: value.utf8[value.utf8.index(after: last)...], as: UTF8.self)
  }

  private static func withoutExtension(_ value: String) -> String {
    guard let point = value.utf8.lastIndex(of: UInt8(ascii: ".")),
      !value.utf8[point...].contains(slash)
    else { return value }
    return String(decoding: value.utf8[..<point], as: UTF8.self)
  }

  /// As `dirname` prints it.
  private static func folder(_ value: String) -> String {
    var bytes = Array(value.utf8)
    while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
    guard let last = bytes.lastIndex(of: slash) else { return "." }
    bytes.removeSubrange(last...)
    while bytes.last == slash { bytes.removeLast() }
    return bytes.isEmpty ? "/" : String(decoding: bytes, as: UTF8.self)
  }
}

/// A text with replacement strings.
package struct ReplacementTemplate: Hashable, Sendable {
  package enum Piece: Hashable, Sendable {
    case text(String)
    case value(Replacement)
  }
  package private(set) var pieces: [Piece] = []

  /// - Parameters:
  ///   - names: The headers of the input sources, which are replacement strings of their own.
  ///   - whole: What stands for `{}` besides it, as `-I` says; nil: nothing.
  package init(_ text: String, names: [String] = [], whole: String? = nil) {
    // Bytes, not characters: a combining mark behind a brace would hide it.
    let bytes = Array(text.utf8)
    let mark = whole.map { Array($0.utf8) } ?? []
    var literal: [UInt8] = []
    var at = 0
    func take(_ value: Replacement, _ pieces: inout [Piece]) {
      if !literal.isEmpty { pieces.append(.text(String(decoding: literal, as: UTF8.self))) }
      literal = []
      pieces.append(.value(value))
    }
    while at < bytes.count {
      if !mark.isEmpty, bytes[at...].starts(with: mark) {
        take(Replacement(.all, .whole), &pieces)
        at += mark.count
      } else if bytes[at] == UInt8(ascii: "{"),
        let end = bytes[at...].firstIndex(of: UInt8(ascii: "}")),
        let found = Replacement(
          inside: Substring(decoding: bytes[(at + 1)..<end], as: UTF8.self), names: names),
        mark.isEmpty || found != Replacement(.all, .whole)
      {
        take(found, &pieces)
        at = end + 1
      } else {
        literal.append(bytes[at])
        at += 1
      }
    }
    if !literal.isEmpty { pieces.append(.text(String(decoding: literal, as: UTF8.self))) }
  }

  package init(pieces: [Piece]) { self.pieces = pieces }

  package var replacements: [Replacement] {
    pieces.compactMap { if case .value(let value) = $0 { value } else { nil } }
  }

  /// Whether nothing of it is replaced.
  package var isConstant: Bool { replacements.isEmpty }

  /// The template's words: split at blanks of its text, none of which is quoted.
  package var words: [ReplacementTemplate] {
    var words: [ReplacementTemplate] = []
    var word: [Piece] = []
    for piece in pieces {
      guard case .text(let text) = piece else {
        word.append(piece)
        continue
      }
      for (at, part) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
        if at > 0, !word.isEmpty {
          words.append(ReplacementTemplate(pieces: word))
          word = []
        }
        if !part.isEmpty { word.append(.text(String(part))) }
      }
    }
    if !word.isEmpty { words.append(ReplacementTemplate(pieces: word)) }
    return words
  }
}
