// Files of an import as a table, and what the compiler of manifests makes of the result.

import OpClusterManifest
import OpClusterModel
import Testing

@testable import OpClusterImports

/// Files by path. What is not in it is absent.
struct SourceTable {
  var texts: [String: String] = [:]
  /// Files that are there, by when they were written.
  var ages: [String: Int64] = [:]

  var files: SourceFiles {
    let (texts, ages) = (texts, ages)
    return SourceFiles(
      contents: { path, limit in
        guard let text = texts[path] else { return .failure(.absent) }
        return text.utf8.count > limit
          ? .failure(.unreadable("it is too large")) : .success(Array(text.utf8))
      },
      age: { path in ages[path] ?? (texts[path] == nil ? nil : 1) })
  }
}

/// The format of an import, with the file that is read as `/w/main`.
enum ImportFormat: CaseIterable {
  case dagman, ninja, hyperQueue, makeflow

  func read(_ table: SourceTable) -> ImportResult {
    switch self {
    case .dagman: DagmanImport(folder: "/w").read("main", table.files)
    case .ninja: NinjaImport(folder: "/w").read("main", table.files)
    case .hyperQueue: HyperQueueImport(folder: "/w").read("main", table.files)
    case .makeflow: MakeflowImport(folder: "/w").read("main", table.files)
    }
  }

  func read(_ text: String, _ further: [String: String] = [:]) -> ImportResult {
    var table = SourceTable(texts: ["/w/main": text])
    for (name, text) in further { table.texts["/w/\(name)"] = text }
    return read(table)
  }
}

extension ImportResult {
  subscript(_ name: String) -> ImportedOperation? {
    graph?.operations.first { $0.name == name } ?? graph?.finally.first { $0.name == name }
  }
  /// `LINE weight: reason` of each remark.
  var said: [String] { remarks.map { "\($0.place.line) \($0.weight): \($0.reason)" } }

  func says(_ part: String, at line: Int, _ weight: ImportRemark.Weight) -> Bool {
    remarks.contains {
      $0.reason.contains(part) && $0.place.line == line && $0.weight == weight
    }
  }
}

/// The errors of the compiler about the manifest of a graph.
func problems(of graph: ImportedGraph) -> [String] {
  let compiler = ManifestCompiler(
    source: ManifestText.of(graph), fileName: "m.yaml",
    surroundings: Surroundings(baseFolder: "/w", variable: { _ in "/bin" }))
  let compiled = compiler.compile(
    encoders: PayloadEncoders(
      command: { _ in [1] }, callInput: { _ in [1] }, blocks: { _ in [1] },
      blockElement: { _ in [1] }))
  return compiled.diagnostics.filter { $0.severity == .error }.map {
    "\($0.line): \($0.message)"
  }
}
