// What the random worlds ask of operations that have not started: holds, moves, blocks, explicit
// sets and what depends on one; and how everything is let go in the end.

import OpClusterModel

@testable import OpClusterScheduling

enum RandomSteering {
  static func decorate(_ submission: inout GraphSubmission, _ chance: inout Seeded) {
    submission.isDeclaredOnly = chance.chance(20)
    submission.queues = [.named("default")]
    if chance.chance(60) { submission.queues.append(.named("other")) }
    if chance.chance(40) { submission.queues.append(.own(QueueSettings(name: "own"))) }
    for at in submission.templates.indices {
      submission.templates[at].queue = UInt32(chance.below(submission.queues.count))
      submission.templates[at].isHeld = chance.chance(10)
      if chance.chance(15) {
        submission.templates[at].notBefore = .after(.milliseconds(Int64(chance.below(300))))
      }
      if chance.chance(15), submission.templates[at].work != .nothing {
        submission.templates[at].work = .blocks([OperationType(name: "noop")])
      }
    }
  }

  static func request(_ chance: inout Seeded) -> ClientRequest? {
    switch chance.below(10) {
    case 0, 1: .hold(target(&chance), chance.chance(60))
    case 2, 3: .setQueue(target(&chance), queue: queue(&chance))
    case 4: .setPriority(target(&chance), Priority.allCases.randomElement(using: &chance) ?? .low)
    case 5: .addBlocks(someOperation(&chance), [UInt8(chance.below(200))])
    case 6: .enqueue((0...chance.below(3)).map { _ in someOperation(&chance) }, queue: "other")
    case 7:
      .changeQueue(
        "other",
        QueueChange(
          qos: chance.chance(30) ? QualityOfService.allCases.randomElement(using: &chance) : nil,
          limit: chance.chance(50) ? .unlimited : .atMost(UInt32(chance.below(3))),
          isSuspended: chance.chance(30)))
    case 8:
      .suspendGraphs(
        chance.chance(30)
          ? Selection(graphs: .all) : Selection.graph(GraphID(UInt32(1 + chance.below(4)))),
        chance.chance(50))
    default: chance.chance(40) ? .cancel(target(&chance), reason: "", grace: nil) : nil
    }
  }

  /// A late edge, mostly forwards, also from and to what has ended or is to be skipped.
  static func edge(_ chance: inout Seeded) -> ClientRequest {
    let graph = UInt32(1 + chance.below(3))
    let other = chance.chance(80) ? graph : UInt32(1 + chance.below(3))
    return .addDependency(
      from: operation(other, UInt32(chance.below(4))),
      to: operation(graph, UInt32(chance.below(6))),
      EdgePolicy.allCases.randomElement(using: &chance) ?? .finished)
  }

  /// An edge that is there, if any: half of them lead to what is to be skipped.
  static func removedEdge(of world: World, _ chance: inout Seeded) -> ClientRequest {
    let preferred = toBeSkipped(world).randomElement(using: &chance)
    let dependent = chance.chance(50) ? preferred ?? someOperation(&chance) : someOperation(&chance)
    var known: [OperationID] = []
    let number = dependent.graph.number
    if world.scheduler.graphs.contains(number) {
      let graph = world.scheduler.graphs[number]
      if dependent.index < graph.operationCount {
        graph.forEachDependency(of: dependent.index) { on, _ in known.append(on) }
      }
    }
    return .removeDependency(
      from: known.randomElement(using: &chance) ?? someOperation(&chance), to: dependent)
  }

  /// All that an end has made impossible, and that a later turn will skip.
  static func toBeSkipped(_ world: World) -> [OperationID] {
    if !world.scheduler.hasPendingEnds { return [] }
    return world.scheduler.graphs.numbers.flatMap { number in
      let graph = world.scheduler.graphs[number]
      return (0..<graph.operationCount).filter { graph.cell($0).isImpossible }
        .map { graph.operation($0) }
    }
  }

  private static func target(_ chance: inout Seeded) -> OperationTarget {
    switch chance.below(4) {
    case 0: .operations((0...chance.below(4)).map { _ in someOperation(&chance) })
    case 1: .dependents(of: someOperation(&chance))
    case 2:
      .selection(
        Selection(
          graphs: chance.chance(30) ? .all : Selection.graph(GraphID(1)).graphs,
          operation: ["t?", "*1", "t*", "t2"].randomElement(using: &chance)))
    default: .operations([someOperation(&chance)])
    }
  }

  private static func someOperation(_ chance: inout Seeded) -> OperationID {
    operation(UInt32(1 + chance.below(4)), UInt32(chance.below(7)))
  }

  private static func queue(_ chance: inout Seeded) -> String {
    ["default", "other", "other", "\(1 + chance.below(4))/own"].randomElement(using: &chance)
      ?? "default"
  }

  /// Whatever holds something back is taken away.
  static func letGo(_ world: inout World) {
    world.ask(.changeQueue("other", QueueChange(limit: .unlimited, isSuspended: false)))
    world.ask(.suspendGraphs(Selection(graphs: .all), false))
    world.ask(.hold(.selection(Selection(graphs: .all)), false))
    // Some end as soon as they are let go, or in the turns after.
    for number in world.scheduler.graphs.numbers where world.scheduler.graphs.contains(number) {
      let graph = world.scheduler.graphs[number]
      for index in 0..<graph.operationCount where graph.cell(index).phase == .declared {
        let id = graph.operation(index)
        if case .refused = world.ask(.enqueue([id], queue: "default")) {
          // A barrier there waits for it.
          world.ask(.cancel(.operations([id]), reason: "", grace: nil))
        }
      }
    }
  }
}
