// `graph --format svg`: a self-contained picture without scripts and external fonts.
// Lengths are pixels. Text is escaped for XML, and made safe before.

public import OpClusterModel

public enum GraphSVG {
  /// Maximum number of stages in a readable picture.
  public static let maximumStages = 2_000

  private static let rowHeight = 92.0
  private static let boxHeight = 46.0
  private static let margin = 24.0
  private static let headHeight = 30.0

  /// Returns the picture; nil if the graph has too many stages.
  public static func document(_ structure: GraphStructure) -> String? {
    let graph = StageGraph(structure)
    guard graph.stages.count <= maximumStages else { return nil }
    let labels = graph.stages.map { truncate(safe(stageLabel($0)), to: 40) }
    let layering = Layering(graph, bend: 10, gap: 22) { stage in
      // Letters of this size are about 7.4 wide in the widest common font.
      let standing = displayWidth(graph.standing(graph.stages[stage]))
      return max(70, Double(max(displayWidth(labels[stage]), standing)) * 7.4 + 24)
    }
    let row = structure.row
    let title =
      "\(row.graph.number) \(row.name): \(row.state.rawValue), "
      + "\(shownCount(row.counts.finished)) of \(shownCount(row.counts.total)) done"
    let width = max(layering.width, Double(displayWidth(title)) * 8.2) + 2 * margin
    let layers = Double(max(layering.layers.count, 1))
    let height = 2 * margin + headHeight + (layers - 1) * rowHeight + boxHeight
    var text = opening(title, width: width, height: height)
    if let note = graph.incompleteness { text += "<desc>\(xmlEscaped(note))</desc>\n" }
    for (position, edge) in graph.edges.enumerated() {
      text += path(edge, position, layering)
    }
    for node in layering.nodes {
      guard let stage = node.stage else { continue }
      text += box(graph.stages[stage], labels[stage], graph, node)
    }
    return text + "</svg>\n"
  }

  /// Numbers have at most one decimal, which keeps the document small.
  private static func opening(_ title: String, width: Double, height: Double) -> String {
    let size = "width=\"\(number(width))\" height=\"\(number(height))\""
    let view = "viewBox=\"0 0 \(number(width)) \(number(height))\""
    let head = xmlEscaped(safe(title))
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <svg xmlns="http://www.w3.org/2000/svg" \(size) \(view) \
      font-family="Helvetica, Arial, sans-serif" font-size="13">
      <title>\(head)</title>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" \
      markerHeight="8" orient="auto-start-reverse"><path d="M0 0.5 L8 4 L0 7.5 z" \
      fill="#666666"/></marker></defs>
      <rect width="100%" height="100%" fill="#ffffff"/>
      <text x="\(number(margin))" y="\(number(margin + 8))" font-size="15" \
      font-weight="bold" fill="#222222">\(head)</text>

      """
  }

  private static func top(_ layer: Int) -> Double {
    margin + headHeight + Double(layer) * rowHeight
  }

  private static func box(
    _ stage: GraphStructure.Stage, _ label: String, _ graph: StageGraph, _ node: Layering.Node
  ) -> String {
    let palette = Palette(stage.counts)
    let x = margin + node.x
    let y = top(node.layer)
    let counts = stage.counts.sentence()
    var text = "<g><title>\(xmlEscaped(safe(stage.name) + ": " + counts))</title>"
    text += "<rect x=\"\(number(x - node.width / 2))\" y=\"\(number(y))\" "
    text += "width=\"\(number(node.width))\" height=\"\(number(boxHeight))\" rx=\"6\" "
    text += "fill=\"\(palette.fill)\" stroke=\"\(palette.stroke)\"/>"
    text += line(label, x, y + 19, "#111111", weight: "bold")
    text += line(graph.standing(stage), x, y + 36, palette.stroke, weight: "normal")
    return text + "</g>\n"
  }

  private static func line(
    _ text: String, _ x: Double, _ y: Double, _ fill: String, weight: String
  ) -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"middle\" "
      + "font-weight=\"\(weight)\" fill=\"\(fill)\">\(xmlEscaped(text))</text>"
  }

  /// Draws curves from layer to layer, and a straight line through the height of the boxes at a
  /// bend.
  private static func path(
    _ edge: StageGraph.Edge, _ position: Int, _ layering: Layering
  ) -> String {
    let route = layering.routes[position].map { layering.nodes[$0] }
    var text = ""
    for (upper, lower) in zip(route, route.dropFirst()) {
      let (x1, y1) = (margin + upper.x, top(upper.layer) + boxHeight)
      let (x2, y2) = (margin + lower.x, top(lower.layer))
      let middle = (y1 + y2) / 2
      text += text.isEmpty ? "M" : "L"
      text += "\(number(x1)) \(number(y1)) C\(number(x1)) \(number(middle)) "
      text += "\(number(x2)) \(number(middle)) \(number(x2)) \(number(y2)) "
    }
    let end = layering.turned[position] ? "marker-start" : "marker-end"
    let dashes = edge.label.isEmpty ? "" : " stroke-dasharray=\"5 3\""
    let title = edge.label.isEmpty ? "" : "<title>\(edge.label)</title>"
    return "<path d=\"\(withoutBlanksAtEnd(text))\" fill=\"none\" stroke=\"#666666\"\(dashes) "
      + "\(end)=\"url(#arrow)\">\(title)</path>\n"
  }

  private static func number(_ value: Double) -> String {
    let tenths = Int(saturating: (value * 10).rounded())
    let sign = tenths < 0 ? "-" : ""
    let rest = tenths.magnitude % 10
    return sign + "\(tenths.magnitude / 10)" + (rest == 0 ? "" : ".\(rest)")
  }
}

/// For contents and attributes alike. By scalars: a sign that a mark combines with is a sign for a
/// browser.
func xmlEscaped(_ text: String) -> String {
  text.unicodeScalars.reduce(into: "") { result, scalar in
    switch scalar {
    case "&": result += "&amp;"
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    case "\"": result += "&quot;"
    default: result.unicodeScalars.append(scalar)
    }
  }
}
