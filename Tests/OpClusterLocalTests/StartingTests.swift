// Declared operations, starting by hand, registered types, retries, timeouts, closing.

import Citations
import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

/// Doubles a number.
private struct Doubling: RegisteredOperation {
  struct Answer: Codable, Sendable { var value: Int }
  static let typeName = "test.double"
  var value: Int
  func main(_ context: OperationContext) async throws -> Answer { Answer(value: value * 2) }
}

/// Halves a number.
private struct Halving: RegisteredOperation {
  static let typeName = "test.halve"
  var value: Int
  func main(_ context: OperationContext) async throws -> Doubling.Answer {
    Doubling.Answer(value: value / 2)
  }
}

@Suite struct StartingTests {
  private func declare(
    _ program: Program, _ templates: [OperationTemplate],
    edges: [GroupEdge] = []
  ) async throws -> GraphID {
    var graph = GraphSubmission(name: "declared")
    graph.isDeclaredOnly = true
    graph.templates = templates
    graph.groupEdges = edges
    return try await program.submit(graph)
  }

  @Test("S28, S15: a declared operation waits for being enqueued") func enqueue() async throws {
    let program = Program()
    let ran = Atomic<Int>(0)
    let graph = try await declare(
      program, [program.template("a") { _ in ran.add(1, ordering: .relaxed) }])
    let id = OperationID(graph: graph, index: 0)
    #expect(try await program.row(id).state == .declared)
    _ = try await program.ask(.enqueue([id], queue: "default"))
    try await program.witness.waitForEnd(of: [id])
    #expect(ran.load(ordering: .relaxed) == 1)
    #expect(await program.refusal(.enqueue([id], queue: "default")) == .alreadyFinished)
  }

  @Test("S15: started by hand, it has run on this thread when the call returns, whatever is full")
  func byHand() async throws {
    let program = Program(slots: 1)
    let door = Door()
    _ = try await program.add { _ in try await door.pass() }
    try await eventually { door.visitors == 1 }
    let ran = Atomic<Int>(0)
    let graph = try await declare(
      program,
      [
        program.template("first") { _ in
          await Task.yield()
          ran.add(1, ordering: .relaxed)
        },
        program.template("second") { _ in ran.add(10, ordering: .relaxed) },
      ], edges: [GroupEdge(from: 0, to: 1, policy: .finished)])
    let first = OperationID(graph: graph, index: 0)
    let second = OperationID(graph: graph, index: 1)
    #expect(throws: (any Error).self) { try program.cluster.start(second) }
    try program.cluster.start(first)
    #expect(ran.load(ordering: .relaxed) == 1)
    try await program.witness.waitForEnd(of: [first])
    #expect(program.witness.outcome(first) == .succeeded)
    try program.cluster.start(second)
    #expect(ran.load(ordering: .relaxed) == 11)
    // S13: of one that has finished, nothing.
    try program.cluster.start(first)
    #expect(ran.load(ordering: .relaxed) == 11)
    guard case .queues(let queues, _) = try await program.ask(.queues()) else { return }
    #expect(queues.map(\.settings.name) == ["default"])
    door.open()
    try await program.witness.waitForFinished(3)
    #expect(program.witness.problems == [])
  }

