// What subscriptions cost (G29): a turn looks at those whom its events may concern, a reply at
// those of its peer that have something to be told, and a step without news at none. Looks are
// counted, not time. And whoever is not looked at misses nothing, as a plain comparison shows.

import Citations
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import Testing

@testable import OpClusterCoordinator

@Suite struct SubscriptionCostTests {
  /// Subscriptions, what they select, and what was sent.
  private struct World {
    var subscriptions = Subscriptions(told: 0)
    var log: [EventRun] = []
    private(set) var filters: [Subscriptions.Key: EventFilter] = [:]
    private var keys: [PeerID: [Subscriptions.Key]] = [:]
    var sent: [Subscriptions.Key: [UInt64]] = [:]
    var order: [PeerID] = []
    var readings: [SliceQuestion] = []
    var replies = 0
    var stuck: Set<PeerID> = []
    var now = Instant.zero

    var last: UInt64 { log.last.map { $0.end - 1 } ?? 0 }

    mutating func subscribe(
      _ peer: UInt64, number: UInt64 = 1, _ selection: Selection, graphsOnly: Bool = false,
      includesOwn: Bool = false, credit: UInt32 = 10_000
    ) {
      let key = Subscriptions.Key(peer: PeerID(peer), number: number)
      let filter = EventFilter(
        selection, graphs: GraphSet(selection.graphs, living: GraphBitmap([GraphID(3)]), last: 5),
        graphsOnly: graphsOnly, includesOwn: includesOwn)
      filters[key] = filter
      keys[key.peer, default: []].append(key)
      var effects: [Subscriptions.Effect] = []
      subscriptions.add(
        EventSubscription(number: number, selection: selection, credit: credit), filter,
        peer: key.peer, by: .connection(key.peer), request: RequestID(number), decided: last,
        into: &effects)
      perform(effects)
    }

    mutating func submit(_ graph: UInt32, by peer: UInt64) {
      subscriptions.noteOwn(GraphID(graph), of: PeerID(peer))
      for key in keys[PeerID(peer)] ?? [] { filters[key]?.learnOwn(GraphID(graph)) }
    }

    /// Makes a turn durable without sending anything.
    mutating func happen(_ events: [(Event.Subject, Event.Kind, UInt32)]) {
      let before = log.count
      for (subject, kind, count) in events {
        let first = Event(
          sequence: last + 1, commit: CommitIndex(1), time: .unknown, subject: subject, kind: kind)
        log.append(EventRun(first: first, count: count))
      }
      subscriptions.tell(.runs(Array(log[before...])), through: last)
    }

    mutating func reply(to peer: UInt64) {
      var effects: [Subscriptions.Effect] = []
      subscriptions.flush(peer: PeerID(peer), stuck: stuck, into: &effects)
      perform(effects)
    }

    mutating func flush() {
      var effects: [Subscriptions.Effect] = []
      while subscriptions.flush(at: now, stuck: stuck, into: &effects) {}
      perform(effects)
    }

    /// Answers all readings from the log.
    mutating func read() {
      while !readings.isEmpty {
        let question = readings.removeFirst()
        var runs: [EventRun] = []
        for run in log {
          guard let part = run.suffix(from: question.from) else { continue }
          question.filter.forEachPart(of: part) { runs.append($0) }
        }
        var effects: [Subscriptions.Effect] = []
        let content = Slice.Content(from: question.from, runs: runs, next: last + 1, scopes: [])
        subscriptions.take(
          Slice(number: question.number, content: .success(content)), into: &effects)
        perform(effects)
      }
    }

    private mutating func perform(_ effects: [Subscriptions.Effect]) {
      for effect in effects {
        switch effect {
        case .read(let question): readings.append(question)
        case .reply: replies += 1
        case .tell(let peer, let batch):
          order.append(peer)
          let key = Subscriptions.Key(peer: peer, number: batch.subscription)
          sent[key, default: []] += batch.events.map(\.sequence)
        }
      }
    }

    /// Looks during some work.
    mutating func looks(_ work: (inout World) -> Void) -> Int {
      let before = subscriptions.looks
      work(&self)
      return subscriptions.looks - before
    }
  }

  private static func graph(_ number: UInt32) -> Selection { .graph(GraphID(number)) }

  /// A graph as it begins, runs and ends.
  private static func turns(_ number: UInt32) -> [[(Event.Subject, Event.Kind, UInt32)]] {
    let graph = Event.Subject.graph(GraphID(number))
    let operation = Event.Subject.operation(
      OperationID(graph: GraphID(number), index: 0), sequence: 1)
    return [
      [(graph, .graphSubmitted(operations: 4), 1), (operation, .isReady(true), 4)],
      [(operation, .isExecuting(true), 2)],
      [(operation, .isFinished(.succeeded), 4)],
      [(graph, .graphFinished(.succeeded), 1)],
    ]
  }

