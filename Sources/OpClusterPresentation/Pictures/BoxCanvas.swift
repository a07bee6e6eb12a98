// A canvas of characters for boxes and lines: each cell stores the directions of its lines and
// becomes the matching character at the end.
// Lines that touch join by themselves, as their directions are collected in the cell.

/// Lines, boxes and texts on a grid. Drops everything out of bounds.
struct BoxCanvas {
  private struct Cell {
    /// Bits: 1 up, 2 down, 4 left, 8 right.
    var lines: UInt8 = 0
    /// A vertical line passes over a horizontal one.
    var isBridge = false
    /// A vertical line ends here: crossing lines are joined.
    var isJunction = false
    var character: Character?
    var tone = Tone.faint
    /// The second column of a wide character.
    var isCovered = false
  }
  /// In columns; rows grow as they are drawn on.
  let width: Int
  private var rows: [[Cell]] = []
  static let up: UInt8 = 1
  static let down: UInt8 = 2
  static let left: UInt8 = 4
  static let right: UInt8 = 8

  init(width: Int) { self.width = width }

  /// O(1) amortised. Rows above the drawing cannot be reached.
  private mutating func change(_ x: Int, _ y: Int, _ body: (inout Cell) -> Void) {
    guard x >= 0, x < width, y >= 0 else { return }
    while rows.count <= y { rows.append(Array(repeating: Cell(), count: width)) }
    body(&rows[y][x])
  }

  mutating func join(_ x: Int, _ y: Int, _ directions: UInt8) {
    change(x, y) { $0.lines |= directions }
  }

  /// Draws a horizontal line between two columns, both inclusive.
  mutating func horizontal(_ y: Int, _ a: Int, _ b: Int) {
    guard a != b else { return }
    for x in min(a, b)...max(a, b) {
      join(x, y, (x > min(a, b) ? Self.left : 0) | (x < max(a, b) ? Self.right : 0))
    }
  }

  /// Draws a vertical line between two rows, both inclusive, across other lines; its ends join
  /// them.
  mutating func vertical(_ x: Int, _ top: Int, _ bottom: Int) {
    guard top < bottom else { return }
    for y in top...bottom {
      change(x, y) { cell in
        let isEnd = y == top || y == bottom
        if isEnd { cell.isJunction = true }
        if !isEnd, cell.lines & (Self.left | Self.right) != 0 { cell.isBridge = true }
        cell.lines |= (y > top ? Self.up : 0) | (y < bottom ? Self.down : 0)
      }
    }
  }

  /// Expects safe text; a wide character covers two cells.
  mutating func text(_ text: String, _ x: Int, _ y: Int, _ tone: Tone) {
    var column = x
    for character in text {
      let wide = displayWidth(character)
      change(column, y) {
        $0.character = character
        $0.tone = tone
      }
      if wide == 2 { change(column + 1, y) { $0.isCovered = true } }
      column += wide
    }
  }

  mutating func box(_ x: Int, _ y: Int, width: Int, height: Int) {
    horizontal(y, x, x + width - 1)
    horizontal(y + height - 1, x, x + width - 1)
    for side in [x, x + width - 1] {
      for row in y..<(y + height) {
        join(side, row, (row > y ? Self.up : 0) | (row < y + height - 1 ? Self.down : 0))
      }
    }
  }

  func lines(_ style: Style) -> [String] {
    rows.map { row in
      var pieces: [StyledLine.Piece] = []
      for cell in row where !cell.isCovered {
        let character = cell.character ?? sign(cell, style)
        let tone = character == " " ? Tone.plain : cell.tone
        if let last = pieces.indices.last, pieces[last].tone == tone {
          pieces[last].text.append(character)
        } else {
          pieces.append(.init(String(character), tone))
        }
      }
      return StyledLine(pieces).text(style)
    }
  }

  /// Without Unicode a corner and a crossing are both `+`.
  private func sign(_ cell: Cell, _ style: Style) -> Character {
    if cell.isBridge, !cell.isJunction { return style.usesUnicode ? "│" : "|" }
    guard style.usesUnicode else {
      switch cell.lines {
      case 0: return " "
      case 1, 2, 3: return "|"
      case 4, 8, 12: return "-"
      default: return "+"
      }
    }
    return BoxCanvas.signs[Int(cell.lines & 15)]
  }

  /// The characters by the bits up, down, left, right.
  private static let signs: [Character] = [
    " ", "│", "│", "│", "─", "┘", "┐", "┤", "─", "└", "┌", "├", "─", "┴", "┬", "┼",
  ]
}
