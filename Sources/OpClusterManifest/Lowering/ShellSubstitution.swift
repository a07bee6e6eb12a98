// Substitutes values in a shell text. Each value is one word or a part of a word, and the shell
// never parses it (see `ShellText`). Refuses values in other places. Called by the lowering.
// The scanner tells the place of each value; this file decides what is written there. Three ways:
// as it is (letters and digits), as a word of its own, or not at all.

import OpClusterModel

/// The pieces are walked twice: the scanner must have seen the whole text, since a later word can
/// refuse an earlier value.
extension Substitution {
  /// Returns the shell text, and whether it has a pipe; nil after a finding. Reports all findings
  /// of a text.
  func shell(_ node: ManifestNode, _ what: String) -> (CommandText, hasPipe: Bool)? {
    guard let pieces = pieces(node, what) else { return nil }
    let (all, hasPipe) = scanned(pieces)
    var places = all[...]
    var text = TextBuilder()
    var isFine = true
    var skipsQuote = false
    for (at, piece) in pieces.enumerated() {
      switch piece {
      case .literal(let literal):
        text.append(skipsQuote ? String(literal.dropFirst()) : literal)
        skipsQuote = false
      case .value(let value):
        let next = at + 1 < pieces.count ? pieces[at + 1].firstByte : nil
        let place = places.removeFirst()
        if value.isRaw {
          isFine = appendRaw(value, to: &text) && isFine
        } else {
          // Quotes that hold one value alone are dropped: the value brings its own.
          let isEnclosed = place == .doubleQuotes(isOpening: true) && next == UInt8(ascii: "\"")
          var put = PlacedText(place: place, next: next, isEnclosed: isEnclosed)
          isFine = append(value, &put, to: &text) && isFine
          skipsQuote = put.tookQuotes
        }
      }
    }
    guard isFine, let text = checked(text.text, node) else { return nil }
    return (text, hasPipe)
  }

  /// Returns the place of each value, `raw(…)` included, and whether there is a pipe.
  /// A value that is `raw` has no place: it is code, and the scanner reads it as such if it is
  /// known.
  private func scanned(_ pieces: [TextPiece]) -> ([ShellPlace], hasPipe: Bool) {
    var scanner = ShellScanner()
    var count = 0
    var numbers: [Int?] = []
    for (at, piece) in pieces.enumerated() {
      switch piece {
      case .literal(let literal): scanner.read(literal)
      case .value(let value) where value.isRaw:
        numbers.append(nil)
        // A known `raw` parameter is a part of the text.
        if case .parameter(let name) = value.reference, let known = findings.parameters[name] ?? nil
        {
          scanner.read(known)
        } else {
          // Unknown code makes the rest of the word unknown, and nothing worse.
          scanner.passUnknown()
        }
      case .value:
        scanner.passValue(next: at + 1 < pieces.count ? pieces[at + 1].firstByte : nil)
        numbers.append(count)
        count += 1
      }
    }
    // A `raw` value gets a place that is never looked at.
    let places = numbers.map { $0.map { scanner.places[$0] } ?? .word(takesMany: true) }
    return (places, scanner.hasPipe)
  }

  /// `raw` is the author's word that the value is code; nothing is quoted or checked.
  private func appendRaw(_ value: TextPiece.PlacedValue, to text: inout TextBuilder) -> Bool {
    if case .parameter(let name) = value.reference {
      guard let known = findings.parameter(name, value.place) else { return false }
      text.append(known)
      return true
    }
    guard let late = late(value) else { return false }
    text.append(late, .none)
    return true
  }

  /// A place and the text around it.
  /// Both neighbours matter: a value before `(` would be the name of a function.
  private struct PlacedText {
    let place: ShellPlace
    let next: UInt8?
    /// The quotes around the value hold nothing else.
    let isEnclosed: Bool
    /// The quotes were removed.
    var tookQuotes = false
  }

