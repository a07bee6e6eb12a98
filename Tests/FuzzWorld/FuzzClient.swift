// The client's side of a hostile case: a real mind with requests and a subscription, whose
// answers are what a broken or lying coordinator may say.

import MessageDice
import OpClusterClient
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import Synchronization

struct FuzzClient {
  var mind: ClientConversation
  var peer = PeerID(0)
  var lastRequest: UInt64 = 1
  var lastOwnRequest: UInt64 = 0
  let tally = FuzzTally()
  /// Kept, so that the subscription goes on.
  var observation: Observation?

  /// What its user sees of the answers.
  var reader: FuzzReader

  init(at now: Instant, wall: WallTime, isNarrow: Bool) {
    mind = ClientConversation(at: now)
    reader = FuzzReader(now: wall, isNarrow: isNarrow)
  }
}

/// Every request is answered once, whatever comes.
final class FuzzTally: Sendable {
  private let answers = Mutex<[UInt64: Int]>([:])
  let most = Atomic<Int>(0)
  func note(_ number: UInt64) {
    let count = answers.withLock { answers in
      answers[number, default: 0] += 1
      return answers[number] ?? 0
    }
    most.max(count, ordering: .relaxed)
  }
}

extension FuzzCase {
  /// A fresh connection, welcomed as a coordinator does it.
  mutating func openClient(_ at: Int) {
    if clients[at].mind.isOpen { clients[at].mind.socketLost(at: now, chance: 0.5) }
    clients[at].peer = newPeer()
    _ = clients[at].mind.connect(at: now)
    let welcome = ClientAnswer.welcome(version: 1, build: "fuzz", scheduler.life)
    _ = clients[at].mind.take(welcome, at: now)
    if clients[at].observation == nil {
      let wish = EventSubscription(
        number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true, credit: 64)
      clients[at].observation = clients[at].mind.follow(wish) { _ in }
    }
  }

  /// Asks for something, and sends what the mind lets go.
  mutating func clientSpeaks(_ at: Int) {
    let id = RequestID(clients[at].lastRequest)
    clients[at].lastRequest += 2
    let request = wish()
    let tally = clients[at].tally
    let deadline = dice.below(4) == 0 ? now + .seconds(Int64(dice.below(20))) : nil
    clients[at].mind.ask(
      request, as: id, bytes: Wire.encode(ClientMessage.request(id, request)), deadline: deadline
    ) { _ in tally.note(id.number) }
    var last = clients[at].lastOwnRequest
    let messages = clients[at].mind.takeMessages(lastOwnRequest: &last, at: now)
    clients[at].lastOwnRequest = last
    let peer = clients[at].peer
    for bytes in messages where report.problem == nil {
      record(bytes, .clientToCoordinator)
      deliverToCoordinator(client: changed(bytes, &dice, .clientToCoordinator), from: peer)
    }
    if tally.most.load(ordering: .relaxed) > 1 { fail("a request was answered twice") }
  }

  /// Mostly what people ask for, about what lives.
  private mutating func wish() -> ClientRequest {
    if dice.below(3) == 0 || dice.known.graphs.isEmpty { return .submit(goodSubmission()) }
    while true {
      let message = dice.clientMessage(1 + dice.below(Dice.clientMessageKinds - 1))
      if case .request(_, let request) = message { return request }
    }
  }

  mutating func hostileWordToClient(_ at: Int) {
    let made = Wire.encode(dice.clientAnswer(dice.below(Dice.clientAnswerKinds)))
    deliverToClient(at, changed(made, &dice, .coordinatorToClient))
  }

  mutating func deliverToClient(_ at: Int, _ bytes: [UInt8]) {
    let answer: ClientAnswer
    do {
      answer = try Wire.decodeClientAnswer(bytes)
      count(.coordinatorToClient, isRejected: false)
    } catch {
      count(.coordinatorToClient, isRejected: true)
      return openClient(at)
    }
    trace?("client \(at) hears \(answer)")
    clients[at].reader.read(answer)
    if case .broken = clients[at].mind.take(answer, at: now) { openClient(at) }
  }

  /// A small graph that is mostly accepted, with every kind of thing in it.
  mutating func goodSubmission() -> GraphSubmission {
    var graph = GraphSubmission(
      key: SubmissionKey(dice.below(3) == 0 ? "key-\(dice.below(4))" : ""), name: "g")
    if dice.below(3) == 0 {
      var own = QueueSettings(name: "own")
      own.maximumConcurrent = UInt32(1 + dice.below(3))
      graph.queues = [.named("default"), .own(own)]
    }
    for number in 0..<(1 + dice.below(4)) {
      graph.templates.append(goodTemplate(number, queues: graph.queues.count))
      let to = UInt32(number)
      for from in 0..<number where dice.below(3) == 0 {
        graph.groupEdges.append(
          GroupEdge(from: UInt32(from), to: to, policy: dice.member(EdgePolicy.self)))
      }
    }
    if let earlier = dice.known.graphs.last, dice.below(4) == 0 {
      graph.externalEdges = [
        ExternalEdge(
          from: OperationID(graph: earlier.graph, index: 0), to: 0,
          policy: dice.member(EdgePolicy.self))
      ]
    }
    graph.failurePolicy = dice.member(FailurePolicy.self)
    graph.isSuspended = dice.below(10) == 0
    graph.isDeclaredOnly = dice.below(10) == 0
    return graph
  }

  private mutating func goodTemplate(_ number: Int, queues: Int) -> OperationTemplate {
    var template = OperationTemplate(
      name: "t\(number)", count: UInt32(1 + dice.below(6)),
      work: dice.one(of: [.nothing, .command, .call(OperationType(name: "sum", version: 1))]))
    if template.work == .command { template.payload = Wire.encode(command: goodCommand()) }
    if queues > 0 { template.queue = UInt32(dice.below(queues)) }
    template.priority = dice.member(Priority.self)
    if dice.bool() { template.retry = goodRetry() }
    if dice.below(3) == 0 { template.timeout = dice.span() }
    if dice.below(3) == 0 { template.grace = dice.span() }
    if dice.below(8) == 0 { template.notBefore = .after(dice.span()) }
    if dice.below(8) == 0 { template.notBefore = .at(dice.wallTime()) }
    if dice.below(8) == 0 { template.maximumLosses = dice.number() }
    if dice.below(8) == 0 { template.allowedFailures = .exitStatuses([dice.number()]) }
    if dice.below(6) == 0 { template.maximumParallel = 1 }
    template.isFinal = dice.below(12) == 0
    template.isBarrier = template.count == 1 && dice.below(8) == 0
    template.wantsInputs = dice.bool()
    template.isHeld = dice.below(12) == 0
    return template
  }

  /// A command whose times are used by the worker that runs it.
  private mutating func goodCommand() -> CommandSpecification {
    var command = CommandSpecification(form: .arguments([CommandText("true")]))
    command.timeout = dice.maybe { $0.span() }
    command.grace = dice.maybe { $0.span() }
    command.stopSignal = dice.number()
    command.maximumOutputBytes = dice.number()
    return command
  }

  private mutating func goodRetry() -> RetryPolicy {
    RetryPolicy(
      maximum: dice.one(of: [0, 1, 3, 100]), reasons: dice.bool() ? [.any] : [.failed, .timeout],
      backoff: dice.span(), backoffPercent: dice.number(), maximumBackoff: dice.span())
  }
}
