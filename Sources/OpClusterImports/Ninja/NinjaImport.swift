// `opbatch import ninja`: the edges of a Ninja file that the wanted targets need become operations.

import OpClusterModel

package struct NinjaImport {
  /// Where the command is; relative names of the file start there.
  package var folder: String
  /// What to build; empty: what the file has as default.
  package var targets: [String] = []
  /// Leaves out edges whose outputs are newer than all that they read.
  package var onlyOutdated = false
  package var inherited: [String] = ["PATH"]

  package init(folder: String) { self.folder = folder }

  /// Reads a file such as `build.ninja`; its folder is the build folder.
  package func read(_ file: String, _ files: SourceFiles) -> ImportResult {
    ImportSession.run(files) { (session) throws(ImportStop) -> ImportedGraph in
      let file = path(file, in: folder)
      let place = SourcePlace(file, 0)
      let build = OpClusterImports.folder(of: file)
      var reader = NinjaReader(session: session, folder: build)
      try reader.read(file, scope: 0, depth: 0, from: place)
      var graph = ImportedGraph(
        name: stem(of: build), origin: "From \(file).", workingFolder: build)
      graph.onFailure = "stop"
      graph.inherited = inherited
      var builder = NinjaBuilder(
        session: session, ninja: reader.ninja, folder: build, onlyOutdated: onlyOutdated,
        place: place, graph: graph)
      try builder.build(targets.map(NinjaFile.canonical))
      let shown = inherited.isEmpty ? "nothing" : inherited.joined(separator: ", ")
      session.note(
        place, "commands see \(shown) of your environment; name others with --inherit")
      return builder.graph
    }
  }
}
