// What all readers share while one import runs: the files, what is said of them, and how much was
// made of them so far. One import, one thread.

import OpClusterModel

/// Something to say about a file of another system.
package struct ImportRemark: Hashable, Sendable {
  package enum Weight: String, Sendable {
    /// Means nothing here, and the graph does the same without it.
    case note
    /// Is not done here; the graph runs without it.
    case lost
    /// The graph would do something else; there is none.
    case error
  }
  package var place: SourcePlace
  package var weight: Weight
  /// A sentence without a full stop.
  package var reason: String
}

package struct SourcePlace: Hashable, Sendable {
  package var file: String
  /// From 1; 0 for the file as a whole.
  package var line: Int
  package init(_ file: String, _ line: Int) {
    self.file = file
    self.line = line
  }
}

/// Thrown after an error was said that leaves nothing to go on with.
struct ImportStop: Error {}

/// Files as a reader may ask for them. The command reads a disk; tests hold a table.
package struct SourceFiles {
  package enum Problem: Error {
    case absent
    /// For people, such as what the system said.
    case unreadable(String)
  }
  /// The bytes of a file, at most so many.
  package var contents: (_ path: String, _ maximumBytes: Int) -> Result<[UInt8], Problem>
  /// When a file was last written, in nanoseconds of any clock; nil if there is none.
  package var age: (_ path: String) -> Int64?

  package init(
    contents: @escaping (String, Int) -> Result<[UInt8], Problem>,
    age: @escaping (String) -> Int64?
  ) {
    self.contents = contents
    self.age = age
  }
}

final class ImportSession {
  let files: SourceFiles
  private var remarks: [ImportRemark] = []
  private var furtherRemarks = 0
  private(set) var hasErrors = false
  private var readBytes = 0
  private var readFiles = 0
  private var textBytes = 0
  private var operations = 0
  private var edges = 0

  init(_ files: SourceFiles) { self.files = files }

  func note(_ place: SourcePlace, _ reason: String) { add(.note, place, reason) }
  func lost(_ place: SourcePlace, _ reason: String) { add(.lost, place, reason) }
  func error(_ place: SourcePlace, _ reason: String) { add(.error, place, reason) }
  func stop(_ place: SourcePlace, _ reason: String) -> ImportStop {
    add(.error, place, reason)
    return ImportStop()
  }

  /// An error is kept also beyond the limit: there is no graph without a reason.
  private func add(_ weight: ImportRemark.Weight, _ place: SourcePlace, _ reason: String) {
    let isFirstError = weight == .error && !hasErrors
    if weight == .error { hasErrors = true }
    if remarks.count < Limits.importRemarks || isFirstError {
      remarks.append(ImportRemark(place: place, weight: weight, reason: reason))
    } else {
      furtherRemarks += 1
    }
  }

  /// The lines of a file, without their ends. nil if it is not there.
  func lines(of path: String, for place: SourcePlace) throws(ImportStop) -> [String]? {
    readFiles += 1
    guard readFiles <= Limits.importFiles else {
      throw stop(place, "more than \(Limits.importFiles) files")
    }
    switch files.contents(path, Limits.importBytes - readBytes) {
    case .failure(.absent): return nil
    case .failure(.unreadable(let reason)): throw stop(place, "cannot read \(path): \(reason)")
    case .success(let bytes):
      readBytes += bytes.count
      guard readBytes <= Limits.importBytes else {
        throw stop(place, "the files have more than \(Limits.importBytes >> 20) MiB together")
      }
      return try Self.lines(bytes, SourcePlace(path, 0), self)
    }
  }

  static func lines(
    _ bytes: [UInt8], _ place: SourcePlace, _ session: ImportSession
  ) throws(ImportStop) -> [String] {
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw session.stop(place, "is no text in UTF-8")
    }
    return text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map {
      String(Substring($0.last == 0x0D ? $0.dropLast() : $0))
    }
  }

  /// Bounds what is made by expanding macros and variables.
  func spend(text bytes: Int, _ place: SourcePlace) throws(ImportStop) {
    try check(text: bytes, place)
    textBytes += bytes
    guard textBytes <= Limits.importBytes else {
      throw stop(place, "all texts together become longer than \(Limits.importBytes >> 20) MiB")
    }
  }

  /// Bounds one text while it grows.
  func check(text bytes: Int, _ place: SourcePlace) throws(ImportStop) {
    guard bytes <= Limits.importTextBytes else {
      throw stop(place, "a text becomes longer than \(Limits.importTextBytes >> 10) KiB")
    }
  }

  func spend(operations count: Int, _ place: SourcePlace) throws(ImportStop) {
    operations = operations.saturatingAdd(count)
    guard operations <= Limits.importOperations else {
      throw stop(place, "more than \(Limits.importOperations) operations")
    }
  }

  func spend(edges count: Int, _ place: SourcePlace) throws(ImportStop) {
    edges = edges.saturatingAdd(count)
    guard edges <= Limits.importEdges else {
      throw stop(place, "more than \(Limits.importEdges) dependencies")
    }
  }

  func checkDepth(_ depth: Int, _ place: SourcePlace) throws(ImportStop) {
    guard depth <= Limits.importDepth else {
      throw stop(place, "files include each other more than \(Limits.importDepth) deep")
    }
  }

  /// Runs a reader. Remarks are those of all that was read.
  static func run(
    _ files: SourceFiles, _ body: (ImportSession) throws(ImportStop) -> ImportedGraph
  ) -> ImportResult {
    let session = ImportSession(files)
    let graph: ImportedGraph?
    do throws(ImportStop) { graph = try body(session) } catch { graph = nil }
    return ImportResult(
      graph: session.hasErrors ? nil : graph, remarks: session.remarks,
      furtherRemarks: session.furtherRemarks)
  }
}

/// A path below a folder, unless it is absolute.
func path(_ name: String, in folder: String) -> String {
  if name.utf8.first == UInt8(ascii: "/") { return name }
  var rest = Substring(name)
  while rest.hasPrefix("./") { rest = rest.dropFirst(2) }
  if rest.isEmpty || rest == "." { return folder }
  return folder.hasSuffix("/") ? folder + rest : "\(folder)/\(rest)"
}
/// The folder of a file.
func folder(of path: String) -> String {
  guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}
/// The last part of a path, without its ending.
func stem(of path: String) -> String {
  let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { Substring($0) } ?? ""
  guard let dot = last.utf8.lastIndex(of: UInt8(ascii: ".")), dot > last.startIndex else {
    return String(last)
  }
  return String(last[..<dot])
}
