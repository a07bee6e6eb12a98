// The client's half and the coordinator's half of following one's own graphs, both as they are,
// with nothing between them but lines of messages: random worlds of losses, crashes, busy answers,
// narrow credit and slices that come late (S115, S116, G19, G34). No thread, no clock.

import Citations
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling
import OpClusterWire
import Synchronization
import Testing

@testable import OpClusterClient
@testable import OpClusterCoordinator

@Suite struct OwnFollowingModelTests {
  /// The graph of each accepted submission, and what the observer has heard.
  final class Heard: Sendable {
    private struct State {
      var events: [Event] = []
      var accepted: [String: GraphID] = [:]
      var failures: [String] = []
    }
    private let state = Mutex(State())
    func take(_ batch: EventBatch) { state.withLock { $0.events += batch.events } }
    func take(_ name: String, _ result: Result<ClientReply, ClientError>) {
      state.withLock {
        switch result {
        case .success(.accepted(let graph, _, _)): $0.accepted[name] = graph
        case .success(let reply): $0.failures.append("\(name): \(reply)")
        case .failure(let error): $0.failures.append("\(name): \(error)")
        }
      }
    }
    var events: [Event] { state.withLock { $0.events } }
    var countOfEvents: Int { state.withLock { $0.events.count } }
    var accepted: [String: GraphID] { state.withLock { $0.accepted } }
    var countOfAccepted: Int { state.withLock { $0.accepted.count } }
    var failures: [String] { state.withLock { $0.failures } }
  }

  /// A coordinator as far as it concerns followers: decides, persists, then speaks.
  struct Coordinator {
    struct Turn {
      var runs: [EventRun] = []
      var last: UInt64
      var replies: [(peer: PeerID, answer: ClientAnswer)] = []
    }
    var life: CoordinatorLife
    var subscriptions: OpClusterCoordinator.Subscriptions
    var log: [EventRun] = []
    /// Decided, and not durable.
    var undurable: [Turn] = []
    var graphs: [String: GraphID] = [:]
    var unfinished: [GraphID] = []
    var readings: [SliceQuestion] = []
    var lastEvent: UInt64 = 0
    var lastGraph: UInt32 = 0

    init(epoch: UInt32, log: [EventRun], graphs: [String: GraphID]) {
      life = CoordinatorLife(Epoch(UInt64(epoch)), number: UInt64(epoch))
      self.log = log
      lastEvent = log.last.map { $0.end - 1 } ?? 0
      subscriptions = OpClusterCoordinator.Subscriptions(told: lastEvent)
      var living: [GraphID] = []
      for run in log {
        guard let graph = run.graph else { continue }
        if case .graphSubmitted = run.first.kind { living.append(graph) }
        if case .graphFinished = run.first.kind { living.removeAll { $0 == graph } }
      }
      unfinished = living
      let known = Set(log.compactMap(\.graph))
      self.graphs = graphs.filter { known.contains($0.value) }
      lastGraph = known.map(\.number).max() ?? 0
    }

    mutating func run(_ subject: Event.Subject, _ kind: Event.Kind, count: UInt32 = 1) -> EventRun {
      let first = Event(
        sequence: lastEvent + 1, commit: CommitIndex(1), time: .unknown, subject: subject,
        kind: kind)
      lastEvent += UInt64(count)
      return EventRun(first: first, count: count)
    }
  }

  struct World {
    var chance: MessageGenerator
    let heard = Heard()
    var client = ClientConversation(at: .zero)
    var coordinator = Coordinator(epoch: 1, log: [], graphs: [:])
    var peer = PeerID(1)
    var isConnected = false
    var toCoordinator: [ClientMessage] = []
    var toClient: [ClientAnswer] = []
    var now = Instant.zero
    var lastOwn: UInt64 = 0
    var lastRequest: UInt64 = 1
    var submitted = 0
    var epoch: UInt32 = 1
    var mayBeBusy = true
    /// The subscriptions that the coordinator has got.
    var subscribed = 0