  /// Appends a value that is not `raw`; false after a finding.
  /// Values that are safe in any quoting are written plainly, so that people read the text as they
  /// would have written it.
  private func append(
    _ value: TextPiece.PlacedValue, _ put: inout PlacedText, to text: inout TextBuilder
  ) -> Bool {
    var late: CommandText.Value
    var isPlain: Bool
    if case .parameter(let name) = value.reference {
      guard let known = findings.parameter(name, value.place) else { return false }
      late = .known(known)
      isPlain = isPlainHere(known, put)
    } else {
      guard let found = self.late(value) else { return false }
      late = found
      isPlain = isAlwaysPlain(found, put)
    }
    if isPlain {
      appendPlain(late, to: &text)
      return true
    }
    switch put.place {
    case .refused(let obstacle):
      findings.error(
        obstacle.message, value.place, hint: obstacle.hint(value.expression))
      return false
    // In the place of one word an array's outputs would become several.
    case .word(let takesMany):
      if !takesMany, isList(late) { return refuseList(value) }
      text.append(late, .shell)
    case .doubleQuotes:
      if isList(late) { return refuseList(value) }
      if put.isEnclosed, text.removeQuote() {
        put.tookQuotes = true
        text.append(late, .shell)
      } else {
        // The quotes of the text end before the value, and begin again behind it: the value's own
        // quotes stand alone.
        text.append("\"")
        text.append(late, .shell)
        text.append("\"")
      }
    }
    return true
  }

  /// A parameter becomes text of the manifest; a late value is put in as it is, without quoting.
  private func appendPlain(_ value: CommandText.Value, to text: inout TextBuilder) {
    if case .known(let known) = value {
      text.append(known)
    } else {
      text.append(value, .none)
    }
  }

  /// Whether a known text can be written without quotes.
  /// Only known texts can be judged: parameters.
  private func isPlainHere(_ known: String, _ put: PlacedText) -> Bool {
    switch put.place {
    // Quotes a value where a command may stand: unquoted it could be a reserved word or an
    // assignment.
    case .word(let takesMany): takesMany && ShellText.isPlainWord(known, before: put.next)
    case .doubleQuotes: ShellText.isSafe(known)
    case .refused(let obstacle): obstacle.takesPlain && ShellText.isSafe(known)
    }
  }

  /// Whether every possible value can be written without quotes. An index is digits; otherwise all
  /// elements are checked. O(elements) of the operation.
  private func isAlwaysPlain(_ value: CommandText.Value, _ put: PlacedText) -> Bool {
    switch value {
    case .index:
      switch put.place {
      case .word: return ShellText.isPlainWord("1", before: put.next)
      case .doubleQuotes: return true
      // Plain elements are worth the check only where nothing else can stand.
      case .refused(let obstacle): return obstacle.takesPlain
      }
    case .element(let position):
      guard case .refused(let obstacle) = put.place, obstacle.takesPlain,
        let elements = operation.elements
      else { return false }
      return (0..<Int(elements.count)).allSatisfy { element in
        let values = elements.values(element)
        return position < values.count && ShellText.isSafe(values[position])
      }
    case .output, .known, .secret: return false
    }
  }

  /// Whether the value may be more than one word.
  /// An output of an array, unless the match is by index: then it is one value.
  private func isList(_ value: CommandText.Value) -> Bool {
    guard case .output(let operation, _) = value else { return false }
    return outputsByNeed.contains { $0.value.operation == operation && $0.value.isList }
  }

  /// The finding names the value, since the place may be in a long text.
  private func refuseList(_ value: TextPiece.PlacedValue) -> Bool {
    findings.error(
      "only one value can stand here, and '\(value.expression)' are those of all elements",
      value.place, hint: "give them as arguments, outside of quotes")
    return false
  }
}

extension TextPiece {
  /// The first byte of a literal; nil for a value.
  fileprivate var firstByte: UInt8? {
    if case .literal(let text) = self { text.utf8.first } else { nil }
  }
}
