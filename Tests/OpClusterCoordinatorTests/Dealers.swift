// A client and a worker made of a DEALER socket and the codec, that say what a test tells them to.

import OpClusterCoordinator
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

/// One connection to one of the coordinator's sockets.
final class Dealer {
  private let socket: Socket

  init(_ endpoint: Endpoint, keys: SocketKeys? = nil) throws {
    let fresh = try Socket(role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: keys)
    try fresh.connect(endpoint)
    socket = consume fresh
  }

  /// What becomes of the connection.
  func nextEvent() throws -> ConnectionEvent {
    let deadline = MonotonicClock.now() + patience
    var poller = SocketPoller()
    _ = poller.add(socket, for: [])
    while true {
      if let event = socket.nextConnectionEvent() { return event }
      guard MonotonicClock.now() < deadline else { throw Impatience(awaited: "an event") }
      _ = try poller.wait(until: deadline)
    }
  }

  /// What has become of it since the last look; nil: nothing.
  func nextEventNow() -> ConnectionEvent? { socket.nextConnectionEvent() }

  /// Sends as soon as it is connected and has room, which it must have within so many nanoseconds.
  func send(_ bytes: [UInt8], within patience: Int64 = patience) throws {
    let deadline = MonotonicClock.now() + patience
    var poller = SocketPoller()
    _ = poller.add(socket, for: .writable)
    while true {
      switch socket.send(bytes) {
      case .sent: return
      case .wouldBlock:
        guard MonotonicClock.now() < deadline else { throw Impatience(awaited: "room to send") }
        while socket.nextConnectionEvent() != nil {}
        _ = try poller.wait(until: MonotonicClock.now() + 50_000_000)
      case .unreachable: throw Impatience(awaited: "a connection")
      case .failed(let error): throw error
      }
    }
  }

  /// The next message; nil when none comes for so long (milliseconds).
  func receive(within milliseconds: Int64 = patience / 1_000_000) throws -> [UInt8]? {
    let deadline = MonotonicClock.now() + milliseconds * 1_000_000
    var poller = SocketPoller()
    _ = poller.add(socket)
    while true {
      switch socket.receive() {
      case .message(let bytes, _): return bytes
      case .nothing: break
      case .malformed: throw Impatience(awaited: "one frame")
      case .failed(let error): throw error
      }
      while socket.nextConnectionEvent() != nil {}
      guard MonotonicClock.now() < deadline else { return nil }
      _ = try poller.wait(until: deadline)
    }
  }
}

/// A client. Heartbeats are counted, event batches are kept until they are asked for.
final class TestClient {
  let dealer: Dealer
  private(set) var heartbeats = 0
  /// What the last heartbeat said of the disk.
  private(set) var diskWait = Span.zero
  private(set) var batches: [EventBatch] = []
  /// Every byte that it was sent, for those who look for something in them.
  private(set) var heard: [UInt8] = []
  private var replies: [RequestID: ClientReply] = [:]
  private var lastRequest: UInt64 = 0

  /// Connects and says hello. Who is not welcomed within so many milliseconds may try again.
  init(
    _ service: Service, keys: SocketKeys? = nil, within milliseconds: Int64 = patience / 1_000_000
  ) throws {
    dealer = try Dealer(service.ready.clientEndpoint, keys: keys)
    try dealer.send(Wire.encode(ClientMessage.hello(ClientHello(build: "test"))))
    guard case .welcome(let version, _, _)? = try next(within: milliseconds) else {
      throw Impatience(awaited: "a welcome")
    }
    #expect(version == 1)
  }

  /// The next answer of whatever kind.
  func next(within milliseconds: Int64 = patience / 1_000_000) throws -> ClientAnswer? {
    guard let bytes = try dealer.receive(within: milliseconds) else { return nil }
    heard += bytes
    return try Wire.decodeClientAnswer(bytes)
  }

  /// Sends without waiting for the answer, as soon as there is room, within so many nanoseconds.
  @discardableResult
  func send(_ request: ClientRequest, within patience: Int64 = patience) throws -> RequestID {
    lastRequest += 1
    let id = RequestID(lastRequest)
    try dealer.send(Wire.encode(ClientMessage.request(id, request)), within: patience)
    return id
  }

  func ask(_ request: ClientRequest) throws -> ClientReply {
    try reply(to: send(request))
  }

