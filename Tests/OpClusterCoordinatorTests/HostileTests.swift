// Hostile peers on real sockets (G33, F46, F49, F51, F54 in small): whatever they do, the others
// are answered. What messages may do to the brains is the business of FuzzWorld.

import Citations
import MessageGenerators
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import RealCluster
import Testing

@testable import OpClusterCoordinator

@Suite struct HostileTests {
  /// One that behaves, before and after.
  private final class Others {
    let client: TestClient
    private(set) var worker: TestWorker
    private let service: Service
    init(_ service: Service) throws {
      self.service = service
      client = try TestClient(service)
      worker = try TestWorker(service, name: "good", session: 77)
    }
    /// A graph is accepted, run and told.
    func areServed(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
      try sayHelloAgain()
      let graph = try client.submit(chainGraph("g"))
      try worker.work(through: 3)
      let row = try client.awaitEnd(of: graph)
      #expect(row.state == .succeeded, "after \(what)", sourceLocation: sourceLocation)
    }

    /// The same where some of what was said may be obeyed, also later: it stops a graph, or brings
    /// others before it. One of many graphs is run: on a slow machine much of what was said is
    /// still on its way.
    func areServedAtLast(
      _ what: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      for _ in 0..<100 {
        try sayHelloAgain()
        _ = try client.ask(.suspendGraphs(Selection(graphs: .all), false))
        let graph = try client.submit(chainGraph("g"))
        for _ in 0..<100 {
          try worker.workWhatComes(within: 100)
          let reply = try client.ask(.graphs(.graph(graph), after: nil, limit: 1))
          guard case .graphs(let rows, _) = reply, let row = rows.first else { break }
          if row.state == .succeeded { return }
          if row.state != .running { break }
        }
        try worker.workWhatComes(within: 100)
      }
      Issue.record("nobody is served after \(what)", sourceLocation: sourceLocation)
    }

    /// A worker that was lost there, since nobody let it speak, comes back as every worker does: on
    /// a connection of its own, since the former one may be at its end.
    private func sayHelloAgain() throws {
      guard case .workers(let rows) = try client.ask(.workers) else { return }
      let isConnected = rows.contains { $0.name == worker.name && $0.state == .connected }
      if !isConnected { worker = try TestWorker(service, name: worker.name, session: 77) }
    }
  }

  private func endpoints(_ service: Service) -> [String] {
    [service.ready.clientEndpoint.address, service.ready.workerEndpoint.address]
  }

