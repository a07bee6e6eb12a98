// The worked examples of the manifest's description, and the basics of YAML 1.2.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct ExampleTests {
  @Test func helloIsTwoOperationsAndAnEdge() throws {
    let compiled = compile(try fixtureText("Fixtures/hello.yaml"))
    let submission = try compiled.submission
    #expect(compiled.result.diagnostics.isEmpty)
    #expect(submission.templates.map { $0.name } == ["make", "sum"])
    #expect(submission.groupEdges == [GroupEdge(from: 0, to: 1, policy: .succeeded)])
    #expect(submission.name == "graph")
    #expect(submission.queues == [.named("default")])
    let sum = try compiled.command("sum")
    let text = CommandText("awk '{s+=$1} END {print s}' numbers.txt")
    #expect(sum.form == .shell(interpreter: CommandSpecification.standardShell, text: text))
    #expect(sum.workingDirectory == "/here")
  }

  @Test func rnaseqPassesWithWarnings() throws {
    let compiled = compile(
      try fixtureText("Fixtures/rnaseq.yaml"), files: ["/base/samples.txt": "one\ntwo\r\n\nthree"])
    let submission = try compiled.submission
    #expect(compiled.warnings.count == 4)
    #expect(submission.name == "rnaseq")
    #expect(submission.failurePolicy == .continue)
    // 20 % of 3 + 3 + 3 elements and three plain operations.
    #expect(submission.maximumFailures == 2)
    #expect(submission.labels == [Label(key: "project", value: "liver-2026")])
    let align = try compiled.template("align")
    #expect(align.count == 3)
    #expect(align.isArray)
    #expect(align.demand.memoryBytes == 32 << 30)
    #expect(align.demand.cpus == ResourceAmount(16))
    #expect(align.retry.maximum == 2)
    #expect(align.retry.reasons == [.lost, .outOfMemory, .exit(137, 137)])
    #expect(align.priority == .high)
    #expect(ElementValues.decode(align.elementArguments[1], keyCount: 1) == ["two"])
    #expect(try compiled.template("trim").maximumParallel == 8)
    let index = try compiled.shellText("index")
    #expect(index == CommandText("bwa-mem2 index -p work/ref /data/ref/GRCh38.fa"))
    let position = { (name: String) in
      UInt32(submission.templates.firstIndex { $0.name == name } ?? 99)
    }
    let own = GroupEdge(
      from: position("trim"), to: position("align"), policy: .succeeded, match: .sameIndex)
    #expect(submission.groupEdges.contains(own))
    let rescue = GroupEdge(from: position("count"), to: position("rescue-note"), policy: .failed)
    #expect(submission.groupEdges.contains(rescue))
    let report = position("report")
    #expect(submission.templates[Int(report)].isFinal)
    let last = submission.groupEdges.filter { $0.to == report }
    #expect(last.map { $0.from } == [0, 1, 2, 3, 4, 5])
    #expect(last.allSatisfy { $0.policy == .finished })
    let note = try compiled.command("rescue-note")
    let text = "The count step failed; see opbatch show last/count"
    #expect(note.standardInput == .text(CommandText(text)))
    #expect(try compiled.template("count").wantsInputs)
    #expect(try compiled.template("trim").wantsInputs == false)
  }

  @Test func tilesPasses() throws {
    let compiled = compile(
      try fixtureText("Fixtures/tiles.yaml"), ["src": "/scans"], files: ["/scans/a.tif": ""])
    let submission = try compiled.submission
    func position(_ name: String) -> UInt32 {
      UInt32(submission.templates.firstIndex { $0.name == name } ?? 99)
    }
    #expect(
      submission.failureScopes == [
        FailureScope(
          first: position("thumbs"), count: 1, maximumFailures: 0, cancelsRunning: false),
        FailureScope(
          first: position("mosaic.stitch"), count: 2, maximumFailures: 0, cancelsRunning: true),
      ])
    #expect(
      compile(try fixtureText("Fixtures/tiles.yaml")).errors.contains(
        "the parameter 'src' is required"))
  }

  @Test func textsStayWhatWasWritten() throws {
    let compiled = compile(
      """
      version: 1
      params: {zip: 012, at: 1:30, country: no}
      operations:
        a:
          env: {ZIP: "${{ params.zip }}", AT: 1:30, ANSWER: no, N: 1_000, F: 1.50}
          run: [echo, "${{ params.at }}", "${{ params.country }}", 0x10, on]
      """)
    let command = try compiled.command("a")
    #expect(
      command.environment.map { $0.value }
        == ["012", "1:30", "no", "1_000", "1.50"].map { CommandText($0) })
    #expect(
      command.form == .arguments(["echo", "1:30", "no", "0x10", "on"].map { CommandText($0) }))
    // YAML 1.1's booleans and octal numbers are texts here, and no values of typed keys.
    let errors = compile(
      "version: 1\noperations: {a: {run: x, allow_failure: yes, retry: 012, max_lost: 1:30}}")
    #expect(errors.errors.count == 3)
  }

  @Test func anchorsAndMergesWork() throws {
    let compiled = compile(
      """
      version: 1
      x-small: &small {cpus: 2, memory: 1GiB}
      x-base: &base {timeout: 1m, retry: 3, resources: *small}
      operations:
        a: {<<: *base, run: x, retry: 1}
      """)
    let template = try compiled.template("a")
    #expect(template.retry.maximum == 1)
    #expect(template.demand.cpus == ResourceAmount(2))
    #expect(try compiled.command("a").timeout == .seconds(60))
  }
}
