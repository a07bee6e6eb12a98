// Makes foreign text safe for a terminal (G38): control characters, and characters that turn the
// reading direction, become visible escapes. Names, reasons and stderr come from others.
// `canSteerTerminal` in OpClusterModel says which characters those are. Everything that a command
// prints passes one of these functions.

import OpClusterModel

/// Makes one line safe; line ends and tabs become visible, too.
/// ASCII without control characters is returned as it is: nearly all texts are.
public func safe(_ text: String) -> String {
  if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
  var result = ""
  for scalar in text.unicodeScalars { appendSafely(scalar, to: &result) }
  return result
}

/// Splits a text into safe lines. Expands tabs, drops a carriage return at the end of a line, and
/// returns no empty line at the end.
/// Line ends are those of Unix and of Windows.
public func safeLines(_ text: String) -> [String] {
  // Split by bytes: Swift treats a carriage return and a line feed as one character.
  var lines = text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map { piece in
    var line = String(decoding: piece.last == 0x0d ? piece.dropLast() : piece, as: UTF8.self)
    if line.utf8.contains(0x09) { line = expandTabs(line) }
    return safe(line)
  }
  while lines.last?.isEmpty == true { lines.removeLast() }
  return lines
}

/// Makes bytes of a log safe: like `safe`, but keeps line ends and tabs. Malformed UTF-8 becomes
/// U+FFFD.
public func safeLog(_ bytes: ArraySlice<UInt8>) -> String {
  let isPlain = bytes.allSatisfy { ($0 >= 0x20 && $0 < 0x7f) || $0 == 0x0a || $0 == 0x09 }
  let text = String(decoding: bytes, as: UTF8.self)
  if isPlain { return text }
  var result = ""
  for scalar in text.unicodeScalars {
    if scalar == "\n" || scalar == "\t" {
      result.unicodeScalars.append(scalar)
    } else {
      appendSafely(scalar, to: &result)
    }
  }
  return result
}

/// Makes a whole output safe, behind the functions above: the last check before a stream. Keeps
/// line ends, tabs and, with `colours`, colour codes; makes every other character that could steer
/// a terminal visible.
///
/// - Parameter isLine: Makes line ends visible, too: the output stays one line.
public func safeOutput(_ text: String, colours: Bool, isLine: Bool = false) -> String {
  if text.utf8.allSatisfy({ ($0 >= 0x20 && $0 < 0x7f) || ($0 == 0x0a && !isLine) }) {
    return text
  }
  var result = ""
  var rest = text.unicodeScalars[...]
  while let scalar = rest.first {
    if scalar == "\u{1b}", colours, let code = colourCode(rest) {
      result.unicodeScalars.append(contentsOf: code)
      rest = rest[code.endIndex...]
      continue
    }
    rest.removeFirst()
    if (scalar == "\n" && !isLine) || scalar == "\t" {
      result.unicodeScalars.append(scalar)
    } else {
      appendSafely(scalar, to: &result)
    }
  }
  return result
}

/// Matches `ESC [ 31 m` and the like at the beginning of a text; nothing longer, nothing else.
private func colourCode(
  _ text: Substring.UnicodeScalarView
) -> Substring.UnicodeScalarView? {
  var at = text.index(after: text.startIndex)
  guard at < text.endIndex, text[at] == "[" else { return nil }
  for _ in 0..<8 {
    at = text.index(after: at)
    guard at < text.endIndex else { return nil }
    if text[at] == "m" { return text[text.startIndex...at] }
    guard ("0"..."9").contains(text[at]) || text[at] == ";" else { return nil }
  }
  return nil
}

/// Forms are those of C and Swift, so that people know what was there.
private func appendSafely(_ scalar: Unicode.Scalar, to result: inout String) {
  guard scalar.canSteerTerminal else {
    result.unicodeScalars.append(scalar)
    return
  }
  switch scalar {
  case "\n": result += "\\n"
  case "\r": result += "\\r"
  case "\t": result += "\\t"
  default:
    let digits = String(scalar.value, radix: 16)
    result +=
      scalar.value < 0x100 ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{\(digits)}"
  }
}

/// Tab stops every eight columns, counted in columns of the terminal.
private func expandTabs(_ line: String) -> String {
  var result = ""
  var column = 0
  for character in line {
    if character == "\t" {
      let blanks = 8 - column % 8
      result += String(repeating: " ", count: blanks)
      column += blanks
    } else {
      result.append(character)
      column += displayWidth(character)
    }
  }
  return result
}