  // Single graphs of others, and the own graphs of others, of whom all but two are idle.
  @Test(.checks("G29"), arguments: [0, 500, 4_000])
  func aGraphCostsThoseWhomItConcerns(idle: Int) {
    var world = World()
    for peer in 0..<UInt64(idle) {
      switch peer % 3 {
      case 0: world.subscribe(100 + peer, Self.graph(1_000 + UInt32(peer)))
      case 1: world.subscribe(100 + peer, Selection(graphs: .numbers([])), includesOwn: true)
      default:
        let first = GraphID(2_000 + UInt32(peer))
        let last = GraphID(first.number + 300)
        world.subscribe(100 + peer, Selection(graphs: .numbers([.init(first, last)])))
      }
      world.submit(10_000 + UInt32(peer), by: 100 + peer)
    }
    world.subscribe(1, Selection(graphs: .numbers([])), includesOwn: true)
    world.subscribe(2, Selection(graphs: .all))
    world.subscribe(3, Selection(graphs: .all), graphsOnly: true)
    world.sent = [:]
    world.submit(7, by: 1)
    let looks = world.looks { world in
      for turn in Self.turns(7) {
        world.happen(turn)
        for peer in [1, 2, 50, 100, 101] as [UInt64] { world.reply(to: peer) }
        world.flush()
      }
    }
    #expect(looks < 40, "\(looks) looks beside \(idle)")
    #expect(world.sent.count == 3 && world.readings.isEmpty)
    #expect(world.sent.values.map(\.count).sorted() == [2, 12, 12])
  }

  // A step and a reply without news look at nobody, though some are behind without credit or wait
  // for their connections.
  @Test(.checks("G29"), arguments: [10, 1_000]) func withoutNewsNothingIsLookedAt(count: Int) {
    var world = World()
    for peer in 1...UInt64(count) {
      world.subscribe(peer, Selection(graphs: .all), credit: peer % 2 == 0 ? 1 : 100)
    }
    world.stuck = [PeerID(1), PeerID(3)]
    for turn in Self.turns(7) { world.happen(turn) }
    world.flush()
    let looks = world.looks { world in
      for _ in 0..<10 {
        world.flush()
        for peer in 1...4 as ClosedRange<UInt64> { world.reply(to: peer) }
      }
    }
    #expect(looks == 0)
    #expect(world.readings.isEmpty)
    // Each of them goes on where it stopped, and costs itself.
    let more = world.looks { world in
      world.stuck = []
      _ = world.subscriptions.grant(Subscriptions.Key(peer: PeerID(2), number: 1), 100)
      world.flush()
      world.read()
      world.flush()
    }
    #expect(more < 10)
    for peer in 1...3 as ClosedRange<UInt64> {
      let key = Subscriptions.Key(peer: PeerID(peer), number: 1)
      #expect(world.sent[key] == Array(1...world.last))
    }
  }

  // Who is not looked at is live where the others are: it does not read what did not concern it.
  @Test(.checks("S104")) func whoIsNotConcernedStaysWhereTheOthersAre() {
    var world = World()
    world.subscribe(1, Self.graph(8), credit: 2)
    for turn in Self.turns(7) {
      world.happen(turn)
      world.flush()
    }
    world.happen(Self.turns(8)[0])
    world.flush()
    _ = world.subscriptions.grant(.init(peer: PeerID(1), number: 1), 50)
    world.flush()
    #expect(world.readings.map(\.from) == [world.last - 2])
    world.read()
    #expect(world.sent[.init(peer: PeerID(1), number: 1)] == Array((world.last - 4)...world.last))
  }

  // A connection that takes nothing is behind whatever happens, as long as it is stuck (G28).
  @Test(.checks("G28")) func aStuckOneIsBehindWhateverHappens() {
    var world = World()
    world.subscribe(1, Self.graph(8))
    world.stuck = [PeerID(1)]
    for turn in Self.turns(7) { world.happen(turn) }
    world.flush()
    var effects: [Subscriptions.Effect] = []
    world.subscriptions.evict(
      at: Instant(nanoseconds: 30_000_000_000), patience: .seconds(30), backlog: world.last - 1,
      into: &effects)
    #expect(effects.count == 1 && world.subscriptions.isEmpty)
  }

