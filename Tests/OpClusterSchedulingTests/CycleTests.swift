// Cycles are refused, and nothing else is (S32, S33): in submissions, by late edges, and by what
// enters a queue. Compared with every pair that waits, in random worlds.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct CycleTests {
  /// Whether the reply refuses a cycle; nil: it refuses something else.
  private func refusesCycle(_ reply: ClientReply?) -> Bool? {
    guard case .refused(let refusal) = reply else { return false }
    return refusal.code == .cycle ? true : nil
  }

  /// X waits for Y, and a barrier between them waits for X and is waited for by Y.
  private func hidden(_ queues: [QueueReference], barrierIn: UInt32) -> GraphSubmission {
    var submission = graph(["x", "wall", "y"], [("y", "x")])
    submission.queues = queues
    submission.templates[1].isBarrier = true
    submission.templates[1].queue = barrierIn
    return submission
  }

  // A queue that is named twice is one queue, and a barrier holds back what is under both names.
  @Test(.checks("S32", "S33")) func aQueueThatIsNamedTwiceHidesNoCycle() {
    let own = QueueReference.own(QueueSettings(name: "a"))
    for queue in [QueueReference.named("a"), own] {
      var world = World()
      world.ask(.createQueue(QueueSettings(name: "a")))
      world.ask(.createQueue(QueueSettings(name: "b")))
      #expect(refusesCycle(world.ask(.submit(hidden([queue, queue], barrierIn: 1)))) == true)
      let apart = hidden([queue, .named("b")], barrierIn: 1)
      #expect(refusesCycle(world.ask(.submit(apart))) == false)
    }
  }

  // What is declared is in no queue, and no barrier is before it or behind it.
  @Test(.checks("S28", "S33")) func barriersThatAreOnlyDeclaredCloseNoCycle() {
    var world = World()
    var submission = hidden([], barrierIn: 0)
    submission.isDeclaredOnly = true
    #expect(refusesCycle(world.ask(.submit(submission))) == false)
    let members = (0..<3).map { operation(1, UInt32($0)) }
    #expect(refusesCycle(world.ask(.enqueue(members, queue: "default"))) == true)
    let right = [members[2], members[0], members[1]]
    #expect(refusesCycle(world.ask(.enqueue(right, queue: "default"))) == false)
  }

  // Leaving a queue takes its waits along: B waits for y, which waits for the barrier there.
  @Test(.checks("S33", "S51")) func aMoveIsJudgedByWhereItLeads() {
    var world = World()
    for name in ["from", "to"] {
      world.ask(.createQueue(QueueSettings(name: name, isSuspended: true)))
    }
    var submission = graph(["x", "wall", "y", "B"], [("wall", "y")])
    submission.queues = [.named("from"), .named("to")]
    submission.templates[1].isBarrier = true
    submission.templates[2].queue = 1
    submission.templates[3].queue = 1
    submission.templates[3].isBarrier = true
    #expect(refusesCycle(world.ask(.submit(submission))) == false)
    let move = ClientRequest.setQueue(.operations([operation(1, 0)]), queue: "to")
    #expect(refusesCycle(world.ask(move)) == false)
  }

  // Nothing is in an array without elements, and nothing waits.
  @Test(.checks("S32")) func anArrayWithoutElementsClosesNoCycle() {
    var world = World()
    let worker = world.join("w1")
    var submission = graph(["a", "b"], [("a", "b"), ("b", "a")])
    submission.templates[1].count = 0
    #expect(refusesCycle(world.ask(.submit(submission))) == false)
    world.start(worker, operation(1, 0))
    world.end(worker, operation(1, 0))
    world.report(worker)
    #expect(world.scheduler.graphs.numbers.isEmpty)
  }

  // MARK: - Random worlds

  private static let queues = ["default", "q", "r"]

  private func randomSubmission(_ chance: inout Seeded, hasCycles: Bool) -> GraphSubmission {
    var submission = GraphSubmission(name: "random")
    submission.queues = (0...chance.below(3)).map { _ in
      chance.chance(80)
        ? .named(Self.queues[chance.below(3)]) : .own(QueueSettings(name: "own", isSuspended: true))
    }
    let count = 2 + chance.below(6)
    for at in 0..<count {
      var template = noops("t\(at)", UInt32(chance.chance(30) ? chance.below(4) : 1))
      template.isBarrier = template.count == 1 && chance.chance(25)
      template.queue = UInt32(chance.below(submission.queues.count))
      submission.templates.append(template)
    }
    for _ in 0..<chance.below(count + 2) {
      var pair = [chance.below(count), chance.below(count)]
      if !hasCycles { pair.sort() }
      if pair[0] == pair[1] { continue }
      let sizes = pair.map { submission.templates[$0].count }
      submission.groupEdges.append(
        GroupEdge(
          from: UInt32(pair[0]), to: UInt32(pair[1]), policy: .finished,
          match: sizes[0] == sizes[1] && chance.chance(50) ? .sameIndex : .all))
    }
    let total = submission.operationCount
    for _ in 0..<(chance.chance(50) ? 0 : chance.below(4)) {
      var pair = [chance.below(total), chance.below(total)]
      if !hasCycles { pair.sort() }
      if pair[0] == pair[1] { continue }
      submission.elementEdges.from.append(UInt32(pair[0]))
      submission.elementEdges.to.append(UInt32(pair[1]))
    }
    submission.elementEdges.policies = [.finished]
    return submission
  }

  private func suspendedWorld() -> World {
    var world = World()
    world.invariantChecks = .never
    world.ask(.changeQueue("default", QueueChange(isSuspended: true)))
    for name in ["q", "r"] {
      world.ask(.createQueue(QueueSettings(name: name, isSuspended: true)))
    }
    return world
  }

  @Test(.checks("S32", "S33"), arguments: 0..<400)
  func aSubmissionIsRefusedExactlyIfItHasACycle(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = suspendedWorld()
    var submission = randomSubmission(&chance, hasCycles: true)
    submission.isDeclaredOnly = chance.chance(20)
    var permissive = world
    submission.allowsCycles = true
    permissive.ask(.submit(submission))
    submission.allowsCycles = false
    let expected = Waits(permissive.scheduler.state).hasCycle
    #expect(refusesCycle(world.ask(.submit(submission))) == expected, "seed \(seed)")
  }

  @Test(.checks("S32", "S33"), arguments: 0..<200)
  func aChangeIsRefusedExactlyIfItClosesACycle(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = suspendedWorld()
    for number in 1...(2 + chance.below(3)) {
      var submission = randomSubmission(&chance, hasCycles: false)
      submission.isDeclaredOnly = chance.chance(40)
      if number > 1, chance.chance(50) {
        submission.externalEdges = [
          ExternalEdge(from: operation(1, 0), to: UInt32(chance.below(2)), policy: .finished)
        ]
      }
      world.ask(.submit(submission))
    }
    for step in 0..<40 {
      let ids = (0...chance.below(4)).map { _ in
        operation(UInt32(1 + chance.below(4)), UInt32(chance.below(8)))
      }
      let queue = Self.queues[chance.below(3)]
      let request: ClientRequest =
        switch chance.below(11) {
        case 0: .cancel(.operations([ids[0]]), reason: "", grace: nil)
        case 10: .removeDependency(from: ids[0], to: ids[ids.count - 1])
        case 1...3: .setQueue(.operations(ids), queue: queue)
        case 4...6: .enqueue(ids, queue: queue)
        default:
          .addDependency(
            from: ids[0], to: ids[ids.count - 1], .finished, allowsCycle: false)
        }
      var free = world.scheduler.state
      guard let (reply, refusal) = ask(request, &world) else { continue }
      guard free.make(request) else { continue }
      let waits = Waits(free)
      #expect(reply == waits.hasCycle, "seed \(seed), step \(step): \(request)")
      if let refusal { #expect(waits.isCycle(refusal.operations), "seed \(seed), step \(step)") }
    }
  }

  private func ask(_ request: ClientRequest, _ world: inout World) -> (Bool, Refusal?)? {
    let reply = world.ask(request)
    guard let isRefused = refusesCycle(reply) else { return nil }
    if case .refused(let refusal) = reply { return (isRefused, refusal) }
    return (isRefused, nil)
  }
}

