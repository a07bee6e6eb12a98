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
  /// The files that are read, and their paths in `OP_INPUTS`. Costs these, the inputs, and the
  /// files that the outputs of those name.
  /// - Throws: ``MissingInput`` if a dependency succeeded without such a file, or is no longer
  ///   known by its name.
  package func found(
    in inputs: [DependencyInput]
  ) throws -> [(file: StoredFile, path: String)] {
    let wishes = Dictionary(grouping: self, by: \.operation)
    let known = Dictionary(grouping: inputs, by: \.name)
    if known[""] != nil, let lost = wishes.keys.sorted().first(where: { known[$0] == nil }) {
      throw MissingInput(
        "the files of '\(lost)' cannot be named any more: the graph that it belongs to has ended; "
          + "add who reads them together with who leaves them")
    }
    var found: [(StoredFile, String)] = []
    for input in inputs where input.outcome == .succeeded || input.output != nil {
      guard let wanted = wishes[input.name] else { continue }
      let output = try input.output.map { try Wire.decodeOutput($0) } ?? OperationOutput()
      let left = Dictionary(grouping: output.files, by: \.name)
      for wish in wanted {
        guard let files = left[wish.file] else {
          throw MissingInput(
            "'\(input.name)' left no file '\(wish.file)'"
              + (output.typeName.isEmpty
                ? "" : "; the files of a value have the names of its properties"))
        }
        let place = wish.path(of: input)
        for file in files {
          found.append((file, file.path.isEmpty ? place : "\(place)/\(file.path)"))
        }
      }
    }
    return found
  }
}
