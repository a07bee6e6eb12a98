// `graph --format dot|mermaid|json`: documents for other programs.
// Names are quoted for each format, so that none of them can become syntax.

public import OpClusterModel

public enum GraphDocuments {
  /// Returns a document for Graphviz. Quotes names, so that they stay text.
  public static func dot(_ structure: GraphStructure) -> String {
    let graph = StageGraph(structure)
    var text = "digraph \(dotQuoted("graph \(structure.row.graph.number)")) {\n"
    text += "  label=\(dotQuoted(structure.row.name));\n"
    text += "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];\n"
    if let note = graph.incompleteness { text += "  // \(note)\n" }
    for (position, stage) in graph.stages.enumerated() {
      let label = dotQuoted(stageLabel(stage)).dropLast() + "\\n"
      text += "  s\(position) [label=\(label)\(graph.standing(stage))\", "
      text += "fillcolor=\"\(Palette(stage.counts).fill)\"];\n"
    }
    for edge in graph.edges {
      text += "  s\(edge.from) -> s\(edge.to)"
      let label = edge.label
      text += label.isEmpty ? ";\n" : " [label=\(dotQuoted(label)), style=dashed];\n"
    }
    return text + "}\n"
  }

  /// Returns a document for Mermaid.
  /// Mermaid's text is HTML, so its signs become entities.
  public static func mermaid(_ structure: GraphStructure) -> String {
    let graph = StageGraph(structure)
    var text = "flowchart TD\n"
    if let note = graph.incompleteness { text += "  %% \(note)\n" }
    var classes: [String: [String]] = [:]
    for (position, stage) in graph.stages.enumerated() {
      let label = mermaidEscaped(stageLabel(stage))
      text += "  s\(position)[\"\(label)<br/>\(graph.standing(stage))\"]\n"
      classes[Palette(stage.counts).name, default: []].append("s\(position)")
    }
    for edge in graph.edges {
      let arrow = edge.label.isEmpty ? "-->" : "-. \(edge.label) .->"
      text += "  s\(edge.from) \(arrow) s\(edge.to)\n"
    }
    for palette in Palette.all {
      guard let members = classes[palette.name] else { continue }
      text += "  classDef \(palette.name) fill:\(palette.fill),stroke:\(palette.stroke)\n"
      text += "  class \(members.joined(separator: ",")) \(palette.name)\n"
    }
    return text
  }

  /// Returns a document for programs: the graph, its stages and their edges.
  /// Dependencies between single elements are in it as well, as many as the answer holds.
  public static func json(_ structure: GraphStructure) -> String {
    jsonDocument { $0.fields(of: structure) }
  }

  private static func dotQuoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in safe(text).unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }

  private static func mermaidEscaped(_ text: String) -> String {
    safe(text).unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "\"": result += "#quot;"
      case "#": result += "#35;"
      case "<": result += "#lt;"
      case ">": result += "#gt;"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}

extension StageGraph.Edge {
  /// The unusual parts of the edge; empty for `succeeded` with every element on every element.
  var label: String {
    let words = [policy == .succeeded ? "" : policy.word, isSameIndex ? "same index" : ""]
    return words.filter { !$0.isEmpty }.joined(separator: ", ")
  }
}

/// The colours of a stage in documents; the word of its state always stands beside them.
/// Light fills, so that black text can be read on them.
struct Palette: Equatable {
  var name: String
  var fill: String
  var stroke: String

  static let good = Palette(name: "good", fill: "#d8f0dc", stroke: "#2e7d43")
  static let bad = Palette(name: "bad", fill: "#fbdcdc", stroke: "#b3261e")
  static let active = Palette(name: "active", fill: "#d9e9fb", stroke: "#1f66b5")
  static let warning = Palette(name: "warning", fill: "#fdf0cf", stroke: "#9a6b00")
  static let quiet = Palette(name: "quiet", fill: "#f2f2f2", stroke: "#777777")
  static let all = [good, bad, active, warning, quiet]

  init(name: String, fill: String, stroke: String) {
    self.name = name
    self.fill = fill
    self.stroke = stroke
  }

  init(_ counts: StateCounts) {
    switch stageTone(counts) {
    case .good: self = .good
    case .bad: self = .bad
    case .active: self = .active
    case .warning: self = .warning
    case .plain, .faint, .strong: self = .quiet
    }
  }
}
