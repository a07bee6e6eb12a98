// Operations so short that the next ones are left to the runner that is busy: one that turns out to
// be long holds up nobody, and a stop reaches nobody but the one it is meant for.

import Citations
import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@Suite struct ShortOperationsTests {
  @Test("after many short ones, two that wait for each other run side by side", .checks("S64"))
  func meeting() async throws {
    let program = Program()
    try await program.queue("two", limit: 2)
    let ran = Atomic<Int>(0)
    var graph = shortOperations(of: program, in: "two") { ran.add(1, ordering: .relaxed) }
    let (left, right) = (Door(), Door())
    graph.templates.append(
      program.template("left") { _ in
        left.open()
        try await right.pass()
      })
    graph.templates.append(
      program.template("right") { _ in
        right.open()
        try await left.pass()
      })
    _ = try await program.submit(graph)
    try await program.witness.waitForFinished(Self.many + 2)
    #expect(ran.load(ordering: .relaxed) == Self.many)
    #expect(program.witness.problems == [])
  }

  @Test("S87: a cancelled one takes none of its successors along") func cancelling() async throws {
    let program = Program()
    try await program.queue("one", limit: 1)
    var graph = shortOperations(of: program, in: "one") {}
    graph.templates.append(
      program.template("long") { context in
        while !context.isCancelled { try? await Task.sleep(for: .milliseconds(1)) }
      })
    let cancelled = Atomic<Int>(0)
    let after = shortOperations(of: program, in: "one") {
      if Task.isCancelled { cancelled.add(1, ordering: .relaxed) }
    }
    graph.templates += after.templates
    let long = OperationID(graph: try await program.submit(graph), index: UInt32(Self.many))
    try await eventually { program.witness.life(long).isExecuting }
    _ = try await program.ask(.cancel(.operations([long]), reason: "", grace: nil))
    try await program.witness.waitForFinished(2 * Self.many + 1)
    #expect(program.witness.outcome(long) == .cancelled)
    #expect(cancelled.load(ordering: .relaxed) == 0)
    #expect(program.witness.problems == [])
  }

  private static let many = 400

  private func shortOperations(
    of program: Program, in queue: String, _ body: @escaping @Sendable () -> Void
  ) -> GraphSubmission {
    var graph = GraphSubmission(name: "short")
    graph.queues = [.named(queue)]
    for _ in 0..<Self.many { graph.templates.append(program.template("short") { _ in body() }) }
    return graph
  }
}
