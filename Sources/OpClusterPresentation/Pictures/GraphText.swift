// `graph --format text`: the stages as boxes in layers joined by lines, or as a list if the
// terminal is too narrow.
// A drawing is only made of what fits; everything else is a list.

public import OpClusterModel

public enum GraphText {
  /// Maximum number of stages and bends as boxes; a list is easier to read beyond it.
  static let maximumNodes = 200
  /// Maximum number of lines of the list.
  static let maximumLines = 1_000

  /// Returns the drawing, or the list if the drawing does not fit the width.
  public static func lines(_ structure: GraphStructure, _ style: Style) -> [String] {
    let graph = StageGraph(structure)
    let row = structure.row
    let head = StyledLine([
      .init("\(row.graph.number) \(safe(row.name))", .strong), .init("  "),
      .init(row.state.rawValue, row.state.tone),
      .init("  \(shownCount(row.counts.finished))/\(shownCount(row.counts.total))"),
    ])
    var lines = [head.text(style, cut: true), ""]
    lines += drawing(graph, style) ?? list(graph, style)
    if let note = graph.incompleteness { lines += ["", style.paint(note, .faint)] }
    return lines
  }

  /// nil where boxes would not be readable: too many, too wide, or with an edge against the
  /// direction.
  private static func drawing(_ graph: StageGraph, _ style: Style) -> [String]? {
    guard graph.stages.count <= maximumNodes else { return nil }
    let boxes = graph.stages.map { Box($0, graph) }
    let layering = Layering(graph, bend: 1, gap: 3) { Double(boxes[$0].width) }
    let width = Int(saturating: layering.width.rounded(.up)).saturatingAdd(2)
    guard layering.nodes.count <= maximumNodes, width <= style.width ?? 400,
      !layering.turned.contains(true)
    else { return nil }
    var drawing = Drawing(layering, boxes, width: width)
    return drawing.draw().lines(style)
  }

  /// The content of a box.
  struct Box {
    var name: String
    var standing: String
    var tone: Tone
    var width: Int
    init(_ stage: GraphStructure.Stage, _ graph: StageGraph) {
      name = truncate(safe(stageLabel(stage)), to: 40)
      standing = graph.standing(stage)
      tone = stageTone(stage.counts)
      width = max(displayWidth(name), displayWidth(standing)) + 4
    }
  }

  /// Lists the stages layer by layer, each with the stages that it waits for.
  /// Layers are numbered from 1; a number stands at the first stage of its layer.
  private static func list(_ graph: StageGraph, _ style: Style) -> [String] {
    let layering = Layering(graph, bend: 0, gap: 0) { _ in 1 }
    var needs = Array(repeating: [String](), count: graph.stages.count)
    for edge in graph.edges {
      let policy = edge.policy == .succeeded ? "" : " (\(edge.policy.word))"
      needs[edge.to].append(safe(graph.stages[edge.from].name) + policy)
    }
    let stages = layering.layers.flatMap { $0.compactMap { layering.nodes[$0].stage } }
    let names = stages.map { safe(stageLabel(graph.stages[$0])) }
    let nameWidth = min(names.reduce(0) { max($0, displayWidth($1)) }, (style.width ?? 100) / 3)
    var lines: [String] = []
    var layer = -1
    for (stage, name) in zip(stages, names).prefix(maximumLines) {
      let isFirst = layering.nodes[stage].layer != layer
      layer = layering.nodes[stage].layer
      let number = isFirst ? pad("\(layer + 1)", to: 3, right: true) : "   "
      var pieces: [StyledLine.Piece] = [
        .init(number + "  ", .faint),
        .init(pad(truncate(name, to: nameWidth, unicode: style.usesUnicode), to: nameWidth)),
        .init("  "),
        .init(graph.standing(graph.stages[stage]), stageTone(graph.stages[stage].counts)),
      ]
      if !needs[stage].isEmpty {
        let shown = needs[stage].prefix(8).joined(separator: ", ")
        let more = needs[stage].count - 8
        pieces.append(.init("  after " + shown + (more > 0 ? ", … \(more) more" : ""), .faint))
      }
      lines.append(StyledLine(pieces).text(style, cut: true))
    }
    let hidden = stages.count - min(stages.count, maximumLines)
    if hidden > 0 { lines.append("  … \(shownCount(hidden, "more stage")); --format json has all") }
    return lines
  }
}

/// Draws a layering on a canvas of characters.
private struct Drawing {
  let layering: Layering
  let boxes: [GraphText.Box]
  var canvas: BoxCanvas
  /// Column of the middle of each node.
  let columns: [Int]
  /// A frame, a name, and a state.
  static let boxHeight = 4

  init(_ layering: Layering, _ boxes: [GraphText.Box], width: Int) {
    self.layering = layering
    self.boxes = boxes
    canvas = BoxCanvas(width: width)
    columns = layering.nodes.map { node in
      // Rounds boxes and bends alike, so that aligned nodes stay aligned.
      let half = Int(node.width) / 2
      return Int(saturating: (node.x - Double(half)).rounded()) + half
    }
  }

  mutating func draw() -> BoxCanvas {
    var y = 0
    for layer in layering.layers.indices {
      for node in layering.layers[layer] { drawNode(node, y) }
      y += Drawing.boxHeight
      if layer + 1 < layering.layers.count { y = drawLines(below: layer, from: y) }
    }
    return canvas
  }

  /// A bend is a line through the height of the boxes.
  private mutating func drawNode(_ node: Int, _ y: Int) {
    guard let stage = layering.nodes[node].stage else {
      canvas.vertical(columns[node], y, y + Drawing.boxHeight - 1)
      return
    }
    let box = boxes[stage]
    let x = columns[node] - box.width / 2
    canvas.box(x, y, width: box.width, height: Drawing.boxHeight)
    canvas.text(box.name, x + 2, y + 1, .strong)
    canvas.text(box.standing, x + 2, y + 2, box.tone)
  }

  /// Draws the lines below a layer, each node's horizontal line in a row of its own; returns the
  /// next free row.
  private mutating func drawLines(below layer: Int, from y: Int) -> Int {
    let tracks = trackOrder(layer)
    let bent = tracks.filter { node in
      layering.nodes[node].below.contains { columns[$0] != columns[node] }
    }
    let bottom = y + max(bent.count, 1)
    for (row, node) in bent.enumerated() {
      let ends = layering.nodes[node].below.map { columns[$0] } + [columns[node]]
      canvas.horizontal(y + row, ends.min() ?? 0, ends.max() ?? 0)
    }
    for node in tracks {
      let row = bent.firstIndex(of: node).map { y + $0 } ?? y
      canvas.vertical(columns[node], y - 1, row)
      for target in layering.nodes[node].below {
        canvas.vertical(columns[target], row, bottom)
      }
    }
    return bottom
  }

  /// Orders the rows of a layer's nodes. A node's row comes above the row of another node that
  /// leads to its column; otherwise their vertical lines would overlap.
  private func trackOrder(_ layer: Int) -> [Int] {
    var left = layering.layers[layer].filter { !layering.nodes[$0].below.isEmpty }
    var order: [Int] = []
    while !left.isEmpty {
      let free = left.firstIndex { node in
        !left.contains { other in
          other != node
            && layering.nodes[node].below.contains { target in
              columns[target] == columns[other] && !layering.nodes[other].below.contains(target)
            }
        }
      }
      order.append(left.remove(at: free ?? 0))
    }
    return order
  }
}
