// `opbatch import dagman`: a DAG of HTCondor's DAGMan becomes a graph. Nodes become operations; a
// node with scripts becomes one command that runs them in turn, since a retry repeats all of it.

import OpClusterModel

package struct DagmanImport {
  /// Where relative names start: where `condor_submit_dag` would be called.
  package var folder: String
  /// Relative names of a DAG file start in its own folder, as with `-usedagdir`.
  package var usesFoldersOfFiles = false
  package var readsRescueFiles = true
  package var inherited: [String] = []

  package init(folder: String) { self.folder = folder }

  /// Reads a DAG file and all files that it names.
  package func read(_ file: String, _ files: SourceFiles) -> ImportResult {
    ImportSession.run(files) { (session) throws(ImportStop) -> ImportedGraph in
      var graph = ImportedGraph(
        name: stem(of: file), origin: "From the DAG \(file).", workingFolder: folder)
      graph.inherited = inherited
      let place = SourcePlace(file, 0)
      let start = usesFoldersOfFiles ? OpClusterImports.folder(of: file) : folder
      var reader = DagReader(session: session)
      try reader.read(
        path(file, in: folder), in: path(start, in: folder), prefix: "", depth: 0, from: place)
      if readsRescueFiles { try readNewestRescue(of: path(file, in: folder), &reader) }
      var builder = DagBuilder(session: session, graph: graph)
      _ = try builder.add(reader.dag, needs: [], depth: 0)
      if builder.graph.operations.isEmpty { throw session.stop(place, "nothing is to be done") }
      return builder.graph
    }
  }

  /// DAGMan goes on from the rescue file with the highest number.
  private func readNewestRescue(
    of file: String, _ reader: inout DagReader
  ) throws(ImportStop) {
    for number in stride(from: 999, through: 1, by: -1) {
      let digits = String("\(1000 + number)".dropFirst())
      let name = "\(file).rescue\(digits)"
      guard reader.session.files.age(name) != nil else { continue }
      let count = try reader.readRescue(name, SourcePlace(file, 0)) ?? 0
      reader.session.note(SourcePlace(name, 0), "\(count) nodes are done and left out")
      return
    }
  }
}
