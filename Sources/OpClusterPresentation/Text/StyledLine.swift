// A line of pieces with different tones; measured and cut before escape codes are added.
// Escape codes have no width, so they are added last.

/// One line of a page; cut to the width of its stream.
public struct StyledLine: Hashable, Sendable {
  public struct Piece: Hashable, Sendable {
    public var text: String
    public var tone: Tone
    public init(_ text: String, _ tone: Tone = .plain) {
      self.text = text
      self.tone = tone
    }
  }
  public var pieces: [Piece]
  public init(_ pieces: [Piece] = []) { self.pieces = pieces }
  public init(_ text: String, _ tone: Tone = .plain) { pieces = [Piece(text, tone)] }

  /// In columns of a terminal.
  public var width: Int { pieces.reduce(0) { $0 + displayWidth($1.text) } }

  /// Returns the line without trailing blanks, with `cut` limited to the style's width.
  public func text(_ style: Style, cut: Bool = false) -> String {
    var pieces = self.pieces
    if cut, let limit = style.width, width > limit {
      pieces = StyledLine.cut(pieces, to: limit, unicode: style.usesUnicode)
    }
    while let last = pieces.last {
      pieces[pieces.count - 1].text = withoutBlanksAtEnd(last.text)
      if !pieces[pieces.count - 1].text.isEmpty { break }
      pieces.removeLast()
    }
    return pieces.reduce("") { $0 + style.paint($1.text, $1.tone) }
  }

  /// Pieces keep their tones; the last one that fits in part gets the mark.
  private static func cut(_ pieces: [Piece], to limit: Int, unicode: Bool) -> [Piece] {
    var result: [Piece] = []
    var room = limit
    for (position, piece) in pieces.enumerated() {
      let width = displayWidth(piece.text)
      let isLast = position == pieces.count - 1
      if width < room || (width == room && isLast) {
        result.append(piece)
        room -= width
      } else {
        // Leave one column for the mark that the line was cut.
        // Two blanks make the piece too long, so that the mark is added even where it would just
        // fit.
        let marked = width > room ? piece.text : piece.text + "  "
        result.append(Piece(truncate(marked, to: room, unicode: unicode), piece.tone))
        break
      }
    }
    return result
  }
}

func withoutBlanksAtEnd(_ text: String) -> String {
  var text = text
  while text.hasSuffix(" ") { text.removeLast() }
  return text
}
