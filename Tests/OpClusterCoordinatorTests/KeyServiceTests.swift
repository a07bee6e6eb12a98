// A coordinator over TCP with real keys: who is served, who is told what, and what changes while it
// serves (G35, G36, G37, G19, F47).

import Citations
import FoundationEssentials
import OpClusterJournal
import OpClusterKeys
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

@Suite struct KeyServiceTests {
  private func code(_ answer: ClientAnswer?) -> Refusal.Code? {
    guard case .reply(_, .refused(let refusal))? = answer else { return nil }
    return refusal.code
  }

  private func refusal(_ reply: ClientReply) -> Refusal.Code? {
    if case .refused(let refusal) = reply { refusal.code } else { nil }
  }

  private func hello(_ dealer: Dealer) throws -> ClientAnswer? {
    try dealer.send(Wire.encode(ClientMessage.hello(ClientHello(build: "test"))))
    return try dealer.receive().map { try Wire.decodeClientAnswer($0) }
  }

  // With a gate that lets in everybody it does not serve.
  @Test(.checks("G35")) func anOpenGateServesNobody() throws {
    let error = #expect(throws: Service.NotServing.self) {
      _ = try GuardedService { $0.admitsAll = true }
    }
    #expect(error?.end?.status == 70)
    guard case .failed(let cause)? = error?.end else { return }
    #expect(cause.description.contains("a random key was let in"))
  }

  @Test(.checks("G35")) func overTCPOnlyWithKeys() throws {
    let any = try Endpoint("tcp://127.0.0.1:*")
    let error = #expect(throws: Service.NotServing.self) {
      _ = try Service(.memory(MemoryDisk()), in: TestFolder()) { $0.workerEndpoint = any }
    }
    #expect(error?.end?.status == 78)
  }

  // G36, each role over the wire.
  @Test(.checks("G36")) func roles() throws {
    let guarded = try GuardedService()
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    guard case .accepted = try anna.ask(.submit(chainGraph("g"))) else {
      Issue.record("a submitter submits")
      return
    }
    #expect(refusal(try anna.ask(.drainWorker("w"))) == .forbidden)
    let olga = try TestClient(guarded.service, keys: guarded.key("olga", .observer))
    guard
      case .graphs(let rows, _) = try olga.ask(
        .graphs(
          Selection(graphs: .all), after: nil,
          limit: 10))
    else {
      Issue.record("an observer reads")
      return
    }
    // Who submitted is in the labels, and only the coordinator says so.
    #expect(rows.map(\.labels) == [[Label(key: "submitter", value: "anna")]])
    #expect(refusal(try olga.ask(.submit(chainGraph("h")))) == .forbidden)
    #expect(refusal(try olga.ask(.cancelQueue("default", reason: ""))) == .forbidden)
    let root = try TestClient(guarded.service, keys: guarded.key("root", .admin))
    #expect(refusal(try root.ask(.drainWorker("w"))) == .unknownWorker)
    let worker = try Dealer(
      guarded.service.ready.clientEndpoint, keys: guarded.key("w1", .worker))
    #expect(code(try hello(worker)) == .forbidden)
  }

  // A store knows a client by the key of its connection, whatever it says; only who is local, and
  // may do all, is known by what it says.
  @Test(.checks("G36", "G41"), arguments: [false, true]) func storesKnowTheirClients(
    isLocal: Bool
  ) throws {
    let said = KeyPair.random().publicKey.bytes
    let asker = ContentAsker(key: said, isLocal: true)
    let digest = try #require(ContentDigest(bytes: [UInt8](repeating: 9, count: 32)))
    let store = ContentSource(endpoint: "tcp://127.0.0.1:9", key: said)
    let service: Service
    var keys: (worker: SocketKeys, client: SocketKeys)?
    var guarded: GuardedService?
    if isLocal {
      service = try Service(.memory(MemoryDisk()), in: TestFolder())
    } else {
      let made = try GuardedService()
      guarded = made
      service = made.service
      keys = (try made.key("w1", .worker), try made.key("anna", .submitter))
    }
    let worker = try TestWorker(service, keys: keys?.worker, store: store)
    let client = try TestClient(service, keys: keys?.client)
    let content = StoredContent(digest: digest, size: 5)
    guard case .placed(let places) = try client.ask(.place([content], avoided: [], writer: asker))
    else {
      Issue.record("it can be left nowhere")
      return
    }
    #expect(places.map(\.digest) == [digest])
    while worker.grants.isEmpty { try #require(try worker.takeNext()) }
    var own: [UInt8]?
    if case .client(let pair, _) = keys?.client { own = pair.publicKey.bytes }
    #expect(worker.grants == [GrantOrder(digest: digest, reader: own ?? said, mayWrite: true)])
    withExtendedLifetime(guarded) {}
  }

  // Who was told of others' work by its name would learn what they did, and what it left.
  @Test(.checks("G36", "S152")) func aForecastIsOfOnesOwnWork() throws {
    let guarded = try GuardedService()
    let worker = try TestWorker(guarded.service, keys: guarded.key("w1", .worker))
    var graph = chainGraph("g")
    for at in graph.templates.indices { graph.templates[at].isReusable = true }
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let bob = try TestClient(guarded.service, keys: guarded.key("bob", .submitter))
    let first = try anna.submit(graph)
    try worker.work(through: 3)
    #expect(try anna.awaitEnd(of: first).state == .succeeded)
    graph.labels = [Label(key: GraphSubmission.submitterLabel, value: "anna")]
    for (client, count) in [(anna, 3), (bob, 0)] {
      guard case .reusable(let reused, let skipped) = try client.ask(.reusable(graph)) else {
        Issue.record("nothing is told")
        return
      }
      #expect(reused.operationCount == count && skipped.isEmpty)
    }
    let olga = try TestClient(guarded.service, keys: guarded.key("olga", .observer))
    #expect(refusal(try olga.ask(.reusable(graph))) == .forbidden)
  }

  // Under its own name, at the workers' address, and nowhere else.
  @Test(.checks("G36")) func workers() throws {
    let guarded = try GuardedService()
    let keys = try guarded.key("w1", .worker)
    func answer(_ keys: SocketKeys, _ name: String) throws -> CoordinatorMessage? {
      let dealer = try Dealer(guarded.service.ready.workerEndpoint, keys: keys)
      let hello = WorkerHello(
        build: "test", name: name, session: WorkerSession(UInt64.random(in: 1 ... .max)),
        capacity: Resources(cpus: ResourceAmount(1), memoryBytes: 1), labels: [], types: [])
      try dealer.send(Wire.encode(WorkerMessage.hello(hello)))
      return try dealer.receive().map { try Wire.decodeCoordinatorMessage($0) }
    }
    guard case .welcome? = try answer(keys, "w1") else {
      Issue.record("w1 is welcome")
      return
    }
    guard case .refused(let refusal)? = try answer(keys, "w2") else {
      Issue.record("w1 is not w2")
      return
    }
    #expect(refusal.code == .forbidden)
    guard case .refused? = try answer(guarded.key("anna", .submitter), "anna") else {
      Issue.record("a submitter is no worker")
      return
    }
  }

  // A worker's name belongs to the longest key that covers it, also to one that is added
  // later.
  @Test(.checks("G36")) func namesBelongToTheLongestKey() throws {
    let guarded = try GuardedService()
    let short = try guarded.key("g", .worker)
    func greeted(_ keys: SocketKeys, _ name: String) throws -> Dealer {
      let dealer = try Dealer(guarded.service.ready.workerEndpoint, keys: keys)
      let hello = WorkerHello(
        build: "test", name: name, session: WorkerSession(UInt64.random(in: 1 ... .max)),
        capacity: Resources(cpus: ResourceAmount(1), memoryBytes: 1), labels: [], types: [])
      try dealer.send(Wire.encode(WorkerMessage.hello(hello)))
      return dealer
    }
    func refusal(_ dealer: Dealer) throws -> Refusal? {
      while let bytes = try dealer.receive() {
        if case .refused(let refusal) = try Wire.decodeCoordinatorMessage(bytes) { return refusal }
        if case .welcome = try Wire.decodeCoordinatorMessage(bytes) { return nil }
      }
      return nil
    }
    let (own, second) = (try greeted(short, "g"), try greeted(short, "g-2"))
    #expect(try refusal(own) == nil)
    #expect(try refusal(second) == nil, "nobody else's name yet")
    let long = try guarded.key("g-2", .worker)
    // Its worker is told, and does not come back under this name.
    let told = try #require(try refusal(second))
    #expect(told.code == .forbidden && told.message.contains("belongs to the key 'g-2'"))
    #expect(try refusal(greeted(short, "g-2"))?.message.contains("belongs to the key") == true)
    #expect(try refusal(greeted(short, "g-2.1")) != nil)
    #expect(try refusal(greeted(short, "g-3")) == nil)
    #expect(try refusal(greeted(long, "g-2")) == nil)
  }

  // A removed key's session is told and not heard any more, its new ones are refused.
  @Test(.checks("G37", "F47")) func revoked() throws {
    let guarded = try GuardedService()
    let keys = try guarded.key("anna", .submitter)
    let anna = try TestClient(guarded.service, keys: keys)
    let other = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    let start = MonotonicClock.now()
    try guarded.remove("anna")
    var told: Refusal?
    try eventually("anna is told") {
      guard case .reply(RequestID(0), .refused(let refusal))? = try anna.next(within: 100) else {
        return false
      }
      told = refusal
      return true
    }
    #expect(MonotonicClock.now() - start < 20_000_000_000)
    #expect(told?.code == .forbidden)
    #expect(told?.message.contains("'anna' was removed") == true)
    #expect(try !anna.hasReply(to: anna.send(.ping), within: 200))
    let again = try Dealer(guarded.service.ready.clientEndpoint, keys: keys)
    #expect(try again.nextEvent() == .handshakeFailed(.notAuthorized(status: 400)))
    guard case .pong = try other.ask(.ping) else {
      Issue.record("others go on")
      return
    }
  }

  // A list that cannot be read changes nothing.
  @Test(.checks("G37")) func aSpoiledListKeepsTheOneBefore() throws {
    let guarded = try GuardedService()
    let keys = try guarded.key("anna", .submitter)
    let anna = try TestClient(guarded.service, keys: keys)
    try Data("key nonsense\n".utf8).write(to: URL(filePath: "\(guarded.keys.path)/allowed"))
    for _ in 0..<5 { _ = try anna.ask(.ping) }
    #expect(try Dealer(guarded.service.ready.clientEndpoint, keys: keys).nextEvent() == .connected)
  }

  // Keys of submissions are each client's own.
  @Test(.checks("G19")) func submissionKeysByPrincipal() throws {
    let guarded = try GuardedService()
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let bert = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    var submission = chainGraph("g")
    submission.key = SubmissionKey("nightly")
    guard case .accepted(let first, _, false) = try anna.ask(.submit(submission)),
      case .accepted(first, _, true) = try anna.ask(.submit(submission)),
      case .accepted(let second, _, false) = try bert.ask(.submit(submission))
    else {
      Issue.record("one graph each")
      return
    }
    #expect(first != second)
  }

  // Workers may run an operation as its submitter's account, so that nobody names
  // himself, and nobody adds to what another's account runs.
  @Test(.checks("G36")) func whoseWorkItIs() throws {
    let guarded = try GuardedService()
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let bert = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    let root = try TestClient(guarded.service, keys: guarded.key("chief", .admin))
    let worker = try TestWorker(guarded.service, name: "w", keys: guarded.key("w", .worker))
    var submission = arrayGraph("g", 1)
    submission.labels = [
      Label(key: "submitter", value: "bert"), Label(key: "kind", value: "x"),
      Label(key: "submitter", value: "root"),
    ]
    _ = try anna.submit(submission)
    _ = try worker.awaitDispatches(1)
    #expect(worker.templates.map(\.submitter) == ["anna"])
    let reply = try anna.ask(.graphs(Selection(graphs: .all), after: nil, limit: 1))
    guard case .graphs(let rows, _) = reply else {
      Issue.record("graphs?")
      return
    }
    #expect(
      rows.map(\.labels) == [
        [Label(key: "kind", value: "x"), Label(key: "submitter", value: "anna")]
      ])
    let blocks = try anna.submit(arrayGraph("blocks", 1))
    let first = OperationID(graph: blocks, index: 0)
    for other in [bert, root] {
      guard case .refused(let refusal) = try other.ask(.addBlocks(first, [])) else {
        Issue.record("blocks by another key")
        continue
      }
      #expect(refusal.code == .forbidden && refusal.message.contains("another key"))
    }
    if case .refused(let refusal) = try anna.ask(.addBlocks(first, [])) {
      #expect(refusal.code != .forbidden, "one's own blocks: \(refusal)")
    }
  }

  // The same where nobody has keys: a label is no name.
  @Test func nobodyIsNamedWithoutKeys() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    var submission = arrayGraph("g", 1)
    submission.labels = [Label(key: "submitter", value: "root")]
    _ = try client.submit(submission)
    _ = try worker.awaitDispatches(1)
    #expect(worker.templates.map(\.submitter) == [""])
  }

  // An invitation lets its holder add one key, once.
  @Test(.checks("G36")) func enrolment() throws {
    let guarded = try GuardedService()
    let invitation = KeyPair.random()
    let open = Invitation(
      name: "w7", role: .worker, key: invitation.publicKey,
      expiresAt: WallTime(milliseconds: WallTime.now.milliseconds + 60_000))
    let late = KeyPair.random()
    let expired = Invitation(
      name: nil, role: .worker, key: late.publicKey, expiresAt: WallTime(milliseconds: 1))
    try guarded.keys.changeAllowed { list throws(KeyError) in
      try list.invite(open, at: WallTime(milliseconds: 0))
      try list.invite(expired, at: WallTime(milliseconds: 0))
    }
    let guest = try TestClient(guarded.service, keys: guarded.admitted(invitation))
    #expect(refusal(try guest.ask(.queues())) == .forbidden)
    #expect(refusal(try guest.ask(.submit(chainGraph("g")))) == .forbidden)
    let own = KeyPair.random()
    let reply = try guest.ask(.enrol(name: "mine", publicKey: own.publicKey.bytes))
    #expect(reply == .enrolled(name: "w7", role: .worker))
    #expect(try guarded.keys.allowed().keys.contains { $0.key == own.publicKey })
    _ = try guarded.admitted(own)
    // The invitation is spent; one that has expired is told so.
    let keys = SocketKeys.client(invitation, server: guarded.server.publicKey)
    #expect(
      try Dealer(guarded.service.ready.clientEndpoint, keys: keys).nextEvent()
        == .handshakeFailed(.notAuthorized(status: 400)))
    let tooLate = try TestClient(guarded.service, keys: guarded.admitted(late))
    guard
      case .refused(let refusal) = try tooLate.ask(
        .enrol(name: "x", publicKey: KeyPair.random().publicKey.bytes))
    else {
      Issue.record("it has expired")
      return
    }
    #expect(refusal.code == .forbidden)
    #expect(refusal.message.contains("expired"))
  }
}