  @Test("a cancel between the start by hand and its thread reaches it", .checks("S15", "S87"))
  func cancelledAtTheStart() async throws {
    let program = Program(slots: 1)
    let missedCancel = Atomic<Bool>(false)
    let graph = try await declare(
      program,
      [
        program.template("a") { context in
          // Ends by itself at last, so that a lost cancel is a failure and no hang.
          let end = ContinuousClock.now + .seconds(240)
          while !context.isCancelled, ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(1))
          }
          missedCancel.store(!context.isCancelled, ordering: .releasing)
        }
      ])
    let id = OperationID(graph: graph, index: 0)
    // Asked for while the start is told: decided before the starting thread goes on.
    program.cluster.observe { [cluster = program.cluster] runs in
      let starts = runs.contains {
        if case .isExecuting(true) = $0.first.kind { true } else { false }
      }
      guard starts else { return }
      cluster.send(.cancel(.operations([id]), reason: "at once", grace: nil)) { _ in }
    }
    try program.cluster.start(id)
    let isMissed = missedCancel.load(ordering: .acquiring)
    #expect(!isMissed)
    #expect(try await program.row(id).outcome == .cancelled)
  }

  @Test("types that two threads register at once are both announced", .checks("S125"))
  func registeredAtOnce() async throws {
    for _ in 0..<100 {
      let program = Program()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { program.cluster.register(Doubling.self) }
        group.addTask { program.cluster.register(Halving.self) }
      }
      guard case .workers(let workers) = try await program.ask(.workers) else { throw TooLate() }
      let types = workers.flatMap(\.types).map(\.name)
      #expect(types.contains(Doubling.typeName) && types.contains(Halving.typeName))
    }
  }

  @Test("what is queued is started by its queue alone", .checks("S13", "S126")) func byHandQueued()
    async throws
  {
    let program = Program()
    try await program.queue("q", isSuspended: true)
    let id = try await program.add(to: "q") { _ in }
    do {
      try program.cluster.start(id)
      Issue.record("started")
    } catch {
      #expect(error.code == .alreadyEnqueued)
    }
  }

  @Test("S125: a registered type runs, and its output stays readable") func type()
    async throws
  {
    let program = Program()
    program.cluster.register(Doubling.self)
    var graph = GraphSubmission(name: "double")
    var template = OperationTemplate(name: "d", work: .call(Doubling.operationType))
    template.payload = Array(#"{"value": 21}"#.utf8)
    graph.templates = [template]
    let id = OperationID(graph: try await program.submit(graph), index: 0)
    try await program.witness.waitForEnd(of: [id])
    let row = try await program.row(id)
    #expect(row.state == .succeeded)
    let output = try #require(row.result?.output)
    #expect(try OutputValue.decode(Doubling.Answer.self, from: output).value == 42)
  }

  @Test("S12: a failed attempt is repeated after its back-off") func retry() async throws {
    struct Oops: Error {}
    let program = Program()
    let runs = Atomic<Int>(0)
    let id = try await program.add(
      change: { $0.retry = RetryPolicy(maximum: 3, backoff: .milliseconds(20)) }
    ) { context in
      if runs.add(1, ordering: .relaxed).newValue < 3 { throw Oops() }
      #expect(context.run == 3)
    }
    try await program.witness.waitForEnd(of: [id])
    #expect(program.witness.outcome(id) == .succeeded)
    #expect(runs.load(ordering: .relaxed) == 3)
    #expect(program.witness.problems == [])
  }

  @Test("G21: what takes too long is asked to stop") func timeout() async throws {
    let program = Program()
    let id = try await program.add(change: { $0.timeout = .milliseconds(30) }) { _ in
      try await Task.sleep(for: .seconds(3600))
    }
    try await program.witness.waitForEnd(of: [id])
    #expect(program.witness.outcome(id) == .timedOut)
  }

  @Test("S117: an operation submits another and waits for it; an observer asks")
  func reentrancy() async throws {
    let program = Program()
    let notes = Notes()
    let outer = try await program.add { _ in
      let inner = try await program.add { _ in notes.add("inner") }
      try await program.witness.waitForEnd(of: [inner])
      notes.add("outer")
    }
    try await program.witness.waitForEnd(of: [outer])
    #expect(notes.all == ["inner", "outer"])
    let other = LocalCluster(slots: 2)
    let asked = Atomic<Int>(0)
    other.observe { [weak other] runs in
      for run in runs {
        guard case .isFinished = run.first.kind else { continue }
        run.forEach { _ in other?.send(.ping) { _ in asked.add(1, ordering: .relaxed) } }
      }
    }
    var graph = GraphSubmission(name: "joins")
    graph.templates = [OperationTemplate(name: "join", count: 5, work: .nothing)]
    other.send(.submit(graph)) { _ in }
    try await eventually { asked.load(ordering: .relaxed) == 5 }
  }

  @Test("closing cancels what runs, waits for it, and refuses what comes") func close() async throws
  {
    let program = Program()
    let ended = Atomic<Bool>(false)
    let door = Door()
    let id = try await program.add { context in
      do { try await door.pass(context) } catch {
        try? await Task.sleep(for: .milliseconds(20))
        ended.store(true, ordering: .sequentiallyConsistent)
        throw error
      }
    }
    try await eventually { door.visitors == 1 }
    await program.cluster.close()
    #expect(ended.load(ordering: .sequentiallyConsistent) == true)
    #expect(program.witness.outcome(id) == .cancelled)
    #expect(await program.refusal(.ping) == .shuttingDown)
    await program.cluster.close()
  }

  @Test("S8, S106, S114: eight threads submit at once; every life is in order")
  func manyThreads() async throws {
    let program = Program(slots: 4)
    try await program.queue("q", limit: 3)
    let ran = Notes()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask { @Sendable in
          for at in 0..<100 {
            var graph = GraphSubmission(name: "g\(thread)-\(at)")
            graph.queues = [.named(at % 2 == 0 ? "q" : "default")]
            for name in ["a", "b"] {
              graph.templates.append(
                program.template(name) { _ in ran.add("ran") })
            }
            graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
            let id = try await program.submit(graph)
            if at % 10 == 0 {
              // It may have ended by now.
              _ = await program.refusal(
                .cancel(.selection(.graph(id)), reason: "", grace: nil))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try await program.witness.waitForFinished(1_600)
    #expect(program.witness.problems == [])
    for number in 1...800 {
      let first = program.witness.life(OperationID(graph: GraphID(UInt32(number)), index: 0))
      let second = program.witness.life(OperationID(graph: GraphID(UInt32(number)), index: 1))
      if let start = second.startedAt { #expect(first.finishedAt < start) }
    }
  }
}
