// Who is told what, without a socket: gapless, never twice, within the credit, and put out when
// they leave it unused (S104, S115, G28). The journal is a list of runs.

import Citations
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import Testing

@testable import OpClusterCoordinator

@Suite struct SubscriptionTests {
  /// Subscriptions with a journal of runs behind them.
  private struct World {
    var subscriptions = Subscriptions(told: 0)
    /// Every run so far, durable.
    var log: [EventRun] = []
    var readings: [SliceQuestion] = []
    var batches: [EventBatch] = []
    /// The numbers of the events in the batches.
    var sequences: [UInt64] = []
    var replies: [ClientReply] = []
    var canTake = true
    var now = Instant.zero
    let peer = PeerID(1)

    var last: UInt64 { log.last.map { $0.end - 1 } ?? 0 }

    mutating func subscribe(
      number: UInt64 = 1, _ selection: Selection = Selection(graphs: .all), since: UInt64? = nil,
      backlogOnly: Bool = false, credit: UInt32 = 1_000, decided: UInt64? = nil,
      includesOwn: Bool = false, takesRuns: Bool = true
    ) {
      let wish = EventSubscription(
        number: number, selection: selection, since: since, backlogOnly: backlogOnly,
        includesOwn: includesOwn, takesRuns: takesRuns, credit: credit)
      let filter = EventFilter(
        selection, graphs: GraphSet(selection.graphs, living: .init(), last: 0), graphsOnly: false,
        includesOwn: includesOwn)
      var effects: [Subscriptions.Effect] = []
      subscriptions.add(
        wish, filter, peer: peer, by: .connection(peer), request: RequestID(number),
        decided: decided ?? last, into: &effects)
      perform(effects)
    }

    /// A turn becomes durable; its runs have these lengths.
    mutating func happen(_ counts: [UInt32], isSubscribed: Bool = true) {
      var runs: [EventRun] = []
      for count in counts {
        let subject = Event.Subject.operation(
          OperationID(graph: GraphID(1), index: 0), sequence: 1)
        let first = Event(
          sequence: last + 1, commit: CommitIndex(1), time: .unknown, subject: subject,
          kind: .isReady(true))
        let run = EventRun(first: first, count: count)
        runs.append(run)
        log.append(run)
      }
      subscriptions.tell(isSubscribed ? .runs(runs) : .inJournal, through: last)
      flush()
    }

    @discardableResult
    mutating func grant(_ events: UInt32, to number: UInt64 = 1) -> Bool {
      subscriptions.grant(Subscriptions.Key(peer: peer, number: number), events)
    }

    mutating func flush() {
      var effects: [Subscriptions.Effect] = []
      let stuck: Set<PeerID> = canTake ? [] : [peer]
      while subscriptions.flush(at: now, stuck: stuck, into: &effects) {}
      perform(effects)
    }

    /// Answers the oldest reading with at most so many runs.
    mutating func read(runs limit: Int = .max) {
      guard !readings.isEmpty else { return }
      let question = readings.removeFirst()
      let rows = Array(log.filter { $0.end > question.from }.prefix(limit))
      let content = Slice.Content(
        from: question.from, runs: rows.compactMap { $0.suffix(from: question.from) },
        next: rows.last?.end ?? question.from, scopes: [])
      var effects: [Subscriptions.Effect] = []
      subscriptions.take(
        Slice(number: question.number, content: .success(content)), into: &effects)
      perform(effects)
    }

    mutating func perform(_ effects: [Subscriptions.Effect]) {
      for effect in effects {
        switch effect {
        case .read(let question): readings.append(question)
        case .reply(_, _, let reply): replies.append(reply)
        case .tell(_, let batch):
          batches.append(batch)
          sequences += batch.events.map(\.sequence)
        }
      }
    }
  }

