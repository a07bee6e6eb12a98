// Fits columns to the terminal: shortens texts first, then drops the least important columns. Never
// cuts numbers.
// Cells are measured in columns of the terminal (`displayWidth`), not in characters.

/// A table for one stream.
/// Rows are kept until all are there, since widths depend on them.
public struct Table: Sendable {
  public struct Column: Sendable {
    var title: String
    /// Whether the column is right-aligned, as numbers are.
    var isRight: Bool
    /// The minimum width after cutting; nil: never cut.
    var shortest: Int?
    /// Whether a number at the end of the text survives cutting.
    var isName = false
    /// Columns with higher numbers are dropped first; 0 is never dropped.
    var dispensable: Int

    /// A column of text that may be cut.
    static func text(_ title: String, shortest: Int? = nil, dispensable: Int = 0) -> Column {
      Column(title: title, isRight: false, shortest: shortest, dispensable: dispensable)
    }
    /// A column of names that end in a number. Cutting keeps the number and shortens the name.
    static func name(_ title: String, shortest: Int) -> Column {
      Column(title: title, isRight: false, shortest: shortest, isName: true, dispensable: 0)
    }
    static func number(_ title: String, dispensable: Int = 0) -> Column {
      Column(title: title, isRight: true, shortest: nil, dispensable: dispensable)
    }
  }

  let columns: [Column]
  private(set) var rows: [[StyledLine.Piece]] = []
  /// Blanks between two columns.
  private static let gap = 2

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row, one cell per column; makes the cells safe.
  mutating func add(_ cells: [StyledLine.Piece]) {
    precondition(cells.count == columns.count)
    rows.append(cells.map { StyledLine.Piece(safe($0.text), $0.tone) })
  }

  /// Returns title and rows without trailing blanks. `titled` is false for later pages of a
  /// listing.
  public func lines(_ style: Style, titled: Bool = true) -> [String] {
    let layout = layout(style)
    var lines: [String] = []
    if titled {
      let titles = columns.map { StyledLine.Piece($0.title, .faint) }
      lines.append(line(titles, layout, style))
    }
    for row in rows { lines.append(line(row, layout, style)) }
    return lines
  }

  /// The positions and widths of the remaining columns.
  /// First columns that are empty, then those that can be spared, then characters of the widest
  /// text. O(rows × columns), and a step for each character that is too much.
  private func layout(_ style: Style) -> [(column: Int, width: Int)] {
    var shown = Array(columns.indices)
    // Drop an empty column if it may be dropped.
    shown.removeAll { at in
      columns[at].dispensable > 0 && !rows.isEmpty && rows.allSatisfy { $0[at].text.isEmpty }
    }
    // Without a limit, a column is as wide as its widest cell.
    var widths = columns.indices.map { at in
      rows.reduce(displayWidth(columns[at].title)) { max($0, displayWidth($1[at].text)) }
    }
    guard let room = style.width else { return shown.map { ($0, widths[$0]) } }
    while excess(shown, shown.map { leastWidth($0, widths[$0]) }, room) > 0 {
      guard let victim = shown.max(by: { columns[$0].dispensable < columns[$1].dispensable }),
        columns[victim].dispensable > 0
      else { break }
      shown.removeAll { $0 == victim }
    }
    var over = excess(shown, shown.map { widths[$0] }, room)
    while over > 0 {
      // Narrow the widest column that can be cut, by one.
      let candidates = shown.filter { widths[$0] > leastWidth($0, widths[$0]) }
      guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      over -= 1
    }
    return shown.map { ($0, widths[$0]) }
  }

  /// Columns without a least width are never cut.
  private func leastWidth(_ column: Int, _ natural: Int) -> Int {
    min(natural, columns[column].shortest ?? natural)
  }

  /// Negative if there is room left.
  private func excess(_ shown: [Int], _ widths: [Int], _ room: Int) -> Int {
    widths.reduce(0, +) + Table.gap * max(0, shown.count - 1) - room
  }

  private func line(
    _ cells: [StyledLine.Piece], _ layout: [(column: Int, width: Int)], _ style: Style
  ) -> String {
    var pieces: [StyledLine.Piece] = []
    for (position, (column, width)) in layout.enumerated() {
      if position > 0 { pieces.append(.init(String(repeating: " ", count: Table.gap))) }
      let text =
        columns[column].isName
        ? shortenedName(cells[column].text, to: width, unicode: style.usesUnicode)
        : truncate(cells[column].text, to: width, unicode: style.usesUnicode)
      let blanks = String(repeating: " ", count: width - displayWidth(text))
      // Blanks are separate pieces, so that colour covers only words.
      if columns[column].isRight { pieces.append(.init(blanks)) }
      pieces.append(.init(text, cells[column].tone))
      if !columns[column].isRight { pieces.append(.init(blanks)) }
    }
    return StyledLine(pieces).text(style, cut: true)
  }
}
