// What was done before in the same way is not done again: only the edited step of a pipeline runs,
// and what hangs on it.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S152")) struct ReuseTests {
  private typealias Step = (name: String, payload: [UInt8])

  /// A chain of commands, each of which reads the one before.
  private static func pipeline(
    _ steps: [Step], key: String = "", readsInputs: Bool = true, isReusable: Bool = true
  ) -> GraphSubmission {
    var graph = GraphSubmission(key: SubmissionKey(key), name: "p")
    for (at, step) in steps.enumerated() {
      var template = noops(step.name)
      template.work = .command
      template.payload = step.payload
      template.isReusable = isReusable
      template.wantsInputs = readsInputs
      graph.templates.append(template)
      if at > 0 {
        graph.groupEdges.append(GroupEdge(from: UInt32(at - 1), to: UInt32(at), policy: .succeeded))
      }
    }
    return graph
  }

  private static let steps: [Step] = [("a", [1]), ("b", [2]), ("c", [3])]

  /// Lets everything run; what it leaves is its payload. Returns the names of what was run.
  private static func run(
    _ world: inout World, leaves: (Step) -> [UInt8] = { _ in [] }
  ) -> [String] {
    var ran: [String] = []
    for _ in 0..<20 {
      world.now = world.now + .milliseconds(1)
      // In order, so that what went ahead finds its dependencies ended.
      for dispatch in world.workers[0].assigned {
        let id = dispatch.attempt.operation
        let graph = id.graph.number
        let stage = world.scheduler.graphs[graph].stageNumber(of: id.index)
        let template = world.scheduler.graphs[graph].stages[stage].template
        ran.append(template.name)
        var result = AttemptResult.success
        result.output = leaves((template.name, template.payload))
        world.start(0, id)
        world.end(0, id, result)
      }
      world.report(0)
    }
    return ran
  }

  private static func world() -> World {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    world.join("w", cpus: 4)
    return world
  }

  @Test(arguments: [true, false]) func onlyTheEditedStepRuns(_ leavesOutputs: Bool) {
    var world = Self.world()
    let leaves = { (step: Step) in leavesOutputs ? [9] + step.payload : [] }
    world.ask(.submit(Self.pipeline(Self.steps)))
    #expect(Self.run(&world, leaves: leaves) == ["a", "b", "c"])
    world.ask(.submit(Self.pipeline(Self.steps)))
    #expect(Self.run(&world, leaves: leaves) == [])
    #expect(world.scheduler.graphs.numbers.isEmpty)
    let lines = world.history.filter { $0.attempt.operation.graph == GraphID(2) }
    #expect(lines.map(\.outcome) == [.succeeded, .succeeded, .succeeded])
    #expect(lines.allSatisfy { $0.result.diagnostic.hasSuffix("of graph 1 has done the same before")
    })
    // Another command, and with it other inputs of what follows.
    let edited: [Step] = [("a", [1]), ("b", [7]), ("c", [3])]
    world.ask(.submit(Self.pipeline(edited)))
    #expect(Self.run(&world, leaves: leaves) == ["b", "c"])
    // Both are known now.
    for steps in [edited, Self.steps] {
      world.ask(.submit(Self.pipeline(steps)))
      #expect(Self.run(&world, leaves: leaves) == [])
    }
    #expect(world.brokenInvariant == nil)
  }

  /// An edited step that leaves the same as before makes nothing after it run.
  @Test func theSameOutputEndsTheWave() {
    var world = Self.world()
    world.ask(.submit(Self.pipeline(Self.steps)))
    #expect(Self.run(&world) { _ in [5, 5] } == ["a", "b", "c"])
    world.ask(.submit(Self.pipeline([("a", [1]), ("b", [7]), ("c", [3])])))
    #expect(Self.run(&world) { _ in [5, 5] } == ["b"])
    #expect(world.brokenInvariant == nil)
  }

  /// Nothing is taken from an operation that does not say so, that failed, or of another submitter;
  /// and nothing is reused behind what can be told by nothing.
  @Test func whatIsNotReused() {
    var world = Self.world()
    world.ask(.submit(Self.pipeline(Self.steps, isReusable: false)))
    #expect(Self.run(&world) == ["a", "b", "c"])
    world.ask(.submit(Self.pipeline(Self.steps)))
    #expect(Self.run(&world) == ["a", "b", "c"])
    var other = Self.pipeline(Self.steps)
    other.labels = [Label(key: GraphSubmission.submitterLabel, value: "somebody")]
    world.ask(.submit(other))
    #expect(Self.run(&world) == ["a", "b", "c"])
    // The first is run each time and leaves nothing: whoever waits for it may read its files.
    var mixed = Self.pipeline(Self.steps)
    mixed.templates[0].isReusable = false
    for _ in 0..<2 {
      world.ask(.submit(mixed))
      #expect(Self.run(&world) == ["a", "b", "c"])
    }
    var failing = Self.pipeline([("f", [8])])
    failing.templates[0].retry.maximum = 0
    for _ in 0..<2 {
      world.ask(.submit(failing))
      let id = world.workers[0].assigned.last?.attempt.operation
      #expect(id != nil)
      if let id {
        world.start(0, id)
        world.end(0, id, .failure())
        world.report(0)
      }
    }
    #expect(world.brokenInvariant == nil)
  }

  /// Each of these makes another operation of it.
  @Test(arguments: 0..<6) func whatMakesItAnother(_ what: Int) {
    var world = Self.world()
    var graph = Self.pipeline([("a", [1])])
    graph.templates[0].secrets = [0]
    graph.secrets = ["s"]
    world.ask(.submit(graph))
    #expect(Self.run(&world) == ["a"])
    // Not these: a name, a priority, a retry.
    var same = graph
    same.templates[0].name = "other"
    same.templates[0].priority = .high
    same.templates[0].retry.maximum = 3
    same.templates[0].demand.cpus = ResourceAmount(2)
    world.ask(.submit(same))
    #expect(Self.run(&world) == [])
    switch what {
    case 0: graph.templates[0].payload = [1, 0]
    case 1: graph.secrets = ["t"]
    case 2: graph.templates[0].inputFiles = [.own("f")]
    case 3: graph.templates[0].elementArguments.append([4])
    case 4:
      graph.templates[0].isArray = true
    default: graph.templates[0].ownFiles.append([1])
    }
    world.ask(.submit(graph))
    #expect(Self.run(&world) == ["a"])
  }

  /// Contents that nobody has any more are made again.
  @Test func lostContentsAreMadeAgain() throws {
    var world = World()
    world.invariantChecks = .afterEveryTurn
    let at = world.join("w", cpus: 4)
    world.workers[at].store = ContentSource(endpoint: "tcp://w:1")
    world.workers[at].peer = PeerID(9_000)
    world.greet(at)
    let bytes = [UInt8](repeating: 7, count: ContentDigest.byteCount)
    let content = StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: 5)
    let output = [5 << 3 | 2, 36, 1 << 3 | 2, 32] + bytes + [2 << 3, 5]
    for round in 0..<3 {
      world.ask(.submit(Self.pipeline([("a", [1])])))
      let ran = Self.run(&world) { _ in
        output
      }
      #expect(ran == (round == 1 ? [] : ["a"]), "\(round)")
      if round == 0 {
        world.workers[at].held = [content]
        world.report(at)
      }
      if round == 1 {
        world.workers[at].lost = [content.digest]
        world.report(at)
      }
    }
    #expect(world.brokenInvariant == nil)
  }

  @Test func aReplayAndASnapshotKnowThem() {
    var world = Self.world()
    world.ask(.submit(Self.pipeline(Self.steps)))
    #expect(Self.run(&world) == ["a", "b", "c"])
    var held = Self.pipeline(Self.steps + [("d", [4])])
    held.templates[3].isHeld = true
    world.ask(.submit(held))
    #expect(Self.run(&world) == [])
    let known = world.scheduler.state.reusable.all
    #expect(known.count == 3)
    #expect(world.replayed().state.reusable.all == known)
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.state.reusable.all == known)
    #expect(restored.graphs[2].reuseKeys == world.scheduler.graphs[2].reuseKeys)
    #expect(restored.graphs[2].reuseKeys.count == 3)
  }

  @Test func theyAreBounded() throws {
    let keys = try (0..<10 as Range<UInt8>).map { number in
      try #require(ContentDigest(bytes: [UInt8](repeating: number, count: 32)))
    }
    #expect(Limits.reusableOutcomes == 65_536 && Limits.reusableOutputBytes == 1 << 26)
    var outcomes = ReusableOutcomes(count: 3, bytes: 100)
    for key in keys {
      outcomes.note(ReusableOutcome(key: key, operation: operation(1, 0), output: [1]))
    }
    #expect(outcomes.all.map(\.key) == Array(keys.suffix(3)) && outcomes.bytes == 3)
    // The same again is the newest.
    outcomes.note(ReusableOutcome(key: keys[7], operation: operation(2, 0), output: [1, 2]))
    outcomes.note(ReusableOutcome(key: keys[0], operation: operation(3, 0), output: []))
    #expect(outcomes.all.map(\.key) == [keys[9], keys[7], keys[0]] && outcomes.bytes == 3)
    outcomes.note(
      ReusableOutcome(
        key: keys[1], operation: operation(4, 0), output: [UInt8](repeating: 0, count: 99)))
    #expect(outcomes.all.map(\.key) == [keys[0], keys[1]] && outcomes.bytes == 99)
    for number in 0..<1_000 as Range<UInt32> {
      outcomes.note(ReusableOutcome(key: keys[2], operation: operation(5, number), output: [1]))
    }
    #expect(outcomes[keys[2]]?.operation == operation(5, 999) && outcomes.count <= 3)
  }

  /// A joint leaves nothing and does nothing: what waits for it is told by what it joins.
  @Test func jointsAreLookedThrough() {
    var world = Self.world()
    func graph(_ first: UInt8) -> GraphSubmission {
      var graph = Self.pipeline([("a", [first]), ("b", [2]), ("c", [3])])
      var joint = OperationTemplate(name: "group", work: .nothing)
      joint.demand = .none
      graph.templates.insert(joint, at: 2)
      graph.groupEdges = [
        GroupEdge(from: 0, to: 2, policy: .succeeded),
        GroupEdge(from: 1, to: 2, policy: .succeeded),
        GroupEdge(from: 2, to: 3, policy: .succeeded),
      ]
      return graph
    }
    for (first, ran) in [(UInt8(1), ["a", "b", "c"]), (1, []), (7, ["a", "c"])] {
      world.ask(.submit(graph(first)))
      #expect(Self.run(&world) == ran)
    }
    #expect(world.scheduler.reuseDigests.isEmpty && world.brokenInvariant == nil)
  }

  /// Single edges and same indices, with an element changed.
  @Test func elementsAreToldApart() {
    var world = Self.world()
    func graph(_ items: [UInt8]) -> GraphSubmission {
      var graph = Self.pipeline([("a", [1]), ("b", [2])])
      for at in 0...1 {
        graph.templates[at].count = 3
        graph.templates[at].isArray = true
      }
      for item in items { graph.templates[0].elementArguments.append([item]) }
      graph.groupEdges[0].match = .sameIndex
      return graph
    }
    for (items, ran) in [([UInt8(1), 2, 3], 6), ([1, 2, 3], 0), ([1, 9, 3], 2)] {
      world.ask(.submit(graph(items)))
      #expect(Self.run(&world).count == ran, "\(items)")
    }
    #expect(world.brokenInvariant == nil)
  }

  /// With too many dependencies it runs, and costs no more than they are.
  @Test func tooManyDependencies() {
    var world = Self.world()
    world.invariantChecks = .never
    func graph(_ count: Int) -> GraphSubmission {
      var graph = Self.pipeline([("a", [1]), ("b", [2])])
      graph.templates[0] = OperationTemplate(name: "a", count: UInt32(count), work: .nothing)
      graph.templates[0].isArray = true
      graph.templates[0].demand = .none
      return graph
    }
    for (count, ran) in [
      (Limits.reuseDependencies, ["b"]), (Limits.reuseDependencies, []),
      (Limits.reuseDependencies + 1, ["b"]), (Limits.reuseDependencies + 1, ["b"]),
    ] {
      world.ask(.submit(graph(count)))
      #expect(Self.run(&world) == ran, "\(count)")
    }
  }
}
