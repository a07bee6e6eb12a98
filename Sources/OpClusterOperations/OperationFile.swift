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
/// who read the output fetch them before these begin. It may have any size: neither side holds it in
/// memory. Its name for commands and for people is that of the property, here `bam`; of a file
/// that is the whole output `file`, and in lists and nested values the names and positions with
/// points between them, as `tiles.0`.
public struct OperationFile: Sendable {
  /// Where its bytes are on this machine. Of a file that was read from an output: nobody may write
  /// there, and in an operation it lasts as long as the attempt.
  public let path: String
  /// Of a file that was fetched: readable, whatever becomes of its path.
  private let mapped: Data?

  /// A file to be left. It is read after `main` has returned; links are followed.
  public init(path: String) {
    self.path = path
    mapped = nil
  }

  fileprivate init(path: String, mapped: Data?) {
    self.path = path
    self.mapped = mapped
  }

  /// Its bytes, mapped into memory: only what is looked at is read, and may leave memory again.
  public func data() throws -> Data {
    try mapped ?? Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
  }

  /// Its bytes as pieces of this size, the last one smaller; for what is read once, from front to
  /// back.
  /// - Parameter count: Bytes of a piece, at least one.
  public func pieces(of count: Int = 1 << 20) throws -> some Sequence<Data> {
    let (data, step) = (try data(), max(count, 1))
    return stride(from: 0, to: data.count, by: step).lazy.map { start in
      data[data.startIndex + start..<data.startIndex + min(data.count, start + step)]
    }
  }
}

extension OperationFile: Codable {
  private enum Key: String, CodingKey { case file, bytes }

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
    let left = try files.leave(path, at: encoder.codingPath)
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(left.name, forKey: .file)
    try container.encode(left.content.size, forKey: .bytes)
  }

  /// - Throws: `DecodingError` outside of an operation's output.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: .file)
    // The shape of the type has both.
    _ = try container.decode(Int64.self, forKey: .bytes)
    if decoder is SchemaProbe {
      // It only looks at the shape of a type.
      self.init(path: "")
      return
    }
    guard let key = ReadFiles.key, let files = decoder.userInfo[key] as? ReadFiles else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "a file is a part of what an operation left, and of nothing else"))
    }
    self = try files.file(name)
  }
}

extension OperationContext {
  /// A file that the operation's graph names as an input: `reads` of the submitter, `align/bam` of a
  /// dependency; of an array `align/3/bam`, of a folder or a pattern `align/bam/NAME`.
  /// - Throws: ``MissingInput`` if there is none.
  public func inputFile(_ path: String) throws -> OperationFile {
    guard let inputFolder else {
      throw MissingInput(
        "there is no input file '\(path)': the graph names no files for this operation "
          + "(inputs: {NAME: PATH}, or needs: {OPERATION: {files: [NAME]}})")
    }
    guard RelativePath.isValid(path) else {
      throw MissingInput("'\(path)' is no path of an input file; it is one like align/bam")
    }
    let place = "\(inputFolder)/\(path)"
    guard FileManager.default.fileExists(atPath: place) else {
      let names = (try? FileManager.default.subpathsOfDirectory(atPath: inputFolder)) ?? []
      throw MissingInput(
        "there is no input file '\(path)'; there are "
          + names.sorted().prefix(20).joined(separator: ", "))
    }
    return OperationFile(path: place)
  }
}

// MARK: - Where files go

/// Puts a file of an operation where its readers find it; made by what runs the operation.
public struct OperationFileStore: Sendable {
  let keep: @Sendable (String) throws -> Kept

  /// A file that is kept.
  public struct Kept: Hashable, Sendable {
    public var content: StoredContent
    public var isExecutable: Bool
    public init(content: StoredContent, isExecutable: Bool) {
      self.content = content
      self.isExecutable = isExecutable
    }
  }

  /// - Parameter keep: Keeps the bytes of the file at a path. Blocks.
  public init(_ keep: @escaping @Sendable (String) throws -> Kept) { self.keep = keep }

  /// There is no store: an operation that leaves a file fails.
  public static let none = OperationFileStore { _ in throw NoStore() }

  private struct NoStore: Error, CustomStringConvertible {
    let description = "here is no store for files; leave the path of one that its readers can see"
  }
}

/// The files of an output that is being encoded, in order.
final class OutputFiles: Sendable {
  static let key = CodingUserInfoKey(rawValue: "opcluster.output-files")
  private let keep: @Sendable (String) throws -> OperationFileStore.Kept
  private let state = Mutex(State())

  private struct State {
    var files: [StoredFile] = []
    var names: Set<String> = []
  }

  init(_ keep: @escaping @Sendable (String) throws -> OperationFileStore.Kept) {
    self.keep = keep
  }

  var left: [StoredFile] { state.withLock { $0.files } }

  /// - Throws: ``BadOutput``, or `StoreIsFull`.
  fileprivate func leave(_ path: String, at place: [any CodingKey]) throws -> StoredFile {
    let name = Self.name(of: place)
    guard !name.contains("/"), RelativePath.isValid(name) else {
      throw BadOutput("a file cannot have the name '\(name)', which follows from its place")
    }
    let count = try state.withLock { state in
      guard state.names.insert(name).inserted else {
        throw BadOutput("two files would have the name '\(name)', which follows from their places")
      }
      return state.names.count
    }
    // One place is for the value itself.
    guard count < Limits.contentsPerOutput else {
      throw BadOutput(
        "more than \(Limits.contentsPerOutput - 1) files; put them into an archive")
    }
    let kept: OperationFileStore.Kept
    do {
      kept = try keep(path)
    } catch let error as StoreIsFull {
      throw error
    } catch {
      throw BadOutput("the file '\(name)' was not kept: \(error)")
    }
    let file = StoredFile(
      name: name, path: "", isExecutable: kept.isExecutable, content: kept.content)
    state.withLock { $0.files.append(file) }
    return file
  }

  private static func name(of place: [any CodingKey]) -> String {
    if place.isEmpty { return "file" }
    return place.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }
}

/// The files of an output that is being decoded.
struct ReadFiles: Sendable {
  static let key = CodingUserInfoKey(rawValue: "opcluster.read-files")
  private let files: [String: StoredContent]
  private let contents: OperationContents

  init(_ output: OperationOutput, _ contents: OperationContents) {
    files = Dictionary(
      output.files.lazy.filter { $0.path.isEmpty }.map { ($0.name, $0.content) },
      uniquingKeysWith: { first, _ in first })
    self.contents = contents
  }

  fileprivate func file(_ name: String) throws(BadOutput) -> OperationFile {
    guard let content = files[name] else { throw BadOutput("it left no file '\(name)'") }
    let (path, mapped) = try contents.file(content)
    return OperationFile(path: path, mapped: mapped)
  }
}
