// Traces of other systems become manifests that compile and have the trace's dependencies.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct WfFormatTests {
  @Test func theTraceKeepsItsDependencies() throws {
    let bytes = try fixture("Fixtures/1000genome-chameleon-2ch-100k-001.json")
    let yaml = try WfFormatImport().manifest(of: bytes)
    let compiled = compile(yaml)
    let submission = try compiled.submission
    #expect(compiled.result.diagnostics.isEmpty)
    let trace = try WfFormatTrace(bytes)
    #expect(submission.templates.count == trace.tasks.count + 1)
    #expect(submission.templates[0].name == "stage-in")
    var parents: [String: Set<String>] = [:]
    for edge in submission.groupEdges {
      let (from, to) = (submission.templates[Int(edge.from)], submission.templates[Int(edge.to)])
      #expect(edge.policy == .succeeded)
      parents[to.name, default: []].insert(from.name)
    }
    for task in trace.tasks {
      let expected = task.parents.isEmpty ? ["stage-in"] : task.parents.map { trace.tasks[$0].id }
      #expect(parents[task.id] == Set(expected))
    }
  }

  /// Commands as they were recorded; a task without one waits.
  @Test func recordedCommandsRun() throws {
    let json = #"""
      {"name": "t", "workflow": {"specification": {"tasks": [
        {"id": "a"}, {"id": "b", "parents": ["a"]}]},
       "execution": {"tasks": [
        {"id": "a", "runtimeInSeconds": 3,
         "command": {"program": "/bin/echo", "arguments": ["it's \"x\"", "é\n"]}},
        {"id": "b", "runtimeInSeconds": 3}]}}}
      """#
    var importer = WfFormatImport(timeScale: 0.5)
    importer.runsCommands = true
    let yaml = try importer.manifest(of: Array(json.utf8))
    #expect(yaml.contains(##"run: ["/bin/echo", "it's \"x\"", "é\U0000000a"]"##))
    #expect(yaml.contains(##"run: ["sleep", "1.5"]"##))
    let submission = try compile(yaml).submission
    #expect(submission.templates.map(\.name) == ["a", "b"])
    #expect(submission.groupEdges.count == 1)
  }

  @Test func filesAreReadBehindTheirProducer() throws {
    let bytes = try fixture("Fixtures/1000genome-chameleon-2ch-100k-001.json")
    let trace = try WfFormatTrace(bytes)
    let files = WfFormatFiles(trace)
    try Self.check(files, trace)
    #expect(files.initial.count == 12)
    #expect(files.reads.map { $0.count } == trace.tasks.map { $0.inputs.count })
  }

  /// Each operation needs what it reads of those that leave it, and may start nowhere before them.
  @Test(arguments: [false, true]) func filesAreDeclared(areMany: Bool) throws {
    var bytes = try fixture("Fixtures/1000genome-chameleon-2ch-100k-001.json")
    if areMany {
      let names = (0..<150).map { "\"x\($0)\"" }.joined(separator: ",")
      bytes = trace(
        #"{"id":"a","outputFiles":[\#(names)]},{"id":"b","parents":["a"],"inputFiles":["x3"]},"#
          + #"{"id":"c","parents":["b"],"inputFiles":["x3","y"]}"#)
    }
    var importer = WfFormatImport()
    importer.declaresFiles = true
    let yaml = try importer.manifest(of: bytes)
    let compiled = compile(yaml)
    let submission = try compiled.submission
    #expect(compiled.result.diagnostics.isEmpty)
    let trace = try WfFormatTrace(bytes)
    let files = WfFormatFiles(trace)
    #expect(submission.templates.count == trace.tasks.count + files.initial.count)
    for (at, task) in trace.tasks.enumerated() {
      let template = try #require(submission.templates.first { $0.name == task.id })
      #expect(template.inputFiles.count == files.reads[at].count)
    }
    if areMany {
      #expect(yaml.contains("      a: {files: [all]}") && yaml.contains("      b: {}"))
      #expect(yaml.contains(#"sum=$(cat "$OP_INPUTS/a/all/x3" "$OP_INPUTS/stage-in/f1" | cksum)"#))
    }
  }

  /// One producer a name, and every reader behind it.
  static func check(_ files: WfFormatFiles, _ trace: WfFormatTrace) throws {
    var producer: [String: Int] = [:]
    for (at, names) in files.writes.enumerated() {
      for name in names { #expect(producer.updateValue(at, forKey: name) == nil) }
    }
    let initial = Set(files.initial.map { $0.name })
    #expect(initial.count == files.initial.count)
    #expect(initial.isDisjoint(with: producer.keys))
    for (at, names) in files.reads.enumerated() {
      for name in names where !initial.contains(name) {
        let from = try #require(producer[name])
        #expect(trace.descends(at, from: from))
      }
    }
  }

  private func trace(_ tasks: String, files: String = "") -> [UInt8] {
    Array(
      """
      {"name":"t","workflow":{"specification":{"tasks":[\(tasks)],"files":[\(files)]},
       "execution":{"tasks":[{"id":"a","runtimeInSeconds":10}]}}}
      """.utf8)
  }

  /// ```
  ///   a   b      both write f; c reads a's, d both's, e (behind nobody) an initial one;
  ///   |\ /       a also reads the f that it writes
  ///   c d   e
  /// ```
  @Test func severalProducersAndNone() throws {
    let bytes = trace(
      #"{"id":"a","inputFiles":["f"],"outputFiles":["f"]},{"id":"b","outputFiles":["f","f"]},"#
        + #"{"id":"c","parents":["a"],"inputFiles":["f"]},"#
        + #"{"id":"d","parents":["a","b"],"inputFiles":["f"]},"#
        + #"{"id":"e e","inputFiles":["f","x/y z"]},{"id":"e_e"}"#,
      files: #"{"id":"f","sizeInBytes":900000000},{"id":"x/y z","sizeInBytes":0}"#)
    let trace = try WfFormatTrace(bytes)
    let files = WfFormatFiles(trace)
    try Self.check(files, trace)
    #expect(files.writes == [["f"], ["f-2"], [], [], [], []])
    #expect(files.reads[2] == ["f"])
    #expect(files.reads[3] == ["f-2"])
    #expect(files.initial.map { $0.name } == ["f-3", "x_y_z"])
    let compiled = compile(try WfFormatImport(timeScale: 0.5).manifest(of: bytes))
    #expect(
      try compiled.submission.templates.map { $0.name }
        == ["stage-in", "a", "b", "c", "d", "e_e", "e_e-2"])
    let text = """
      set -e
      cd t.files
      cat f-3 > /dev/null
      sleep 5
      head -c 65536 /dev/zero > f

      """
    #expect(try compiled.shellText("a") == CommandText(text))
    #expect(
      try compiled.command("stage-in").standardInput == .text(CommandText("65536 f-3\n0 x_y_z\n")))
  }

  @Test func longListsGoInByStdin() throws {
    let names = (0..<6000).map { "\"some/longer/file-\($0).txt\"" }.joined(separator: ",")
    let bytes = trace(#"{"id":"a","inputFiles":[\#(names)]}"#)
    let compiled = compile(try WfFormatImport().manifest(of: bytes))
    let submission = try compiled.submission
    #expect(submission.templates.map { $0.name } == ["stage-in", "stage-in-2", "a"])
    guard case .text(let list) = try compiled.command("a").standardInput else {
      Issue.record("no list")
      return
    }
    #expect(list.segments.count == 1)
    #expect(submission.groupEdges.count == 2)
  }

  @Test(arguments: [
    ("{}", "it has no 'workflow': WfFormat 1.4 or newer is needed"),
    ("[1", "it is not WfFormat JSON"),
    (#"{"workflow":{"specification":{"tasks":[]}}}"#, "it has no tasks"),
    (
      #"{"workflow":{"specification":{"tasks":[{"id":"a"},{"id":"a"}]}}}"#,
      "the task 'a' is there twice"
    ),
    (
      #"{"workflow":{"specification":{"tasks":[{"id":"a","parents":["b"]}]}}}"#,
      "the task 'a' has an unknown parent 'b'"
    ),
    (
      #"{"workflow":{"specification":{"tasks":["#
        + #"{"id":"a","parents":["b"]},{"id":"b","parents":["a"]}]}}}"#,
      "its parents go round in a circle"
    ),
  ])
  func badTracesAreRefused(text: String, reason: String) {
    #expect(throws: WfFormatError(reason)) {
      try WfFormatImport().manifest(of: Array(text.utf8))
    }
  }

  @Test(arguments: [(0, "0"), (0.25, "0.25"), (12, "12"), (0.0000004, "0"), (3.000001, "3.000001")])
  func decimalsHaveNoExponent(value: Double, text: String) {
    #expect(WfFormatImport.decimal(value) == text)
  }
}
