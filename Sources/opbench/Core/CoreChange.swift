// What changes many operations at once, for `opbench core --changes`: how long a turn it makes, in
// which everybody else waits, and what each operation costs.

import OpClusterModel
import OpClusterScheduling

/// A change of many operations, with its row of the table.
enum CoreChange: String, CaseIterable {
  case submit = "an array, prepared, is submitted"
  case submitLayers = "a graph of layers, each operation behind three, prepared, is submitted"
  case submitStages =
    "a graph of single operations, each behind three (at most 200,000), prepared, is submitted"
  case submitSingles = "a graph of single operations (at most 200,000), prepared, is submitted"
  case submitDemands =
    "a graph of single operations, each of its own demand (at most 200,000), prepared, is submitted"
  case cancel = "a graph is cancelled"
  case chains = "a graph of two arrays, element behind element, is cancelled"
  case layers = "a graph of layers, each operation behind three, is cancelled"
  case stages = "a graph of single operations, each behind three (at most 200,000), is cancelled"
  case demands = "a graph of single operations, each of its own demand, is cancelled"
  case barriers = "a graph of barriers (at most 200,000) is cancelled"
  case failed = "an operation fails, and all layers behind it are skipped"
  case dependents = "the dependents of an operation are cancelled"
  case graphs = "graphs of one operation are cancelled"
  case queue = "what is in a queue is cancelled"
  case resumed = "a queue resumes whose operations were cancelled"
  case unblock = "an operation succeeds, and others become ready"
  case skip = "an operation fails, and others are skipped"
  case stop = "an operation fails, and its graph stops"
  case stopLayers = "an operation fails, and its graph of layers stops"
  case hold = "operations are held"
  case release = "operations are released"
  case priority = "operations get another priority"
  case move = "operations move to another queue"
  case suspend = "graphs of one operation are suspended"
  case row = "question: the last ready one of a graph"
  case reasons = "question: what was skipped, each operation for a reason of its own"

  /// Measures a fresh world with this number of operations. What comes before the change is not
  /// counted; all turns until its answer are, and those that follow the ends.
  func measure(_ count: Int) -> (longestTurn: Duration, all: Duration) {
    var world = CoreWorld()
    world.ask(.createQueue(QueueSettings(name: "other")))
    let change = prepare(count, &world)
    world.tick(after: .milliseconds(10))
    world.spent = .zero
    world.longestTurn = .zero
    switch change {
    case .submission(let graph): world.takeIn(graph)
    case .requests(let requests):
      for request in requests { world.ask(request) }
    case .end(let result): world.run(world.probe, result: result)
    }
    world.settle()
    return (world.longestTurn, world.spent)
  }

  private enum Change {
    case submission(GraphSubmission)
    case requests([ClientRequest])
    /// The probe ends what it has.
    case end(AttemptResult)
  }

