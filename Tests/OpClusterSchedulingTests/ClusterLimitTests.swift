// Bounds of the cluster as a whole, at the limit and one past it (G27, G29).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct ClusterLimits {
  /// One turn for all of it: what each step does is looked at elsewhere.
  private func inOneTurn(_ body: (inout Scheduler, inout SchedulingTurn) -> Void) -> (
    Scheduler, SchedulingTurn
  ) {
    var scheduler = Scheduler()
    var turn = SchedulingTurn()
    turn.begin(at: .zero, wall: .unknown)
    scheduler.start(into: &turn)
    body(&scheduler, &turn)
    scheduler.close(&turn)
    return (scheduler, turn)
  }

  /// `Limits.workers`
  @Test func workers() {
    let (scheduler, turn) = inOneTurn { scheduler, turn in
      for number in 0...UInt64(Limits.workers) {
        let hello = WorkerHello(
          name: "w\(number)", session: WorkerSession(number + 1), capacity: Resources())
        scheduler.handle(.worker(PeerID(number + 1), .hello(hello)), into: &turn)
      }
    }
    let refused = turn.atOnce.compactMap { effect -> Refusal? in
      if case .toWorker(_, .refused(let refusal)) = effect { refusal } else { nil }
    }
    #expect(refused.map(\.code) == [.limitExceeded])
    #expect(scheduler.workers.count == Limits.workers)
  }

  /// `Limits.livingOperations`: the last one is taken, no further, and an end makes room.
  @Test func livingOperations() {
    let whole = UInt32(Limits.operationsPerGraph)
    let fitting = Limits.livingOperations / Limits.operationsPerGraph
    func array(_ count: UInt32) -> ClientRequest {
      var submission = GraphSubmission(name: "array")
      submission.templates = [noops("x", count)]
      submission.templates[0].isHeld = true
      return .submit(submission)
    }
    // Large pages: four thousand million operations in a thousand graphs have a million less.
    var world = World(pageBits: 16)
    world.invariantChecks = .never
    world.ask(array(1))
    for _ in 1..<fitting { world.ask(array(whole)) }
    guard case .accepted? = world.ask(array(whole - 1)) else {
      Issue.record("the limit itself is not taken")
      return
    }
    #expect(world.scheduler.queues[0].members == UInt32(Limits.livingOperations))
    guard case .refused(let refusal)? = world.ask(array(1)) else {
      Issue.record("more than can be counted")
      return
    }
    #expect(refusal.code == .limitExceeded)
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    guard case .accepted? = world.ask(array(1)) else {
      Issue.record("an ended graph counts")
      return
    }
  }

  /// `Limits.queues`, the one that always exists included.
  @Test func queues() {
    let (scheduler, turn) = inOneTurn { scheduler, turn in
      for number in 0..<UInt64(Limits.queues) {
        let request = ClientRequest.createQueue(QueueSettings(name: "q\(number)"))
        scheduler.handle(.client(PeerID(1), RequestID(number), request), into: &turn)
      }
    }
    let refused = turn.afterDurable.compactMap { effect -> Refusal? in
      if case .toClient(_, _, .refused(let refusal)) = effect { refusal } else { nil }
    }
    #expect(refused.map(\.code) == [.limitExceeded])
    #expect(scheduler.queues.count == Limits.queues)
  }

  /// `Limits.endedGraphsRemembered`: of one graph more, the oldest can no longer be cited.
  @Test(.checks("S27")) func endedGraphsRemembered() {
    let (scheduler, _) = inOneTurn { scheduler, turn in
      for number in 0...UInt64(Limits.endedGraphsRemembered) {
        var graph = GraphSubmission(name: "g")
        graph.templates = [OperationTemplate(name: "n", work: .nothing)]
        scheduler.handle(.client(PeerID(1), RequestID(number), .submit(graph)), into: &turn)
      }
    }
    #expect(scheduler.ended.count == Limits.endedGraphsRemembered)
    #expect(scheduler.ended[GraphID(1)] == nil && scheduler.ended[GraphID(2)] != nil)
    #expect(scheduler.ended[GraphID(UInt32(Limits.endedGraphsRemembered) + 1)] != nil)
  }
}

/// What a program sends, which no manifest was read for.
@Suite struct AdmissionOfNames {
  private func refusal(_ change: (inout GraphSubmission) -> Void) -> Refusal? {
    var submission = GraphSubmission(key: SubmissionKey("key"), name: "graph")
    submission.templates = [noops("t")]
    change(&submission)
    var world = World()
    if case .refused(let refusal) = world.ask(.submit(submission)) { return refusal }
    return nil
  }

