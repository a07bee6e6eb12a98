// An operation starts after everybody was told that it does, and what was before it: inside it the
// observer knows that it executes and that its dependencies have ended.

import Glibc
import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@Suite struct TellingTests {
  @Test("what runs was told to execute, and had its answer") func executes() async throws {
    let program = Program()
    let wrong = Notes()
    for round in 0..<300 {
      let answered = Atomic<Bool>(false)
      var graph = GraphSubmission(name: "own")
      graph.queues = [.named("default")]
      graph.templates = [
        program.template("own") { [witness = program.witness] context in
          if !witness.life(context.operation).isExecuting { wrong.add("\(round) not told") }
          if !answered.load(ordering: .acquiring) { wrong.add("\(round) not answered") }
        }
      ]
      program.cluster.send(.submit(graph)) { _ in answered.store(true, ordering: .releasing) }
    }
    try await program.witness.waitForFinished(300)
    #expect(wrong.all == [])
    #expect(program.witness.problems == [])
  }

  @Test("S114: inside a dependent its dependency has ended") func dependencies() async throws {
    let program = Program()
    let wrong = Notes()
    let rounds = 300
    for round in 0..<rounds {
      var graph = GraphSubmission(name: "chain")
      graph.queues = [.named("default")]
      graph.templates = [
        program.template("first") { _ in },
        program.template("second") { [witness = program.witness] context in
          let first = OperationID(graph: context.operation.graph, index: 0)
          if witness.outcome(first) != .succeeded { wrong.add("\(round)") }
        },
      ]
      graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .finished)]
      _ = try await program.submit(graph)
    }
    try await program.witness.waitForFinished(2 * rounds)
    #expect(wrong.all == [])
  }

  @Test("S64: operations that block have threads of their own, up to the slots")
  func blocking() async throws {
    let program = Program(slots: 12)
    let inside = Atomic<Int>(0)
    let most = Atomic<Int>(0)
    for _ in 0..<12 {
      _ = try await program.add { _ in
        let now = inside.add(1, ordering: .acquiringAndReleasing).newValue
        _ = most.max(now, ordering: .relaxed)
        // They hold their threads until all are there.
        while most.load(ordering: .acquiring) < 12 { usleep(500) }
      }
    }
    try await program.witness.waitForFinished(12)
    #expect(most.load(ordering: .relaxed) == 12)
  }
}
