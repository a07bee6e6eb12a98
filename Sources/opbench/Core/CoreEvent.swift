// What happens in a large world, for `opbench core`: to a few operations, queues and machines of
// its own.

import OpClusterModel

/// An event whose cost should not depend on the size of the world, with its row of the table.
enum CoreEvent: String, CaseIterable {
  case graph = "a graph of one operation, to its end"
  case demand = "the same with a demand that was never seen"
  case named = "the same with a named resource that no machine has, cancelled"
  case pool = "the same in a queue with a pool"
  case next = "an end, and the next one goes there"
  case tick = "a tick after 10 ms"
  case snapshot = "a snapshot begins, then a graph of one operation"
  case machine = "a machine comes and goes"
  case queue = "a queue is made and removed"
  case limit = "the limit of a queue"
  case suspension = "a graph is suspended and resumed"
  case hold = "an operation is held and released"
  case priority = "the priority of an operation"
  case move = "an operation moves to another queue"
  case edge = "an edge is added and removed"
  case cancel = "an operation is cancelled"
  case row = "question: one operation"
  case page = "question: 100 operations from the middle"
  case state = "question: 10 operations that wait"
  case structure = "question: a graph's structure"
  case why = "question: why one waits"
  case graphs = "question: 100 graphs from the middle"
  case oneQueue = "question: a queue by its name"
  case somePattern = "question: operations by a pattern in one graph"

  /// The time of the event; nil where the world has nothing for it.
  func measure(in world: inout CoreWorld, _ round: Int) -> Duration? {
    switch self {
    case .graph: return run(graph([probe()]), &world)
    case .demand:
      var template = probe()
      // A prime, so that no demand of the world is the same.
      template.demand.memoryBytes = Int64(round + 1) * 1_000_003
      return run(graph([template]), &world)
    case .named:
      var template = probe()
      template.demand.custom = [Resources.NamedAmount(name: "r\(round)", amount: ResourceAmount(1))]
      world.spent = .zero
      let id = world.submit(graph([template]))
      world.ask(.cancel(.selection(.graph(id)), reason: "", grace: nil))
      return world.spent
    case .pool: return run(pooled(), &world)
    case .next:
      guard let busy = world.machines.first(where: { !$0.value.assigned.isEmpty })?.key else {
        return nil
      }
      world.tick(after: .milliseconds(1))
      world.spent = .zero
      world.run(busy, atMost: 1)
      return world.spent
    case .tick:
      // The first one does what has become due since the latest event.
      world.tick(after: .milliseconds(10))
      world.spent = .zero
      world.tick(after: .milliseconds(10))
      return world.spent
    case .snapshot:
      defer { world.endSnapshot() }
      return run(graph([probe()]), &world) { $0.beginSnapshot() }
    case .machine:
      world.spent = .zero
      world.leave(world.join("other", Resources(), types: []))
      return world.spent
    case .queue:
      return cost(&world, .createQueue(QueueSettings(name: "new")), .removeQueue("new"))
    case .limit:
      let (most, none) = (QueueChange(limit: .atMost(1_000_000)), QueueChange(limit: .unlimited))
      return cost(&world, .changeQueue("default", most), .changeQueue("default", none))
    case .suspension:
      return withHeld(&world) { id, _ in
        [.suspendGraphs(.graph(id), true), .suspendGraphs(.graph(id), false)]
      }
    case .hold: return withHeld(&world) { _, first in [.hold(first, false), .hold(first, true)] }
    case .priority: return withHeld(&world) { _, first in [.setPriority(first, .high)] }
    case .move:
      world.ask(.createQueue(QueueSettings(name: "other")))
      return withHeld(&world) { _, first in [.setQueue(first, queue: "other")] }
    case .edge:
      return withHeld(&world) { id, _ in
        let (one, two) = (OperationID(graph: id, index: 0), OperationID(graph: id, index: 1))
        return [
          .addDependency(from: one, to: two, .succeeded), .removeDependency(from: one, to: two),
        ]
      }
    case .cancel:
      return withHeld(&world) { _, first in [.cancel(first, reason: "", grace: nil)] }
    case .row, .why:
      return withHeld(&world) { id, _ in
        var one = Selection.graph(id)
        one.operation = "a"
        return [self == .row ? .operations(one, after: nil, limit: 1) : .explain(one)]
      }
    case .page, .state, .structure, .graphs, .oneQueue, .somePattern: return question(&world)
    }
  }

  /// A question about what makes the world large: its first graph, or all.
  private func question(_ world: inout CoreWorld) -> Duration? {
    let first = GraphID(1)
    var selection = Selection.graph(first)
    // A world without a first graph has nothing to ask about but its queues.
    world.ask(.structure(selection))
    guard case .structure(let structure)? = world.lastReply else {
      return self == .oneQueue ? world.longestPart(.queues(named: "default")) : nil
    }
    let count = structure.stages.reduce(0) { $0 + $1.count }
    let middle = OperationID(graph: first, index: count / 2)
    switch self {
    case .page: return world.longestPart(.operations(selection, after: middle, limit: 100))
    case .state:
      selection.states = [.waiting, .ready]
      return world.longestPart(.operations(selection, after: nil, limit: 10))
    case .structure: return world.longestPart(.structure(selection))
    case .graphs:
      let all = Selection(graphs: .active)
      return world.longestPart(.graphs(all, after: GraphID(first.number + count / 2), limit: 100))
    case .somePattern:
      selection.operation = "t1?"
      return world.longestPart(.operations(selection, after: nil, limit: 10))
    default: return world.longestPart(.queues(named: "default"))
    }
  }

  /// The time of these requests together.
  private func cost(_ world: inout CoreWorld, _ requests: ClientRequest...) -> Duration? {
    world.spent = .zero
    for request in requests { world.ask(request) }
    return world.spent
  }

  // The probe has room for each of them at once, so that none of the events waits in line.

  /// Submits a graph, lets the probe run it and counts all turns of it, and what is before.
  private func run(
    _ graph: GraphSubmission, _ world: inout CoreWorld,
    after before: (inout CoreWorld) -> Void = { _ in }
  ) -> Duration? {
    world.tick(after: .milliseconds(1))
    world.spent = .zero
    before(&world)
    _ = world.submit(graph)
    return world.run(world.probe) > 0 ? world.spent : nil
  }

  /// Counts the requests about a graph of two held operations, which is cancelled then.
  private func withHeld(
    _ world: inout CoreWorld, _ requests: (GraphID, OperationTarget) -> [ClientRequest]
  ) -> Duration? {
    var (one, two) = (probe("a"), probe("b"))
    (one.isHeld, two.isHeld) = (true, true)
    let id = world.submit(graph([one, two]))
    let first = OperationTarget.operations([OperationID(graph: id, index: 0)])
    world.spent = .zero
    for request in requests(id, first) { world.ask(request) }
    let spent = world.spent
    world.run(world.probe)
    world.ask(.cancel(.selection(.graph(id)), reason: "", grace: nil))
    world.run(world.probe)
    return spent
  }

  /// A graph whose operation is in a queue with a pool.
  private func pooled() -> GraphSubmission {
    var pooled = graph([probe()])
    let pool = [LabelRequirement(key: "probe", values: ["yes"])]
    pooled.queues = [.own(QueueSettings(name: "own", pool: pool))]
    return pooled
  }

  private func graph(_ templates: [OperationTemplate]) -> GraphSubmission {
    var graph = GraphSubmission(name: "event")
    graph.templates = templates
    return graph
  }

  private func probe(_ name: String = "a") -> OperationTemplate {
    OperationTemplate(name: name, work: .call(CoreWorld.probeType))
  }
}