    init(seed: UInt64) { chance = MessageGenerator(state: seed &* 0x9E37_79B9_7F4A_7C15) }

    mutating func below(_ bound: UInt32) -> UInt32 { chance.below(bound) }

    // The client

    mutating func submit() {
      submitted += 1
      lastRequest += 2
      let name = "g\(submitted)"
      let id = RequestID(lastRequest)
      let request = ClientRequest.submit(GraphSubmission(key: SubmissionKey(name), name: name))
      let heard = heard
      client.ask(
        request, as: id, bytes: Wire.encode(ClientMessage.request(id, request)), deadline: nil
      ) { heard.take(name, $0) }
    }

    mutating func connect() {
      isConnected = true
      peer = PeerID(peer.number + 1)
      toCoordinator = [client.connect(at: now)]
      toClient = []
    }

    mutating func lose() {
      guard isConnected else { return }
      isConnected = false
      client.socketLost(at: now, chance: 0)
      coordinator.subscriptions.remove(peer: peer)
      (toCoordinator, toClient) = ([], [])
    }

    mutating func send() throws {
      guard isConnected else { return }
      for bytes in client.takeMessages(lastOwnRequest: &lastOwn, at: now) {
        toCoordinator.append(try Wire.decodeClientMessage(bytes))
      }
    }

    mutating func hear() {
      guard isConnected, !toClient.isEmpty else { return }
      if case .broken(let error) = client.take(toClient.removeFirst(), at: now) {
        heard.take("the connection", .failure(error))
        lose()
      }
    }

    // The coordinator

    /// A turn with the next messages.
    mutating func decide(_ most: Int) {
      var turn = Coordinator.Turn(last: 0)
      var effects: [OpClusterCoordinator.Subscriptions.Effect] = []
      var own: [GraphID] = []
      for message in toCoordinator.prefix(most) {
        guard case .request(let id, let request) = message else {
          toClient.append(.welcome(version: 1, build: "", coordinator.life))
          continue
        }
        if mayBeBusy, below(20) == 0, !request.isUnsubscription {
          let busy = Refusal(.busy, "much to do", retryAfter: .milliseconds(1))
          toClient.append(.reply(id, .refused(busy)))
          continue
        }
        switch request {
        case .submit(let submission):
          let known = coordinator.graphs[submission.name]
          let graph = known ?? begin(submission.name, &turn)
          if known == nil { own.append(graph) }
          turn.replies.append(
            (peer, .reply(id, .accepted(graph, operations: 1, repeated: known != nil))))
        case .subscribe(let wish):
          subscribed += 1
          let filter = EventFilter(
            wish.selection, graphs: GraphSet(wish.selection.graphs, living: .init(), last: 0),
            graphsOnly: wish.graphsOnly, includesOwn: wish.includesOwn)
          coordinator.subscriptions.add(
            wish, filter, peer: peer, by: .connection(peer), request: id,
            decided: coordinator.undurable.last?.last ?? coordinator.subscriptions.told,
            into: &effects)
        case .unsubscribe(let number):
          coordinator.subscriptions.remove(.init(peer: peer, number: number))
          toClient.append(.reply(id, .done(CommitIndex(1))))
        case .grantCredit(let number, let events):
          _ = coordinator.subscriptions.grant(.init(peer: peer, number: number), events)
          toClient.append(.reply(id, .done(CommitIndex(1))))
        default: toClient.append(.reply(id, .done(CommitIndex(1))))
        }
      }
      toCoordinator.removeFirst(min(most, toCoordinator.count))
      while !coordinator.unfinished.isEmpty, below(2) == 0 {
        let graph = coordinator.unfinished.remove(
          at: Int(below(UInt32(coordinator.unfinished.count))))
        turn.runs.append(coordinator.run(.graph(graph), .graphFinished(.succeeded)))
      }
      for graph in own { coordinator.subscriptions.noteOwn(graph, of: peer) }
      turn.last = coordinator.lastEvent
      coordinator.undurable.append(turn)
      perform(effects)
    }

