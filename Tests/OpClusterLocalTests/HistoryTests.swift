// What a local cluster remembers of operations after their graph has ended.

import Citations
import OpClusterLocal
import OpClusterModel
import Testing

@Suite struct HistoryTests {
  @Test(
    "why and when an unstarted operation ended is known after its graph's end",
    .checks("S23", "S90"))
  func unstartedEnds() async throws {
    let program = Program()
    try await program.queue("q", isSuspended: true)
    var graph = GraphSubmission(name: "ends")
    graph.queues = [.named("q")]
    graph.templates = ["a", "b", "c"].map { program.template($0) { _ in } }
    graph.groupEdges = [GroupEdge(from: 1, to: 2, policy: .succeeded)]
    let id = try await program.submit(graph)
    let operations = (0..<3).map { OperationID(graph: id, index: $0) }
    _ = try await program.ask(
      .cancel(.operations([operations[1]]), reason: "not needed", grace: nil))
    _ = try await program.ask(.changeQueue("q", QueueChange(isSuspended: false)))
    try await program.witness.waitForEnd(of: operations)
    let cancelled = try await program.row(operations[1])
    #expect(cancelled.outcome == .cancelled && cancelled.reason == .request("not needed"))
    #expect(cancelled.finishedAt != .unknown && cancelled.attempt == 0)
    #expect(cancelled.attempts.isEmpty && cancelled.result == nil)
    let skipped = try await program.row(operations[2])
    #expect(skipped.outcome == .skipped)
    #expect(skipped.reason == .dependency(operations[1], .cancelled))
    #expect(skipped.finishedAt != .unknown)
    // One of several, asked for alone, is told with its attempts.
    let ran = try await program.row(operations[0])
    #expect(ran.outcome == .succeeded && ran.reason == nil)
    guard case .explanations(let found, _) = try await program.ask(.explain(.graph(id))) else {
      Issue.record("no explanation")
      return
    }
    #expect(found[1].lines.first == "somebody cancelled it: not needed")
    #expect(
      found[2].lines.first
        == "\(id.number)/b ended as cancelled, so its edge could never be met")
    await program.cluster.close()
  }

  @Test("S97: a selection means the same before and after its graph's end")
  func selections() async throws {
    let program = Program()
    try await program.queue("q", isSuspended: true)
    var graph = GraphSubmission(name: "selected")
    graph.queues = [.named("q"), .own(QueueSettings(name: "own"))]
    graph.labels = [Label(key: "project", value: "x")]
    graph.templates = ["split", "solve", "join"].map { program.template($0) { _ in } }
    graph.templates[1].queue = 1
    graph.templates[1].labels = [Label(key: "kind", value: "y")]
    graph.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
    ]
    let id = try await program.submit(graph)
    func selected(_ change: (inout Selection) -> Void) async throws -> [String] {
      var selection = Selection.graph(id)
      change(&selection)
      let question = ClientRequest.operations(selection, after: nil, limit: 0)
      guard case .operations(let rows, _) = try await program.ask(question) else { return [] }
      return rows.map(\.name)
    }
    func ask() async throws -> [[String]] {
      [
        try await selected { $0.operation = "s*" }, try await selected { $0.queue = "own" },
        try await selected { $0.labels = graph.labels + graph.templates[1].labels },
        try await selected { $0.operation = "?oin" },
      ]
    }
    let living = try await ask()
    #expect(living == [["split", "solve"], ["solve"], ["solve"], ["join"]])
    _ = try await program.ask(.changeQueue("q", QueueChange(isSuspended: false)))
    try await program.witness.waitForEnd(of: (0..<3).map { OperationID(graph: id, index: $0) })
    #expect(try await ask() == living)
    await program.cluster.close()
  }
}
