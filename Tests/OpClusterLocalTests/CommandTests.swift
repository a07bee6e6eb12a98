// Commands and blocks in a local cluster.

import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Synchronization
import Testing

@Suite struct CommandTests {
  private func shell(_ text: String) -> OperationTemplate {
    var template = OperationTemplate(name: "sh", work: .command)
    template.payload = Wire.encode(
      command: CommandSpecification(
        form: .shell(interpreter: ["/bin/sh", "-c"], text: CommandText(text))))
    return template
  }

  private func run(_ program: Program, _ template: OperationTemplate) async throws -> OperationID {
    var graph = GraphSubmission(name: "commands")
    graph.templates = [template]
    return OperationID(graph: try await program.submit(graph), index: 0)
  }

  @Test("a command runs, and its exit status is told") func status() async throws {
    let program = Program()
    let good = try await run(program, shell("exit 0"))
    let bad = try await run(program, shell("exit 3"))
    try await program.witness.waitForEnd(of: [good, bad])
    #expect(program.witness.outcome(good) == .succeeded)
    #expect(program.witness.outcome(bad) == .failed)
    #expect(try await program.row(bad).result?.exitStatus == 3)
    await program.cluster.close()
  }

  @Test("S92, G21: a command is stopped by its signal, by request or when its time is up")
  func stopping() async throws {
    let program = Program()
    var slow = shell("exec sleep 3600")
    slow.timeout = .milliseconds(50)
    let timed = try await run(program, slow)
    let asked = try await run(program, shell("exec sleep 3600"))
    try await eventually { program.witness.life(asked).isExecuting }
    _ = try await program.ask(.cancel(.operations([asked]), reason: "", grace: nil))
    try await program.witness.waitForEnd(of: [timed, asked])
    #expect(program.witness.outcome(timed) == .timedOut)
    #expect(program.witness.outcome(asked) == .cancelled)
    await program.cluster.close()
  }

  @Test("S118, S124: closures run as blocks of one operation") func blocks() async throws {
    let program = Program()
    let ran = Atomic<Int>(0)
    let blocks = (0..<3).map { _ in
      let number = program.cluster.register { _ in
        ran.add(1, ordering: .relaxed)
        return []
      }
      return OperationBlock.call(
        OperationRegistry.closureType, argument: Array(String(number).utf8))
    }
    var template = OperationTemplate(name: "blocks", work: .blocks([]))
    template.payload = Wire.encode(blocks: blocks)
    let id = try await run(program, template)
    try await program.witness.waitForEnd(of: [id])
    #expect(program.witness.outcome(id) == .succeeded)
    #expect(ran.load(ordering: .relaxed) == 3)
    await program.cluster.close()
  }
}
