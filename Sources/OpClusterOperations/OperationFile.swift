// Files as outputs, or as parts of them: bytes of any size that nobody has to hold. Any thread.

public import FoundationEssentials
public import OpClusterModel
import OpClusterWire
import Synchronization

/// A file that an operation leaves, or that it reads because a dependency left it.
///
/// It is an output, or a part of one at any depth:
///
///     struct Sorted: Codable, Sendable {
///       var reads: Int
///       var bam: OperationFile
///     }
///
///     func main(_ context: OperationContext) async throws -> Sorted {
///       let path = try context.scratchFolder() + "/sorted.bam"
///       let reads = try sort(into: path)
///       return Sorted(reads: reads, bam: OperationFile(path: path))
///     }
///
/// When `main` returns, its bytes go to the store of the worker, from where the workers of those
/// who read the output fetch them before these begin. It may have any size: neither side holds it
/// in memory. Its name for commands and for people is that of the property, here `bam`; of a file
/// that is the whole output `file`, and in lists and nested values the names and positions with
/// points between them, as `tiles.0`.
///
/// A program that reads an output is brought a file of it when it asks for its bytes.
public struct OperationFile: Sendable {
  private enum Place: Sendable {
    case here(String)
    case elsewhere(@Sendable () async throws -> (path: String, data: Data?))
  }
  private let place: Place

  /// A file to be left. It is read after `main` has returned; links are followed.
  public init(path: String) { place = .here(path) }

  /// A file that was left.
  ///
  /// - Parameter bring: Brings it here; called for each look. Its path, and its bytes if they may
  ///   outlast that.
  package init(bring: @escaping @Sendable () async throws -> (path: String, data: Data?)) {
    place = .elsewhere(bring)
  }

  /// Where its bytes are on this machine. Nobody may write there. In an operation it lasts as long
  /// as the attempt, in a program as long as the cluster is connected.
  /// - Throws: ``BadOutput`` if it was not brought, or what fetching it threw.
  public func path() async throws -> String { try await brought().path }

  /// Its bytes, mapped into memory: only what is looked at is read, and may leave memory again.
  /// - Throws: As ``path()``, or an error of the file system.
  public func data() async throws -> Data {
    let (path, data) = try await brought()
    return try data ?? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
  }

  /// Its bytes as pieces of this size, the last one smaller; for what is read once, from front to
  /// back.
  /// - Parameter count: Bytes of a piece, at least one.
  /// - Throws: As ``data()``.
  public func pieces(of count: Int = 1 << 20) async throws -> some Sequence<Data> {
    let (data, step) = (try await data(), max(count, 1))
    return stride(from: 0, to: data.count, by: step).lazy.map { start in
      let end = min(data.count - start, step)
      return data[data.startIndex + start..<data.startIndex + start + end]
    }
  }

  private func brought() async throws -> (path: String, data: Data?) {
    switch place {
    case .here(let path): (path, nil)
    case .elsewhere(let bring): try await bring()
    }
  }
}

extension OperationFile: Codable {
  /// What stands in the place of a file.
  private struct Name: Codable {
    var file: String
  }

  /// - Throws: `EncodingError` outside of an operation's output.
  public func encode(to encoder: any Encoder) throws {
    guard let key = OutputFiles.key, let files = encoder.userInfo[key] as? OutputFiles else {
      throw EncodingError.invalidValue(
        self,
        .init(
          codingPath: encoder.codingPath,
          debugDescription: "a file is a part of what an operation leaves, and of nothing else; "
            + "to hand one over, let an operation leave it"))
    }
    try Name(file: files.leave(self, at: encoder.codingPath)).encode(to: encoder)
  }

  /// - Throws: `DecodingError` outside of an operation's output.
  public init(from decoder: any Decoder) throws {
    let name = try Name(from: decoder).file
    guard let key = ReadFiles.key, let files = decoder.userInfo[key] as? ReadFiles else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "a file is a part of what an operation left, and of nothing else"))
    }
    self = files.file(name)
  }
}

