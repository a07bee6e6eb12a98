// G39: secret values in the coordinator: who is told them, who may use those of an ended graph
// again, and that they are there after a restart.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SecretTests {
  private func graph(_ submitter: String = "anna", isHeld: Bool = false) -> GraphSubmission {
    var graph = GraphSubmission(name: "g")
    graph.templates = [noops("a"), noops("b")]
    graph.templates[0].secrets = [1]
    graph.templates[0].isHeld = isHeld
    graph.secrets = ["first", "second"]
    graph.labels = [Label(key: GraphSubmission.submitterLabel, value: submitter)]
    return graph
  }

  private func again(
    _ number: UInt32, by submitter: String, secrets: [String] = []
  ) -> GraphSubmission {
    var graph = graph(submitter)
    graph.secrets = secrets
    graph.continued = ContinuedGraph(
      graph: GraphID(number), reused: OperationRuns(graph: GraphID(number)))
    return graph
  }

  private func world() -> World {
    var world = World()
    world.join("w1")
    return world
  }

  /// What workers are told of the templates, from all turns.
  private func told(_ world: World) -> [[String]] {
    (world.turns ?? []).flatMap { turn in
      (turn.atOnce + turn.afterDurable).flatMap { effect -> [[String]] in
        guard case .toWorker(_, .orders(let orders)) = effect else { return [] }
        return orders.templates.map(\.secrets)
      }
    }
  }

  private func code(_ reply: ClientReply?) -> Refusal.Code? {
    if case .refused(let refusal)? = reply { refusal.code } else { nil }
  }

  @Test func workersAreToldWhatTheirOperationsName() {
    var world = world()
    world.turns = []
    world.ask(.submit(graph()))
    #expect(told(world) == [["second"], []])
    #expect(world.brokenInvariant == nil)
  }

  @Test func answersHaveNone() {
    var world = world()
    world.ask(.submit(graph(isHeld: true)))
    guard case .submission(let shown, _)? = world.ask(.submission(GraphID(1))) else {
      Issue.record("no answer")
      return
    }
    #expect(shown.secrets == [] && shown.templates[0].secrets == [1])
  }

  @Test(arguments: [false, true]) func theyOutliveTheCoordinator(bySnapshot: Bool) {
    var world = world()
    world.ask(.submit(graph(isHeld: true)))
    var next = world
    if bySnapshot {
      next.scheduler = Scheduler()
      next.scheduler.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    } else {
      next.scheduler = world.replayed()
    }
    next.turns = []
    next.beginLife()
    next.greet(0)
    next.ask(.hold(.operations([operation(1, 0)]), false))
    #expect(told(next).contains(["second"]))
  }

  /// Who does a graph again need not know its secrets, but must have made it.
  @Test(arguments: [false, true]) func endedGraphs(bySnapshot: Bool) {
    var world = world()
    world.ask(.submit(graph()))
    world.runAll()
    if bySnapshot {
      let snapshot = world.scheduler.snapshot()
      world.scheduler = Scheduler()
      world.scheduler.restore(snapshot, commit: CommitIndex(99))
      world.beginLife()
      world.greet(0)
    }
    #expect(code(world.ask(.submit(again(1, by: "olga")))) == .forbidden)
    #expect(code(world.ask(.submit(again(7, by: "anna")))) == .unknownGraph)
    world.turns = []
    guard case .accepted(let graph, _, _)? = world.ask(.submit(again(1, by: "anna"))) else {
      Issue.record("refused")
      return
    }
    #expect(told(world) == [["second"], []])
    #expect(world.scheduler.graphs[graph.number].submission.secrets == ["first", "second"])
    #expect(world.brokenInvariant == nil)
    // With its own it needs nobody's.
    #expect(code(world.ask(.submit(again(1, by: "olga", secrets: ["x", "y"])))) == nil)
  }

  @Test func secretsThatAreNotThere() {
    var world = world()
    var bare = graph()
    bare.secrets = ["first"]
    #expect(code(world.ask(.submit(bare))) == .badRequest)
    bare.secrets = []
    #expect(code(world.ask(.submit(bare))) == .badRequest)
    var many = graph()
    many.secrets = Array(repeating: "", count: Limits.secretsPerGraph + 1)
    #expect(code(world.ask(.submit(many))) == .limitExceeded)
    many.secrets = Array(repeating: "", count: Limits.secretsPerGraph)
    #expect(code(world.ask(.submit(many))) == nil)
  }

  /// Another value under the same key is another content.
  @Test(.checks("G19")) func anotherValueIsAnotherContent() {
    var world = world()
    var keyed = graph()
    keyed.key = SubmissionKey("k")
    world.ask(.submit(keyed))
    #expect(world.ask(.submit(keyed)) == .accepted(GraphID(1), operations: 2, repeated: true))
    keyed.secrets[1] = "changed"
    guard case .refused(let refusal)? = world.ask(.submit(keyed)) else {
      Issue.record("taken for the same")
      return
    }
    #expect(refusal.code == .conflict && !"\(refusal)".contains("changed"))
  }
}
