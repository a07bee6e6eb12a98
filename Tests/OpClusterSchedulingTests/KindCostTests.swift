// What a kind of demand costs that nobody has asked for before (G29): it is compared with those
// workers that may serve it. Looks are counted, not time.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct KindCosts {
  private func world(workers count: Int) -> World {
    var world = World()
    world.invariantChecks = .never
    for at in 0..<count {
      let peer = UInt64(500 + at)
      var worker = FakeWorker(name: "w\(at)", session: WorkerSession(peer), peer: PeerID(peer))
      worker.capacity.cpus = ResourceAmount(4)
      worker.labels = [
        Label(key: "all", value: "yes"), Label(key: "half", value: "\(at % 2)"),
        Label(key: "own", value: "\(at)"), Label(key: "own", value: "again"),
      ]
      if at % 64 == 3 {
        worker.capacity.custom = [Resources.NamedAmount(name: "token", amount: ResourceAmount(2))]
        worker.types.append(OperationType(name: "rare"))
      }
      world.workers.append(worker)
      world.greet(at)
    }
    return world
  }

  private func looks(_ world: inout World, _ body: (inout World) -> Void) -> Int {
    let before = world.scheduler.looks
    body(&world)
    return world.scheduler.looks - before
  }

  private func graph(_ requirements: [LabelRequirement]) -> GraphSubmission {
    var submission = GraphSubmission(name: "g")
    submission.templates = [noops("a", 1)]
    submission.templates[0].demand.cpus = ResourceAmount(1)
    submission.templates[0].requirements = requirements
    return submission
  }

  private func own(_ at: Int) -> LabelRequirement {
    LabelRequirement(key: "own", values: ["\(at)"])
  }

  // Each graph asks for one worker that nobody has asked for before, by a label.
  @Test(.checks("G29", "S61"), arguments: [64, 256, 1_024])
  func anOperationForOneWorkerIsComparedWithThatOne(count: Int) {
    var world = world(workers: count)
    var most = 0
    for at in 0..<40 {
      let wanted = (7 * at + 1) % count
      let made = looks(&world) {
        $0.ask(.submit(graph([own(wanted), LabelRequirement(key: "all", values: ["yes"])])))
      }
      most = max(most, made)
      #expect(world.workers[wanted].assigned.count == 1)
      world.runAll()
    }
    #expect(world.scheduler.brokenInvariant() == nil)
    #expect(world.endings.count == 40)
    #expect(most < 450, "\(most) looks beside \(count) workers")
  }

  // One graph has an operation for each worker: more kinds than have a bit of their own, and in a
  // large cluster more than are compared in advance.
  @Test(.checks("G29", "S61"), arguments: [64, 256, 1_200])
  func anOperationForEachWorkerIsComparedWithThatOne(count: Int) {
    var world = world(workers: count)
    var submission = GraphSubmission(name: "g")
    submission.templates = (0..<count).map { at in
      var template = graph([own(at)]).templates[0]
      template.name = "operation-\(at)"
      return template
    }
    let made = looks(&world) {
      $0.ask(.submit(submission))
      // A turn places only so many.
      for _ in 0..<count / 1_024 { $0.tick(after: .zero) }
    }
    let idle = (0..<count).filter { world.workers[$0].assigned.isEmpty }
    #expect(idle == [])
    #expect(world.scheduler.brokenInvariant() == nil)
    world.runAll()
    #expect(world.endings.count == 1)
    #expect(made < 300 * count, "\(made) looks for \(count) operations and workers")
  }

  // The slot of a kind that is gone gets another: those that served the former one forget it. Kinds
  // of labels, types and named resources take turns, and workers come, leave and change theirs.
  @Test(.checks("S61", "S128"), arguments: 0..<4)
  func formerKindsAreForgotten(seed: UInt64) {
    var random = Seeded(state: seed)
    var world = world(workers: 70)
    var held: [GraphID] = []
    for round in 0..<120 {
      var submission = graph([])
      switch Int.random(in: 0..<6, using: &random) {
      case 0: submission.templates[0].requirements = [own(Int.random(in: 0..<80, using: &random))]
      case 1:
        submission.templates[0].requirements = [
          LabelRequirement(key: "half", values: ["0"]), own(Int.random(in: 0..<80, using: &random)),
        ]
      case 2:
        let values = (0...Int.random(in: 0..<70, using: &random)).map { "\($0)" }
        submission.templates[0].requirements = [
          LabelRequirement(key: "own", values: values + ["again"])
        ]
      case 3:
        submission.templates[0].demand.custom = [
          Resources.NamedAmount(
            name: "token", amount: ResourceAmount(Int64.random(in: 1...3, using: &random)))
        ]
      case 4:
        submission.templates[0].work = .call(OperationType(name: "rare"))
      default:
        submission.templates[0].requirements = [
          LabelRequirement(key: "half", values: ["\(Int.random(in: 0..<3, using: &random))"])
        ]
      }
      submission.templates[0].isHeld = true
      guard case .accepted(let graph, _, _) = world.ask(.submit(submission)) else {
        Issue.record("refused")
        return
      }
      held.append(graph)
      if Int.random(in: 0..<3, using: &random) == 0, !held.isEmpty {
        let gone = held.remove(at: Int.random(in: 0..<held.count, using: &random))
        world.ask(.cancel(.selection(.graph(gone)), reason: "", grace: nil))
      }
      if Int.random(in: 0..<8, using: &random) == 0 {
        let at = Int.random(in: 0..<70, using: &random)
        world.workers[at].labels.swapAt(0, 1)
        world.workers[at].labels[2].value = "\(Int.random(in: 0..<80, using: &random))"
        world.workers[at].peer = PeerID(world.workers[at].peer.number + 1_000)
        world.greet(at)
      }
      if round % 4 != 0 { continue }
      let slots = world.scheduler.classes.kindSlots
      #expect((0..<slots).compactMap { world.scheduler.brokenKind($0) } == [])
      #expect(world.scheduler.brokenInvariant() == nil)
    }
  }
}