  @Test func liveFromNowOn() {
    var world = World()
    world.happen([3])
    world.subscribe()
    #expect(world.replies == [.subscribed(since: 3)])
    #expect(world.batches.map(\.caughtUp) == [true])
    #expect(world.batches.map(\.resumeAt) == [3])
    world.happen([2, 1])
    #expect(world.sequences == [4, 5, 6])
    #expect(world.batches.last?.resumeAt == 6)
    #expect(world.readings.isEmpty)
  }

  /// What was decided before is not told, and the answer waits until it is durable.
  @Test(.checks("S116")) func fromNowOnIsAfterWhatIsDecided() {
    var world = World()
    world.happen([3])
    world.subscribe(decided: 5)
    #expect(world.replies.isEmpty && world.batches.isEmpty)
    world.happen([2], isSubscribed: false)
    #expect(world.replies == [.subscribed(since: 5)])
    #expect(world.batches.map(\.caughtUp) == [true])
    world.happen([2])
    #expect(world.sequences == [6, 7])
    #expect(world.readings.isEmpty, "nothing had to be read")
  }

  /// What a peer is told can be sent before the others, ahead of a reply to it.
  @Test func onePeerIsFlushedAlone() {
    var world = World()
    world.subscribe()
    var effects: [Subscriptions.Effect] = []
    let subject = Event.Subject.operation(OperationID(graph: GraphID(1), index: 0), sequence: 1)
    let first = Event(
      sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject, kind: .isReady(true))
    world.subscriptions.tell(.runs([EventRun(first: first, count: 1)]), through: 1)
    world.subscriptions.flush(peer: PeerID(99), stuck: [], into: &effects)
    #expect(effects.isEmpty)
    world.subscriptions.flush(peer: world.peer, stuck: [], into: &effects)
    world.perform(effects)
    #expect(world.sequences == [1])
  }

  /// However many follow, the events of one message are in memory at once.
  @Test(.checks("G29")) func manyAreFlushedOneAfterTheOther() {
    var subscriptions = Subscriptions(told: 0)
    var effects: [Subscriptions.Effect] = []
    let peers = (1...3).map { PeerID(UInt64($0)) }
    for peer in peers {
      let selection = Selection(graphs: .all)
      let graphs = GraphSet(selection.graphs, living: .init(), last: 0)
      subscriptions.add(
        EventSubscription(number: 1, selection: selection, takesRuns: false),
        EventFilter(selection, graphs: graphs, graphsOnly: false), peer: peer,
        by: .connection(peer), request: RequestID(1), decided: 0, into: &effects)
    }
    effects = []
    let subject = Event.Subject.operation(OperationID(graph: GraphID(1), index: 0), sequence: 1)
    let first = Event(
      sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject, kind: .isReady(true))
    let count = Limits.eventCredit
    subscriptions.tell(
      .runs([EventRun(first: first, count: count / 2)]), through: UInt64(count / 2))
    var second = first
    second.sequence = UInt64(count / 2) + 1
    subscriptions.tell(.runs([EventRun(first: second, count: count / 2)]), through: UInt64(count))
    var flushed: [PeerID] = []
    var isMore = true
    while isMore {
      isMore = subscriptions.flush(at: .zero, stuck: [], into: &effects)
      var events = 0
      for case .tell(let peer, let batch) in effects {
        flushed.append(peer)
        events += batch.events.count
      }
      #expect(events <= Limits.entriesPerMessage)
      // Whoever has gone meanwhile is not missed.
      if flushed == [peers[0]] { subscriptions.remove(peer: peers[1]) }
      effects = []
    }
    #expect(flushed == [peers[0], peers[2]])
  }

