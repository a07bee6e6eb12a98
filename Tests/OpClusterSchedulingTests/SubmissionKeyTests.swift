// G19: how long a key stands for its graph: as long as the graph lives, and seven days from its
// end, over restarts by replay and by snapshot; and what a million of them cost.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SubmissionKeyTests {
  private let life = Limits.submissionKeyLife.wholeMilliseconds

  private func keyed(_ key: String, isHeld: Bool = false) -> GraphSubmission {
    var graph = GraphSubmission(key: SubmissionKey(key), name: "g")
    graph.templates = [noops("a")]
    graph.templates[0].isHeld = isHeld
    return graph
  }

  private func world() -> World {
    var world = World()
    world.wallShift = 1_000_000_000
    world.join("w1")
    return world
  }

  /// The next life of the coordinator: from the journal, or from a snapshot of the state.
  private func reborn(_ world: World, bySnapshot: Bool) -> World {
    var next = world
    if bySnapshot {
      next.scheduler = Scheduler()
      next.scheduler.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    } else {
      next.scheduler = world.replayed()
    }
    next.beginLife()
    return next
  }

  private func graph(_ reply: ClientReply?) -> (number: UInt32, isRepeated: Bool)? {
    guard case .accepted(let graph, _, let repeated)? = reply else { return nil }
    return (graph.number, repeated)
  }

  // To the millisecond, in the same life and in later ones; then the key is free.
  @Test(.checks("G19"), arguments: [false, true]) func sevenDaysFromTheEnd(bySnapshot: Bool) throws
  {
    var world = world()
    world.ask(.submit(keyed("k")))
    world.wallShift += 500
    let end = world.wall
    world.runAll()
    #expect(world.scheduler.keys.kept.map(\.since) == [end])
    for days: Int64 in [1, 6] {
      world.wallShift += days * 86_400_000 - (days == 6 ? 1 : 0)
      world = reborn(world, bySnapshot: bySnapshot)
      let again = try #require(graph(world.ask(.submit(keyed("k")))))
      #expect(again == (1, true))
    }
    world.wallShift += 1
    #expect(world.wall == end + Limits.submissionKeyLife)
    world = reborn(world, bySnapshot: bySnapshot)
    let free = try #require(graph(world.ask(.submit(keyed("k")))))
    #expect(free == (2, false))
    // The first graph ended long ago; the key is the second's.
    world.greet(0)
    world.runAll()
    #expect(world.scheduler.keys.kept.map(\.graph) == [GraphID(2)])
    #expect(world.scheduler.snapshot() == world.replayed().snapshot())
    #expect(world.brokenInvariant == nil)
  }

  // A graph that lives keeps its key, however long, and however many others come.
  @Test(.checks("G19")) func keysOfGraphsThatLive() throws {
    var world = world()
    world.ask(.submit(keyed("k", isHeld: true)))
    world.wallShift += 100 * life
    for number in 0..<200 { world.ask(.submit(keyed("other-\(number)"))) }
    world.runAll()
    let again = try #require(graph(world.ask(.submit(keyed("k", isHeld: true)))))
    #expect(again == (1, true))
    #expect(world.brokenInvariant == nil)
  }

  // Nothing in an old journal says when graphs ended; the next life begins to count.
  @Test(.checks("G19")) func journalsOfEarlierReleases() throws {
    var world = world()
    world.ask(.submit(keyed("k")))
    world.runAll()
    var old = world
    old.journal = world.journal.map { turn in
      (turn.commit, turn.records.filter { if case .keysDated = $0 { false } else { true } })
    }
    old.scheduler = old.replayed()
    #expect(old.scheduler.keys.hasUntimed)
    old.wallShift += 30 * life
    old.beginLife()
    #expect(old.scheduler.keys.kept.map(\.since) == [old.wall])
    old.wallShift += life - 1
    #expect(try #require(graph(old.ask(.submit(keyed("k"))))) == (1, true))
    old.wallShift += 1
    #expect(try #require(graph(old.ask(.submit(keyed("k"))))) == (2, false))
  }

  // A snapshot of an earlier release has the keys with the ends of their graphs.
  @Test(.checks("G19")) func snapshotsOfEarlierReleases() throws {
    var ending = EndedGraph(
      graph: GraphID(4), key: SubmissionKey("k"), fingerprint: keyed("k").earlierContentHash,
      outcome: .succeeded, operationCount: 1, outcomes: [0], outputs: [])
    ending.outcomes = [Outcome.succeeded.rawValue]
    var world = world()
    var counters = Counters()
    counters.lastGraph = 4
    world.scheduler = Scheduler()
    world.scheduler.restore(
      [.restoredEnding(ending), .restoredCounters(counters)], commit: CommitIndex(9))
    world.beginLife()
    #expect(try #require(graph(world.ask(.submit(keyed("k"))))) == (4, true))
    world = reborn(world, bySnapshot: true)
    #expect(try #require(graph(world.ask(.submit(keyed("k"))))) == (4, true))
    world.wallShift += life
    #expect(try #require(graph(world.ask(.submit(keyed("k"))))) == (5, false))
  }

  // `Limits.keysPerFact`: so many in one fact of a snapshot, the rest in further ones.
  @Test(.checks("G19")) func snapshotsOfManyKeys() {
    var world = world()
    let count = Limits.keysPerFact + 1
    for number in 1...count {
      let key = SubmissionKey("k\(number)")
      world.scheduler.state.keys.begin(key, known(UInt32(number)))
      world.scheduler.state.keys.end(key, of: GraphID(UInt32(number)), since: time(number))
    }
    let snapshot = world.scheduler.snapshot()
    let counts = snapshot.compactMap { record in
      if case .restoredKeys(let kept) = record { kept.count } else { nil }
    }
    #expect(counts == [Limits.keysPerFact, 1])
    var again = Scheduler()
    again.restore(snapshot, commit: world.scheduler.lastCommit)
    #expect(again.snapshot() == snapshot)
  }

  // MARK: - The table alone

  private func known(_ graph: UInt32) -> SubmissionKeys.Known {
    SubmissionKeys.Known(graph: GraphID(graph), fingerprint: UInt64(graph), operations: 1)
  }
  private func time(_ milliseconds: Int) -> WallTime {
    WallTime(milliseconds: Int64(milliseconds))
  }

  /// `Limits.keysForgottenAtOnce`: however many are over, a turn lets go of so many; the others
  /// are over nevertheless.
  @Test(.checks("G19")) func keysThatAreOver() {
    var keys = SubmissionKeys()
    let count = 10 * Limits.keysForgottenAtOnce
    for number in 1...count {
      keys.begin(SubmissionKey("\(number)"), known(UInt32(number)))
      keys.end(SubmissionKey("\(number)"), of: GraphID(UInt32(number)), since: time(1))
    }
    let later = time(1) + Limits.submissionKeyLife
    #expect(keys.known(SubmissionKey("\(count)"), at: later) == nil)
    keys.pass(later)
    #expect(keys.endedCount == count - Limits.keysForgottenAtOnce)
    for _ in 1..<10 { keys.pass(later) }
    #expect(keys.endedCount == 0)
    #expect(keys.livingCount == 0)
  }

  /// Names and slots that are used again, by chance.
  @Test func theTableAgainstAModel() {
    var keys = SubmissionKeys()
    var model: [String: (graph: UInt32, since: Int?)] = [:]
    var random = SplitMix(state: 7)
    let week = Int(Limits.submissionKeyLife.wholeMilliseconds)
    var now = 1
    for number in 1...5_000 {
      now += Int(random.next() % UInt64(week / 20))
      let key = "\(random.next() % 3)/\(random.next() % 50)"
      let isOver = model[key].map { $0.since.map { $0 + week <= now } ?? false } ?? true
      let found = keys.known(SubmissionKey(key), at: time(now))
      #expect((found == nil) == isOver)
      if isOver {
        keys.pass(time(now))
        keys.begin(SubmissionKey(key), known(UInt32(number)))
        model[key] = (UInt32(number), nil)
      } else if let (graph, since) = model[key] {
        #expect(found?.graph.number == graph)
        if since == nil, random.next() % 2 == 0 {
          keys.end(SubmissionKey(key), of: GraphID(graph), since: time(now))
          model[key] = (graph, now)
        }
      }
      #expect(keys.livingCount == model.values.count { $0.since == nil })
      #expect(keys.kept.count == keys.endedCount)
    }
    #expect(model.count > 100)
  }

  /// `Limits.submissionKeysPerPrincipal` and `Limits.submissionKeysRemembered`: at each and one
  /// past it; a million take as long each as a thousand do, and what they take is bounded.
  @Test(.checks("G19")) func aMillionKeys() {
    var keys = SubmissionKeys()
    var number: UInt32 = 0
    func add(_ owner: String) {
      number += 1
      let key = SubmissionKey("\(owner)/key-of-a-usual-length-\(number)")
      keys.begin(key, known(number))
      keys.end(key, of: GraphID(number), since: time(Int(number)))
    }
    func holds(_ owner: String, _ number: UInt32) -> Bool {
      keys.known(SubmissionKey("\(owner)/key-of-a-usual-length-\(number)"), at: time(1)) != nil
    }
    let each = Limits.submissionKeysPerPrincipal
    let most = Limits.submissionKeysRemembered
    for _ in 0..<each { add("one") }
    #expect(keys.endedCount == each && holds("one", 1))
    add("one")
    #expect(keys.endedCount == each && !holds("one", 1) && holds("one", 2))
    while keys.endedCount < most { add("owner-\(number % 10)") }
    #expect(holds("one", 2))
    let before = number
    add("owner-x")
    #expect(keys.endedCount == most && !holds("one", 2) && holds("one", 3))
    // One who submits for ever changes nothing for others once it has its part.
    let clock = ContinuousClock()
    let took = clock.measure { for _ in 0..<100_000 { add("owner-x") } }
    #expect(keys.endedCount == most && keys.livingCount == 0)
    #expect(holds("owner-\((before - 1) % 10)", before))
    #expect(keys.slotCount <= most + 1, "slots are used again")
    // 3 µs in a release build, 15 in a debug build; a walk over all would take milliseconds.
    #expect(took < .seconds(30), "\(took)")
  }
}

extension World {
  fileprivate var wall: WallTime {
    WallTime(milliseconds: now.nanoseconds / 1_000_000 + wallShift)
  }
}

private struct SplitMix {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
