// What real commands do to a worker: trees that must end, deaf ones, timeouts, streams, outputs,
// memory (F16, F17, G20, G21, G26).

import Citations
import OpClusterClient
import OpClusterModel
import OpClusterWire
import RealCluster
import Testing

@Suite(.sharedCluster, .serialized) struct ProcessTests {
  /// Cancelling reaches what has made itself a daemon.
  @Test(.checks("G20", "F16")) func cancelReachesDaemonisedChildren() async throws {
    let scene = try await SharedCluster.scene("f16")
    try scene.makeGate("hang")
    let work = """
      (setsid sh -c 'echo "child 1 $$ $OP_FENCE" >> '"\(scene.folder)/trace"'; sleep 1000' &)
      gate hang
      """
    let members = try await scene.submit { try $0.add("x", .shell(work)) }
    try await scene.traced("child", "hang+")
    let processes = scene.lines.map(\.process)
    #expect(processes.allSatisfy(isAlive))
    let said = try await scene.cluster.opbatch("cancel", "\(members.graph.number)")
    #expect(said.status == 0)
    try await scene.ended(members)
    // The record of the end comes after the end of all of them.
    #expect(!processes.contains(where: isAlive))
    #expect(try await scene.row(members["x"]).outcome == .cancelled)
    #expect(try await scene.cluster.opbatch("wait", "\(members.graph.number)").status == 2)
  }

  /// Who is deaf to TERM is killed after the grace that the operation names, and this is told.
  @Test(.checks("F17")) func aDeafOperationIsKilledAfterItsGrace() async throws {
    let scene = try await SharedCluster.scene("f17")
    try scene.makeGate("hang")
    let members = try await scene.submit { plan in
      try plan.add("x", .shell("trap '' TERM; gate hang"))
      plan.submission.templates[0].payload = Wire.encode(
        command: CommandSpecification(scene, "trap '' TERM; gate hang") {
          $0.grace = .milliseconds(500)
        })
    }
    try await scene.traced("hang+")
    let begin = ContinuousClock.now
    _ = try await scene.cancel(members["x"], named: "x")
    try await scene.ended(members)
    let time = ContinuousClock.now - begin
    #expect(time >= .milliseconds(450), "\(time)")
    #expect(time < .seconds(15), "\(time): the cluster's grace is 20 s")
    let row = try await scene.row(members["x"])
    #expect(row.outcome == .cancelled)
    #expect(row.result?.wasForced == true)
    #expect(row.result?.signal == 9)
  }

  /// A timeout ends the tree, as a failure of its own kind.
  @Test(.checks("G21")) func aTimeoutEndsTheTree() async throws {
    let scene = try await SharedCluster.scene("timeout")
    try scene.makeGate("hang")
    let members = try await scene.submit { plan in
      try plan.add("x", .nothing)
      plan.submission.templates[0] = OperationTemplate(name: "x", work: .command)
      plan.submission.templates[0].payload = Wire.encode(
        command: CommandSpecification(scene, "gate hang") { $0.timeout = .milliseconds(300) })
      try plan.add("y", .mark, after: ["x"], when: .failed)
    }
    try await scene.ended(members)
    let row = try await scene.row(members["x"])
    #expect(row.outcome == .timedOut)
    #expect(row.state == .timedOut)
    #expect(row.result?.cause == .timeout)
    #expect(scene.trace == ["hang+", "y"])
    #expect(!scene.lines.contains { isAlive($0.process) })
  }

  /// Streams are kept and shown, by stream and by attempt; a failure shows the end of its stderr.
  @Test func logsAreKept() async throws {
    let scene = try await SharedCluster.scene("logs")
    let work = """
      echo "out $OP_ATTEMPT"; echo "err $OP_ATTEMPT" >&2; [ $OP_ATTEMPT = 2 ]
      """
    let members = try await scene.submit { plan in
      try plan.add("x", .shell(work)) { $0.retry = RetryPolicy(maximum: 1) }
      try plan.add("f", .shell("echo it broke >&2; exit 5"))
    }
    try await scene.ended(members)
    let cluster = scene.cluster
    let x = "\(members.graph.number)/x"
    let both = try await cluster.opbatch("logs", x)
    #expect(both.output == "out 2\n")
    #expect(both.error == "err 2\n")
    #expect(try await cluster.opbatch("logs", x, "--stdout").output == "out 2\n")
    #expect(try await cluster.opbatch("logs", x, "--stderr").output == "err 2\n")
    #expect(try await cluster.opbatch("logs", x, "--attempt", "1", "--stdout").output == "out 1\n")
    #expect(try await scene.row(members["x"]).attempt == 2)
    let failed = try await scene.row(members["f"])
    #expect(failed.result?.exitStatus == 5)
    #expect(failed.result?.diagnostic.contains("it broke") == true)
    #expect(
      try await cluster.opbatch("show", "\(members.graph.number)/f").output.contains("it broke"))
  }

  /// Outputs reach dependents wherever those run, and `OP_OUTPUT` is what `show` tells.
  @Test func outputsPassBetweenWorkers() async throws {
    let scene = try await SharedCluster.scene("outputs")
    let manifest = "\(scene.folder)/outputs.yaml"
    try write(
      """
      version: 1
      name: outputs
      operations:
        make:
          run: |
            echo 'word=two words; $HOME' >> "$OP_OUTPUT"
          outputs: [word]
          resources: {cpus: 0, solo: 1}
        use:
          needs: make
          run: "printf %s ${{ needs.make.outputs.word }} > '\(scene.folder)/used'"
          resources: {cpus: 0, other: 1}

      """, to: manifest)
    let ran = try await scene.cluster.opbatch("submit", "--wait", manifest)
    #expect(ran.status == 0, "\(ran.error)")
    // The value is quoted for the shell: nothing of it is expanded.
    #expect(text(of: "\(scene.folder)/used") == "two words; $HOME")
    let shown = try await scene.cluster.opbatch("show", "last", "-o", "json")
    let operations = try JSONValue(shown.output)["operations"].elements
    #expect(operations.map { $0["worker"].text } == ["w1", "w2"])
    #expect(operations.first?["output"]["word"].text == "two words; $HOME")
  }

  /// The peak of the tree's memory and its processor time are told.
  @Test(.checks("G26")) func memoryIsMeasured() async throws {
    let scene = try await SharedCluster.scene("memory")
    let members = try await scene.submit { plan in
      // A pipe's tail is kept in memory: more than the worker ever had, or it could not be told.
      try plan.add("x", .shell("head -c 410000000 /dev/zero | tail -c 400000000 > /dev/null"))
    }
    try await scene.ended(members)
    let result = try #require(try await scene.row(members["x"]).result)
    #expect((400_000_000...600_000_000).contains(result.maximumResidentBytes))
    #expect(result.processorMicroseconds > 0)
  }

  /// A process that dies of a signal is told as such.
  @Test(.checks("G26")) func signalsAreTold() async throws {
    let scene = try await SharedCluster.scene("signals")
    let members = try await scene.submit { try $0.add("x", .shell("kill -SEGV $$")) }
    try await scene.ended(members)
    let row = try await scene.row(members["x"])
    #expect(row.outcome == .failed)
    #expect(row.result?.cause == .signal)
    #expect(row.result?.signal == 11)
  }
}

extension CommandSpecification {
  /// A shell command with a scene's vocabulary.
  init(_ scene: Scene, _ text: String, change: (inout CommandSpecification) -> Void = { _ in }) {
    self.init(
      form: .shell(
        interpreter: ["/bin/sh", "-c"], text: CommandText(scene.preamble + text + "\n")))
    change(&self)
  }
}