  /// A graph of its own that comes while a slice is being read: the slice did not look for it.
  @Test func ownGraphsAreNotLostInASlice() {
    var world = World()
    world.subscribe(Selection(graphs: .numbers([])), since: 0, includesOwn: true)
    world.subscriptions.noteOwn(GraphID(1), of: world.peer)
    var effects: [Subscriptions.Effect] = []
    let subject = Event.Subject.operation(OperationID(graph: GraphID(1), index: 0), sequence: 1)
    let run = EventRun(
      first: Event(
        sequence: 1, commit: CommitIndex(1), time: .unknown, subject: subject,
        kind: .isReady(true)), count: 2)
    world.log.append(run)
    // The reader is ahead of the loop, and has left them out.
    let content = Slice.Content(from: 1, runs: [], next: 3, scopes: [])
    world.subscriptions.take(Slice(number: 1, content: .success(content)), into: &effects)
    world.subscriptions.tell(.runs([run]), through: 2)
    world.perform(effects)
    world.flush()
    #expect(world.sequences == [1, 2])
  }

  /// The backlog comes first, then the mark, then what happens; what happened meanwhile comes once.
  @Test func backlogThenLive() {
    var world = World()
    world.happen([3, 3])
    world.subscribe(since: 2)
    #expect(world.batches.isEmpty && world.readings.map(\.from) == [3])
    world.happen([2])
    world.read(runs: 1)
    #expect(world.replies == [.subscribed(since: 2)])
    #expect(world.sequences == [3])
    #expect(!world.batches.contains { $0.caughtUp })
    world.flush()
    world.read()
    #expect(world.sequences == [3, 4, 5, 6, 7, 8])
    #expect(world.batches.last?.caughtUp == true)
    world.happen([2])
    #expect(world.sequences == Array(3...10))
    #expect(world.batches.map(\.first) == [0, 1, 6])
  }

  /// The reader may be ahead of what the loop has told: nothing comes twice.
  @Test func readerAhead() {
    var world = World()
    world.happen([2])
    world.subscribe(since: 0)
    // Durable and read before the loop hears of it.
    let subject = Event.Subject.operation(OperationID(graph: GraphID(1), index: 0), sequence: 1)
    let early = EventRun(
      first: Event(
        sequence: 3, commit: CommitIndex(1), time: .unknown, subject: subject,
        kind: .isReady(true)), count: 2)
    world.log.append(early)
    world.read()
    #expect(world.sequences == [1, 2, 3, 4])
    world.subscriptions.tell(.runs([early]), through: 4)
    world.flush()
    world.happen([1])
    #expect(world.sequences == [1, 2, 3, 4, 5])
  }

  @Test func creditIsObeyed() {
    var world = World()
    world.subscribe(credit: 4)
    world.happen([3, 3])
    #expect(world.sequences == [1, 2, 3, 4])
    world.happen([1])
    #expect(world.readings.isEmpty, "without credit nothing is read")
    let isGranted = world.grant(10)
    #expect(isGranted)
    world.flush()
    world.read()
    #expect(world.sequences == Array(1...7))
    world.happen([1])
    #expect(world.sequences == Array(1...8))
    let isUnknown = !world.grant(1, to: 9)
    #expect(isUnknown)
  }

  @Test func aFullConnectionIsServedLater() {
    var world = World()
    world.subscribe()
    world.canTake = false
    world.happen([5])
    #expect(world.sequences.isEmpty && world.readings.isEmpty)
    world.canTake = true
    world.flush()
    world.read()
    #expect(world.sequences == [1, 2, 3, 4, 5])
  }

  /// Turns decided before anybody had subscribed are not at hand: the journal has them.
  @Test func turnsThatWereNotKept() {
    var world = World()
    world.subscribe()
    world.happen([2], isSubscribed: false)
    world.read()
    world.happen([1])
    #expect(world.sequences == [1, 2, 3])
  }

  /// A history that is asked too much ends nobody's subscription: it is asked again.
  @Test func aBusyHistoryIsAskedAgain() {
    var world = World()
    world.subscribe(credit: 2)
    world.happen([4])
    world.grant(5)
    world.flush()
    let busy = Refusal(.busy, "busy")
    for _ in 0..<3 {
      #expect(world.readings.count == 1)
      var effects: [Subscriptions.Effect] = []
      world.subscriptions.putBack(world.readings.removeFirst().number, busy, into: &effects)
      #expect(effects.isEmpty)
      world.flush()
    }
    #expect(world.readings.first?.room == 5)
    world.read()
    #expect(world.sequences == [1, 2, 3, 4])
    // One that has not begun is told to come again.
    world.subscribe(number: 2, since: 0)
    var effects: [Subscriptions.Effect] = []
    world.subscriptions.putBack(world.readings.removeFirst().number, busy, into: &effects)
    #expect(effects == [.reply(world.peer, RequestID(2), .refused(busy))])
    #expect(world.subscriptions.count(of: world.peer) == 1)
  }