extension ClusterState {
  /// Makes a change without asking whether it closes a cycle; false: it changes no waits.
  fileprivate mutating func make(_ request: ClientRequest) -> Bool {
    var turn = SchedulingTurn()
    turn.isReplay = true
    switch request {
    case .setQueue(.operations(let ids), let name):
      guard let queue = queueByName[name] else { return false }
      var last: OperationID?
      for id in ids.sorted() where id != last {
        last = id
        let graph = id.graph.number
        guard graphs.contains(graph), id.index < graphs[graph].operationCount,
          !graphs[graph].cell(id.index).isCancelled
        else { continue }
        let stage = graphs[graph].stageNumber(of: id.index)
        if graphs[graph].queue(of: id.index, stage: stage) != queue {
          moveToQueue(OperationRuns(id), queue, into: &turn)
        }
      }
    case .enqueue(let ids, let name):
      guard let queue = queueByName[name] else { return false }
      for id in ids { enqueue(id, in: queue, into: &turn) }
    case .addDependency(let from, let to, let policy, _):
      let isListed = waitsAlready(to, from)
      if !isListed { addDependency(from, to, policy, into: &turn) }
    default: return false
    }
    return true
  }

  private func waitsAlready(_ to: OperationID, _ from: OperationID) -> Bool {
    var found = false
    guard graphs.contains(to.graph.number) else { return true }
    graphs[to.graph.number].forEachDependency(of: to.index) { on, _ in
      if on == from { found = true }
    }
    return found
  }
}