  private func prepare(_ count: Int, _ world: inout CoreWorld) -> Change {
    let selection = Selection.graph(GraphID(1))
    let target = OperationTarget.selection(selection)
    switch self {
    case .submit: return .submission(graph([waiting("a", count)]))
    case .submitLayers: return .submission(layers(of: min(1_000, count / 10), count))
    case .submitStages: return .submission(stages(of: min(1_000, count / 10), count))
    case .submitSingles:
      var singles = stages(of: min(1_000, count / 10), count)
      singles.elementEdges = ElementEdges()
      singles.groupEdges = []
      return .submission(singles)
    case .chains:
      var chained = graph([waiting("a", count / 2), waiting("b", count / 2)])
      chained.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .sameIndex)]
      _ = world.submit(chained)
      return .requests([.cancel(target, reason: "", grace: nil)])
    case .submitDemands: return .submission(demands(count))
    case .demands, .barriers:
      var graph = demands(count)
      if self == .barriers {
        for at in graph.templates.indices {
          graph.templates[at].demand = .none
          graph.templates[at].isBarrier = true
        }
      }
      _ = world.submit(graph)
      return .requests([.cancel(target, reason: "", grace: nil)])
    case .layers, .stages:
      let width = min(1_000, count / 10)
      _ = world.submit(self == .layers ? layers(of: width, count) : stages(of: width, count))
      return .requests([.cancel(target, reason: "", grace: nil)])
    case .failed, .stopLayers, .reasons:
      var behind = layersBehindOne(of: min(1_000, count / 10), count)
      if self == .stopLayers {
        behind.failurePolicy = .cancel
        // What waits for it does so until it has ended, however it ends.
        for at in behind.elementEdges.from.indices where behind.elementEdges.from[at] == 0 {
          behind.elementEdges.policies[at] = .finished
        }
      }
      // One that goes on, so that the graph does not leave.
      if self == .reasons { behind.templates.append(waiting("other", 1)) }
      _ = world.submit(behind)
      if self != .reasons { return .end(Self.failure) }
      world.run(world.probe, result: Self.failure)
      world.settle()
      return .requests([.operations(selection, after: nil, limit: 1_000)])
    case .dependents, .unblock, .skip, .stop:
      _ = world.submit(fan(count))
      if self == .dependents {
        let first = OperationID(graph: GraphID(1), index: 0)
        return .requests([.cancel(.dependents(of: first), reason: "", grace: nil)])
      }
      return .end(self == .unblock ? .success : Self.failure)
    case .graphs, .suspend:
      for _ in 0..<count { _ = world.submit(graph([waiting("a", 1)])) }
      let all = Selection(graphs: .active)
      return .requests(
        self == .suspend
          ? [.suspendGraphs(all, true)]
          : [.cancel(.selection(all), reason: "", grace: nil)])
    case .cancel, .queue, .resumed, .hold, .release, .priority, .move, .row:
      var template = waiting("a", count)
      template.isHeld = self == .release
      _ = world.submit(graph([template]))
      return change(selection, count, &world)
    }
  }

  private static var failure: AttemptResult {
    var failure = AttemptResult()
    failure.cause = .failed
    failure.exitStatus = 1
    return failure
  }

  /// The change to one array of waiting operations, graph 1.
  private func change(_ selection: Selection, _ count: Int, _ world: inout CoreWorld) -> Change {
    let target = OperationTarget.selection(selection)
    let cancel = ClientRequest.cancel(target, reason: "", grace: nil)
    switch self {
    case .queue: return .requests([.cancelQueue("default", reason: "")])
    case .resumed:
      world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
      world.ask(cancel)
      return .requests([.changeQueue("default", QueueChange(isSuspended: false))])
    case .hold: return .requests([.hold(target, true)])
    case .release: return .requests([.hold(target, false)])
    case .priority: return .requests([.setPriority(target, .high)])
    case .move: return .requests([.setQueue(target, queue: "other")])
    case .row:
      let last = OperationTarget.operations([
        OperationID(graph: GraphID(1), index: UInt32(count) - 1)
      ])
      world.ask(.hold(last, true))
      var declared = selection
      declared.states = [.declared]
      return .requests([.operations(declared, after: nil, limit: 1)])
    default: return .requests([cancel])
    }
  }

  /// Layers of operations, each of which waits for three of the layer before.
  private func layers(of width: Int, _ count: Int) -> GraphSubmission {
    var layered = graph([waiting("a", count)])
    for index in width..<count {
      let before = index - index % width - width
      for offset in [0, 7, 19] {
        layered.elementEdges.from.append(UInt32(before + (index + offset) % width))
        layered.elementEdges.to.append(UInt32(index))
        layered.elementEdges.policies.append(.succeeded)
      }
    }
    return layered
  }

  /// The same without an array: a template for each operation.
  private func stages(of width: Int, _ most: Int) -> GraphSubmission {
    let count = min(most, Limits.templatesPerGraph)
    var staged = graph((0..<count).map { waiting("s\($0)", 1) })
    for index in width..<count {
      let before = index - index % width - width
      for offset in [0, 7, 19] {
        staged.groupEdges.append(
          GroupEdge(
            from: UInt32(before + (index + offset) % width), to: UInt32(index),
            policy: .succeeded, match: .all))
      }
    }
    return staged
  }

  /// Operations with a template and a demand each.
  private func demands(_ most: Int) -> GraphSubmission {
    graph(
      (0..<min(most, Limits.templatesPerGraph)).map { number in
        var template = waiting("s\(number)", 1)
        template.demand.memoryBytes = Int64(number + 1) << 10
        return template
      })
  }

  /// An operation that the probe has been given, and behind it layers as above.
  private func layersBehindOne(of width: Int, _ count: Int) -> GraphSubmission {
    var first = OperationTemplate(name: "first", work: .call(CoreWorld.probeType))
    first.retry = RetryPolicy()
    let layered = layers(of: width, count)
    var behind = graph([first, waiting("a", count)])
    behind.elementEdges = layered.elementEdges
    for at in behind.elementEdges.to.indices {
      behind.elementEdges.from[at] += 1
      behind.elementEdges.to[at] += 1
    }
    for index in 1...UInt32(width) {
      behind.elementEdges.from.append(0)
      behind.elementEdges.to.append(index)
      behind.elementEdges.policies.append(.succeeded)
    }
    return behind
  }

  /// An operation that the probe has been given, and an array behind it.
  private func fan(_ count: Int) -> GraphSubmission {
    var first = OperationTemplate(name: "first", work: .call(CoreWorld.probeType))
    first.retry = RetryPolicy()
    var fan = graph([first, waiting("a", count)])
    fan.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded, match: .all)]
    if self == .stop {
      fan.failurePolicy = .stop
      // Behind nothing, so that not the edge ends them.
      fan.groupEdges = []
    }
    return fan
  }

  private func graph(_ templates: [OperationTemplate]) -> GraphSubmission {
    var graph = GraphSubmission(name: "change")
    graph.templates = templates
    return graph
  }

  /// Operations that no machine of the world can run.
  private func waiting(_ name: String, _ count: Int) -> OperationTemplate {
    OperationTemplate(name: name, count: UInt32(count), work: .call(CoreWorld.worldType))
  }
}