    /// Accepts a graph; it may end in the same turn.
    private mutating func begin(_ name: String, _ turn: inout Coordinator.Turn) -> GraphID {
      coordinator.lastGraph += 1
      let graph = GraphID(coordinator.lastGraph)
      coordinator.graphs[name] = graph
      turn.runs.append(coordinator.run(.graph(graph), .graphSubmitted(operations: 3)))
      let first = Event.Subject.operation(OperationID(graph: graph, index: 0), sequence: 1)
      turn.runs.append(coordinator.run(first, .isReady(true), count: 1 + below(4)))
      coordinator.unfinished.append(graph)
      return graph
    }

    /// The oldest turn becomes durable and is told.
    mutating func persist() {
      guard !coordinator.undurable.isEmpty else { return }
      let turn = coordinator.undurable.removeFirst()
      coordinator.log += turn.runs
      coordinator.subscriptions.tell(.runs(turn.runs), through: turn.last)
      var effects: [OpClusterCoordinator.Subscriptions.Effect] = []
      let stuck: Set<PeerID> = below(8) == 0 ? [peer] : []
      for reply in turn.replies where reply.peer == peer && isConnected {
        coordinator.subscriptions.flush(peer: peer, stuck: stuck, into: &effects)
        perform(effects)
        effects = []
        toClient.append(reply.answer)
      }
      guard below(3) > 0 else { return }
      flush(stuck)
    }

    mutating func flush(_ stuck: Set<PeerID> = []) {
      var effects: [OpClusterCoordinator.Subscriptions.Effect] = []
      while coordinator.subscriptions.flush(at: now, stuck: stuck, into: &effects) {}
      perform(effects)
    }

    /// Answers the oldest reading with some rows, as the reader does.
    mutating func read() {
      guard !coordinator.readings.isEmpty else { return }
      let question = coordinator.readings.removeFirst()
      let most = Int(below(12)) + 1
      var first = coordinator.log.endIndex
      while first > 0, coordinator.log[first - 1].end > question.from { first -= 1 }
      let rows = coordinator.log[first...].prefix(most)
      var runs: [EventRun] = []
      for row in rows {
        guard let whole = row.suffix(from: question.from) else { continue }
        question.filter.forEachPart(of: whole) { runs.append($0) }
      }
      let content = Slice.Content(
        from: question.from, runs: runs, next: rows.last?.end ?? question.from, scopes: [])
      var effects: [OpClusterCoordinator.Subscriptions.Effect] = []
      coordinator.subscriptions.take(
        Slice(number: question.number, content: .success(content)), into: &effects)
      perform(effects)
    }

    private mutating func perform(_ effects: [OpClusterCoordinator.Subscriptions.Effect]) {
      for effect in effects {
        switch effect {
        case .read(let question): coordinator.readings.append(question)
        case .reply(let to, let id, let reply):
          if to == peer, isConnected { toClient.append(.reply(id, reply)) }
        case .tell(let to, let batch):
          if to == peer, isConnected { toClient.append(.events(batch)) }
        }
      }
    }

    /// The coordinator is killed; some of what it had decided may have reached the disk.
    mutating func kill() {
      lose()
      var log = coordinator.log
      for turn in coordinator.undurable.prefix(Int(below(UInt32(coordinator.undurable.count) + 1)))
      { log += turn.runs }
      epoch += 1
      coordinator = Coordinator(epoch: epoch, log: log, graphs: coordinator.graphs)
    }

    // Time

    mutating func step() throws {
      now = now + .milliseconds(1)
      switch below(40) {
      case 0...5: submit()
      case 6...13: try send()
      case 14...20: decide(Int(below(4)) + 1)
      case 21...26: persist()
      case 27...30: read()
      case 31...37: for _ in 0...below(4) { hear() }
      case 38 where below(12) == 0: lose()
      case 39 where below(20) == 0: kill()
      default: if !isConnected { connect() } else { flush() }
      }
    }

