// What admission decides, by traces of requests at their moments: each says what its verdict is
// (G8, G27, G29, G33, G36). Pure.

import Citations
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

/// Admission, its peers and a clock that only the trace moves.
private struct Trace {
  var admission: AdmissionControl
  var peers: [UInt64: Peer] = [:]
  var now = Instant(nanoseconds: 5_000_000_000)
  private var lastRequest: UInt64 = 0

  init(
    memory: MemoryBound? = nil, diskReserve: UInt64 = 0, _ change: (inout Quotas) -> Void = { _ in }
  ) {
    var quotas = Quotas()
    change(&quotas)
    admission = AdmissionControl(quotas: quotas, memory: memory, diskReserve: diskReserve)
  }

  /// Somebody connects; greeted at once unless said otherwise.
  @discardableResult
  mutating func connect(
    _ number: UInt64, _ principal: Principal = .local, isGreeted: Bool = true
  ) -> AdmissionVerdict {
    peers[number] = Peer(
      id: PeerID(number), Sender(connection: RoutingID(number: UInt32(number)), key: nil),
      principal, at: now)
    return isGreeted ? decide(.hello(ClientHello(), AdmissionFacts()), number) : .allowed
  }

  mutating func decide(_ request: AdmissionRequest, _ number: UInt64) -> AdmissionVerdict {
    var peer = peers[number]!
    defer { peers[number] = peer }
    return admission.decide(request, from: &peer, at: now)
  }

  /// A request whose turn has come; what is allowed is answered at once.
  mutating func ask(
    _ what: ClientRequest, _ number: UInt64, bytes: Int = 1, _ facts: AdmissionFacts = .init()
  ) -> AdmissionVerdict {
    lastRequest += 1
    let verdict = decide(.request(RequestID(lastRequest), what, bytes: bytes, facts), number)
    if verdict == .allowed { peers[number]?.requestsInFlight -= 1 }
    return verdict
  }

  /// What the disk has left; whether that makes a difference.
  mutating func note(freeBytes: UInt64?) -> Bool { admission.disk.note(freeBytes) }

  /// A frame that has just come.
  mutating func send(_ what: ClientRequest, _ number: UInt64) -> AdmissionVerdict {
    lastRequest += 1
    let message = ClientMessage.request(RequestID(lastRequest), what)
    return decide(.frame(Wire.encode(message)), number)
  }
}

extension AdmissionVerdict {
  fileprivate var refusal: Refusal? {
    switch self {
    case .refused(_, let refusal), .turnedAway(_, let refusal), .putOut(_, let refusal): refusal
    default: nil
    }
  }
}

@Suite struct AdmissionControlTests {
  private static func graph(_ operations: UInt32) -> ClientRequest {
    .submit(arrayGraph("g", operations))
  }

  // MARK: - Who and where

  /// A role refuses what it may not, and nothing else.
  @Test(.checks("G36")) func aRoleThatMayNot() {
    var trace = Trace()
    trace.connect(1, .known(name: "anna", role: .observer))
    trace.connect(2, .known(name: "bert", role: .submitter))
    let refusal = trace.ask(Self.graph(1), 1).refusal
    #expect(refusal?.code == .forbidden)
    #expect(refusal?.message.contains("'anna' has the role observer") == true)
    #expect(trace.ask(.ping, 1) == .allowed)
    #expect(trace.ask(Self.graph(1), 2) == .allowed)
    // A key without any right for clients is not greeted, and not heard again.
    let verdict = trace.connect(3, .known(name: "w", role: .worker))
    guard case .putOut(.none, let farewell) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(farewell.code == .forbidden)
  }

  /// Blocks are added by the key that has submitted the graph, whatever the role.
  @Test(.checks("G36")) func blocksOfAnotherKey() {
    var trace = Trace()
    trace.connect(1, .known(name: "anna", role: .admin))
    let id = OperationID(graph: GraphID(7), index: 0)
    let own = AdmissionFacts(submitter: "anna")
    let foreign = AdmissionFacts(submitter: "bert")
    #expect(trace.ask(.addBlocks(id, []), 1, own) == .allowed)
    let refusal = trace.ask(.addBlocks(id, []), 1, foreign).refusal
    #expect(refusal?.message == "graph 7 was submitted with another key than 'anna'")
    trace.connect(2)
    #expect(trace.ask(.addBlocks(id, []), 2, foreign) == .allowed)
  }