  @Test func backlogOnlyEnds() {
    var world = World()
    world.happen([2])
    world.subscribe(since: 0, backlogOnly: true)
    world.read()
    #expect(world.sequences == [1, 2] && world.batches.last?.caughtUp == true)
    #expect(world.subscriptions.isEmpty)
  }

  /// Put out when both the time and the backlog are over their bounds, with the last sequence.
  @Test(.checks("G28")) func evictsWhoTakesNothing() {
    var world = World()
    world.subscribe(credit: 2)
    world.happen([100])
    #expect(world.sequences == [1, 2])
    func evict(after seconds: Int64, backlog: UInt64) -> [Subscriptions.Effect] {
      var effects: [Subscriptions.Effect] = []
      var copy = world.subscriptions
      copy.evict(
        at: Instant(nanoseconds: seconds * 1_000_000_000), patience: .seconds(30),
        backlog: backlog, into: &effects)
      #expect(copy.isEmpty == !effects.isEmpty)
      return effects
    }
    #expect(evict(after: 29, backlog: 97).isEmpty)
    #expect(evict(after: 30, backlog: 98).isEmpty)
    let effects = evict(after: 30, backlog: 97)
    guard case .reply(world.peer, RequestID(1), .refused(let refusal))? = effects.first else {
      Issue.record("not put out")
      return
    }
    #expect(refusal.code == .evicted && refusal.message.contains("last_seq=2"))
  }

  /// A graph that must be looked up first is left to the reader, and told live once it is known.
  @Test func unknownGraphsAreLookedUp() {
    var world = World()
    world.subscribe(Selection(graphs: .all, operation: "a"))
    world.happen([2])
    #expect(world.sequences.isEmpty && world.readings.count == 1)
    let question = world.readings.removeFirst()
    let content = Slice.Content(
      from: 1, runs: world.log, next: 3, scopes: [(GraphID(1), .everything)])
    var effects: [Subscriptions.Effect] = []
    world.subscriptions.take(
      Slice(number: question.number, content: .success(content)), into: &effects)
    world.perform(effects)
    world.happen([1])
    #expect(world.sequences == [1, 2, 3] && world.readings.isEmpty)
  }

  @Test func longTurnsAreSeveralMessages() {
    var world = World()
    world.subscribe(credit: 200_000)
    world.happen([UInt32(Limits.entriesPerMessage), 1])
    #expect(world.batches.dropFirst().map(\.events.count) == [Limits.entriesPerMessage, 1])
    #expect(world.batches.dropFirst().map(\.first) == [0, UInt64(Limits.entriesPerMessage)])
  }

  /// Whoever takes runs gets those of a turn as they are, cut only where its credit or a message
  /// ends; whoever does not gets each event. Both are told the same.
  @Test(.checks("S104", "S115"), arguments: [true, false])
  func runsAreForThoseWhoTakeThem(takesRuns: Bool) {
    var world = World()
    world.subscribe(credit: 10, takesRuns: takesRuns)
    world.happen([4, 1, 9])
    #expect(world.sequences == Array(1...10))
    let lengths = world.batches.flatMap(\.runs).map(\.count)
    #expect(lengths == (takesRuns ? [4, 1, 5] : Array(repeating: 1, count: 10)))
    world.grant(100)
    world.flush()
    world.read()
    #expect(world.sequences == Array(1...14))
    #expect(world.batches.flatMap(\.runs).last?.count == (takesRuns ? 4 : 1))
    #expect(world.batches.map(\.resumeAt).last == 14)
  }

