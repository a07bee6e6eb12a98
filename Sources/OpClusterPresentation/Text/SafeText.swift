// What others wrote (names, reasons, stderr) must not steer the terminal of who reads it (G38):
// control characters, and those that turn the reading direction, become visible escapes.

import OpClusterModel

/// One line: line ends and tabs are made visible, too.
public func safe(_ text: String) -> String {
  if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
  var result = ""
  for scalar in text.unicodeScalars { appendSafely(scalar, to: &result) }
  return result
}

/// Lines of a longer text, each safe; tabs are expanded, a carriage return at the end is dropped.
/// No empty line at the end.
public func safeLines(_ text: String) -> [String] {
  // By bytes: to Swift a carriage return and a line feed are one character.
  var lines = text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map { piece in
    var line = String(decoding: piece.last == 0x0d ? piece.dropLast() : piece, as: UTF8.self)
    if line.utf8.contains(0x09) { line = expandTabs(line) }
    return safe(line)
  }
  while lines.last?.isEmpty == true { lines.removeLast() }
  return lines
}

/// Bytes of a log for a terminal: like `safe`, but line ends and tabs stay. Malformed UTF-8
/// becomes U+FFFD.
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

/// What leaves for a stream as a whole, whoever wrote the parts: the last door, behind the
/// functions above. Line ends and tabs stay, and, where `colours` are wanted, the codes of colours;
/// everything else that could steer a terminal becomes visible.
///
/// - Parameter isLine: Line ends become visible, too: it is one line, whatever others wrote in it.
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

/// `ESC [ 31 m` and the like at the beginning of a text; nothing longer, nothing else.
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
