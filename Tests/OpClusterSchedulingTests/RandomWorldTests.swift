// Random graphs, random workers, random requests: after every turn the invariants hold, replaying
// the journal gives the same state, and in the end everything has ended.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

/// SplitMix64: small, known, the same everywhere.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &self) }
}

@Suite struct RandomWorld {
  // G4 S7 S8 S96 S148 S149, whatever the order of things
  @Test(.checks("S1", "S7", "S8", "S148", "S149", "G4"), arguments: 0..<150)
  func everythingEndsAndReplays(seed: UInt64) {
    var chance = Seeded(state: seed)
    // Small pages, so that few operations change together; the copies have the usual ones.
    var world = World(
      pageBits: UInt32(seed % 3),
      share: TurnShare(graphs: Int(1 + seed % 4), endSteps: UInt32(seed % 7)))
    world.invariantChecks = .afterEveryTurn
    for at in 0..<(1 + chance.below(3)) { world.join("w\(at)", cpus: Int64(1 + chance.below(3))) }
    world.ask(.createQueue(QueueSettings(name: "other")))
    var submitted: [UInt32: GraphSubmission] = [:]
    for _ in 0..<(2 + chance.below(4)) { submit(randomGraph(&chance), &world, &submitted) }
    for _ in 0..<120 {
      act(&world, &chance)
      if chance.chance(5) { runAgain(&world, &chance, &submitted) }
    }
    heal(&world)
    #expect(world.brokenInvariant == nil, "seed \(seed)")
    #expect(world.scheduler.graphs.numbers.isEmpty, "seed \(seed): graphs left")
    expectSameReplay(world, seed)
    expectLegalEvents(world, seed)
  }

  private func randomGraph(_ chance: inout Seeded) -> GraphSubmission {
    var submission = GraphSubmission(name: "random")
    let count = 2 + chance.below(6)
    for at in 0..<count {
      var template = noops("t\(at)", UInt32(chance.chance(40) ? 1 + chance.below(6) : 1))
      if chance.chance(15) { template.work = .nothing }
      if chance.chance(30) { template.retry.maximum = 2 }
      if chance.chance(20) { template.maximumParallel = 1 }
      if chance.chance(10), template.count == 1 { template.isBarrier = true }
      template.priority = Priority.allCases.randomElement(using: &chance) ?? .normal
      submission.templates.append(template)
      for before in 0..<at where chance.chance(30) {
        let same = submission.templates[before].count == template.count && chance.chance(50)
        submission.groupEdges.append(
          GroupEdge(
            from: UInt32(before), to: UInt32(at),
            policy: EdgePolicy.allCases.randomElement(using: &chance) ?? .finished,
            match: same ? .sameIndex : .all))
      }
    }
    RandomSteering.decorate(&submission, &chance)
    if chance.chance(30) { submission.failurePolicy = .cancel }
    if chance.chance(20) { submission.failurePolicy = .stop }
    return submission
  }

  private func submit(
    _ submission: GraphSubmission, _ world: inout World,
    _ submitted: inout [UInt32: GraphSubmission]
  ) {
    if case .accepted(let graph, _, _)? = world.ask(.submit(submission)) {
      submitted[graph.number] = submission
    }
  }

  /// S11: a graph that has ended once more, without some of what has succeeded in it.
  private func runAgain(
    _ world: inout World, _ chance: inout Seeded, _ submitted: inout [UInt32: GraphSubmission]
  ) {
    guard let ending = world.endings.randomElement(using: &chance),
      var submission = submitted[ending.row.graph.number]
    else { return }
    let share = chance.chance(30) ? 100 : 60
    var reused = OperationRuns(graph: ending.row.graph)
    for (at, outcome) in ending.outcomes.enumerated()
    where outcome == Outcome.succeeded.rawValue && chance.chance(share) {
      reused.append(UInt32(at))
    }
    submission.continued = ContinuedGraph(graph: ending.row.graph, reused: reused)
    submission.isDeclaredOnly = false
    submit(submission, &world, &submitted)
  }

  /// S142: an operation that a worker has waits for others, or gives up.
  private func waitForSomething(_ world: inout World, _ chance: inout Seeded, _ at: Int) {
    guard let waiter = world.workers[at].executing.first?.operation else { return }
    if chance.chance(20) {
      world.ask(.endWait(waiter))
    } else if chance.chance(10) {
      world.ask(.beginWait(waiter, .queue("default")))
    } else {
      let graph = chance.chance(50) ? waiter.graph.number : UInt32(1 + chance.below(5))
      let ids = (0..<(1 + chance.below(3))).map { _ in operation(graph, UInt32(chance.below(6))) }
      world.ask(.beginWait(waiter, .operations(ids)))
    }
  }

  private func act(_ world: inout World, _ chance: inout Seeded) {
    let at = chance.below(world.workers.count)
    world.now = world.now + .milliseconds(Int64(chance.below(30)))
    switch chance.below(20) {
    case 0...2:
      if let dispatch = world.workers[at].assigned.first(where: { $0.awaits.isEmpty }) {
        world.start(at, dispatch.attempt.operation)
      }
    case 3...5:
      if let running = world.workers[at].executing.first {
        world.end(at, running.operation, chance.chance(25) ? .failure() : .success)
      }
      world.workers[at].clearAwaits()
    case 6...8: world.report(at)
    case 9:
      world.input(.gone(world.workers[at].peer))
      world.workers[at].peer.number += 1000
      world.greet(at)
    case 10: cancelSomething(&world, &chance)
    case 11: waitForSomething(&world, &chance, at)
    case 12:
      if let running = world.workers[at].executing.first {
        world.workers[at].outbox.append(.progress(running, fraction: 0.5, text: ""))
      }
    case 13:
      world.ask(
        .changeQueue(
          "default",
          QueueChange(
            limit: chance.chance(50) ? .unlimited : .atMost(UInt32(chance.below(3))),
            isSuspended: chance.chance(30))))
    case 14...18:
      if let request = RandomSteering.request(&chance) { world.ask(request) }
    default:
      let graph = UInt32(1 + chance.below(3))
      world.ask(.setPriority(.operations([operation(graph, UInt32(chance.below(4)))]), .high))
      world.ask(RandomSteering.edge(&chance))
      if chance.chance(60) { world.ask(RandomSteering.removedEdge(of: world, &chance)) }
    }
  }

