// What the search for cycles costs (G29, S32, S33), and what a refusal says of a long one: it grows
// with what can be reached from the smaller side, and not with the world. Steps are counted, not
// time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct CycleCosts {
  // MARK: - In a submission

  private func steps(_ submission: GraphSubmission) throws -> Int {
    var steps = 0
    #expect(try CycleSearch(submission).find(&steps) == nil)
    return steps
  }

  // Each barrier is before or behind its neighbours, and not beside every template.
  @Test(.checks("S33", "G29"), arguments: [300, 3_000, 60_000])
  func barriersCostAStepEach(count: Int) throws {
    var submission = GraphSubmission(name: "walls")
    submission.queues = [.named("default"), .own(QueueSettings(name: "own"))]
    for at in 0..<count {
      var template = noops("t\(at)")
      template.isBarrier = !at.isMultiple(of: 3)
      template.queue = UInt32(at % 2)
      submission.templates.append(template)
    }
    submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .finished)]
    #expect(try steps(submission) < 10 * count)
  }

  // Many edges on a whole array, the same one again among them, cost a step each, and not
  // one for each element.
  @Test(.checks("S32", "G29"), arguments: [1_000, 10_000])
  func edgesOnWholeArraysCostAStepEach(count: Int) throws {
    var submission = GraphSubmission(name: "arrays")
    submission.templates = [noops("a", UInt32(count)), noops("b", UInt32(count)), noops("c")]
    for _ in 0..<count {
      submission.groupEdges.append(GroupEdge(from: 0, to: 1, policy: .finished))
    }
    // Within the array, so that templates alone do not tell.
    submission.elementEdges = ElementEdges(from: [0], to: [1], policies: [.finished])
    submission.templates[2].isBarrier = true
    #expect(try steps(submission) < 30 * count)
  }

  // As many edges between single elements as cannot be submitted one by one are refused where they
  // would have to be followed one by one.
  @Test(.checks("S32", "G29")) func edgesOfElementsAreBounded() {
    var submission = GraphSubmission(name: "arrays")
    submission.templates = (0..<10).map { noops("t\($0)", 400_000) }
    for from in 0..<10 {
      for to in (from + 1)..<10 {
        submission.groupEdges.append(
          GroupEdge(
            from: UInt32(from), to: UInt32(to), policy: .finished, match: .sameIndex))
      }
    }
    submission.elementEdges = ElementEdges(from: [0], to: [1], policies: [.finished])
    let refusal = #expect(throws: Refusal.self) { try steps(submission) }
    #expect(refusal?.code == .limitExceeded)
  }

  // MARK: - By a late edge

  /// A chain of operations, each of which waits for the one before, in graph 1.
  private func chain(_ count: Int) -> World {
    var world = World()
    world.invariantChecks = .never
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    world.ask(.submit(chainSubmission(count)))
    return world
  }

  private func chainSubmission(_ count: Int) -> GraphSubmission {
    var submission = GraphSubmission(name: "chain")
    submission.templates = (0..<count).map { noops("t\($0)") }
    submission.elementEdges = ElementEdges(
      from: Array(0..<UInt32(count - 1)), to: Array(1..<UInt32(count)), policies: [.finished])
    return submission
  }

  private func steps(
    _ world: World, waiting dependent: OperationID, on dependency: OperationID
  ) -> Int {
    var steps = 0
    #expect(
      world.scheduler.state.cycle(ifWaiting: dependent, on: dependency, &steps) == nil)
    return steps
  }

  // Nothing waits for what comes last, and the first one waits for nothing: the chain between them
  // is not gone through. Where both have one, the shorter one decides.
  @Test(.checks("S32", "G29"), arguments: [100, 1_000, 10_000])
  func aLateEdgeCostsTheSmallerSide(count: Int) {
    var world = chain(count)
    world.ask(.submit(graph(["alone"])))
    world.ask(.submit(chainSubmission(10)))
    let (last, first) = (operation(1, UInt32(count - 1)), operation(1, 0))
    #expect(steps(world, waiting: operation(2, 0), on: last) < 10)
    #expect(steps(world, waiting: first, on: operation(2, 0)) < 10)
    #expect(steps(world, waiting: operation(3, 0), on: last) < 60)
    #expect(steps(world, waiting: first, on: operation(3, 9)) < 60)
  }

  // An array in front of an operation, and behind it, is gone through once, whoever is first.
  @Test(.checks("S32", "G29")) func aLateEdgeDoesNotGoThroughArrays() {
    var world = World()
    world.invariantChecks = .never
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    var submission = graph(["before", "x", "behind"], [("before", "x"), ("x", "behind")])
    for at in [0, 2] { submission.templates[at].count = 20_000 }
    world.ask(.submit(submission))
    world.ask(.submit(graph(["alone", "a", "b"], [("a", "b")])))
    let x = operation(1, 20_000)
    #expect(steps(world, waiting: x, on: operation(2, 0)) < 20)
    #expect(steps(world, waiting: operation(2, 1), on: x) < 20)
  }

  // Where both sides lead through many barriers, each part between two is gone through once.
  @Test(.checks("S33", "G29"), arguments: [200, 2_000])
  func barriersOnTheWayCostAStepEach(count: Int) {
    var world = World()
    world.invariantChecks = .never
    for name in ["left", "right"] {
      world.ask(.createQueue(QueueSettings(name: name, isSuspended: true)))
      var submission = chainSubmission(count)
      submission.elementEdges = ElementEdges()
      submission.queues = [.named(name)]
      for at in stride(from: 0, to: count, by: 2) { submission.templates[at].isBarrier = true }
      world.ask(.submit(submission))
    }
    let (first, last) = (operation(1, 0), operation(2, UInt32(count - 1)))
    #expect(steps(world, waiting: first, on: last) < 30 * count)
  }

  // MARK: - By what enters a queue

  // A barrier waits for 20,000 members, and none of them is looked at unless it waits for
  // something behind the barrier.
  @Test(.checks("S33", "G29"), arguments: [200, 20_000])
  func aBarrierCostsNoMoreWhereManyAreBeforeIt(count: Int) throws {
    var world = chain(count)
    var submission = graph(["wall", "a", "wall2"], [("wall", "a")])
    for at in [0, 2] { submission.templates[at].isBarrier = true }
    submission.isDeclaredOnly = true
    world.ask(.submit(submission))
    let entering = (0..<3).map { operation(2, UInt32($0)) }
    var steps = 0
    let queue = try #require(world.scheduler.madeQueue(named: "default"))
    #expect(world.scheduler.state.cycle(ifEntering: entering, queue, &steps) == nil)
    #expect(steps < 30)
  }

  // Barriers that enter together are searched once, also where each waits for the one before and
  // all leave another queue.
  @Test(.checks("S33", "G29"), arguments: [200, 2_000])
  func barriersThatMoveCostAStepEach(count: Int) throws {
    var world = World()
    world.invariantChecks = .never
    for name in ["from", "to"] {
      world.ask(.createQueue(QueueSettings(name: name, isSuspended: true)))
    }
    var submission = chainSubmission(2 * count)
    submission.queues = [.named("from")]
    for at in stride(from: 0, to: 2 * count, by: 2) { submission.templates[at].isBarrier = true }
    world.ask(.submit(submission))
    let entering = (0..<UInt32(count)).map { operation(1, 2 * $0) }
    var steps = 0
    let queue = try #require(world.scheduler.madeQueue(named: "to"))
    #expect(world.scheduler.state.cycle(ifEntering: entering, queue, &steps) == nil)
    #expect(steps < 30 * count)
    let asked = world.ask(.setQueue(.operations(entering), queue: "to"))
    guard case .changed? = asked else {
      Issue.record("\(String(describing: asked))")
      return
    }
  }

  // MARK: - What a refusal says

  private func refusal(_ reply: ClientReply?) throws -> Refusal {
    guard case .refused(let refusal)? = reply else {
      throw Refusal(.badRequest, "not refused: \(String(describing: reply))")
    }
    return refusal
  }

  // A cycle as long as the bound is named whole, a longer one with the number of the rest.
  @Test(.checks("S32", "G29")) func aLongCycleIsNamedInPart() throws {
    let most = Limits.operationsNamedPerRefusal
    for count in [most - 1, most, 20_000] {
      var closed = chainSubmission(count)
      closed.elementEdges.from.append(UInt32(count - 1))
      closed.elementEdges.to.append(0)
      var world = World()
      let submitted = try refusal(world.ask(.submit(closed)))
      world = chain(count)
      let late = try refusal(
        world.ask(
          .addDependency(
            from: operation(1, UInt32(count - 1)), to: operation(1, 0), .finished,
            allowsCycle: false)))
      for refusal in [submitted, late] {
        #expect(refusal.code == .cycle)
        #expect(
          refusal.message.split(separator: "←").count == (count < most ? count + 1 : most + 1))
        #expect(refusal.message.contains("\(count + 1 - most) more") == (count >= most))
      }
    }
  }

  // The operations of a cycle as long as the bound are all there, of a longer one the first.
  @Test(.checks("S32", "G29")) func aLongCycleIsCarriedInPart() throws {
    let most = Limits.operationsPerRefusal
    for count in [most - 1, most, 5_000] {
      var world = chain(count)
      let late = try refusal(
        world.ask(
          .addDependency(
            from: operation(1, UInt32(count - 1)), to: operation(1, 0), .finished,
            allowsCycle: false)))
      #expect(late.operations.count == min(count + 1, most))
      #expect(late.operations.first == operation(1, 0))
      #expect(late.operations[1] == operation(1, 1))
    }
  }
}
