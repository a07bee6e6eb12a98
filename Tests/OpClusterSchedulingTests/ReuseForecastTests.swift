// What is told to be done before is what a submission then does not do again.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S152")) struct ReuseForecastTests {
  /// Commands that read what they depend on, and leave their payload and their number in an array.
  private static func command(_ name: String, _ payload: UInt8, count: UInt32 = 1)
    -> OperationTemplate
  {
    var template = noops(name, count)
    template.work = .command
    template.payload = [payload]
    template.isArray = count != 1
    template.isReusable = true
    template.wantsInputs = true
    return template
  }

  /// Two sources, one an array; a joint; a step of each element; a summary; and what is done only
  /// after a failure.
  private static func graph(_ payloads: [UInt8]) -> GraphSubmission {
    var graph = GraphSubmission(name: "g")
    var joint = OperationTemplate(name: "joint", work: .nothing)
    joint.demand = .none
    graph.templates = [
      command("a", payloads[0]), command("b", payloads[1], count: 3), joint,
      command("c", payloads[2], count: 3), command("d", payloads[3]), command("e", payloads[4]),
    ]
    graph.groupEdges = [
      GroupEdge(from: 0, to: 2, policy: .succeeded),
      GroupEdge(from: 1, to: 2, policy: .succeeded),
      GroupEdge(from: 1, to: 3, policy: .succeeded, match: .sameIndex),
      GroupEdge(from: 2, to: 3, policy: .succeeded),
      GroupEdge(from: 3, to: 4, policy: .succeeded),
      GroupEdge(from: 0, to: 5, policy: .failed),
    ]
    // Times and queues decide nothing.
    graph.templates[3].maximumParallel = 1
    graph.isSuspended = true
    graph.queues = [.own(QueueSettings(name: "q", maximumConcurrent: 1))]
    return graph
  }

  private static func world() -> World {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    world.join("w", cpus: 4)
    return world
  }

  /// The operations that would run, by their indices.
  private static func wouldRun(
    _ graph: GraphSubmission, _ world: inout World
  ) -> [UInt32]? {
    guard case .reusable(let reused, let skipped)? = world.ask(.reusable(graph)) else {
      return nil
    }
    var runs = Set<UInt32>()
    for (at, first) in graph.firstIndices.enumerated() where at < graph.templates.count {
      if graph.templates[at].work == .nothing { continue }
      runs.formUnion(first..<first + graph.templates[at].count)
    }
    for others in [reused, skipped] { others.forEach { runs.remove($0) } }
    return runs.sorted()
  }

  /// Submits it, lets it run, and returns what began.
  private static func run(_ submission: GraphSubmission, _ world: inout World) -> [UInt32] {
    var submission = submission
    submission.isSuspended = false
    world.ask(.submit(submission))
    var ran: [UInt32] = []
    for _ in 0..<40 {
      world.now = world.now + .milliseconds(1)
      for dispatch in world.workers[0].assigned {
        let id = dispatch.attempt.operation
        let stage = world.scheduler.graphs[id.graph.number].stageNumber(of: id.index)
        let template = world.scheduler.graphs[id.graph.number].stages[stage].template
        ran.append(id.index)
        var result = AttemptResult.success
        result.output = template.payload + [UInt8(id.index)]
        world.start(0, id)
        world.end(0, id, result)
      }
      world.report(0)
    }
    return ran.sorted()
  }

  @Test(arguments: [
    [1, 2, 3, 4, 5], [9, 2, 3, 4, 5], [1, 9, 3, 4, 5], [1, 2, 9, 4, 5], [1, 2, 3, 9, 5],
  ] as [[UInt8]])
  func whatIsToldIsWhatRuns(_ edited: [UInt8]) {
    var world = Self.world()
    let before = Self.graph([1, 2, 3, 4, 5])
    #expect(Self.wouldRun(before, &world)?.count == 9)
    #expect(Self.run(before, &world).count == 8)
    let graph = Self.graph(edited)
    let commit = world.scheduler.lastCommit
    let told = Self.wouldRun(graph, &world)
    #expect(world.scheduler.lastCommit == commit && world.scheduler.graphs.numbers.isEmpty)
    // Of what hangs on one that runs it is told that it runs: on the elements, or on a failure.
    let ran = Self.run(graph, &world)
    #expect(told.map { $0.filter { $0 < 8 } } == ran.filter { $0 < 8 })
    #expect(told.map { Set($0).isSuperset(of: ran) } == true)
    #expect(Self.wouldRun(graph, &world) == [])
    #expect(world.brokenInvariant == nil)
  }

  /// It is told over several turns, and its cost in one is bounded; a client asks one question at a
  /// time, a few clients ask at once, and a small graph does not wait for the large ones.
  @Test func largeGraphsAreLookedAtInParts() {
    var world = Self.world()
    world.invariantChecks = .never
    var graph = GraphSubmission(name: "g")
    graph.templates = [Self.command("a", 1, count: UInt32(Limits.forecastOperationsPerTurn * 8))]
    func ask(_ peer: UInt64, _ graph: GraphSubmission) -> ClientReply? {
      let request = RequestID(1_000 + peer)
      world.input(.client(PeerID(peer), request, .reusable(graph)))
      return world.replies[request.number]
    }
    func code(_ reply: ClientReply?) -> Refusal.Code? {
      guard case .refused(let refusal)? = reply, refusal.retryAfter != nil else { return nil }
      return refusal.code
    }
    let others = UInt64(100)..<UInt64(100 + Limits.forecasts - 1)
    for peer in others { #expect(ask(peer, graph) == nil) }
    #expect(code(ask(100, graph)) == .busy)
    var small = graph
    small.templates[0].count = 1
    #expect(ask(50, small) == nil)
    #expect(code(ask(51, small)) == .busy)
    var turns = 0
    while world.replies[1_050] == nil, turns < 100 {
      #expect(world.scheduler.nextDeadline().map { $0 <= world.now } == true)
      world.tick(after: .zero)
      turns += 1
    }
    #expect(turns <= Limits.forecasts && world.scheduler.forecasts.count == others.count)
    turns = 0
    while !world.scheduler.forecasts.isEmpty, turns < 100 {
      world.tick(after: .zero)
      turns += 1
    }
    #expect(turns <= 8 * others.count)
    for peer in others { #expect(world.replies[1_000 + peer] != nil) }
    graph.templates[0].count = UInt32(Limits.forecastOperations + 1)
    guard case .refused(let large)? = world.ask(.reusable(graph)) else {
      Issue.record("a larger one is taken")
      return
    }
    #expect(large.code == .limitExceeded)
  }

  /// What waits for another graph counts as running, and what is malformed is refused.
  @Test func othersAreNotKnown() {
    var world = Self.world()
    var graph = GraphSubmission(name: "g")
    graph.templates = [Self.command("a", 1), Self.command("b", 2)]
    #expect(Self.run(graph, &world) == [0, 1])
    #expect(Self.wouldRun(graph, &world) == [])
    world.ask(.submit(graph))
    graph.externalEdges = [
      ExternalEdge(from: operation(1, 0), to: 1, policy: .succeeded)
    ]
    #expect(Self.wouldRun(graph, &world) == [1])
    graph.groupEdges = [GroupEdge(from: 0, to: 7, policy: .succeeded)]
    guard case .refused? = world.ask(.reusable(graph)) else {
      Issue.record("a malformed one is taken")
      return
    }
  }
}
