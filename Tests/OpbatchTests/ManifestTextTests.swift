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
  ) -> ManifestCompiler.Result {
    let access = FileAccess(
      read: { path in
        files[path].map { .success(Array($0.utf8)) }
          ?? .failure(FileAccess.Unreadable(reason: "there is no such file"))
      }, list: { _ in [] })
    let compiler = ManifestCompiler(
      source: text, fileName: "test.yaml",
      surroundings: Surroundings(baseFolder: "/base", files: access), parameters: parameters)
    return compiler.compile { Wire.encode(command: $0) }
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
    let head = try JSONDecoder().decode(Head.self, from: Data(manifestSchema.utf8))
    #expect(head.required == ["version", "operations"])
  }

  static let workflow = """
    {"name": "diamond: 1", "schemaVersion": "1.5", "workflow": {
      "specification": {"tasks": [
        {"id": "a", "parents": [], "children": ["b.1", "c 2"]},
        {"id": "b.1", "parents": ["a"]}, {"id": "c 2", "parents": ["a"]},
        {"id": "c_2", "parents": ["b.1", "c 2", "nobody"]}]},
      "execution": {"tasks": [
        {"id": "a", "runtimeInSeconds": 1.25, "coreCount": 2, "memoryInBytes": 1048577,
         "command": {"program": "mk", "arguments": ["-x", "it's \\"${{ q }}\\""]}}]}}}
    """

  /// ```
  ///    a
  ///   / \\
  ///  b.1 c 2
  ///   \\ /
  ///   c_2
  /// ```
  @Test func importedWorkflow() throws {
    let workflow = try Workflow.decode(Array(Self.workflow.utf8), name: "w.json")
    let text = WorkflowManifest(
      workflow: workflow, sleepFactor: nil, asksForResources: true
    ).text
    let result = Self.compile(text)
    #expect(result.diagnostics.map(\.message) == [])
    let submission = try #require(result.submission)
    #expect(submission.templates.map(\.name) == ["a", "b.1", "c_2", "c_2_2"])
    #expect(submission.groupEdges.count == 4)
    #expect(submission.templates[0].demand.cpus == ResourceAmount(2))
    #expect(submission.templates[0].demand.memoryBytes == 2 << 20)
    let command = try Wire.decodeCommand(submission.templates[0].payload)
    #expect(
      command.form
        == .arguments([
          CommandText("mk"), CommandText("-x"), CommandText("it's \"$ {{ q }}\""),
        ]))
  }

  @Test func importedWorkflowThatSleeps() throws {
    let workflow = try Workflow.decode(Array(Self.workflow.utf8), name: "w.json")
    let text = WorkflowManifest(
      workflow: workflow, sleepFactor: 0.1, asksForResources: false
    ).text
    #expect(text.contains("run: [sleep, \"0.125\"]"))
    #expect(!text.contains("resources"))
    #expect(Self.compile(text).submission != nil)
  }

  @Test func whatIsNoWorkflow() {
    for text in ["", "[]", "{}", "{\"workflow\": {\"specification\": {\"tasks\": []}}}"] {
      let error = #expect(throws: Failure.self) {
        try Workflow.decode(Array(text.utf8), name: "w.json")
      }
      #expect(error?.status == .badInput)
    }
  }
}
