// Finds the files that a command has left for others. Blocking; any thread. Everything is looked at
// with the rights of the operation's account: a link leads nowhere that it could not go itself.

import Glibc
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// The files that a command promised, once it has ended.
struct OutputFilePromise: Sendable {
  struct File: Sendable {
    var name: String
    /// A path or a pattern; from `folder` if it is not absolute.
    var path: String
  }
  var files: [File]
  var folder: String
  /// nil: the worker's.
  var account: LocalAccount?

  /// The files that are there, in order of their names and paths.
  ///
  /// - Throws: If one is missing, is no file, or there are too many.
  func find() throws(AttemptProblem) -> [FoundFile] {
    let found = asAccount { () -> Result<[FoundFile], AttemptProblem> in
      var search = OutputFileSearch()
      do throws(AttemptProblem) {
        for file in files { try search.find(file, in: folder) }
        return .success(search.found)
      } catch {
        return .failure(error)
      }
    }
    return try found.get().get()
  }

  /// Opens a found file for reading; the caller closes it.
  func open(_ file: FoundFile) throws(AttemptProblem) -> Int32 {
    let opened = asAccount { () -> Result<Int32, SystemError> in
      do throws(SystemError) {
        return .success(try FileTree.descriptor(file.place, followsLinks: true))
      } catch {
        return .failure(error)
      }
    }
    switch try opened.get() {
    case .success(let descriptor): return descriptor
    case .failure(let error): throw .badOutput("an output file: \(error)")
    }
  }

  private func asAccount<Value>(_ body: () -> Value) -> Result<Value, AttemptProblem> {
    do throws(SpawnError) {
      return .success(try withRights(of: account) { () throws(SpawnError) in body() })
    } catch {
      return .failure(error.problem)
    }
  }
}

/// A file where a command has left it.
struct FoundFile: Sendable {
  /// The output that it belongs to.
  var name: String
  /// `StoredFile.path`
  var path: String
  /// On this machine, absolute.
  var place: String
  var isExecutable: Bool
}

/// Walks folders as far as the limits of an output go.
private struct OutputFileSearch {
  private(set) var found: [FoundFile] = []

  mutating func find(_ file: OutputFilePromise.File, in folder: String) throws(AttemptProblem) {
    let place = file.path.hasPrefix("/") ? file.path : "\(folder)/\(file.path)"
    let before = found.count
    // A file whose name looks like a pattern is that file.
    if let kind = FileKind(ofTarget: place) {
      try add(file.name, kind, at: place, path: "")
    } else if FileNamePattern.isPattern(file.path) {
      try addMatches(of: place, file.name)
    } else {
      throw .badOutput("the output file '\(file.name)' was promised and is not there: \(place)")
    }
    if found.count == before {
      throw .badOutput(
        "the output file '\(file.name)' was promised, and nothing is there: \(place)")
    }
  }

  /// Level by level, each complete before the next. Costs the names of the folders on the way.
  private mutating func addMatches(of pattern: String, _ name: String) throws(AttemptProblem) {
    let parts = pattern.split(separator: "/").map(String.init)
    let fixed = parts.prefix { !FileNamePattern.isPattern($0) }
    var level = [(place: fixed.reduce("") { "\($0)/\($1)" }, path: "")]
    for part in parts.dropFirst(fixed.count) {
      var next: [(place: String, path: String)] = []
      for folder in level {
        let pattern = FileNamePattern(part)
        for entry in try names(in: folder.place, where: pattern.matches) {
          let path = folder.path.isEmpty ? entry : "\(folder.path)/\(entry)"
          next.append(("\(folder.place)/\(entry)", path))
        }
        try check(next.count)
      }
      level = next
    }
    for (place, path) in level {
      guard let kind = FileKind(ofTarget: place) else { throw strange(place) }
      try add(name, kind, at: place, path: path)
    }
  }

  private mutating func add(
    _ name: String, _ kind: FileKind, at place: String, path: String
  ) throws(AttemptProblem) {
    switch kind {
    case .file(let isExecutable):
      try check(path, place)
      found.append(
        FoundFile(name: name, path: path, place: place, isExecutable: isExecutable))
      try check(found.count)
    case .folder: try addTree(name, place, path)
    case .other: throw strange(place)
    }
  }

  private mutating func addTree(
    _ name: String, _ folder: String, _ path: String
  ) throws(AttemptProblem) {
    try check(path, folder)
    for entry in try names(in: folder, where: { _ in true }) {
      let place = "\(folder)/\(entry)"
      // Links to files are those files; links to folders could lead in a circle.
      let target = FileKind(ofTarget: place).flatMap { $0.isFile ? $0 : nil }
      guard let kind = FileKind(of: place) ?? target else { throw strange(place) }
      try add(name, kind, at: place, path: path.isEmpty ? entry : "\(path)/\(entry)")
    }
  }

  private func names(
    in folder: String, where isWanted: (String) -> Bool
  ) throws(AttemptProblem) -> [String] {
    let names: [String]?
    do throws(SystemError) {
      names = try FileTree.names(
        in: folder, atMost: Limits.contentsPerOutput, where: isWanted)
    } catch {
      throw .badOutput("an output file: \(error)")
    }
    guard let names else { throw tooMany }
    return names
  }

  private func check(_ path: String, _ place: String) throws(AttemptProblem) {
    guard !path.isEmpty, !RelativePath.isValid(path) else { return }
    throw .badOutput("the path of the output '\(place)' is too long or too deep")
  }

  private func check(_ count: Int) throws(AttemptProblem) {
    if count > Limits.contentsPerOutput { throw tooMany }
  }

  private var tooMany: AttemptProblem {
    .badOutput(
      "the output files are more than \(Limits.contentsPerOutput); put them into an archive")
  }

  private func strange(_ place: String) -> AttemptProblem {
    .badOutput(
      "the output '\(place)' is neither a file nor a folder: only these are kept, and links to "
        + "files")
  }
}