    /// Lets everything that was submitted be accepted, end, and be told.
    mutating func finish() throws {
      mayBeBusy = false
      for _ in 0..<20_000 {
        now = now + .milliseconds(2)
        if !isConnected { connect() }
        try send()
        decide(8)
        persist()
        read()
        flush()
        for _ in 0..<toClient.count { hear() }
        if heard.countOfAccepted == submitted, coordinator.unfinished.isEmpty,
          coordinator.undurable.allSatisfy(\.runs.isEmpty), coordinator.readings.isEmpty,
          toClient.isEmpty, toCoordinator.isEmpty, hasHeardAll
        { return }
      }
    }

    var wanted: [Event] {
      let graphs = Set(heard.accepted.values)
      var events: [Event] = []
      for run in coordinator.log where run.graph.map(graphs.contains) ?? false {
        run.forEach { events.append($0) }
      }
      return events
    }
    func wanted(of graph: GraphID) -> [Event] {
      var events: [Event] = []
      for run in coordinator.log where run.graph == graph { run.forEach { events.append($0) } }
      return events
    }
    var hasHeardAll: Bool { heard.countOfEvents >= wanted.count }
  }

  static func run(seed: UInt64) throws -> String? {
    var world = World(seed: seed)
    let heard = world.heard
    let credit = [3, 20, 1_000][Int(world.below(3))]
    let wish = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true,
      takesRuns: seed % 3 > 0, credit: UInt32(credit))
    world.mayBeBusy = seed % 2 == 0
    world.connect()
    let observation = world.client.follow(wish) { heard.take($0) }
    for _ in 0..<(200 + Int(world.below(1_500))) { try world.step() }
    try world.finish()
    observation.cancel()
    if !heard.failures.isEmpty { return "seed \(seed): \(heard.failures.prefix(3))" }
    if heard.accepted.count != world.submitted {
      return "seed \(seed): \(heard.accepted.count) of \(world.submitted) accepted"
    }
    let (told, wanted) = (heard.events, world.wanted)
    for graph in Set(heard.accepted.values).sorted() {
      let (mine, whole) = (told.filter { $0.graph == graph }, wanted.filter { $0.graph == graph })
      if mine != whole {
        return "seed \(seed), graph \(graph.number): heard \(mine.map(\.sequence)), "
          + "there is \(whole.map(\.sequence))"
      }
    }
    return nil
  }

  /// Of each own graph everything is heard, once and in order, whatever is lost on the way.
  @Test(.checks("S115", "S116", "G19", "G34")) func gaplessInRandomWorlds() throws {
    for seed in 1...60 as ClosedRange<UInt64> {
      if let problem = try Self.run(seed: seed) { Issue.record("\(problem)") }
    }
  }

  /// A program that goes on adding graphs after a loss subscribes once for what it knew, and once
  /// more for what had been accepted without an answer, however many submissions are on their way.
  @Test(.checks("S115", "G19")) func renewedOnceForAllThatIsOnItsWay() throws {
    var world = World(seed: 1)
    let heard = world.heard
    world.mayBeBusy = false
    world.connect()
    let wish = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true, credit: 1_000)
    let observation = world.client.follow(wish) { heard.take($0) }
    world.decide(1)
    world.hear()
    for _ in 0..<40 { world.submit() }
    try world.send()
    world.decide(30)
    world.persist()
    world.lose()
    #expect(heard.countOfAccepted == 0 && world.subscribed == 1)
    world.connect()
    world.decide(1)
    world.hear()
    for _ in 0..<300 {
      for _ in 0..<3 { world.submit() }
      try world.send()
      world.decide(4)
      world.persist()
      world.read()
      world.flush()
      // The answers come while further submissions are on their way.
      for _ in 0..<min(8, world.toClient.count) { world.hear() }
    }
    try world.finish()
    #expect(world.subscribed == 3)
    #expect(heard.countOfAccepted == world.submitted && heard.failures.isEmpty)
    for graph in Set(heard.accepted.values) {
      #expect(heard.events.filter { $0.graph == graph } == world.wanted(of: graph))
    }
    observation.cancel()
  }
}

extension ClientRequest {
  fileprivate var isUnsubscription: Bool {
    if case .unsubscribe = self { true } else { false }
  }
}
