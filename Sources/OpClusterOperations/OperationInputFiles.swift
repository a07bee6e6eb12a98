// The files that an operation's graph names as its inputs: of the submitter, of commands, of
// values. Any thread.

import FoundationEssentials
package import OpClusterModel
import OpClusterWire

/// Finds the files that a graph names as inputs of one operation, by the paths that they have in
/// `OP_INPUTS` of a command; made by what runs the operation.
public struct OperationInputFiles: Sendable {
  let find: @Sendable (String) throws -> OperationFile?
  /// The paths that are there, for people.
  let paths: @Sendable () -> [String]

  /// Those in a folder.
  public init(in folder: String) {
    find = { path in
      let place = "\(folder)/\(path)"
      var isFolder = false
      guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder), !isFolder else {
        return nil
      }
      return OperationFile(path: place)
    }
    paths = {
      let all = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
      return all.filter { path in
        var isFolder = false
        _ = FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder)
        return !isFolder
      }
    }
  }

  /// Those that inputs name, wherever they lie.
  package init(
    _ wanted: [InputFile], of inputs: [DependencyInput], in contents: OperationContents
  ) {
    let found = Result {
      Dictionary(
        try wanted.found(in: inputs).map { ($0.path, $0.file.content) },
        uniquingKeysWith: { first, _ in first })
    }
    find = { path in try found.get()[path].flatMap { contents.file($0) } }
    paths = { ((try? found.get()) ?? [:]).keys.map { $0 } }
  }
}

extension [InputFile] {
  /// The files that are read, and their paths in `OP_INPUTS`.
  /// - Throws: ``MissingInput`` if a dependency succeeded without such a file, or is no longer
  ///   known by its name.
  package func found(
    in inputs: [DependencyInput]
  ) throws -> [(file: StoredFile, path: String)] {
    var found: [(StoredFile, String)] = []
    for wish in self where inputs.allSatisfy({ !wish.isOf($0) }) {
      if inputs.allSatisfy({ !$0.name.isEmpty }) { continue }
      throw MissingInput(
        "the files of '\(wish.operation)' cannot be named any more: the graph that it belongs to "
          + "has ended; add who reads them together with who leaves them")
    }
    for input in inputs {
      let wanted = filter { $0.isOf(input) }
      guard !wanted.isEmpty, input.outcome == .succeeded || input.output != nil else { continue }
      let output = try input.output.map { try Wire.decodeOutput($0) } ?? OperationOutput()
      for wish in wanted {
        if output.files.allSatisfy({ $0.name != wish.file }) {
          throw MissingInput(
            "'\(input.name)' left no file '\(wish.file)'"
              + (output.typeName.isEmpty
                ? "" : "; the files of a value have the names of its properties"))
        }
        for file in output.files where file.name == wish.file {
          let place = wish.path(of: input)
          found.append((file, file.path.isEmpty ? place : "\(place)/\(file.path)"))
        }
      }
    }
    return found
  }
}
