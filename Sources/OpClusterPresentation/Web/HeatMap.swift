// The operations of a graph as a map: a cell for each, or for some neighbours where there are many;
// what a pointer finds there, the list below shows.

import OpClusterModel

struct HeatMap {
  private let elements: ElementStates
  private let graph: GraphID
  /// Of all stages together: more are no picture, and would be sent again and again.
  private static let mostCells = 1_500
  private static let columns = 75
  private static let cell = 9.0
  /// Those with the most operations.
  private static let mostStages = 24

  init(_ elements: ElementStates, of graph: GraphID) {
    self.elements = elements
    self.graph = graph
  }

  func draw(_ html: inout HTMLText) {
    let several = elements.stages.filter { $0.range.count > 1 }
    let shown = several.sorted { $0.range.count > $1.range.count }.prefix(Self.mostStages)
    guard !shown.isEmpty else { return }
    let all = shown.reduce(0) { $0 + $1.range.count }
    html.element("h2", "Elements")
    for stage in shown.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      let share = Double(stage.range.count) / Double(all) * Double(Self.mostCells)
      draw(stage.name, stage.range, cells: max(8, Int(share)), &html)
    }
    html.element("p", [("class", "keys")]) { html in
      for kind in ["waiting", "ready", "running", "succeeded", "failed", "cancelled"] {
        html.empty("span", [("class", "key \(kind)")])
        html.words(kind)
      }
    }
    if several.count > shown.count {
      html.element(
        "p", [("class", "faint")], "… and \(shownCount(several.count - shown.count, "array")).")
    }
  }

  private func draw(
    _ name: String, _ range: Range<Int>, cells: Int, _ html: inout HTMLText
  ) {
    let perCell = max(1, (range.count + cells - 1) / cells)
    let count = (range.count + perCell - 1) / perCell
    let rows = (count + Self.columns - 1) / Self.columns
    let width = Double(min(count, Self.columns)) * Self.cell
    let height = Double(rows) * Self.cell
    let scale = perCell == 1 ? "" : ", \(shownCount(perCell)) in a cell"
    html.element("h3", "\(name): \(shownCount(range.count))\(scale)")
    let look = (0..<count).map { cell in
      let first = range.lowerBound + cell * perCell
      return elements.look(first..<min(range.upperBound, first + perCell))
    }
    let sums = Dictionary(grouping: look, by: { $0 }).map { "\($0.value.count) \($0.key)" }
    html.element(
      "svg",
      [
        ("class", "heat"), ("width", plotNumber(width)), ("height", plotNumber(height)),
        ("viewBox", "0 0 \(plotNumber(width)) \(plotNumber(height))"), ("role", "img"),
        ("aria-label", "Cells of \(name): \(sums.sorted().joined(separator: ", "))"),
        ("data-first", "\(range.lowerBound)"), ("data-count", "\(range.count)"),
        ("data-per-cell", "\(perCell)"), ("data-columns", "\(Self.columns)"),
        ("data-cell", plotNumber(Self.cell)),
      ]
    ) { html in
      for row in 0..<rows { draw(row: row, look, &html) }
    }
  }

  /// Neighbours of one look are one box.
  private func draw(row: Int, _ look: [String], _ html: inout HTMLText) {
    let end = min(look.count, (row + 1) * Self.columns)
    var at = row * Self.columns
    while at < end {
      var next = at + 1
      while next < end, look[next] == look[at] { next += 1 }
      html.empty(
        "rect",
        [
          ("class", look[at]), ("x", plotNumber(Double(at % Self.columns) * Self.cell)),
          ("y", plotNumber(Double(row) * Self.cell)),
          ("width", plotNumber(Double(next - at) * Self.cell - 1)),
          ("height", plotNumber(Self.cell - 1)),
        ])
      at = next
    }
  }
}