  private func cancelSomething(_ world: inout World, _ chance: inout Seeded) {
    let toBeSkipped = RandomSteering.toBeSkipped(world)
    if let id = toBeSkipped.randomElement(using: &chance), chance.chance(50) {
      world.ask(.cancel(.operations([id]), reason: "", grace: nil))
      return
    }
    let graph = GraphID(UInt32(1 + chance.below(4)))
    var selection = Selection.graph(graph)
    if chance.chance(70) { selection.operation = "t\(chance.below(4))" }
    world.ask(.cancel(.selection(selection), reason: "", grace: nil))
  }

  /// The fault-free end: everything answers, everything must end. Behind the last end nothing more
  /// happens; there are few kinds of turns here, and many of each.
  private func heal(_ world: inout World) {
    world.invariantChecks = .inProportion
    world.ask(.changeQueue("default", QueueChange(limit: .unlimited, isSuspended: false)))
    for _ in 0..<4 {
      world.runAll()
      RandomSteering.letGo(&world)
    }
    for _ in 0..<40 where !world.scheduler.graphs.numbers.isEmpty {
      world.runAll()
      world.followEnds()
      world.tick(after: .milliseconds(100))
    }
  }

  private func expectSameReplay(_ world: World, _ seed: UInt64) {
    let replayed = world.replayed()
    #expect(replayed.snapshot() == world.scheduler.snapshot(), "seed \(seed): replay differs")
    #expect(replayed.lastEvent == world.scheduler.lastEvent, "seed \(seed): events differ")
  }

  private func expectLegalEvents(_ world: World, _ seed: UInt64) {
    var own: [OperationID: UInt32] = [:]
    var finished: Set<OperationID> = []
    var ready: Set<OperationID> = []
    for event in world.events {
      guard case .operation(let id, let sequence) = event.subject else { continue }
      #expect(sequence == own[id, default: 0] + 1, "seed \(seed): \(id) has a gap")
      own[id] = sequence
      if case .isReady(let value) = event.kind {
        let isNew = value ? ready.insert(id).inserted : ready.remove(id) != nil
        #expect(isNew, "seed \(seed): \(id) is told ready \(value) twice")
      }
      if case .isExecuting(true) = event.kind { #expect(!finished.contains(id)) }
      if case .isFinished = event.kind { #expect(finished.insert(id).inserted) }
    }
  }

  // At any moment, not only in the end; and a snapshot gives the same again.
  @Test(.checks("G4"), arguments: 200..<260)
  func snapshotsAndReplaysAgreeInTheMiddle(seed: UInt64) {
    var chance = Seeded(state: seed)
    // Small pages, so that few operations change together; the copies have the usual ones.
    var world = World(
      pageBits: UInt32(seed % 3), share: TurnShare(graphs: 2, endSteps: UInt32(seed % 5)))
    // Its copies are checked, where a check sees what the replay has missed.
    world.invariantChecks = .never
    world.join("w1")
    world.join("w2")
    world.ask(.createQueue(QueueSettings(name: "other")))
    var submitted: [UInt32: GraphSubmission] = [:]
    for _ in 0..<3 { submit(randomGraph(&chance), &world, &submitted) }
    var restored: RestoredCopy?
    for _ in 0..<30 {
      for _ in 0..<3 { act(&world, &chance) }
      if chance.chance(30) { runAgain(&world, &chance, &submitted) }
      let snapshot = world.scheduler.snapshot()
      let replayed = world.replayed()
      #expect(replayed.snapshot() == snapshot, "seed \(seed)")
      #expect(replayed.brokenInvariant() == nil, "seed \(seed)")
      if var copy = restored {
        copy.catchUp(with: world)
        #expect(copy.scheduler.snapshot() == snapshot, "seed \(seed): restored, it differs later")
        restored = copy
      }
      // Snapshots wait for what is pending, so none is taken there.
      if world.scheduler.hasPendingEnds { continue }
      let copy = RestoredCopy(of: world, snapshot)
      #expect(copy.scheduler.brokenInvariant() == nil, "seed \(seed)")
      #expect(copy.scheduler.snapshot() == snapshot, "seed \(seed): restored differs")
      if restored == nil || chance.chance(30) { restored = copy }
    }
  }
}

/// What a coordinator has that took a snapshot and the turns of the journal behind it.
private struct RestoredCopy {
  var scheduler = Scheduler()
  private var turns: Int

  init(of world: World, _ snapshot: [Record]) {
    scheduler.restore(snapshot, commit: world.scheduler.lastCommit)
    turns = world.journal.count
  }

  mutating func catchUp(with world: World) {
    for turn in world.journal[turns...] { scheduler.replay(turn.records, commit: turn.commit) }
    turns = world.journal.count
  }
}