  /// Bytes that are no ZMTP, or only begin to be, and peers that say nothing more.
  @Test(.checks("F46")) func garbageBeforeTheHandshake() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    var generator = MessageGenerators.MessageGenerator(seed: 46)
    var peers: [RawPeer] = []
    for endpoint in endpoints(service) {
      for round in 0..<40 {
        let peer = try RawPeer(endpoint)
        switch round % 8 {
        case 0: break
        case 1: peer.say(generator.bytes(400))
        case 2: peer.say(Array(RawPeer.greeting.prefix(generator.below(64))))
        case 3: peer.say([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 1, 5])
        case 4: peer.say([1, 0] + generator.bytes(40))
        case 5: peer.say(RawPeer.greeting + generator.bytes(400))
        case 6: peer.say(RawPeer.greeting + [4, 200] + generator.bytes(20))
        default:
          peer.say(RawPeer.greeting + RawPeer.ready)
          peer.halfClose()
        }
        peers.append(peer)
      }
    }
    try others.areServed("garbage")
    // libzmq ends what does not finish its greeting within 2 s; the others have gone before.
    let silent = try #require(peers.first)
    #expect(silent.isCut(within: 10_000))
  }

  /// A connection that never says hello is in nobody's quota: it ends after a while, whether it
  /// says nothing or something else. Who was greeted may be silent.
  @Test(.checks("G33", "A21")) func connectionsWithoutAHello() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) { settings in
      settings.greetingPatience = .milliseconds(500)
    }
    let others = try Others(service)
    var silent: [RawPeer] = []
    for endpoint in endpoints(service) {
      let peer = try RawPeer(endpoint)
      peer.say(RawPeer.greeting + RawPeer.ready)
      silent.append(peer)
    }
    for peer in silent { #expect(peer.isCut(within: 20_000)) }
    let stranger = try Dealer(service.ready.clientEndpoint)
    for number in 0...(2 * CoordinatorLimits.framesInVain) {
      let request = ClientMessage.request(RequestID(UInt64(number) + 1), .ping)
      // It may be cut before it has said everything.
      do { try stranger.send(Wire.encode(request), within: 1_000_000_000) } catch { break }
    }
    try eventually("a stranger that goes on is cut") {
      while let event = stranger.nextEventNow() { if event != .connected { return true } }
      return false
    }
    try others.areServed("connections without a hello")
  }

  /// What a worker says of attempts that it never had cannot be late: it is put out. Late words are
  /// none, however many.
  @Test(.checks("S17", "G13", "G33", "X4")) func aWorkerThatLiesIsPutOut() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service, name: "honest")
    let graph = try client.submit(arrayGraph("g", 2))
    let attempts = try worker.awaitDispatches(2).map(\.attempt)
    // An empty report is answered only together with others: the last with something in it counts.
    var last: UInt64 = 0
    for _ in 0..<(2 * Limits.liesPerWorker) {
      last = try worker.report([.finished(attempts[0], .done)])
    }
    try worker.awaitAcknowledgement(of: last)
    #expect(worker.refusals == [])

    let liar = try TestWorker(service, name: "liar", session: 2)
    let lies = [
      attempts[1], AttemptID(operation: attempts[1].operation, attempt: 77),
      AttemptID(operation: OperationID(graph: graph, index: 2), attempt: 1),
      AttemptID(operation: OperationID(graph: GraphID(graph.number + 1), index: 0), attempt: 1),
    ]
    for number in 0..<(Limits.liesPerWorker - 1) {
      last = try liar.report([.finished(lies[number % lies.count], .done)])
    }
    try liar.awaitAcknowledgement(of: last)
    #expect(liar.refusals == [])
    try liar.report([.started(lies[0])])
    while liar.refusals.isEmpty { try #require(try liar.takeNext()) }
    #expect(liar.refusals.map(\.code) == [.forbidden])
    // Nothing of it was believed, nor is anything heard any more; others go on.
    _ = try? liar.report([.finished(lies[0], .done)])
    try worker.report([.finished(attempts[1], .failed(3))])
    #expect(try client.awaitEnd(of: graph).counts[.succeeded] == 1)
  }

  /// No frame, one, two hundred, empty ones, ends that never come, too large.
  @Test(.checks("F49")) func framesOfEveryNumberAndSize() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    let hello = Wire.encode(ClientMessage.hello(ClientHello(build: "raw")))
    let word = RawPeer.frame([1, 2, 3], more: true)
    let messages: [[UInt8]] = [
      RawPeer.frame([]), word + RawPeer.frame([9]),
      Array([[UInt8]](repeating: word, count: 199).joined()) + RawPeer.frame([9]),
      Array([[UInt8]](repeating: RawPeer.frame([], more: true), count: 50).joined())
        + RawPeer.frame([]),
      RawPeer.frame(hello, more: true) + RawPeer.frame([]),
      RawPeer.frame([UInt8](repeating: 8, count: 64 * 1024 + 1)),
      // It ends here, in the middle of a message.
      word, RawPeer.longHead(1_000),
      // More than any message: libzmq cuts the connection.
      RawPeer.longHead(UInt64(Limits.messageBytes) + 1), RawPeer.longHead(.max),
      RawPeer.longHead(1 << 32),
    ]
    var peers: [RawPeer] = []
    for endpoint in endpoints(service) {
      for message in messages {
        for isGreeted in [false, true] {
          let peer = try RawPeer(endpoint)
          #expect(peer.shakeHands())
          if isGreeted { peer.say(RawPeer.frame(hello)) }
          peer.say(message)
          peers.append(peer)
        }
      }
    }
    try others.areServed("frames")
    let huge = peers[messages.count * 2 - 2]
    #expect(huge.isCut(within: 10_000), "a frame of 2³² bytes is not waited for")
  }

  /// Messages that are whole, and come when nobody may say them.
  @Test(.checks("G33")) func wordsOutOfOrder() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    let attempt = AttemptID(operation: OperationID(graph: GraphID(1), index: 0), attempt: 1)
    let stranger = Conversation(epoch: Epoch(1), session: WorkerSession(77), increment: 1)
    let words: [WorkerMessage] = [
      .goodbye(lastReport: 0), .report(WorkerReport(conversation: stranger, number: 1)),
      .report(
        WorkerReport(conversation: stranger, number: 9, entries: [.finished(attempt, .success)])),
      .logChunk(LogChunk(number: 1, offset: 0, bytes: [1], size: 1, isComplete: true)),
    ]
    for word in words {
      let peer = try Dealer(service.ready.workerEndpoint)
      try peer.send(Wire.encode(word))
      let answer = try #require(try peer.receive())
      guard case .refused(let refusal) = try Wire.decodeCoordinatorMessage(answer) else {
        Issue.record("\(word) was taken from a stranger")
        continue
      }
      #expect(refusal.code == .unknownWorker)
    }
    let early = try Dealer(service.ready.clientEndpoint)
    try early.send(Wire.encode(.request(RequestID(1), .submit(chainGraph("early")))))
    let answer = try #require(try early.receive())
    guard case .reply(_, .refused) = try Wire.decodeClientAnswer(answer) else {
      Issue.record("a request before the hello was taken")
      return
    }
    // A hello again, and a worker's hello on the clients' socket.
    try early.send(Wire.encode(ClientMessage.hello(ClientHello())))
    try early.send(Wire.encode(ClientMessage.hello(ClientHello())))
    try early.send(Wire.encode(WorkerMessage.goodbye(lastReport: 0)))
    try others.areServed("words out of order")
  }

  /// Seeded changes of good messages, over the sockets, to both doors.
  @Test(.checks("F49")) func changedMessages() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    var generator = MessageGenerators.MessageGenerator(seed: 49)
    for _ in 0..<40 {
      let client = try Dealer(service.ready.clientEndpoint)
      try client.send(Wire.encode(ClientMessage.hello(ClientHello())))
      let worker = try Dealer(service.ready.workerEndpoint)
      for _ in 0..<25 {
        let request = generator.clientMessage(
          generator.below(MessageGenerators.MessageGenerator.clientMessageKinds))
        let bytes = generator.mutatedFields(Wire.encode(request))
        if !bytes.isEmpty { try client.send(bytes) }
        let word = generator.mutatedFields(Wire.encode(generator.workerMessage()))
        if !word.isEmpty { try worker.send(word) }
      }
    }
    try others.areServedAtLast("changed messages")
  }

  /// Pages behind the last number that there can be; the list of all is merged from what lives
  /// and what has ended.
  @Test(.checks("X1")) func pagesBehindTheLast() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    let all = Selection(graphs: .all)
    let graphs = try others.client.ask(.graphs(all, after: GraphID(.max), limit: 10))
    #expect(graphs == .graphs([], more: false))
    let last = OperationID(graph: GraphID(.max), index: .max)
    let operations = try others.client.ask(.operations(all, after: last, limit: 10))
    #expect(operations == .operations([], more: false))
    try others.areServed("pages behind the last")
  }

  /// A client floods while the disk hangs, and vanishes. Nobody else notices.
  @Test(.checks("F51")) func aFloodThatVanishes() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    let journal = try #require(service.journal)
    journal.hold()
    do {
      let flood = try Dealer(service.ready.clientEndpoint)
      try flood.send(Wire.encode(ClientMessage.hello(ClientHello())))
      for number in 1...3_000 {
        let request = Wire.encode(.request(RequestID(UInt64(number)), .submit(chainGraph("f"))))
        // What asks on in spite of refusals is cut, or nobody listens while the disk stands still.
        do { try flood.send(request, within: 300_000_000) } catch is Impatience { break }
      }
    }
    journal.letGo()
    journal.commit()
    try eventually("room") {
      journal.commit()
      return try others.client.hasReply(to: others.client.send(.ping), within: 200)
    }
    guard case .pong = try others.client.ask(.ping) else {
      Issue.record("the coordinator does not answer")
      return
    }
    #expect(service.end == nil)
  }

  /// F54 in small: connections that do nothing cost the others nothing.
  @Test(.checks("F54")) func idleConnections() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let others = try Others(service)
    var peers: [RawPeer] = []
    for _ in 0..<150 {
      for endpoint in endpoints(service) {
        let peer = try RawPeer(endpoint)
        #expect(peer.shakeHands())
        peers.append(peer)
      }
    }
    try others.areServed("idle connections")
    #expect(peers.count == 300)
  }
}