// MARK: - Where files go

/// Puts a file of an operation where its readers find it; made by what runs the operation.
public struct OperationFileStore: Sendable {
  package let keep: @Sendable (String) async throws -> Kept

  /// A file that is kept.
  public struct Kept: Hashable, Sendable {
    public var content: StoredContent
    public var isExecutable: Bool
    public init(content: StoredContent, isExecutable: Bool) {
      self.content = content
      self.isExecutable = isExecutable
    }
  }

  /// - Parameter keep: Keeps the bytes of the file at a path. Called for the files of an output in
  ///   their order, once for each, when the whole output could be encoded. It must not block a
  ///   thread of Swift's pool for long: a file may have any size.
  public init(_ keep: @escaping @Sendable (String) async throws -> Kept) { self.keep = keep }

  /// There is no store: an operation that leaves a file fails.
  public static let none = OperationFileStore { _ in throw NoStore() }

  private struct NoStore: Error, CustomStringConvertible {
    let description = "here is no store for files; leave the path of one that its readers can see"
  }
}

/// The files of an output that is being encoded, in order; their bytes are looked at afterwards.
final class OutputFiles: Sendable {
  static let key = CodingUserInfoKey(rawValue: "opcluster.output-files")
  private let state = Mutex(State())

  private struct State {
    var files: [(name: String, file: OperationFile)] = []
    /// Their positions.
    var places: [String: Int] = [:]
  }

  var left: [(name: String, file: OperationFile)] { state.withLock { $0.files } }

  fileprivate func leave(
    _ file: OperationFile, at place: [any CodingKey]
  ) throws(BadOutput) -> String {
    let name = Self.name(of: place)
    guard RelativePath.isValid(name), name.pathNames.count == 1 else {
      throw BadOutput("a file cannot have the name '\(name)', which follows from its place")
    }
    let problem = state.withLock { state -> BadOutput? in
      guard state.places.updateValue(state.files.count, forKey: name) == nil else {
        return BadOutput(
          "two files would have the name '\(name)', which follows from their places")
      }
      // One place is for the value itself.
      guard state.files.count < Limits.contentsPerOutput - 1 else {
        return BadOutput(
          "more than \(Limits.contentsPerOutput - 1) files; put them into an archive")
      }
      state.files.append((name, file))
      return nil
    }
    if let problem { throw problem }
    return name
  }

  /// Names and positions with points between them.
  private static func name(of place: [any CodingKey]) -> String {
    if place.isEmpty { return "file" }
    return place.map { key in
      // The key of a dictionary may be a number as well, and stays as it is written: 007.
      guard let position = key.intValue, key.stringValue == "Index \(position)" else {
        return key.stringValue
      }
      return String(position)
    }.joined(separator: ".")
  }
}

/// The files of an output that is being decoded.
struct ReadFiles: Sendable {
  static let key = CodingUserInfoKey(rawValue: "opcluster.read-files")
  /// For who only looks at the shape of a type.
  static let none = ReadFiles(OperationOutput(), .none)
  private let files: [String: StoredContent]
  private let contents: OperationContents

  init(_ output: OperationOutput, _ contents: OperationContents) {
    files = Dictionary(
      output.files.lazy.filter { $0.path.isEmpty }.map { ($0.name, $0.content) },
      uniquingKeysWith: { first, _ in first })
    self.contents = contents
  }

  /// A file that is not here is an error for who looks at it: the value beside it is readable.
  fileprivate func file(_ name: String) -> OperationFile {
    if let content = files[name], let file = contents.file(content) { return file }
    return OperationFile { [isNamed = files[name] != nil] in
      throw BadOutput(
        isNamed
          ? "the file '\(name)' lies in the store of a worker, and was not brought here"
          : "the file '\(name)' was not brought here: other files of it were asked for")
    }
  }
}
