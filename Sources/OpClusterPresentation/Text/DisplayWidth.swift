// Measures the columns of a text in a terminal. Swift counts characters; terminals give wide
// scripts and emoji two columns and combining marks none.
// Exact for common scripts; where terminals disagree, the usual answer is taken.

/// The columns of `text`. Counts control characters as 0; neutralise them first.
/// O(n). ASCII is counted by bytes.
public func displayWidth(_ text: String) -> Int {
  var ascii = 0
  for byte in text.utf8 {
    guard byte >= 0x20, byte < 0x7f else { return text.reduce(0) { $0 + displayWidth($1) } }
    ascii += 1
  }
  return ascii
}

/// Columns of one character: 0, 1 or 2.
func displayWidth(_ character: Character) -> Int {
  var width = 0
  for scalar in character.unicodeScalars {
    // Variation selector 16 asks for the emoji form, which is wide.
    if scalar.value == 0xfe0f { return width == 0 ? 0 : 2 }
    width = max(width, displayWidth(scalar))
  }
  return width
}

private func displayWidth(_ scalar: Unicode.Scalar) -> Int {
  switch scalar.value {
  case 0x20..<0x7f: return 1
  case ..<0xa0: return 0
  case 0xa0..<0x300: return 1
  default: break
  }
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format, .control: return 0
  default: break
  }
  if scalar.properties.isEmojiPresentation { return 2 }
  return wideRanges.contains { $0.contains(scalar.value) } ? 2 : 1
}

/// East Asian wide and fullwidth blocks, coarse to the block.
/// Characters inside of a block that do not exist count as wide.
private let wideRanges: [ClosedRange<UInt32>] = [
  0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf,
  0x4e00...0x9fff, 0xa000...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3, 0xf900...0xfaff,
  0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18aff,
  0x1b000...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd,
]

/// Returns `text` in at most `width` columns; replaces the end by … (or ~) if it does not fit.
/// A wide character that fits only in part is left out.
public func truncate(_ text: String, to width: Int, unicode: Bool = true) -> String {
  guard displayWidth(text) > width else { return text }
  guard width > 0 else { return "" }
  var kept = ""
  var used = 0
  for character in text {
    let wide = displayWidth(character)
    if used + wide > width - 1 { break }
    kept.append(character)
    used += wide
  }
  return kept + (unicode ? "…" : "~")
}

/// Shortens a path or a label to at most `width` columns. Keeps a number at the end, `/1234` or `
/// [1,500]`, and shortens the name before it.
func shortenedName(_ text: String, to width: Int, unicode: Bool = true) -> String {
  guard displayWidth(text) > width, let tail = numberAtEnd(text) else {
    return truncate(text, to: width, unicode: unicode)
  }
  let room = width - tail.utf8.count
  // Without room for the name, truncate the whole.
  guard room >= 3 else { return truncate(text, to: width, unicode: unicode) }
  return truncate(String(text.dropLast(tail.count)), to: room, unicode: unicode) + tail
}

/// Returns `/1234` or ` [1,500]` at the end of a text.
/// nil for a text that ends otherwise.
private func numberAtEnd(_ text: String) -> Substring? {
  let isIndex = text.utf8.last != UInt8(ascii: "]")
  let body = isIndex ? text[...] : text.dropLast()
  let digits = body.reversed().prefix { $0.isASCII && ($0.isNumber || $0 == ",") }.count
  guard digits > 0 else { return nil }
  let tail = text.suffix(digits + (isIndex ? 1 : 3))
  return tail.hasPrefix(isIndex ? "/" : " [") ? tail : nil
}

/// Fills `text` with blanks to `width` columns.
func pad(_ text: String, to width: Int, right: Bool = false) -> String {
  let blanks = String(repeating: " ", count: max(0, width - displayWidth(text)))
  return right ? blanks + text : text + blanks
}