  // Names that would end a path, move a cursor or show other text than is there.
  @Test(.checks("G33", "G38")) func namesAreCheckedWhoeverSendsThem() {
    let bad = ["a/b", "a\nb", "\u{1B}[2J", "a\u{7F}", "\u{202E}cba", "a\0"]
    for name in bad + ["", String(repeating: "n", count: Limits.nameBytes + 1)] {
      let shown = name.debugDescription
      #expect(refusal { $0.templates[0].name = name }?.code == .badRequest, "\(shown)")
      let queue = refusal { $0.queues = [.own(QueueSettings(name: name))] }
      #expect(queue?.code == .badRequest, "\(shown)")
    }
    for name in bad {
      #expect(refusal { $0.name = name }?.code == .badRequest)
      if name == "a/b" { continue }
      #expect(refusal { $0.key = SubmissionKey(name) }?.code == .badRequest)
      #expect(refusal { $0.labels = [Label(key: name, value: "v")] }?.code == .badRequest)
      #expect(refusal { $0.labels = [Label(key: "k", value: name)] }?.code == .badRequest)
      #expect(
        refusal { $0.templates[0].labels = [Label(key: name, value: "v")] }?.code == .badRequest)
    }
    #expect(refusal { $0.labels = [Label(key: "", value: "v")] }?.code == .badRequest)
    // What no worker can have; whatever a worker may be called to have is taken.
    for name in ["", "nvidia.com/gpu"] {
      let isTaken = !name.isEmpty
      let amount = Resources.NamedAmount(name: name, amount: ResourceAmount(1))
      #expect((refusal { $0.templates[0].demand.custom = [amount] } == nil) == isTaken)
      let wanted = LabelRequirement(key: name, values: [""])
      #expect((refusal { $0.templates[0].requirements = [wanted] } == nil) == isTaken)
    }
    let none = LabelRequirement(key: "k", values: [])
    #expect(refusal { $0.templates[0].requirements = [none] }?.code == .badRequest)
    for name in ["a", "Übergröße 3", "a.b:c-d_e", String(repeating: "n", count: Limits.nameBytes)] {
      #expect(refusal { $0.templates[0].name = name } == nil)
      #expect(refusal { $0.name = name } == nil)
    }
    #expect(refusal { $0.labels = [Label(key: "team/part", value: "")] } == nil)
  }

  // Numbers have an end, and who asks beyond it is refused; nothing traps.
  @Test(.checks("G33")) func numbersHaveAnEnd() {
    var world = World()
    var submission = graph(["a"])
    submission.queues = [.own(QueueSettings(name: "own"))]
    world.scheduler.state.counters.lastGraph = .max - 1
    world.scheduler.state.counters.lastQueue = .max - 1
    world.scheduler.state.counters.lastWorker = .max - 1
    world.ask(.submit(submission))
    #expect(world.scheduler.graphs.numbers == [.max])
    for other in [submission, graph(["b"])] {
      guard case .refused(let refusal) = world.ask(.submit(other)) else {
        Issue.record("accepted beyond the last number")
        continue
      }
      #expect(refusal.code == .limitExceeded && !refusal.hint.isEmpty)
    }
    guard case .refused(let refusal) = world.ask(.createQueue(QueueSettings(name: "q"))) else {
      Issue.record("a queue beyond the last number")
      return
    }
    #expect(refusal.code == .limitExceeded)
    world.join("w1")
    #expect(world.workers[0].conversation != nil)
    world.join("w2")
    #expect(world.workers[1].refusals.map(\.code) == [.limitExceeded])
    world.runAll()
    #expect(world.brokenInvariant == nil)
    #expect(world.scheduler.graphs.numbers.isEmpty)
    world.scheduler.state.counters.lastGraph = 5
    world.scheduler.state.counters.lastPlace = .max - 1
    guard case .refused = world.ask(.submit(graph(["c"]))) else {
      Issue.record("accepted beyond the last place")
      return
    }
  }

  // Queues that come with graphs count toward `Limits.queues`, and go with them.
  @Test(.checks("G29")) func queuesOfGraphsAreCounted() {
    var world = World()
    world.invariantChecks = .never
    var submission = graph(["a"])
    submission.queues = (0..<Limits.queuesPerGraph).map { .own(QueueSettings(name: "q\($0)")) }
    var accepted: UInt32 = 0
    var refused: Refusal?
    while refused == nil, accepted < 1_000 {
      if case .refused(let refusal) = world.ask(.submit(submission)) {
        refused = refusal
      } else {
        accepted += 1
      }
    }
    #expect(refused?.code == .limitExceeded)
    #expect(Int(accepted) == (Limits.queues - 1) / Limits.queuesPerGraph)
    #expect(world.scheduler.queues.count <= Limits.queues)
    world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    #expect(world.scheduler.graphs.contains(1) == false)
    if case .refused = world.ask(.submit(submission)) { Issue.record("there is room again") }
  }
}
