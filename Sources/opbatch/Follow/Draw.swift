// `opbatch graph`: draws the stages of a graph and their dependencies. The drawings are made in
// OpClusterPresentation from one `GraphStructure`; this asks for it and chooses. A stage is one
// box, so that a drawing grows with the manifest and not with its arrays.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Needs the right to read (G36). Without a format it draws for the terminal.
struct Draw: Command {
  static let configuration = CommandConfiguration(
    commandName: "graph", abstract: "Draw a graph.",
    discussion: """
      An array is one box. Text adapts to the terminal; svg is a picture that needs nothing else.

      Examples:
        opbatch graph last
        opbatch graph 12 --format svg > graph.svg
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, dot, svg, mermaid, json
  }

  @Argument(help: ArgumentHelp("A graph: 12, last, last~1.", valueName: "selector"))
  var selector: String

  @Option(help: "The kind of drawing; json with -o json.")
  var format: Format?

  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// One graph: a selector of several is refused, since two drawings in one file are no document.
  /// An ended graph is drawn from the history.
  func perform(_ console: Console) async throws -> ExitStatus {
    let structure = try await withConnection { connection in
      let reader = reader(connection)
      return try await reader.structure(try await reader.oneGraph(selector))
    }
    switch format ?? (console.wantsJSON ? .json : .text) {
    // Cut to the terminal's width; into a file it has no width.
    case .text: try console.writeLines(GraphText.lines(structure, console.outputStyle))
    case .dot: try console.write(GraphDocuments.dot(structure))
    case .mermaid: try console.write(GraphDocuments.mermaid(structure))
    case .json: try console.write(GraphDocuments.json(structure))
    case .svg:
      // The layout costs more than the stages, and nobody can read a larger picture.
      guard let picture = GraphSVG.document(structure) else {
        throw Failure(
          .usage, code: "graph_too_large",
          "a picture has at most \(shownCount(GraphSVG.maximumStages)) stages, this graph has "
            + shownCount(structure.stages.count),
          hint: "use --format dot and a program for large graphs, or --format json")
      }
      try console.write(picture)
    }
    return .success
  }
}
