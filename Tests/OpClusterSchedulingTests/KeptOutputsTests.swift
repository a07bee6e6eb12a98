// What is kept of outputs, bounded in bytes (G27, G29): at each limit and past it, and what those
// hear who would have read what is not kept.

import Citations
import DequeModule
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("G29")) struct KeptOutputsTests {
  /// What an entry of the table costs beside the output.
  private let entry = 64
  private let output = [UInt8](repeating: 1, count: Limits.outputBytes)

  /// `many` leave outputs, one for each `reader`, which runs at once after it.
  private func submission(_ name: String, _ count: UInt32) -> GraphSubmission {
    var reader = noops("reader", count)
    reader.wantsInputs = true
    reader.isHeld = true
    var graph = GraphSubmission(name: name)
    graph.templates = [noops("many", count), reader]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .sameIndex)]
    return graph
  }

  private func result(_ bytes: Int = Limits.outputBytes) -> AttemptResult {
    var result = AttemptResult.success
    result.output = [UInt8](repeating: 1, count: bytes)
    return result
  }

  private func world() -> World {
    var world = World()
    world.invariantChecks = .never
    world.join("w1", cpus: 1_000)
    return world
  }

  /// What a graph of so many operations may keep without being counted.
  private func free(_ operations: UInt32) -> Int {
    Int(operations) * Limits.keptOutputBytesPerOperation
  }

  private func kept(_ world: World, _ graph: UInt32) -> Int {
    world.scheduler.graphs[graph].outputs.values.count { !$0.isEmpty }
  }

  /// `Limits.keptOutputBytesPerOperation`: so much for each is always kept and never counted.
  @Test func keptOutputBytesPerOperation() {
    var world = world()
    world.ask(.submit(submission("g", 2)))
    let most = free(4) / 2 - entry
    world.scheduler.state.keep([UInt8](repeating: 1, count: most), of: operation(1, 0))
    #expect(world.scheduler.state.outputAccounts.living == 0)
    world.scheduler.state.keep([UInt8](repeating: 1, count: most + 1), of: operation(1, 1))
    #expect(world.scheduler.state.outputAccounts.living == 1)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// `Limits.keptOutputBytesPerPrincipal`: to the byte, over all graphs of one; another has room.
  @Test func keptOutputBytesPerPrincipal() {
    var world = world()
    for number in 1...3 { world.ask(.submit(submission("g\(number)", 1))) }
    for graph: UInt32 in 1...2 { world.scheduler.own(GraphID(graph), by: .key("one")) }
    world.scheduler.own(GraphID(3), by: .key("other"))
    let half = Limits.keptOutputBytesPerPrincipal / 2
    let large = [UInt8](repeating: 1, count: half + free(2) - entry)
    #expect(world.scheduler.state.hasRoom(for: large, of: operation(1, 0)))
    world.scheduler.state.keep(large, of: operation(1, 0))
    #expect(world.scheduler.state.hasRoom(for: large, of: operation(2, 0)))
    #expect(!world.scheduler.state.hasRoom(for: large + [1], of: operation(2, 0)))
    world.scheduler.state.keep(large, of: operation(2, 0))
    #expect(!world.scheduler.state.hasRoom(for: [1], of: operation(1, 1)))
    #expect(world.scheduler.state.hasRoom(for: large, of: operation(3, 0)))
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  /// A graph that nobody owns in this life counts for itself.
  @Test func graphsOfEarlierLives() {
    var world = world()
    world.ask(.submit(submission("g", 1)))
    let most = [UInt8](
      repeating: 1, count: Limits.keptOutputBytesPerPrincipal + free(2) - entry)
    #expect(world.scheduler.state.hasRoom(for: most, of: operation(1, 0)))
    #expect(!world.scheduler.state.hasRoom(for: most + [1], of: operation(1, 0)))
  }

  /// `Limits.keptOutputBytes`: of all together.
  @Test func keptOutputBytes() {
    var world = world()
    let share = Limits.keptOutputBytesPerPrincipal
    let owners = Limits.keptOutputBytes / share
    let large = [UInt8](repeating: 1, count: share + free(2) - entry)
    for number in 1...UInt32(owners) {
      world.ask(.submit(submission("g\(number)", 1)))
      world.scheduler.own(GraphID(number), by: .key("\(number)"))
      #expect(world.scheduler.state.hasRoom(for: large, of: operation(number, 0)))
      world.scheduler.state.keep(large, of: operation(number, 0))
    }
    world.ask(.submit(submission("last", 1)))
    let small = [UInt8](repeating: 1, count: free(2) - entry)
    let last = operation(UInt32(owners) + 1, 0)
    #expect(world.scheduler.state.hasRoom(for: small, of: last))
    #expect(!world.scheduler.state.hasRoom(for: small + [1], of: last))
  }

  /// Past the limit an operation succeeds and the history has its output; who reads it in the graph
  /// fails and hears why, who would cite it is refused, and a replay comes to the same.
  @Test(.checks("G4")) func whatHasNoRoomIsTold() throws {
    var world = world()
    let count = UInt32(Limits.keptOutputBytesPerPrincipal / Limits.outputBytes) + 20
    world.ask(.submit(submission("g", count)))
    for index in 0..<count {
      world.start(0, operation(1, index))
      world.end(0, operation(1, index), result())
    }
    world.report(0)
    let many = kept(world, 1)
    #expect(
      many < Int(count) && many + 1 >= Limits.keptOutputBytesPerPrincipal / (output.count + 64))
    #expect(world.scheduler.state.outputAccounts.living <= Limits.keptOutputBytesPerPrincipal)
    #expect(world.history.allSatisfy { $0.result.output == output })
    #expect(world.cell(1, count - 1)?.ending.outcome == .succeeded)
    var citing = GraphSubmission(name: "cites")
    citing.templates = [noops("n")]
    citing.templates[0].wantsInputs = true
    citing.externalEdges = [ExternalEdge(from: operation(1, count - 1), to: 0, policy: .succeeded)]
    guard case .refused(let refusal) = world.ask(.submit(citing)) else {
      Issue.record("accepted")
      return
    }
    #expect(refusal.code == .expired && refusal.message.contains("is not kept"))
    citing.templates[0].wantsInputs = false
    guard case .accepted = world.ask(.submit(citing)) else {
      Issue.record("waiting alone needs no output")
      return
    }
    world.ask(.hold(.selection(.graph(GraphID(1))), false))
    world.runAll()
    let failed = world.history.filter { $0.result.cause == .missingInput }
    #expect(failed.reduce(0) { $0 + Int($1.count) } == Int(count) - many)
    #expect(failed.allSatisfy { !$0.isAttempt && $0.result.diagnostic.contains("32 MiB") })
    #expect(world.endings.contains { $0.row.graph == GraphID(1) })
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
  }

  /// What is run again takes along what there is; where it was let go, what would read it refuses,
  /// and what only waits does not.
  @Test(.checks("S11")) func runAgain() {
    for (letGo, reads, isTaken) in [
      (false, true, true), (true, true, false), (true, false, true),
    ] {
      var world = world()
      var graph = GraphSubmission(name: "g")
      graph.templates = [noops("first"), noops("second")]
      graph.templates[1].wantsInputs = reads
      graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
      world.ask(.submit(graph))
      world.runAll { $0.index == 0 ? self.result(100) : .failure() }
      if letGo {
        world.scheduler.state.ended[GraphID(1)]?.outputs = []
        world.scheduler.state.ended[GraphID(1)]?.outputsAreForgotten = true
        world.scheduler.state.outputAccounts.remembered = 0
      }
      graph.continued = ContinuedGraph(
        graph: GraphID(1), reused: OperationRuns(operation(1, 0)))
      let reply = world.ask(.submit(graph))
      if case .accepted = reply { #expect(isTaken) } else { #expect(!isTaken) }
      if isTaken, !letGo {
        #expect(world.workers[0].assigned.first?.inputs.first?.output?.count == 100)
      }
      if isTaken, letGo { #expect(world.scheduler.state.lacksOutput(operation(2, 0))) }
      #expect(world.scheduler.brokenInvariant() == nil)
    }
  }

  /// A graph that is run again takes room as others do.
  @Test func runAgainNeedsRoom() {
    var world = world()
    world.ask(.submit(submission("g", 1)))
    let half = Limits.keptOutputBytesPerPrincipal / 2
    let large = [UInt8](repeating: 1, count: half + free(1) - entry)
    world.scheduler.own(GraphID(1), by: .key("one"))
    world.scheduler.state.keep(large, of: operation(1, 0))
    var ending = EndedGraph(
      graph: GraphID(9), key: SubmissionKey(""), fingerprint: 0, outcome: .failed,
      operationCount: 1, outcomes: [Outcome.succeeded.rawValue],
      outputs: [GraphState.OutputEntry(index: 0, output: large)])
    var again = GraphSubmission(name: "again")
    again.templates = [noops("n")]
    again.continued = ContinuedGraph(
      graph: GraphID(9), reused: OperationRuns(operation(9, 0)))
    world.scheduler.state.remember(ending)
    #expect(world.scheduler.lackOfRoom(forOutputsOf: again, by: .key("other")) == nil)
    #expect(world.scheduler.lackOfRoom(forOutputsOf: again, by: .key("one")) == nil)
    ending.outputs[0].output += [UInt8](repeating: 1, count: free(2))
    world.scheduler.state.remember(ending)
    #expect(world.scheduler.lackOfRoom(forOutputsOf: again, by: .key("other")) == nil)
    let refusal = world.scheduler.lackOfRoom(forOutputsOf: again, by: .key("one"))
    #expect(refusal?.code == .busy && refusal?.lacksRoom == true && refusal?.retryAfter != nil)
  }

  /// `Limits.rememberedOutputBytes`: at it all stay; past it the oldest lose their outputs, and
  /// nothing else; what a living graph cites stays. A snapshot holds what is left.
  @Test(.checks("S27")) func rememberedOutputBytes() {
    var world = world()
    var reader = GraphSubmission(name: "reader")
    reader.templates = [noops("n")]
    reader.templates[0].wantsInputs = true
    reader.templates[0].isHeld = true
    let each = 4 * (Limits.outputBytes + entry)
    let most = Limits.rememberedOutputBytes / each
    for number in 1...UInt32(most + 1) {
      #expect(world.scheduler.ended.values.allSatisfy { !$0.outputsAreForgotten })
      var graph = GraphSubmission(name: "g")
      graph.templates = [noops("n", 4)]
      world.ask(.submit(graph))
      world.runAll { _ in self.result() }
      if number == 1 {
        reader.externalEdges = [ExternalEdge(from: operation(1, 0), to: 0, policy: .succeeded)]
        world.ask(.submit(reader))
      }
    }
    #expect(world.scheduler.state.outputAccounts.remembered <= Limits.rememberedOutputBytes)
    #expect(world.scheduler.ended.count == most + 1)
    let numbers = Array(world.scheduler.state.endedOrder)
    let kept = numbers.filter { world.scheduler.ended[$0]?.outputsAreForgotten == false }
    #expect(kept.first == GraphID(1) && kept.last == numbers.last && kept.count <= most)
    let forgotten = operation(numbers[1].number, 0)
    #expect(world.scheduler.state.knownEnding(of: forgotten)?.outcome == .succeeded)
    #expect(
      world.scheduler.state.lacksOutput(forgotten)
        && !world.scheduler.state.lacksOutput(operation(1, 0)))
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.replayed().snapshot() == world.scheduler.snapshot())
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.snapshot() == world.scheduler.snapshot())
    #expect(restored.brokenInvariant() == nil)
  }

  /// What a living graph cites outlives `Limits.endedGraphsRemembered` others, and a restart.
  @Test func citedGraphsStay() {
    var world = world()
    var first = GraphSubmission(name: "first")
    first.templates = [noops("n")]
    world.ask(.submit(first))
    world.runAll { _ in self.result(10) }
    var reader = GraphSubmission(name: "reader")
    reader.templates = [noops("n")]
    reader.templates[0].wantsInputs = true
    reader.templates[0].isHeld = true
    reader.externalEdges = [ExternalEdge(from: operation(1, 0), to: 0, policy: .succeeded)]
    world.ask(.submit(reader))
    world.step { scheduler, turn in
      for number in 0...UInt64(Limits.endedGraphsRemembered) {
        var graph = GraphSubmission(name: "g")
        graph.templates = [OperationTemplate(name: "n", work: .nothing)]
        scheduler.handle(
          .client(PeerID(1), RequestID(1 << 40 + number), .submit(graph)), into: &turn)
      }
    }
    #expect(world.scheduler.ended.count == Limits.endedGraphsRemembered)
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.brokenInvariant() == nil)
    world.ask(.hold(.operations([operation(2, 0)]), false))
    #expect(world.workers[0].assigned.first?.inputs.first?.output?.count == 10)
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }
}