  /// All together have no more on their way than a bound, in equal shares of no less than
  /// `Limits.leastEventShare`; what one has read is sent to it again.
  @Test(.checks("G29"), arguments: [1, 4, 40]) func manyShareTheWay(count: Int) {
    let onTheirWay = Limits.eventsOnTheirWay / 16
    var world = World()
    world.subscriptions = Subscriptions(told: 0, eventsOnTheirWay: onTheirWay)
    for number in 1...count {
      world.subscribe(number: UInt64(number), credit: Limits.eventCredit)
    }
    (world.batches, world.sequences) = ([], [])
    world.happen([Limits.eventCredit, 4_096])
    let share = max(Limits.leastEventShare, onTheirWay / UInt32(count))
    var sent: [UInt64: Int] = [:]
    for batch in world.batches { sent[batch.subscription, default: 0] += batch.events.count }
    #expect(sent.count == count && sent.values.allSatisfy { $0 == share })

    (world.batches, world.sequences) = ([], [])
    world.grant(Limits.eventsPerGrant, to: 1)
    world.flush()
    #expect(world.readings.count == 1, "nobody else has room")
    world.read()
    #expect(world.batches.map(\.subscription) == [1])
    #expect(world.sequences.first == UInt64(share + 1))
    #expect(world.sequences.count == Limits.eventsPerGrant)
  }

  /// Subscribers that have been sent much, at once and from the journal, keep no room for it: that
  /// of many would be more than all events that are on their way.
  @Test(.checks("G29")) func whatWasSentTakesNoMemory() {
    var world = World()
    for number: UInt64 in 1...8 { world.subscribe(number: number, credit: Limits.eventCredit) }
    world.happen([2_000, 10, 1])
    #expect(world.sequences.count == 8 * 2_011)
    #expect(world.subscriptions.capacity == 0)
    world.subscribe(number: 9, since: 0, credit: Limits.eventCredit)
    world.read()
    #expect(world.sequences.count == 9 * 2_011)
    #expect(world.subscriptions.capacity == 0)
  }

  /// Whatever comes in whatever order: every subscriber sees every event once, in order.
  @Test(.checks("S116"), arguments: 0..<40 as Range<UInt64>) func anyOrder(seed: UInt64) {
    var generator = MessageGenerator(state: seed &+ 1)
    var world = World()
    if seed % 2 == 0 { world.happen([generator.below(5) + 1]) }
    let begin = seed % 3 == 0 ? nil : world.last / 2
    world.subscribe(since: begin, credit: generator.below(20), takesRuns: seed % 4 > 0)
    let first = (begin ?? world.last) + 1
    for _ in 0..<200 {
      switch generator.below(6) {
      case 0, 1:
        let counts = (0...generator.below(3)).map { _ in generator.below(6) + 1 }
        world.happen(counts, isSubscribed: generator.below(4) > 0)
      case 2: world.read(runs: Int(generator.below(3)) + 1)
      case 3:
        world.grant(generator.below(30))
      case 4: world.canTake = generator.below(3) > 0
      default: world.flush()
      }
      let told = world.sequences
      #expect(told == Array((first..<(first + UInt64(told.count)))))
    }
    world.canTake = true
    world.grant(100_000)
    for _ in 0..<2_000 where world.sequences.last != world.last {
      world.flush()
      world.read(runs: 3)
    }
    #expect(world.sequences == Array(first...max(first, world.last)) || world.last < first)
    var next: UInt64 = 0
    for batch in world.batches {
      #expect(batch.first == next)
      next += UInt64(batch.events.count)
    }
    #expect(world.batches.count(where: \.caughtUp) == 1)
  }
}

/// Numbers from a seed.
struct MessageGenerator {
  var state: UInt64

  mutating func below(_ bound: UInt32) -> UInt32 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return UInt32(truncatingIfNeeded: state >> 32) % bound
  }
}
