// Files as outputs and as parts of them: what is kept under which name, who finds it, and what is
// said where it cannot be.

import Citations
import FoundationEssentials
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Synchronization
import Testing

@Suite(.checks("S140")) final class OperationFileTests {
  /// A value with files at all depths.
  struct Sorted: Codable, Sendable {
    struct Part: Codable, Sendable {
      var index: OperationFile
    }
    var reads: Int
    var bam: OperationFile
    var tiles: [OperationFile] = []
    var part: Part?
  }

  /// A store in a folder: contents are named by the order of their coming.
  final class Store: Sendable {
    let folder = "/tmp/operation-files-\(UInt64.random(in: 0 ... .max))"
    private let count = Mutex<UInt8>(0)

    init() throws {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false)
    }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func keep(_ bytes: Data) throws -> StoredContent {
      let number = count.withLock { count in
        count += 1
        return count
      }
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: number, count: 32)))
      try bytes.write(to: URL(filePath: "\(folder)/\(digest)"))
      return StoredContent(digest: digest, size: Int64(bytes.count))
    }

    var files: OperationFileStore {
      OperationFileStore { [self] path in
        OperationFileStore.Kept(
          content: try keep(Data(contentsOf: URL(filePath: path))),
          isExecutable: path.hasSuffix(".sh"))
      }
    }

    /// As of a program: each content mapped, where it lies is said.
    var contents: OperationContents {
      OperationContents { [folder] digest in
        try? Data(contentsOf: URL(filePath: "\(folder)/\(digest)"))
      } file: { [folder] content in
        OperationFile {
          let path = "\(folder)/\(content.digest)"
          return (path, try Data(contentsOf: URL(filePath: path)))
        }
      }
    }

    func file(_ name: String, _ text: String) throws -> OperationFile {
      let path = "\(folder)/\(name)"
      try Data(text.utf8).write(to: URL(filePath: path))
      return OperationFile(path: path)
    }
  }

  let store: Store
  init() throws { store = try Store() }

  private func context(_ files: OperationFileStore, inputs: [DependencyInput] = [])
    -> OperationContext
  {
    OperationContext(
      attempt: AttemptID(operation: OperationID(graph: GraphID(1), index: 1), attempt: 1),
      name: "sort", inputs: inputs, contents: store.contents, fileStore: files)
  }

  private func encoded(_ value: some Encodable) async throws -> [UInt8] {
    try await OutputValue.encode(value, leftBy: context(store.files))
  }

  @Test("Each file is kept under the name of its place, and found again by it")
  func parts() async throws {
    let value = Sorted(
      reads: 7, bam: try store.file("a", "bam"),
      tiles: [try store.file("b", "t0"), try store.file("c.sh", "t1")],
      part: .init(index: try store.file("d", "index")))
    let bytes = try await encoded(value)
    let output = try Wire.decodeOutput(bytes)
    let names = output.files.map(\.name).sorted()
    #expect(names == ["bam", "part.index", "tiles.0", "tiles.1"])
    #expect(output.files.filter(\.isExecutable).map(\.name) == ["tiles.1"])
    #expect(output.contents.isEmpty && output.pairs.map(\.key) == ["reads"])
    // All that must stay while somebody may read it.
    #expect(OperationOutput.contents(of: bytes).count == 4)
    let read = try OutputValue.decode(Sorted.self, from: bytes, contents: store.contents)
    #expect(read.reads == 7)
    #expect(try await read.bam.data() == Data("bam".utf8))
    #expect(try await read.tiles[0].data() == Data("t0".utf8))
    #expect(try await read.tiles[1].data() == Data("t1".utf8))
    #expect(try await read.part?.index.data() == Data("index".utf8))
    #expect(try await read.bam.path().hasPrefix(store.folder))
    // Where nothing was brought the value is readable, and the file says so.
    let alone = try OutputValue.decode(Sorted.self, from: bytes)
    #expect(alone.reads == 7)
    await #expect(throws: BadOutput.self) { try await alone.bam.data() }
  }

  @Test("A file alone is an output, which a property by its type finds")
  func alone() async throws {
    let bytes = try await encoded(try store.file("a", "alone"))
    #expect(try Wire.decodeOutput(bytes).files.map(\.name) == ["file"])
    let input = DependencyInput(
      operation: OperationID(graph: GraphID(1), index: 0), name: "make", index: nil,
      outcome: .succeeded, output: bytes)
    let found = context(.none, inputs: [input]).output(OperationFile.self)
    #expect(try await found?.data() == Data("alone".utf8))
  }

  @Test("A value that fits no message goes behind the files")
  func largeBesideFiles() async throws {
    struct Large: Codable, Sendable {
      var text: String
      var file: OperationFile
    }
    let large = Large(
      text: String(repeating: "x", count: 100_000), file: try store.file("a", "beside"))
    var result = AttemptResult()
    result.output = try await encoded(large)
    let (fitting, kept) = result.fittingMessages { [store] in try store.keep(Data($0)) }
    #expect(fitting.isSuccess && kept.count == 1 && fitting.output.count <= Limits.outputBytes)
    #expect(OperationOutput.contents(of: fitting.output).count == 2)
    let read = try OutputValue.decode(
      Large.self, from: fitting.output, contents: store.contents)
    #expect(read.text.count == 100_000)
    #expect(try await read.file.data() == Data("beside".utf8))
  }

  @Test("Pieces are all of it, in order", arguments: [1, 2, 7, 100])
  func pieces(size: Int) async throws {
    let bytes = try await encoded(try store.file("a", "seven b"))
    let read = try OutputValue.decode(
      OperationFile.self, from: bytes, contents: store.contents)
    let pieces = Array(try await read.pieces(of: size))
    #expect(pieces.allSatisfy { $0.count <= size && !$0.isEmpty })
    #expect(pieces.reduce(Data(), +) == Data("seven b".utf8))
    #expect(Array(try await read.pieces(of: 0)).count == 7)
    let empty = try OutputValue.decode(
      OperationFile.self, from: await encoded(try store.file("e", "")), contents: store.contents)
    #expect(Array(try await empty.pieces()).isEmpty)
  }

  @Test("A file that cannot be kept fails the operation, and says which")
  func refusals() async throws {
    func said(_ value: some Encodable, _ files: OperationFileStore) async -> String {
      do {
        _ = try await OutputValue.encode(value, leftBy: context(files))
        return ""
      } catch {
        return "\(error)"
      }
    }
    let file = try store.file("a", "a")
    #expect(await said(file, .none).hasPrefix("the file 'file' was not kept: here is no store"))
    let missing = Sorted(reads: 1, bam: OperationFile(path: "/nowhere"))
    #expect(await said(missing, store.files).hasPrefix("the file 'bam' was not kept: "))
    let twice = ["a": ["b": file], "a.b": ["": file]]
    let same = ["a.b": ["c": file], "a": ["b.c": file]]
    #expect(await said(same, store.files).hasPrefix("two files"))
    #expect(await said(twice, store.files) == "")
    #expect(await said(["a/b": file], store.files).hasPrefix("a file cannot have the name 'a/b'"))
    // As it is written, also if it is a number.
    #expect(await said(["007": file, "7": file], store.files) == "")
    #expect(await said(["..": file], store.files).hasPrefix("a file cannot have the name '..'"))
    // Outside of an output.
    #expect(throws: BadArgument.self) { try OperationArgument.encode(missing) }
    #expect(throws: BadOutput.self) { try OutputValue.encode(file) }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(OperationFile.self, from: Data(#"{"file":"a"}"#.utf8))
    }
  }

  @Test("As many files as an output may name, and not one more", arguments: [0, 1])
  func tooMany(beyond: Int) async throws {
    let file = try store.file("a", "a")
    let content = try store.keep(Data("a".utf8))
    let files = OperationFileStore { _ in .init(content: content, isExecutable: false) }
    let most = Limits.contentsPerOutput - 1
    let many = Array(repeating: file, count: most + beyond)
    if beyond > 0 {
      await #expect(throws: BadOutput.self) {
        try await OutputValue.encode(many, leftBy: context(files))
      }
      return
    }
    // Names that are long as well fit no message, and say so.
    var result = AttemptResult()
    result.output = try await OutputValue.encode(many, leftBy: context(files))
    let (fitting, _) = result.fittingMessages { [store] in try store.keep(Data($0)) }
    #expect(fitting.isSuccess && fitting.output.count <= Limits.outputBytes)
    #expect(OperationOutput.contents(of: fitting.output).count >= most)
    let long = Dictionary(
      uniqueKeysWithValues: (0..<most).map { ("\($0)" + String(repeating: "n", count: 60), file) })
    await #expect(throws: BadOutput.self) {
      try await OutputValue.encode(long, leftBy: context(files))
    }
  }

  struct Fails: RegisteredOperation {
    static let typeName = "test.fails-after-a-file"
    var paths: [String]
    func main(_ context: OperationContext) async throws -> [OperationFile] {
      paths.map { OperationFile(path: $0) }
    }
  }

  @Test("What was kept of an output that came to nothing is told, and the cause of a full store")
  func keptForNothing() async throws {
    var registry = OperationRegistry()
    registry.add(Fails.self)
    let here = context(store.files)
    let argument = try OperationArgument.encode(
      Fails(paths: [try await store.file("a", "a").path(), "/nowhere"]))
    let result = await registry.run(Fails.operationType, argument: argument, context: here)
    #expect(result.cause == .badOutput && here.keptFiles.count == 1)
    let full = context(OperationFileStore { _ in throw StoreIsFull("no room") })
    let refused = await registry.run(Fails.operationType, argument: argument, context: full)
    #expect(refused.cause == .storeFull && refused.diagnostic.contains("no room"))
  }

  @Test("Who keeps them for another process names them, and lets nothing else be named")
  func namedByAnother() throws {
    let unnamed = StoredContent(
      digest: try #require(ContentDigest(bytes: [UInt8](repeating: 0, count: 32))), size: 1)
    var output = OperationOutput(typeName: "Sorted")
    output.contents = [unnamed, unnamed]
    output.valueContent = 1
    output.files = ["a", "b"].map {
      StoredFile(name: $0, path: "", isExecutable: false, content: unnamed)
    }
    var result = AttemptResult()
    result.output = Wire.encode(output: output)
    let value = try store.keep(Data("v".utf8))
    let files = [try store.keep(Data("0".utf8)), try store.keep(Data("1".utf8))]
    let (named, kept) = result.namingKept { value } file: { files[$0] }
    let read = try Wire.decodeOutput(named.output)
    #expect(read.contents == [value] && read.valueContent == 0)
    #expect(read.files.map(\.content) == files && kept == files + [value])
    struct Gone: Error {}
    let (failed, partly) = result.namingKept {
      value
    } file: { position in
      if position == 1 { throw Gone() }
      return files[position]
    }
    #expect(failed.cause == .badOutput && failed.output.isEmpty && partly == [files[0]])
  }

  @Test("Calls need the files of values, commands those that they name")
  func needs() async throws {
    let bytes = try await encoded(Sorted(reads: 1, bam: try store.file("a", "a")))
    var commands = OperationOutput()
    let content = try store.keep(Data("b".utf8))
    commands.files = [
      StoredFile(name: "bam", path: "", isExecutable: false, content: content)
    ]
    func input(_ output: [UInt8]) -> DependencyInput {
      DependencyInput(
        operation: OperationID(graph: GraphID(1), index: 0), name: "make", index: nil,
        outcome: .succeeded, output: output)
    }
    let bam = InputFile(operation: "make", file: "bam", folder: "make", isByIndex: false)
    let ofCommand = Wire.encode(output: commands)
    for (needs, typed, untyped) in [
      (ContentNeeds(values: true), 1, 0), (ContentNeeds(values: false), 0, 0),
      (ContentNeeds(values: false, files: [bam]), 1, 1),
      (ContentNeeds(values: true, files: [bam]), 1, 1),
    ] {
      var inputs = [input(bytes), input(ofCommand)]
      needs.narrow(&inputs[...])
      #expect(inputs[0].contents(needs).count == typed)
      #expect(inputs[1].contents(needs).count == untyped)
    }
    // Of a dependency of which files are named a call is brought these alone.
    let two = try await encoded(["x": try store.file("x", "x"), "y": try store.file("y", "y")])
    let y = InputFile(operation: "make", file: "y", folder: "make", isByIndex: false)
    var narrowed = [input(two)]
    let needsY = ContentNeeds(values: true, files: [y])
    #expect(narrowed[0].contents(needsY).count == 1)
    needsY.narrow(&narrowed[...])
    #expect(narrowed[0].contents(needsY).count == 1)
    let left = try Wire.decodeOutput(try #require(narrowed[0].output))
    #expect(left.files.map(\.name) == ["y"])
    let read = try OutputValue.decode(
      [String: OperationFile].self, from: narrowed[0].output ?? [], contents: store.contents)
    #expect(try await read["y"]?.data() == Data("y".utf8))
    await #expect(throws: BadOutput.self) { try await read["x"]?.data() }
    // A call still finds them when its inputs were narrowed.
    var inputs = [input(bytes)]
    ContentNeeds(values: true).narrow(&inputs[...])
    #expect(inputs[0].output == bytes)
  }

  @Test("The shape of a type goes on behind a file")
  func shape() {
    struct One: Codable { var file: OperationFile; var count: Int }
    struct Other: Codable { var file: OperationFile; var count: String }
    #expect(SchemaFingerprint.of(One.self) != SchemaFingerprint.of(Other.self))
  }
}
