// Finds files by a path or a pattern: what a command has left, and what a submitter names.
// Blocking; any thread.

import OpClusterModel
package import OpClusterSystem

/// A file that was found under a name.
package struct FoundFile: Hashable, Sendable {
  /// What it was looked for as.
  package var name: String
  /// `StoredFile.path`
  package var path: String
  /// On this machine, as far as the search was told.
  package var place: String
  package var isExecutable: Bool
}

/// Why something was not found, with its place.
package enum FileSearchError: Error {
  case missing(String)
  /// An empty folder, or a pattern that nothing matches.
  case nothing(String)
  case tooMany
  /// Its path is longer or deeper than `RelativePath` allows.
  case tooDeep(String)
  /// Neither a file nor a folder.
  case strange(String)
  case machine(SystemError)
}

/// Walks folders as far as the limits go. Costs the names in the folders on the way.
package struct FileSearch {
  package private(set) var found: [FoundFile] = []
  private let limit: Int

  package init(atMost limit: Int) { self.limit = limit }

  /// Finds a file, the files of a folder, or those that match a pattern.
  package mutating func find(
    _ name: String, _ path: String, in folder: String
  ) throws(FileSearchError) {
    let path = Self.plain(path)
    let root = path.hasPrefix("/") || folder == "/" ? "" : folder
    let place = path.hasPrefix("/") ? path : "\(root)/\(path)"
    let before = found.count
    // A file whose name looks like a pattern is that file.
    if let kind = FileKind(ofTarget: place) {
      try add(name, kind, at: place, path: "")
    } else if FileNamePattern.isPattern(path) {
      try addMatches(of: path, below: root, name)
    } else {
      throw .missing(place)
    }
    if found.count == before { throw .nothing(place) }
  }

  /// Without what leads nowhere: `./a//b/` is `a/b`; `.` stays.
  private static func plain(_ path: String) -> String {
    let parts = path.pathNames.filter { $0 != "." }
    let text = parts.joined(separator: "/")
    if path.hasPrefix("/") { return "/\(text)" }
    return text.isEmpty ? "." : text
  }

  /// Level by level, each complete before the next. Costs the names of the folders on the way.
  private mutating func addMatches(
    of pattern: String, below root: String, _ name: String
  ) throws(FileSearchError) {
    let parts = pattern.pathNames
    let fixed = parts.prefix { !FileNamePattern.isPattern($0) }
    var level = [(place: fixed.reduce(root) { "\($0)/\($1)" }, path: "")]
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
      guard let kind = FileKind(ofTarget: place) else { throw .strange(place) }
      try add(name, kind, at: place, path: path)
    }
  }

  private mutating func add(
    _ name: String, _ kind: FileKind, at place: String, path: String
  ) throws(FileSearchError) {
    switch kind {
    case .file(let isExecutable):
      try check(path, place)
      found.append(
        FoundFile(name: name, path: path, place: place, isExecutable: isExecutable))
      try check(found.count)
    case .folder: try addTree(name, place, path)
    case .other: throw .strange(place)
    }
  }

  private mutating func addTree(
    _ name: String, _ folder: String, _ path: String
  ) throws(FileSearchError) {
    try check(path, folder)
    for entry in try names(in: folder, where: { _ in true }) {
      let place = "\(folder)/\(entry)"
      // Links to files are those files; links to folders could lead in a circle.
      let target = FileKind(ofTarget: place).flatMap { $0.isFile ? $0 : nil }
      guard let kind = FileKind(of: place) ?? target else { throw .strange(place) }
      try add(name, kind, at: place, path: path.isEmpty ? entry : "\(path)/\(entry)")
    }
  }

  private func names(
    in folder: String, where isWanted: (String) -> Bool
  ) throws(FileSearchError) -> [String] {
    let names: [String]?
    do throws(SystemError) {
      names = try FileTree.names(in: folder, atMost: limit, where: isWanted)
    } catch {
      throw .machine(error)
    }
    guard let names else { throw .tooMany }
    return names
  }

  private func check(_ path: String, _ place: String) throws(FileSearchError) {
    guard !path.isEmpty, !RelativePath.isValid(path) else { return }
    throw .tooDeep(place)
  }

  private func check(_ count: Int) throws(FileSearchError) {
    if count > limit { throw .tooMany }
  }
}
