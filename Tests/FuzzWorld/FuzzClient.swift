// The client's side of a hostile case: a real mind with requests and a subscription, whose
// answers are what a broken or lying coordinator may say.

import MessageGenerators
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
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
    let deadline = generator.below(4) == 0 ? now + .seconds(Int64(generator.below(20))) : nil
    clients[at].mind.ask(
      request, as: id, bytes: Wire.encode(ClientMessage.request(id, request)), deadline: deadline
    ) { _ in tally.note(id.number) }
    var last = clients[at].lastOwnRequest
    let messages = clients[at].mind.takeMessages(lastOwnRequest: &last, at: now)
    clients[at].lastOwnRequest = last
    let peer = clients[at].peer
    for bytes in messages where report.problem == nil {
      record(bytes, .clientToCoordinator)
      deliverToCoordinator(client: changed(bytes, &generator, .clientToCoordinator), from: peer)
    }
    if tally.most.load(ordering: .relaxed) > 1 { fail("a request was answered twice") }
  }

  /// Mostly what people ask for, about what lives.
  private mutating func wish() -> ClientRequest {
    if generator.below(3) == 0 || generator.known.graphs.isEmpty {
      return .submit(goodSubmission())
    }
    while true {
      let message = generator.clientMessage(
        1 + generator.below(MessageGenerator.clientMessageKinds - 1))
      if case .request(_, let request) = message { return request }
    }
  }

  mutating func hostileWordToClient(_ at: Int) {
    let made = Wire.encode(
      generator.clientAnswer(generator.below(MessageGenerator.clientAnswerKinds)),
      wording: \.forShell)
    deliverToClient(at, changed(made, &generator, .coordinatorToClient))
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
      key: SubmissionKey(generator.below(3) == 0 ? "key-\(generator.below(4))" : ""), name: "g")
    if generator.below(3) == 0 {
      var own = QueueSettings(name: "own")
      own.maximumConcurrent = UInt32(1 + generator.below(3))
      graph.queues = [.named("default"), .own(own)]
    }
    for number in 0..<(1 + generator.below(4)) {
      graph.templates.append(goodTemplate(number, queues: graph.queues.count))
      let to = UInt32(number)
      for from in 0..<number where generator.below(3) == 0 {
        graph.groupEdges.append(
          GroupEdge(from: UInt32(from), to: to, policy: generator.member(EdgePolicy.self)))
      }
    }
    if let earlier = generator.known.graphs.last, generator.below(4) == 0 {
      graph.externalEdges = [
        ExternalEdge(
          from: OperationID(graph: earlier.graph, index: 0), to: 0,
          policy: generator.member(EdgePolicy.self))
      ]
    }
    graph.failurePolicy = generator.member(FailurePolicy.self)
    graph.isSuspended = generator.below(10) == 0
    graph.isDeclaredOnly = generator.below(10) == 0
    return graph
  }

  private mutating func goodTemplate(_ number: Int, queues: Int) -> OperationTemplate {
    var template = OperationTemplate(
      name: "t\(number)", count: UInt32(1 + generator.below(6)),
      work: generator.one(of: [.nothing, .command, .call(OperationType(name: "sum", version: 1))]))
    if template.work == .command { template.payload = Wire.encode(command: goodCommand()) }
    if queues > 0 { template.queue = UInt32(generator.below(queues)) }
    template.priority = generator.member(Priority.self)
    if generator.bool() { template.retry = goodRetry() }
    if generator.below(3) == 0 { template.timeout = generator.span() }
    if generator.below(3) == 0 { template.grace = generator.span() }
    if generator.below(8) == 0 { template.notBefore = .after(generator.span()) }
    if generator.below(8) == 0 { template.notBefore = .at(generator.wallTime()) }
    if generator.below(8) == 0 { template.maximumLosses = generator.number() }
    if generator.below(8) == 0 { template.allowedFailures = .exitStatuses([generator.number()]) }
    if generator.below(6) == 0 { template.maximumParallel = 1 }
    template.isFinal = generator.below(12) == 0
    template.isBarrier = template.count == 1 && generator.below(8) == 0
    template.wantsInputs = generator.bool()
    template.isHeld = generator.below(12) == 0
    return template
  }

  /// A command whose times are used by the worker that runs it.
  private mutating func goodCommand() -> CommandSpecification {
    var command = CommandSpecification(form: .arguments([CommandText("true")]))
    command.timeout = generator.maybe { $0.span() }
    command.grace = generator.maybe { $0.span() }
    command.stopSignal = generator.number()
    command.maximumOutputBytes = generator.number()
    return command
  }

  private mutating func goodRetry() -> RetryPolicy {
    RetryPolicy(
      maximum: generator.one(of: [0, 1, 3, 100]),
      reasons: generator.bool() ? [.any] : [.failed, .timeout],
      backoff: generator.span(), backoffPercent: generator.number(),
      maximumBackoff: generator.span())
  }
}