/// Every pair of unfinished operations of which one waits for the other, written down.
private struct Waits {
  private var before: [OperationID: [OperationID]] = [:]
  private var all: [OperationID] = []

  init(_ state: ClusterState) {
    for graph in state.graphs.numbers {
      for index in 0..<state.graphs[graph].operationCount
      where state.graphs[graph].cell(index).phase != .finished {
        all.append(state.graphs[graph].operation(index))
      }
    }
    let places = all.map { Place($0, state) }
    for (id, own) in zip(all, places) {
      let needs = Self.needs(of: id, state)
      before[id] = zip(all, places).filter { other, theirs in
        needs.contains(other) || Self.isOrdered(own, behind: theirs)
      }.map(\.0)
    }
  }

  private static func needs(of id: OperationID, _ state: ClusterState) -> Set<OperationID> {
    let graph = state.graphs[id.graph.number]
    var needs: Set<OperationID> = []
    graph.forEachDependency(of: id.index) { on, _ in needs.insert(on) }
    for edge in graph.stages[graph.stageNumber(of: id.index)].incoming where edge.match == .all {
      for index in graph.stages[edge.stage].indices { needs.insert(graph.operation(index)) }
    }
    return needs
  }

  /// By a barrier, which is one of the two.
  private static func isOrdered(_ own: Place?, behind theirs: Place?) -> Bool {
    guard let own, let theirs else { return false }
    return own.queue == theirs.queue && own.place > theirs.place
      && (own.isBarrier || theirs.isBarrier)
  }

  private struct Place {
    var queue: QueueID
    var place: UInt64
    var isBarrier: Bool
    init?(_ id: OperationID, _ state: ClusterState) {
      let graph = state.graphs[id.graph.number]
      if graph.cell(id.index).phase == .declared { return nil }
      let stage = graph.stageNumber(of: id.index)
      queue = graph.queue(of: id.index, stage: stage)
      place = graph.enqueuePlace(of: id.index)
      isBarrier = graph.stages[stage].template.isBarrier
    }
  }

  var hasCycle: Bool {
    var left = Set(all)
    while true {
      let stuck = left.filter { id in (before[id] ?? []).contains(where: left.contains) }
      if stuck.count == left.count { return !left.isEmpty }
      left = stuck
    }
  }

  /// Whether each waits for the one before, and the first is the last.
  func isCycle(_ path: [OperationID]) -> Bool {
    path.count > 1 && path.first == path.last
      && zip(path, path.dropFirst()).allSatisfy { before[$1]?.contains($0) == true }
  }
}