  func reply(to id: RequestID) throws -> ClientReply {
    while true {
      if let reply = replies.removeValue(forKey: id) { return reply }
      try takeNext()
    }
  }

  /// Whether the answer is there within so many milliseconds.
  func hasReply(to id: RequestID, within milliseconds: Int64) throws -> Bool {
    let deadline = MonotonicClock.now() + milliseconds * 1_000_000
    while replies[id] == nil {
      let left = (deadline - MonotonicClock.now()) / 1_000_000
      guard left > 0, let answer = try next(within: left) else { return false }
      take(answer)
    }
    return true
  }

  private func takeNext() throws {
    guard let answer = try next() else { throw Impatience(awaited: "an answer") }
    take(answer)
  }

  private func take(_ answer: ClientAnswer) {
    switch answer {
    case .reply(let id, let reply): replies[id] = reply
    case .events(let batch): batches.append(batch)
    case .heartbeat(let wait):
      heartbeats += 1
      diskWait = wait
    case .welcome: break
    }
  }

  func awaitHeartbeat() throws {
    let before = heartbeats
    while heartbeats == before { try takeNext() }
  }

  /// The next batch of events.
  func nextBatch() throws -> EventBatch {
    while batches.isEmpty { try takeNext() }
    return batches.removeFirst()
  }

  /// Submits; the graph's number.
  func submit(_ submission: GraphSubmission) throws -> GraphID {
    let reply = try ask(.submit(submission))
    guard case .accepted(let graph, _, _) = reply else {
      throw Impatience(awaited: "an accepted graph, not \(reply)")
    }
    return graph
  }

  /// Rows of a selection, in pages of `limit`.
  func operations(_ selection: Selection, limit: UInt32 = 0) throws -> [OperationRow] {
    var rows: [OperationRow] = []
    while true {
      let reply = try ask(.operations(selection, after: rows.last?.id, limit: limit))
      guard case .operations(let page, let more) = reply else {
        throw Impatience(awaited: "rows, not \(reply)")
      }
      rows += page
      if !more { return rows }
    }
  }

  func graphs(_ selection: Selection, limit: UInt32 = 0) throws -> [GraphRow] {
    var rows: [GraphRow] = []
    while true {
      let reply = try ask(.graphs(selection, after: rows.last?.graph, limit: limit))
      guard case .graphs(let page, let more) = reply else {
        throw Impatience(awaited: "rows, not \(reply)")
      }
      rows += page
      if !more { return rows }
    }
  }

  /// Waits until a graph has ended.
  func awaitEnd(of graph: GraphID) throws -> GraphRow {
    var found: GraphRow?
    try eventually("the end of graph \(graph.number)") {
      found = try graphs(.graph(graph)).first
      return found?.state != .running
    }
    return found!
  }
}

/// A worker that does what it is told at once, and keeps what it saw.
final class TestWorker {
  let dealer: Dealer
  let name: String
  private(set) var welcome: Welcome?
  private(set) var dispatched: [Dispatch] = []
  private(set) var templates: [TemplateAnnouncement] = []
  private(set) var acknowledged: UInt64 = 0
  private(set) var logRequests: [LogRequest] = []
  private(set) var refusals: [Refusal] = []
  /// Where others read from its store; nil: it has none.
  private let store: ContentSource?
  private(set) var grants: [GrantOrder] = []
  private var lastReport: UInt64 = 0
  private var lastOrders: UInt64 = 0

  init(
    _ service: Service, name: String = "w1", cpus: Int64 = 4, session: UInt64 = 1,
    executing: [AttemptID] = [], keys: SocketKeys? = nil,
    store: ContentSource? = nil
  ) throws {
    self.name = name
    self.store = store
    dealer = try Dealer(service.ready.workerEndpoint, keys: keys)
    try hello(cpus: cpus, session: session, executing: executing)
  }

