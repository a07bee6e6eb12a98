// The ways in which a world is large, for `opbench core`: each is made with a number of things, and
// an event that concerns none of them should cost the same in all sizes.

import OpClusterModel

enum CoreDimension: String, CaseIterable {
  /// Elements of one array that wait for busy machines.
  case operations
  /// Elements of one array that wait for its own limit of one at a time.
  case parked
  /// Templates of one graph, each with one held operation.
  case templates
  /// Graphs with one held operation each.
  case graphs
  /// Graphs that have ended.
  case ended
  /// Queues without operations.
  case queues
  /// Queues with one operation each that waits for busy machines.
  case lines
  /// The same queues with a pool of workers each.
  case pools
  /// Kinds of demand, each with an operation that waits for busy machines.
  case demands
  /// Kinds of demand, each with an operation that no machine could run.
  case unplaceable
  /// Machines with nothing to do.
  case idle
  /// Machines that are all busy, and operations that wait.
  case busy
  /// Machines with free cpus whose only token is in use, and operations that wait for one.
  case tokens
  /// Operations that lost their machine, and wait for busy ones.
  case lost
  /// Machines that have left.
  case gone

  /// The largest number that the cluster accepts, or that fits into the memory of a small machine.
  var most: Int {
    switch self {
    case .operations, .parked: 1_000_000
    case .templates: Limits.templatesPerGraph
    case .graphs, .ended, .demands, .unplaceable, .lost, .gone: 100_000
    case .queues, .lines, .pools: 90_000
    case .idle, .busy, .tokens: Limits.workers - 8
    }
  }

  /// Machines with one cpu each: the operations of a world that waits fill them at once.
  private static let few = 2

  /// A world with this number of things. Costs a turn or more for each of them, none of which is
  /// measured.
  func world(_ count: Int) -> CoreWorld {
    var world = CoreWorld()
    switch self {
    case .operations:
      addMachines(Self.few, &world)
      _ = world.submit(graph([array("a", count)]))
    case .parked:
      addMachines(Self.few, &world)
      var template = array("a", count)
      template.maximumParallel = 1
      _ = world.submit(graph([template]))
    case .templates:
      let templates = (0..<count).map { held("t\($0)") }
      _ = world.submit(graph(templates))
    case .graphs:
      for _ in 0..<count { _ = world.submit(graph([held("a")])) }
    case .ended:
      for _ in 0..<count {
        let id = world.submit(graph([held("a")]))
        world.ask(.cancel(.selection(.graph(id)), reason: "", grace: nil))
      }
    case .queues:
      for at in 0..<count { world.ask(.createQueue(QueueSettings(name: "q\(at)"))) }
    case .lines, .pools:
      addMachines(Self.few, &world)
      _ = world.submit(graph([array("a", 100)]))
      let pool = self == .pools ? [LabelRequirement(key: "world", values: ["yes"])] : []
      for at in 0..<count {
        world.ask(.createQueue(QueueSettings(name: "q\(at)", pool: pool)))
        var one = graph([array("a", 1)])
        one.queues = [.named("q\(at)")]
        _ = world.submit(one)
      }
    case .demands, .unplaceable:
      addMachines(Self.few, &world)
      _ = world.submit(graph([array("a", 100)]))
      // A machine has 1 TiB of memory: half of what the least of these wants.
      let least: Int64 = self == .demands ? 0 : 1 << 41
      var templates: [OperationTemplate] = []
      for at in 0..<count {
        templates.append(array("t\(at)", 1))
        templates[at].demand.memoryBytes = least + Int64(at + 1) * 4_096
      }
      _ = world.submit(graph(templates))
    case .idle:
      addMachines(count, &world)
    case .busy:
      addMachines(count, &world)
      // Enough for all rounds of all events, whatever the machines prefetch.
      _ = world.submit(graph([array("a", 4 * count + 100_000)]))
    case .tokens: addTokens(count, &world)
    case .lost: addLost(count, &world)
    case .gone:
      for at in 0..<count {
        world.leave(world.join("w\(at)", Resources(), types: [CoreWorld.worldType]))
      }
    }
    return world
  }

  private func addTokens(_ count: Int, _ world: inout CoreWorld) {
    let token = Resources.NamedAmount(name: "token", amount: ResourceAmount(1))
    var template = array("a", count + 1_000)
    template.demand.cpus = ResourceAmount(1)
    template.demand.custom = [token]
    addMachines(count, cpus: 4, custom: [token], &world)
    _ = world.submit(graph([template]))
  }

  /// One machine with all of an array is lost, while the others are busy.
  private func addLost(_ count: Int, _ world: inout CoreWorld) {
    let capacity = Resources(cpus: ResourceAmount(Int64(count)), memoryBytes: 1 << 40)
    let large = world.join("large", capacity, types: [CoreWorld.worldType])
    _ = world.submit(graph([array("a", count)]))
    while world.machines[large]!.assigned.count < count { world.tick(after: .zero) }
    addMachines(Self.few, &world)
    _ = world.submit(graph([array("b", 10_000)]))
    world.lose(large)
  }

  /// Machines that run the operations of the world, and not those of `CoreEvent`.
  private func addMachines(
    _ count: Int, cpus: Int = 1, custom: [Resources.NamedAmount] = [], _ world: inout CoreWorld
  ) {
    var capacity = Resources(cpus: ResourceAmount(Int64(cpus)), memoryBytes: 1 << 40)
    capacity.custom = custom
    let labels = [Label(key: "world", value: "yes")]
    for at in 0..<count {
      _ = world.join("w\(at)", capacity, types: [CoreWorld.worldType], labels: labels)
    }
  }

  private func graph(_ templates: [OperationTemplate]) -> GraphSubmission {
    var graph = GraphSubmission(name: "world")
    graph.templates = templates
    return graph
  }

  private func array(_ name: String, _ count: Int) -> OperationTemplate {
    OperationTemplate(name: name, count: UInt32(count), work: .call(CoreWorld.worldType))
  }

  private func held(_ name: String) -> OperationTemplate {
    var template = array(name, 1)
    template.isHeld = true
    return template
  }
}