  // Whoever leaves makes room for those that have all of their share on the way.
  @Test(.checks("G29")) func aGreaterShareIsUsed() {
    var world = World()
    world.subscriptions = Subscriptions(told: 0, eventsOnTheirWay: 4 * Limits.leastEventShare)
    for peer in 1...4 as ClosedRange<UInt64> {
      world.subscribe(peer, Selection(graphs: .all), credit: Limits.eventCredit)
    }
    let most = UInt32(Limits.leastEventShare)
    world.happen([
      (.operation(OperationID(graph: GraphID(1), index: 0), sequence: 1), .isReady(true), 2 * most)
    ])
    world.flush()
    #expect(world.sent.values.allSatisfy { $0.count == Int(most) } && world.readings.isEmpty)
    world.subscriptions.remove(peer: PeerID(2))
    world.subscriptions.remove(peer: PeerID(3))
    world.flush()
    #expect(world.readings.count == 2)
    world.read()
    #expect(world.sent[.init(peer: PeerID(1), number: 1)]?.count == 2 * Int(most))
    let looks = world.looks { $0.flush() }
    #expect(looks == 0)
  }

  // Many different ones, any events, connections that are stuck at times, credit that runs out:
  // each gets what its filter passes, once and in order, and in the order of the keys.
  @Test(.checks("S104", "S116"), arguments: 0..<60 as Range<UInt64>) func nobodyIsForgotten(
    seed: UInt64
  ) {
    var chance = MessageGenerator(state: seed &* 7_919 &+ 1)
    var world = World()
    for peer in 1...12 as ClosedRange<UInt64> {
      for number in 0..<UInt64(1 + chance.below(2)) {
        subscribe(peer, number, &world, &chance)
      }
    }
    #expect(world.replies == world.filters.count)
    for graph in 1...40 as ClosedRange<UInt32> {
      if chance.below(2) == 0 { world.submit(graph, by: UInt64(1 + chance.below(12))) }
    }
    for _ in 0..<120 {
      switch chance.below(6) {
      case 0...2: world.happen((0...chance.below(3)).map { _ in event(&chance) })
      case 3:
        world.stuck = Set((0..<chance.below(4)).map { _ in PeerID(UInt64(1 + chance.below(12))) })
      case 4: world.read()
      default: world.reply(to: UInt64(1 + chance.below(12)))
      }
      if chance.below(3) > 0 {
        world.order = []
        world.flush()
        #expect(world.order == world.order.sorted())
      }
      let key = Subscriptions.Key(
        peer: PeerID(UInt64(1 + chance.below(12))), number: UInt64(chance.below(2)))
      if chance.below(2) == 0 { _ = world.subscriptions.grant(key, chance.below(40)) }
    }
    finish(&world)
    for key in world.filters.keys.sorted() {
      var expected: [UInt64] = []
      for run in world.log {
        world.filters[key]?.forEachPart(of: run) { part in
          part.forEach { expected.append($0.sequence) }
        }
      }
      #expect(world.sent[key] ?? [] == expected, "seed \(seed): \(key)")
    }
  }

  private func finish(_ world: inout World) {
    world.stuck = []
    for key in world.filters.keys.sorted() { _ = world.subscriptions.grant(key, 100_000) }
    for _ in 0..<4 {
      world.flush()
      world.read()
    }
    let looks = world.looks { $0.flush() }
    #expect(looks == 0)
  }

  private func subscribe(
    _ peer: UInt64, _ number: UInt64, _ world: inout World, _ chance: inout MessageGenerator
  ) {
    func range() -> Selection.ClosedRangeOfGraphs {
      let first = 1 + chance.below(40)
      return .init(GraphID(first), GraphID(first + chance.below(9) * chance.below(9)))
    }
    var selection = Selection(graphs: .all)
    switch chance.below(6) {
    case 0: selection.graphs = .active
    case 1: selection.graphs = .numbers([range()])
    case 2: selection.graphs = .numbers([range(), range(), range(), range()])
    case 3: selection.graphs = .numbers([])
    case 4: selection = Self.graph(1 + chance.below(40))
    default: break
    }
    if chance.below(4) == 0 { selection.states = [.ready, .failed] }
    world.subscribe(
      peer, number: number, selection, graphsOnly: chance.below(4) == 0,
      includesOwn: chance.below(3) == 0, credit: chance.below(30))
  }

  /// Graphs do not end, for the plain comparison knows no time.
  private func event(
    _ chance: inout MessageGenerator
  ) -> (Event.Subject, Event.Kind, UInt32) {
    let graph = GraphID(1 + chance.below(40))
    switch chance.below(8) {
    case 0: return (.graph(graph), .graphSuspended(true), 1)
    case 1: return (.queue(QueueID(1)), .queueCount(3), 1)
    case 2: return (.worker(WorkerID(1)), .workerLost, 1)
    default:
      let kind: Event.Kind = chance.below(2) == 0 ? .isReady(true) : .isFinished(.failed)
      return (
        .operation(OperationID(graph: graph, index: chance.below(9)), sequence: 1), kind,
        1 + chance.below(3)
      )
    }
  }
}
