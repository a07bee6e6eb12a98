// A page: titled lines, `name value` pairs and quoted blocks, wrapped to the width.
// Values are made safe here, so that callers may pass what others wrote (G38). Quoted lines must be
// safe already.

/// Collects what a page says; `lines` are for a stream, `HTMLText.page` is for a browser.
/// One line of the page is one line of the terminal: what is too long is wrapped.
struct Page {
  enum Entry {
    case line(StyledLine)
    case blank
    /// Without a name it continues the pair before it.
    case pair(name: String, value: String, Tone)
    /// With `isProse` wrapped, else cut.
    case quote([String], isProse: Bool, indent: Int)
    case table(Table, indent: Int)
    case prose(String, indent: Int, hanging: Int, Tone)
  }

  private(set) var entries: [Entry] = []
  private let style: Style
  /// The columns of the names of pairs.
  /// Wide enough for the longest name of a pair.
  private let nameWidth: Int

  init(_ style: Style, nameWidth: Int = 11) {
    self.style = style
    self.nameWidth = nameWidth
  }

  mutating func line(_ line: StyledLine = StyledLine()) { entries.append(.line(line)) }
  mutating func blank() { entries.append(.blank) }

  /// Adds ` name value`, wrapped below the value; nothing for an empty value.
  mutating func pair(_ name: String, _ value: String?, _ tone: Tone = .plain) {
    guard let value, !value.isEmpty else { return }
    entries.append(.pair(name: name, value: value, tone))
  }

  /// Adds a pair with several lines; at most twenty are shown.
  /// Empty values stand for empty lines of the text.
  mutating func pairs(_ name: String, _ values: [String]) {
    for (position, value) in values.prefix(20).enumerated() {
      pair(position == 0 ? name : "", value.isEmpty ? " " : value)
    }
    if values.count > 20 { pair("", "… \(shownCount(values.count - 20, "more line"))", .faint) }
  }

  /// Adds quoted lines behind a bar, cut to the width; with `isProse` wrapped instead.
  mutating func quote(_ quoted: [String], isProse: Bool = false, indent: Int = 4) {
    entries.append(.quote(quoted, isProse: isProse, indent: indent))
  }

  mutating func table(_ table: Table, indent: Int = 2) {
    entries.append(.table(table, indent: indent))
  }

  /// Adds prose, wrapped and indented.
  mutating func prose(_ text: String, indent: Int, hanging: Int = 0, _ tone: Tone = .plain) {
    entries.append(.prose(text, indent: indent, hanging: hanging, tone))
  }

  /// The lines for the stream.
  var lines: [String] { entries.flatMap(lines) }

  private func lines(of entry: Entry) -> [String] {
    switch entry {
    case .line(let line): return [line.text(style)]
    case .blank: return [""]
    case .pair(let name, let value, let tone): return lines(ofPair: name, value, tone)
    case .quote(let quoted, let isProse, let indent):
      let bar = style.usesUnicode ? "│ " : "| "
      let room = style.width.map { max($0 - indent - bar.count, 10) }
      return (isProse ? quoted.flatMap { wrap($0, to: room) } : quoted).map { text in
        StyledLine([.init(blanks(indent) + bar, .faint), .init(text)]).text(style, cut: true)
      }
    case .table(let table, let indent):
      var narrower = style
      narrower.width = style.width.map { max($0 - indent, Style.narrowest) }
      return table.lines(narrower).map { blanks(indent) + $0 }
    case .prose(let text, let indent, let hanging, let tone):
      let room = style.width.map { max($0 - indent - hanging, 10) }
      return wrap(safe(text), to: room).enumerated().map { position, piece in
        let blanks = blanks(position == 0 ? indent : indent + hanging)
        return StyledLine([.init(blanks), .init(piece, tone)]).text(style)
      }
    }
  }

  private func lines(ofPair name: String, _ value: String, _ tone: Tone) -> [String] {
    let indent = 2 + nameWidth
    // At least ten columns stay for a value, however narrow the terminal.
    let room = style.width.map { max($0 - indent, 10) }
    return wrap(safe(value), to: room).enumerated().map { position, piece in
      let name = position == 0 ? "  " + pad(name, to: nameWidth) : blanks(indent)
      return StyledLine([.init(name, .faint), .init(piece, tone)]).text(style)
    }
  }

  private func blanks(_ count: Int) -> String { String(repeating: " ", count: count) }
}

/// Wraps `text` to at most `width` columns at blanks, and inside words that are too long; nil means
/// one line.
/// Words stay whole as long as they fit; O(length²) at worst, for single lines.
public func wrap(_ text: String, to width: Int?) -> [String] {
  guard let width, displayWidth(text) > width else { return [text] }
  var lines: [String] = []
  var line = ""
  for word in text.split(separator: " ", omittingEmptySubsequences: false) {
    if !line.isEmpty, displayWidth(line) + 1 + displayWidth(String(word)) > width {
      lines.append(line)
      line = ""
    }
    if !line.isEmpty { line += " " }
    for character in word {
      if displayWidth(line) + displayWidth(character) > width {
        lines.append(line)
        line = ""
      }
      line.append(character)
    }
  }
  return line.isEmpty ? lines : lines + [line]
}
