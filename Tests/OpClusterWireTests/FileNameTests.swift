// Names of files from outside: none leads out of the folder where it is used.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterWire

@Suite(.checks("S137", "G38")) struct FileNameTests {
  @Test(arguments: [
    "a", "a/b", "a b", ".hidden", "...", "ü", "a/..b/c", String(repeating: "x", count: 255),
    Array(repeating: "d", count: Limits.pathDepth).joined(separator: "/"),
    Array(repeating: String(repeating: "y", count: 204), count: 5).joined(separator: "/"),
  ])
  func staysInItsFolder(path: String) { #expect(RelativePath.isValid(path)) }

  @Test(arguments: [
    "", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", "a\0b",
    String(repeating: "x", count: 256),
    Array(repeating: "d", count: Limits.pathDepth + 1).joined(separator: "/"),
    Array(repeating: String(repeating: "y", count: 205), count: 5).joined(separator: "/"),
  ])
  func leadsElsewhere(path: String) { #expect(!RelativePath.isValid(path)) }

  @Test func theLongestPath() {
    let name = String(repeating: "z", count: Limits.relativePathBytes / 8 - 1)
    let path = Array(repeating: name, count: 8).joined(separator: "/")
    #expect(path.utf8.count == Limits.relativePathBytes - 1)
    #expect(RelativePath.isValid(path + "z") && !RelativePath.isValid(path + "zz"))
  }

  /// An output of a worker that lies, and a submission of a client that does.
  @Test(arguments: ["..", "a/b", "", "/etc"]) func hostileNames(name: String) throws {
    let content = StoredContent(
      digest: try #require(ContentDigest(bytes: [UInt8](repeating: 1, count: 32))), size: 1)
    var output = OperationOutput()
    output.files = [
      StoredFile(name: "f", path: "", isExecutable: false, content: content),
      StoredFile(name: name, path: "", isExecutable: false, content: content),
    ]
    #expect(throws: WireError.self) { try Wire.decodeOutput(Wire.encode(output: output)) }
    output.files[1] = StoredFile(name: "f", path: "x/../y", isExecutable: false, content: content)
    #expect(throws: WireError.self) { try Wire.decodeOutput(Wire.encode(output: output)) }
    var command = CommandSpecification(form: .arguments([CommandText("true")]))
    command.outputFiles = [.init(name: name, path: CommandText("x"))]
    #expect(throws: WireError.self) { try Wire.decodeCommand(Wire.encode(command: command)) }
    for (file, folder) in [(name, "a"), ("a", name)] {
      var graph = GraphSubmission(name: "g")
      graph.templates = [OperationTemplate(name: "t", work: .command)]
      graph.templates[0].inputFiles = [
        InputFile(operation: "o", file: file, folder: folder, isByIndex: false)
      ]
      let bytes = Wire.encode(.request(RequestID(1), .submit(graph)))
      #expect(throws: WireError.self) { try Wire.decodeClientMessage(bytes) }
    }
  }

  @Test func theMostFiles() throws {
    for count in [Limits.inputFilesPerOperation, Limits.inputFilesPerOperation + 1] {
      var graph = GraphSubmission(name: "g")
      graph.templates = [OperationTemplate(name: "t", work: .command)]
      graph.templates[0].inputFiles = (0..<count).map {
        InputFile(operation: "o", file: "f\($0)", folder: "o", isByIndex: false)
      }
      let read = try? Wire.decodeClientMessage(Wire.encode(.request(RequestID(1), .submit(graph))))
      #expect((read != nil) == (count <= Limits.inputFilesPerOperation))
    }
    for count in [Limits.outputFilesPerOperation, Limits.outputFilesPerOperation + 1] {
      var command = CommandSpecification(form: .arguments([CommandText("true")]))
      command.outputFiles = (0..<count).map { .init(name: "f\($0)", path: CommandText("x")) }
      let read = try? Wire.decodeCommand(Wire.encode(command: command))
      #expect((read != nil) == (count <= Limits.outputFilesPerOperation))
    }
  }
}
