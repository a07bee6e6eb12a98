// A journal that went back (G12 to G14, S150): who was told what it does not know is told to begin
// anew; everybody else goes on, whatever was copied, cut or restarted.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

extension World {
  /// The coordinator begins again with a journal that lacks the newest turns, as after the restore
  /// of a backup.
  fileprivate mutating func restore(without lost: Int, isMarked: Bool = false) {
    journal.removeLast(lost)
    scheduler = replayed()
    for at in workers.indices { workers[at].peer.number += 1000 }
    beginLife(mayHaveGoneBack: isMarked)
  }

  @discardableResult
  fileprivate mutating func submit(
    _ names: [String], isExclusive: Bool = false
  ) throws -> GraphID {
    var submission = GraphSubmission(name: "g")
    for name in names {
      var template = OperationTemplate(name: name, work: .call(OperationType(name: "noop")))
      template.isExclusive = isExclusive
      submission.templates.append(template)
    }
    let reply = ask(.submit(submission))
    guard case .accepted(let graph, _, _)? = reply else {
      throw Refusal(.badRequest, "\(String(describing: reply))")
    }
    return graph
  }

  fileprivate func refusalCodes(_ at: Int) -> [Refusal.Code] { workers[at].refusals.map(\.code) }
}

@Suite(.checks("G12")) struct LivesTests {
  // What a worker was told after the copy was taken the restored journal does not know.
  @Test func whoKnowsMoreIsToldToBeginAnew() throws {
    var world = World()
    let worker = world.join("w1")
    let kept = try world.submit(["kept"])
    let copied = world.journal.count
    let lost = try world.submit(["lost"])
    #expect(world.workers[worker].assigned.map(\.attempt.operation.graph) == [kept, lost])
    world.restore(without: world.journal.count - copied)
    world.greet(worker)
    #expect(world.refusalCodes(worker) == [.otherHistory])
    #expect(world.workers[worker].assigned.count == 2, "nothing of it was reconciled")
    // Another session of the same name is taken, and gets what the journal knows.
    world.workers[worker].session.number += 1
    world.workers[worker].known = nil
    world.workers[worker].assigned = []
    world.greet(worker)
    #expect(world.workers[worker].assigned.map(\.attempt.operation.graph) == [kept])
    #expect(world.brokenInvariant == nil)
  }

  // Who was told nothing after the copy goes on as after any restart.
  @Test(.checks("G24")) func whoKnowsNoMoreGoesOn() throws {
    var world = World()
    let worker = world.join("w1")
    let graph = try world.submit(["kept"])
    let session = world.workers[worker].session
    let other = world.join("w2")
    world.workers[other].known = nil
    world.restore(without: 1)
    world.greet(worker)
    #expect(world.refusalCodes(worker) == [])
    #expect(world.workers[worker].session == session)
    #expect(world.workers[worker].assigned.map(\.attempt.operation.graph) == [graph])
  }

  // Two copies of one journal that both went on have the same epochs, and are told apart.
  @Test func twoFutures() throws {
    var world = World()
    let worker = world.join("w1")
    let fork = world
    world.restore(without: 0)
    world.greet(worker)
    var other = fork
    other.lives = 77
    other.restore(without: 0)
    #expect(other.scheduler.epoch == world.scheduler.epoch)
    other.workers[worker].known = world.workers[worker].known
    other.greet(worker)
    #expect(other.refusalCodes(worker) == [.otherHistory])
  }

  // Any number of ordinary restarts, and a snapshot: what was told stays known.
  @Test func restartsForgetNothing() throws {
    var world = World()
    let worker = world.join("w1")
    let early = try #require(world.workers[worker].known)
    for _ in 0..<5 {
      world.restore(without: 0)
      world.greet(worker)
    }
    let snapshot = world.scheduler.snapshot()
    world.scheduler = Scheduler()
    world.scheduler.restore(snapshot, commit: CommitIndex(UInt64(world.journal.count)))
    world.beginLife()
    world.workers[worker].peer.number += 1
    world.greet(worker)
    #expect(world.refusalCodes(worker) == [])
    #expect(world.scheduler.knows(early))
    var beyond = early
    beyond.commit = CommitIndex(1_000)
    #expect(!world.scheduler.knows(beyond))
  }

  // A coordinator that was started anew does not know when it last heard a worker.
  @Test func notHeardInThisLife() throws {
    var world = World()
    let worker = world.join("w1")
    func heard() throws -> Span? {
      guard case .workers(let rows)? = world.ask(.workers) else { return nil }
      return try #require(rows.first).lastHeard
    }
    world.tick(after: .seconds(1))
    #expect(try heard() == .seconds(1))
    world.restore(without: 0)
    #expect(try heard() == nil)
    world.greet(worker)
    #expect(try heard() == .zero)
  }

  // Lives are remembered up to a bound; who comes from before it is believed.
  @Test func aBoundOfLives() throws {
    var world = World()
    let first = world.scheduler.life
    for _ in 0..<Limits.rememberedLives - 1 { world.beginLife() }
    #expect(world.scheduler.counters.lives.count == Limits.rememberedLives)
    #expect(!world.scheduler.knows(HistoryMark(life: first, commit: CommitIndex(500))))
    world.beginLife()
    #expect(world.scheduler.counters.lives.count == Limits.rememberedLives)
    #expect(world.scheduler.knows(HistoryMark(life: first, commit: CommitIndex(500))))
    // Nobody can have been told more than there is.
    let beyond = CommitIndex(world.scheduler.lastCommit.number + 1)
    #expect(!world.scheduler.knows(HistoryMark(life: first, commit: beyond)))
  }

  // A subscriber's place: events behind the end of its life, or of no life of this journal.
  @Test func placesInTheLogOfEvents() throws {
    var world = World()
    try world.submit(["a"])
    let life = world.scheduler.life
    let told = world.scheduler.lastEvent
    world.restore(without: 0)
    try world.submit(["b"])
    #expect(world.scheduler.lastEvent > told)
    #expect(world.scheduler.knows(EventMark(life: life, sequence: told)))
    #expect(!world.scheduler.knows(EventMark(life: life, sequence: told + 1)))
    let foreign = CoordinatorLife(life.epoch, number: 99)
    #expect(!world.scheduler.knows(EventMark(life: foreign, sequence: 1)))
  }

  // A worker of the lost future may still run what is exclusive: it begins here once that
  // one's lease must have run out, and who asks is told why it waits.
  @Test(.checks("G16")) func exclusiveOnesWaitForTheLost() throws {
    var world = World()
    try world.submit(["lock"], isExclusive: true)
    world.restore(without: 0, isMarked: true)
    let worker = world.join("w1")
    try world.submit(["free"])
    #expect(world.workers[worker].assigned.count == 1, "only what is not exclusive")
    #expect(!world.scheduler.isSettled(at: world.now))
    let why = world.ask(.explain(Selection(graphs: .all)))
    #expect("\(String(describing: why))".contains("this journal was restored"))
    var seconds = 0
    while world.workers[worker].assigned.count < 2, seconds < 60 {
      world.tick(after: .seconds(1))
      world.report(worker)
      seconds += 1
    }
    #expect(seconds == 15, "LOST after the start")
    #expect(world.scheduler.isSettled(at: world.now))
    #expect(world.brokenInvariant == nil)
  }
}
