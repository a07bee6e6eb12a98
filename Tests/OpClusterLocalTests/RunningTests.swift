// Closures in a local cluster: order, limits, suspension, barriers, cancellation.

import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization
import Testing

@Suite struct RunningTests {
  @Test("S106: one closure goes through its life") func oneLife() async throws {
    let program = Program()
    let ran = Atomic<Int>(0)
    let id = try await program.add { context in
      #expect(context.name == "block")
      ran.add(1, ordering: .relaxed)
    }
    try await program.witness.waitForEnd(of: [id])
    #expect(ran.load(ordering: .relaxed) == 1)
    #expect(program.witness.outcome(id) == .succeeded)
    let kinds = program.witness.life(id).kinds
    #expect(
      kinds == [
        .isReady(true), .attemptStarted(1, WorkerID(1)), .isExecuting(true), .isExecuting(false),
        .isFinished(.succeeded), .completion,
      ])
    #expect(program.witness.problems == [])
  }

  @Test("S47: with limit 1, priority first, then order of addition") func order() async throws {
    let program = Program()
    try await program.queue("one", limit: 1, isSuspended: true)
    let notes = Notes()
    var graph = GraphSubmission(name: "order")
    graph.queues = [.named("one")]
    for (name, priority) in [
      ("a", Priority.normal), ("b", .low), ("c", .high), ("d", .normal), ("e", .veryHigh),
    ] {
      var template = program.template(name) { _ in notes.add(name) }
      template.priority = priority
      graph.templates.append(template)
    }
    _ = try await program.submit(graph)
    _ = try await program.ask(.changeQueue("one", QueueChange(isSuspended: false)))
    try await program.witness.waitForFinished(5)
    #expect(notes.all == ["e", "c", "a", "d", "b"])
  }

  @Test("S63, S68: never more than the limit") func limit() async throws {
    let program = Program(slots: 8)
    try await program.queue("three", limit: 3)
    let now = Atomic<Int>(0)
    let peak = Atomic<Int>(0)
    for _ in 0..<60 {
      _ = try await program.add(to: "three") { _ in
        let count = now.add(1, ordering: .relaxed).newValue
        peak.max(count, ordering: .relaxed)
        try? await Task.sleep(for: .milliseconds(1))
        now.subtract(1, ordering: .relaxed)
      }
    }
    try await program.witness.waitForFinished(60)
    #expect(peak.load(ordering: .relaxed) <= 3)
    #expect(peak.load(ordering: .relaxed) >= 2)
    #expect(program.witness.problems == [])
  }

  @Test("S71, S72: a suspended queue starts nothing") func suspension() async throws {
    let program = Program()
    try await program.queue("q")
    let door = Door()
    let running = try await program.add(to: "q") { _ in try await door.pass() }
    try await eventually { door.visitors == 1 }
    let reply = try await program.ask(.changeQueue("q", QueueChange(isSuspended: true)))
    #expect(reply == .suspended(executing: [running]))
    let ran = Atomic<Bool>(false)
    let later = try await program.add(to: "q") { _ in ran.store(true, ordering: .relaxed) }
    door.open()
    try await program.witness.waitForEnd(of: [running])
    #expect(ran.load(ordering: .relaxed) == false)
    #expect(try await program.row(later).state == .ready)
    _ = try await program.ask(.changeQueue("q", QueueChange(isSuspended: false)))
    try await program.witness.waitForEnd(of: [later])
    #expect(ran.load(ordering: .relaxed) == true)
  }

  @Test("S77, S78: a barrier separates what is before it from what is after it")
  func barrier() async throws {
    let program = Program(slots: 4)
    try await program.queue("q")
    let notes = Notes()
    let door = Door()
    for _ in 0..<3 {
      _ = try await program.add(to: "q") { _ in
        try await door.pass()
        notes.add("before")
      }
    }
    _ = try await program.add(to: "q", "barrier", change: { $0.isBarrier = true }) { _ in
      notes.add("barrier")
    }
    for _ in 0..<3 { _ = try await program.add(to: "q") { _ in notes.add("after") } }
    door.open()
    try await program.witness.waitForFinished(7)
    #expect(
      notes.all == ["before", "before", "before", "barrier", "after", "after", "after"])
  }

  @Test("S16, S18: what is thrown is a failure, with its text") func failure() async throws {
    struct Oops: Error {}
    let program = Program()
    let id = try await program.add { _ in throw Oops() }
    try await program.witness.waitForEnd(of: [id])
    #expect(program.witness.outcome(id) == .failed)
    let row = try await program.row(id)
    #expect(row.state == .failed)
    #expect(row.result?.diagnostic == "Oops()")
  }

  @Test("S87, S92: a running closure sees the flag, its task is cancelled")
  func cancelRunning() async throws {
    let program = Program()
    let door = Door()
    let id = try await program.add { context in
      try await door.pass(context)
    }
    try await eventually { door.visitors == 1 }
    let reply = try await program.ask(
      .cancel(.operations([id]), reason: "enough", grace: nil))
    #expect(
      reply
        == .cancelled(
          [CancelVerdict(operation: id, verdict: .executing)],
          VerdictCounts(of: [CancelVerdict(operation: id, verdict: .executing)])))
    try await program.witness.waitForEnd(of: [id])
    #expect(program.witness.outcome(id) == .cancelled)
    // The next operation's task is not cancelled.
    let was = Atomic<Bool>(true)
    let next = try await program.add { _ in
      was.store(Task.isCancelled, ordering: .relaxed)
    }
    try await program.witness.waitForEnd(of: [next])
    #expect(was.load(ordering: .relaxed) == false)
  }

  @Test("S91, S96: after the answer to cancelling all, nothing unstarted ever starts")
  func cancelAll() async throws {
    for _ in 0..<20 {
      let program = Program()
      try await program.queue("q", limit: 2)
      let started = Atomic<Int>(0)
      let closed = Atomic<Bool>(false)
      let late = Atomic<Int>(0)
      var graph = GraphSubmission(name: "many")
      graph.queues = [.named("q")]
      for at in 0..<200 {
        graph.templates.append(
          program.template("t\(at)") { _ in
            if closed.load(ordering: .sequentiallyConsistent) { late.add(1, ordering: .relaxed) }
            started.add(1, ordering: .sequentiallyConsistent)
          })
      }
      let id = try await program.submit(graph)
      let reply = try await program.ask(.cancelQueue("q", reason: ""))
      guard case .cancelled(let verdicts, _) = reply else {
        Issue.record("\(reply)")
        return
      }
      try await program.witness.waitForFinished(200)
      closed.store(true, ordering: .sequentiallyConsistent)
      let unstarted = verdicts.filter { $0.verdict == .cancelled }.map(\.operation)
      for operation in unstarted {
        #expect(program.witness.life(operation).startedAt == nil)
        #expect(program.witness.outcome(operation) == .cancelled)
      }
      #expect(started.load(ordering: .relaxed) <= 200 - unstarted.count)
      #expect(late.load(ordering: .relaxed) == 0)
      #expect(program.witness.problems == [])
      _ = id
    }
  }

  @Test("S126: each row says what its operation left, while others of its graph go on")
  func resultsOfALivingGraph() async throws {
    let program = Program()
    let door = Door()
    let number = program.cluster.register { _ in try OutputValue.encode(7) }
    var first = OperationTemplate(name: "first", work: .call(OperationRegistry.closureType))
    first.payload = Array(String(number).utf8)
    var graph = GraphSubmission(name: "two")
    graph.queues = [.named("default")]
    graph.templates = [first, program.template("second") { _ in try await door.pass() }]
    let id = OperationID(graph: try await program.submit(graph), index: 0)
    try await program.witness.waitForEnd(of: [id])
    let result = try #require(try await program.row(id).result)
    #expect(try OutputValue.decode(Int.self, from: result.output) == 7)
    door.open()
    try await program.witness.waitForFinished(2)
    #expect(try await program.row(id).result == result)
  }
}