  func hello(
    cpus: Int64 = 4, session: UInt64 = 1, assigned: [AttemptID] = [], executing: [AttemptID] = []
  ) throws {
    var hello = WorkerHello(
      name: name, session: WorkerSession(session),
      capacity: Resources(cpus: ResourceAmount(cpus), memoryBytes: 1 << 34), assigned: assigned,
      executing: executing)
    hello.store = store
    lastReport = 0
    lastOrders = 0
    welcome = nil
    try dealer.send(Wire.encode(WorkerMessage.hello(hello)))
    while welcome == nil { try #require(try takeNext()) }
  }

  /// Takes one message in; false when none comes for so long (milliseconds).
  @discardableResult
  func takeNext(within milliseconds: Int64 = patience / 1_000_000) throws -> Bool {
    guard let bytes = try dealer.receive(within: milliseconds) else { return false }
    switch try Wire.decodeCoordinatorMessage(bytes) {
    case .welcome(let words): welcome = words
    case .refused(let refusal): refusals.append(refusal)
    case .logRequest(let request): logRequests.append(request)
    case .orders(let orders):
      guard orders.number > 0 else { break }
      #expect(orders.number == lastOrders + 1, "orders come without a gap")
      lastOrders = orders.number
      acknowledged = max(acknowledged, orders.acknowledged)
      dispatched += orders.dispatches
      grants += orders.grants
      templates += orders.templates
      if !orders.recalls.isEmpty { try giveBack(orders.recalls) }
    }
    return true
  }

  /// Sends a report; returns its number.
  @discardableResult
  func report(_ entries: [WorkerReport.Entry] = []) throws -> UInt64 {
    guard let conversation = welcome?.conversation else { throw Impatience(awaited: "a welcome") }
    lastReport += 1
    let report = WorkerReport(
      conversation: conversation, number: lastReport, entries: entries, ordersTaken: lastOrders)
    try dealer.send(Wire.encode(WorkerMessage.report(report)))
    return lastReport
  }

  /// Waits for attempts and gives them out, oldest first.
  func awaitDispatches(_ count: Int) throws -> [Dispatch] {
    while dispatched.count < count { try #require(try takeNext()) }
    defer { dispatched.removeFirst(count) }
    return Array(dispatched.prefix(count))
  }

  func awaitAcknowledgement(of report: UInt64) throws {
    while acknowledged < report { try #require(try takeNext()) }
  }

  /// Finishes what comes within a time (milliseconds), if anything does.
  func workWhatComes(within milliseconds: Int64) throws {
    try takeNext(within: milliseconds)
    let batch = dispatched
    dispatched = []
    if !batch.isEmpty { try report(batch.map { .finished($0.attempt, .done) }) }
  }

  /// Finishes what comes until so many have been finished; the rest is left for later.
  func work(through count: Int, result: AttemptResult = .done) throws {
    var finished = 0
    while finished < count {
      if dispatched.isEmpty { try #require(try takeNext()) }
      let batch = Array(dispatched.prefix(count - finished))
      if batch.isEmpty { continue }
      dispatched.removeFirst(batch.count)
      finished += batch.count
      let number = try report(batch.map { .finished($0.attempt, result) })
      try awaitAcknowledgement(of: number)
    }
  }

  /// What it has not begun goes back.
  private func giveBack(_ recalls: [AttemptID]) throws {
    try report(
      recalls.map { attempt in
        let isHeld = dispatched.contains { $0.attempt == attempt }
        dispatched.removeAll { $0.attempt == attempt }
        return isHeld ? .recalled(attempt) : .alreadyStarted(attempt)
      })
  }
}

extension AttemptResult {
  /// A success with times, as a real worker reports it.
  static var done: AttemptResult {
    var result = AttemptResult()
    result.startedAt = WallTime(milliseconds: 1_000)
    result.endedAt = WallTime(milliseconds: 2_000)
    return result
  }

  static func failed(_ status: Int32) -> AttemptResult {
    var result = done
    result.cause = .failed
    result.exitStatus = status
    result.diagnostic = "it broke"
    return result
  }
}

/// `name` with an array of `count` commands called `a`.
func arrayGraph(_ name: String, _ count: UInt32) -> GraphSubmission {
  var submission = GraphSubmission(name: name)
  var template = OperationTemplate(name: "a", count: count, work: .command)
  template.isArray = true
  submission.templates = [template]
  return submission
}

//  a ──► b ──► c
func chainGraph(_ name: String, key: String = "") -> GraphSubmission {
  var submission = GraphSubmission(key: SubmissionKey(key), name: name)
  submission.templates = ["a", "b", "c"].map { OperationTemplate(name: $0, work: .command) }
  submission.groupEdges = [
    GroupEdge(from: 0, to: 1, policy: .succeeded), GroupEdge(from: 1, to: 2, policy: .succeeded),
  ]
  return submission
}
