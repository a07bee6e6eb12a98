// Manifests that opbatch writes itself: they compile.

import FoundationEssentials
import OpClusterManifest
import OpClusterModel
import OpClusterWire
import Testing

@testable import opbatch

@Suite struct ManifestTextTests {
  static let files: [String: String] = [
    "/base/samples.txt": "a\nb\n", "/base/files.txt": "/x\n/y\n/z\n",
  ]

  static func compile(
    _ text: String, _ parameters: [String: String] = [:]
  ) -> ManifestCompiler.Compilation {
    let access = FileAccess(
      read: { path in
        files[path].map { .success(Array($0.utf8)) }
          ?? .failure(FileAccess.Unreadable(reason: "there is no such file"))
      }, list: { _ in [] })
    let compiler = ManifestCompiler(
      source: text, fileName: "test.yaml",
      surroundings: Surroundings(baseFolder: "/base", files: access), parameters: parameters)
    return compiler.compile(
      encoders: PayloadEncoders(
        command: { Wire.encode(command: $0) }, callInput: { Wire.encode(callInput: $0) },
        blocks: { Wire.encode(blocks: $0) },
        blockElement: { Wire.encode(blockElement: $0) }))
  }

  @Test(arguments: Initialize.Example.allCases)
  func examples(example: Initialize.Example) {
    let result = Self.compile(example.text, example == .images ? ["source": "scans"] : [:])
    #expect(result.diagnostics.map(\.message) == [])
    #expect(result.submission != nil)
    #expect(example.text.hasPrefix("#"))
  }

  @Test func demo() throws {
    let result = Self.compile(DemoFiles.manifest)
    #expect(result.diagnostics.map(\.message) == [])
    let submission = try #require(result.submission)
    #expect(submission.templates.map(\.name) == ["count", "merge", "top", "rare", "report"])
    #expect(submission.templates[0].count == 3)
    #expect(submission.templates[0].retry.maximum == 2)
    #expect(submission.templates[3].allowedFailures == .all)
  }

  @Test func schemaIsJSON() throws {
    struct Head: Decodable {
      var title: String
      var required: [String]
    }
    let head = try JSONDecoder().decode(Head.self, from: Data(ManifestSchema.text.utf8))
    #expect(head.required == ["version", "operations"])
  }
}