  /// On a full disk submissions wait, and nothing else; with room again they do not.
  @Test(.checks("G8")) func aFullDisk() {
    var trace = Trace(diskReserve: 1_000)
    trace.connect(1)
    #expect(trace.ask(Self.graph(1), 1) == .allowed)
    #expect(trace.note(freeBytes: 999) == true)
    let refusal = trace.ask(Self.graph(1), 1).refusal
    #expect(refusal?.message == "the disk of the coordinator's journal is nearly full")
    #expect(trace.ask(.ping, 1) == .allowed)
    #expect(trace.decide(.workerWord(.workerWord), 1) == .allowed)
    #expect(trace.note(freeBytes: 1_000) == true)
    #expect(trace.ask(Self.graph(1), 1) == .allowed)
    // Nobody can tell how much there is.
    #expect(trace.note(freeBytes: nil) == false)
    #expect(!trace.admission.disk.isFull)
  }

  // MARK: - How much

  /// What is over the rate is told when to come again, and overtaken by nothing until then.
  @Test(.checks("G27", "G29")) func aQuotaIsExceeded() throws {
    var trace = Trace { $0.requestsPerSecond = 2 }
    trace.connect(1, .known(name: "anna", role: .admin))
    trace.connect(2, .known(name: "bert", role: .admin))
    for _ in 0..<2 * Limits.burstSeconds { #expect(trace.ask(.ping, 1) == .allowed) }
    let first = try #require(trace.ask(.ping, 1).refusal)
    #expect(first.code == .busy && first.message.contains("asks more than 2 requests"))
    let wait = try #require(first.retryAfter)
    #expect(wait == .milliseconds(500))
    trace.now = trace.now + wait - .milliseconds(1)
    #expect(trace.ask(.ping, 1).refusal?.message.contains("a request before this one") == true)
    // What gives back waits for no quota, and another key is none the worse.
    #expect(trace.ask(.grantCredit(subscription: 1, events: 1), 1) == .allowed)
    #expect(trace.ask(.ping, 2) == .allowed)
    trace.now = trace.now + .milliseconds(1)
    #expect(trace.ask(.ping, 1) == .allowed)
  }

  /// Operations count from the moment in which the scheduler has taken them to the end of their
  /// graph.
  @Test(.checks("G29")) func pendingOperations() {
    var trace = Trace { $0.pendingOperations = 10 }
    trace.connect(1, .known(name: "anna", role: .admin))
    #expect(trace.ask(Self.graph(8), 1) == .allowed)
    trace.admission.began(
      GraphID(1), operations: 8, queues: 0, RequestID(1), of: PeerID(1), by: .key("anna"))
    trace.admission.endTurn()
    let refusal = trace.ask(Self.graph(3), 1).refusal
    #expect(refusal?.lacksRoom == true && refusal?.retryAfter == .seconds(5))
    #expect(trace.ask(Self.graph(2), 1) == .allowed)
    trace.admission.ended(GraphID(1))
    #expect(trace.ask(Self.graph(3), 1) == .allowed)
  }

  /// Graphs of one turn are counted together; those that the scheduler did not take are forgotten
  /// with it.
  @Test(.checks("G29")) func noRoomInMemory() {
    var trace = Trace(memory: MemoryBound(resident: 90 << 20))
    trace.connect(1)
    func submit() -> AdmissionVerdict { trace.ask(Self.graph(40_000), 1) }
    #expect(submit() == .allowed)
    // It would fit alone: it is to come again, and not told that it never will.
    #expect(submit().refusal?.code == .busy)
    trace.admission.endTurn()
    #expect(submit() == .allowed)
    trace.admission.began(
      GraphID(3), operations: 40_000, queues: 0, RequestID(3), of: PeerID(1),
      by: .connection(PeerID(1)))
    trace.admission.endTurn()
    let refusal = submit().refusal
    #expect(refusal?.code == .busy && refusal?.lacksRoom == true)
    trace.admission.ended(GraphID(3))
    #expect(submit() == .allowed)
  }

  /// Connections of one key; the next one may begin anew on its connection.
  @Test(.checks("G29")) func connections() {
    var trace = Trace { $0.connections = 1 }
    let anna = Principal.known(name: "anna", role: .admin)
    #expect(trace.connect(1, anna) == .allowed)
    guard case .turnedAway(.none, let refusal) = trace.connect(2, anna) else {
      Issue.record("a second connection was let in")
      return
    }
    #expect(refusal.message == "key anna has 1 connections, the most that it may")
    trace.admission.left(trace.peers[1]!)
    #expect(trace.connect(2, anna) == .allowed)
  }

  // MARK: - Who does not obey

  /// Who asks on in spite of refusals is expelled, does not come in for a while with the same key,
  /// and is cut when it goes on saying things.
  @Test(.checks("G29", "G33")) func aBannedPeer() throws {
    var trace = Trace { $0.requestsPerSecond = 1 }
    let anna = Principal.known(name: "anna", role: .admin)
    trace.connect(1, anna)
    for _ in 0..<Limits.burstSeconds { #expect(trace.ask(.ping, 1) == .allowed) }
    for _ in 0..<Limits.refusalsInARow { #expect(trace.ask(.ping, 1).refusal != nil) }
    #expect(trace.ask(.ping, 1) == .expelled(.asksOn))
    trace.now = trace.now + .seconds(1)
    guard case .putOut(.none, let refusal) = trace.connect(2, anna) else {
      Issue.record("it was let in at once")
      return
    }
    #expect(refusal.retryAfter == Limits.banishment - .seconds(1))
    #expect(refusal.message.hasPrefix("key anna was put out"))
    trace.peers[2]?.isPutOut = true
    // Its hello was the first of them.
    for _ in 1..<CoordinatorLimits.framesInVain { #expect(trace.send(.ping, 2) == .ignored) }
    #expect(trace.send(.ping, 2) == .cut(.wasPutOut))
    #expect(trace.send(.ping, 2) == .ignored)
    #expect(trace.connect(3, .known(name: "bert", role: .admin)) == .allowed)
    trace.now = trace.now + Limits.banishment - .seconds(1)
    trace.admission.forgetIdle(at: trace.now)
    #expect(trace.connect(4, anna) == .allowed)
  }

  /// Who lets its answers lie is banned likewise, once.
  @Test(.checks("G27")) func whoDoesNotRead() {
    var trace = Trace()
    let anna = Principal.known(name: "anna", role: .admin)
    trace.connect(1, anna)
    #expect(trace.decide(.unread, 1) == .expelled(.readsNothing))
    trace.peers[1]?.isPutOut = true
    #expect(trace.decide(.unread, 1) == .ignored)
    #expect(trace.connect(2, anna).refusal?.code == .busy)
  }

  /// `CoordinatorLimits.framesInVain` without a hello, and a first message that is too large.
  @Test(.checks("G33")) func strangers() {
    var trace = Trace()
    trace.connect(1, isGreeted: false)
    for _ in 0..<CoordinatorLimits.framesInVain {
      #expect(trace.send(.ping, 1) == .allowed)
      #expect(trace.ask(.ping, 1).refusal?.code == .badRequest)
    }
    let messages = CoordinatorLimits.framesInVain + 1
    #expect(trace.ask(.ping, 1) == .cut(.saysNoHello(messages: messages)))
    trace.connect(2, isGreeted: false)
    let large = [UInt8](repeating: 0, count: Limits.helloBytes + 1)
    let what = "a first message of \(large.count) bytes"
    #expect(trace.decide(.frame(large), 2) == .malformed(what))
    #expect(trace.decide(.workerFrame(bytes: large.count), 2) == .malformed(what))
    #expect(trace.decide(.workerFrame(bytes: large.count - 1), 2) == .allowed)
  }

  /// A worker that reports what was never given to it, `Limits.liesPerWorker` times.
  @Test(.checks("G33")) func aWorkerThatLies() {
    var trace = Trace()
    trace.connect(1)
    for _ in 1..<Limits.liesPerWorker { #expect(trace.decide(.falseReport, 1) == .ignored) }
    #expect(trace.decide(.falseReport, 1).refusal?.code == .forbidden)
    trace.peers[1]?.isPutOut = true
    #expect(trace.decide(.falseReport, 1) == .ignored)
  }

  // MARK: - Whose turn it is

  /// Where too much waits, more is refused unread for a while, but for what gives back.
  @Test(.checks("G27")) func tooManyWait() {
    var trace = Trace()
    trace.connect(1)
    trace.connect(2)
    for _ in 0..<Limits.waitingFramesPerPrincipal { #expect(trace.send(.ping, 1) == .queued) }
    let refusal = trace.send(.ping, 1).refusal
    #expect(refusal?.message.hasPrefix("too many requests of") == true)
    #expect(trace.admission.queue.next(at: trace.now) != nil)
    // Nothing overtakes what was refused.
    #expect(trace.send(.ping, 1).refusal?.message.contains("a request before this one") == true)
    #expect(trace.send(.grantCredit(subscription: 1, events: 1), 1) == .queued)
    #expect(trace.send(.ping, 2) == .queued)
    trace.now = trace.now + QuotaBook.shortestWait
    // In turns: one of the other client, and one more of this one.
    for number: UInt64 in [2, 1] {
      let next = trace.admission.queue.next(at: trace.now)
      #expect(next?.frame.peer == PeerID(number))
    }
    #expect(trace.send(.ping, 1) == .queued)
    #expect(trace.decide(.frame([0xff]), 2) == .queued)
  }

  /// Two clients, of which one floods with requests of a millisecond: beside the other one, which
  /// asks for little, it has what the formula of `FairRequestQueue` gives it, and all of the time
  /// when it is alone.
  @Test(.checks("G29"), arguments: [true, false]) func aFlood(isAlone: Bool) {
    var trace = Trace()
    trace.connect(1, .known(name: "flood", role: .admin))
    trace.connect(2, .known(name: "other", role: .admin))
    let (cost, little) = (Span.milliseconds(1), Span(nanoseconds: 20_000))
    let (start, length) = (trace.now, Span.seconds(4))
    var used = Span.zero
    var longestWait = Span.zero
    var asked: Instant?
    var nextLittle = start
    while trace.now - start < length {
      while trace.admission.queue.count < 8 { #expect(trace.send(.ping, 1) == .queued) }
      if !isAlone, asked == nil, trace.now >= nextLittle {
        #expect(trace.send(.ping, 2) == .queued)
        asked = trace.now
      }
      guard let (frame, holder) = trace.admission.queue.next(at: trace.now) else {
        trace.now = trace.now + .milliseconds(1)
        continue
      }
      let time = holder == .key("flood") ? cost : little
      trace.now = trace.now + time
      trace.admission.queue.noteHearing(time, of: frame.size, by: holder, at: trace.now)
      if holder == .key("flood") {
        used = used + time
      } else {
        longestWait = max(longestWait, trace.now - (asked ?? start))
        asked = nil
        nextLittle = trace.now + .milliseconds(2)
      }
    }
    let share = length / 100 * Limits.sharePercent
    if isAlone {
      #expect(used >= length - cost)
    } else {
      #expect(used <= share + CoordinatorLimits.FairQueue.burst + cost)
      #expect(used >= share - cost)
      #expect(longestWait <= cost + little)
    }
  }

  /// The same trace has the same verdicts: admission is a value.
  @Test func admissionIsAValue() {
    var trace = Trace { $0.requestsPerSecond = 3 }
    trace.connect(1)
    var copy = trace
    for milliseconds in 0..<200 as Range<Int64> {
      let what = milliseconds % 7 == 0 ? Self.graph(2) : .ping
      trace.now = trace.now + .milliseconds(milliseconds)
      copy.now = copy.now + .milliseconds(milliseconds)
      let verdict = trace.ask(what, 1)
      #expect(verdict == copy.ask(what, 1))
    }
  }
}
