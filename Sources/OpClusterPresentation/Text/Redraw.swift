// Repaints a block of lines in place. Remembers the lines on the screen; the caller writes the
// result and provides the terminal's present width.
// Only `\r`, cursor up and erasing are used, which every terminal of today knows.

/// Produces the escape codes that replace one frame by the next.
public struct Redraw: Sendable {
  /// The widths of the lines on the screen, in columns.
  private var painted: [Int] = []
  public init() {}

  /// Returns the text that replaces the last frame by `lines`. The lines must fit the terminal.
  /// `width` is its present width, so that lines that wrapped after a resize are covered, too.
  /// Each line is erased to its end, so that a shorter one leaves nothing of a longer one.
  public mutating func repaint(_ lines: [String], width: Int) -> String {
    var text = back(width: width)
    for line in lines { text += line + "\u{1b}[K\n" }
    text += "\u{1b}[J"
    painted = lines.map { displayWidth(withoutEscapes($0)) }
    return text
  }

  /// Removes the block from the screen, so that other lines can stay above the next frame.
  public mutating func clear(width: Int) -> String {
    guard !painted.isEmpty else { return "" }
    let text = back(width: width) + "\u{1b}[J"
    painted = []
    return text
  }

  /// Moves to the first column of the first line of the block.
  /// A line that was wider than the terminal is now takes several rows.
  private func back(width: Int) -> String {
    let rows = painted.reduce(0) { $0 + max(1, ($1 + width - 1) / max(width, 1)) }
    return rows == 0 ? "" : "\r\u{1b}[\(rows)A"
  }
}

/// Removes the colour codes of `Style.paint`.
func withoutEscapes(_ line: String) -> String {
  guard line.utf8.contains(0x1b) else { return line }
  var result = ""
  var isEscape = false
  for character in line {
    if character == "\u{1b}" {
      isEscape = true
    } else if isEscape {
      if character.isLetter { isEscape = false }
    } else {
      result.append(character)
    }
  }
  return result
}
