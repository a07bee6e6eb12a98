// A whole coordinator from outside: what clients and workers see, and what outlives it.

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ
import Testing

@Suite struct ServiceTests {
  /// The hello comes first; who speaks another protocol learns both ranges.
  @Test(.checks("G32")) func helloFirst() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let early = try Dealer(service.ready.clientEndpoint)
    try early.send(Wire.encode(ClientMessage.request(RequestID(7), .ping)))
    let answer = try #require(try early.receive())
    guard case .reply(RequestID(7), .refused(let refusal)) = try Wire.decodeClientAnswer(answer)
    else {
      Issue.record("not refused")
      return
    }
    #expect(refusal.code == .badRequest)

    let stranger = try Dealer(service.ready.clientEndpoint)
    let versions = ProtocolVersions(lowest: 8, highest: 9)
    try stranger.send(Wire.encode(ClientMessage.hello(ClientHello(versions: versions))))
    let words = try #require(try stranger.receive())
    guard case .reply(_, .refused(let mismatch)) = try Wire.decodeClientAnswer(words) else {
      Issue.record("not refused")
      return
    }
    #expect(mismatch.code == .versionMismatch)
    #expect(mismatch.message.contains("8 to 9") && mismatch.message.contains("1 to 1"))
  }

  /// What to do next travels as a code, and in words for peers that do not know the code.
  @Test(.checks("G32")) func adviceAlsoTravelsInWords() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    var submission = chainGraph("g")
    submission.templates[0].isHeld = true
    let graph = try client.submit(submission)
    guard case .explanations(let rows, _) = try client.ask(.explain(.graph(graph))),
      let held = rows.first, case .refused(let refusal) = try client.ask(.removeQueue("none"))
    else {
      Issue.record("no explanation, or not refused")
      return
    }
    #expect(held.lines.first == .init("it is held", hint: .release(held.shown)))
    #expect(refusal.hint == .createQueue("none"))
    for words in [
      "it is held; release it with: opbatch release \(held.shown)",
      "create it with: opbatch queue create none",
    ] {
      #expect(client.heard.firstRange(of: Array(words.utf8)) != nil, "\(words)")
    }
  }

  @Test func answersWithItsConfiguration() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.timing.lost = .seconds(7)
      $0.timing.fence = .seconds(4)
    }
    let client = try TestClient(service)
    guard case .configuration(let values) = try client.ask(.configuration) else {
      Issue.record("no configuration")
      return
    }
    #expect(values.timing.lost == .seconds(7))
    #expect(values.clientEndpoint == service.ready.clientEndpoint.address)
    guard case .pong(let commit, let epoch, let lastEvent) = try client.ask(.ping) else {
      Issue.record("no answer")
      return
    }
    #expect(epoch == Epoch(1) && lastEvent == 0 && commit == CommitIndex(1))
  }

  /// Nobody hears of a submission before it is durable, and a worker gets nothing of it.
  @Test(.checks("S115", "G1", "G3")) func persistsBeforeItSpeaks() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let watcher = try TestClient(service)
    let worker = try TestWorker(service)
    let wish = EventSubscription(number: 1, selection: Selection(graphs: .all))
    _ = try watcher.ask(.subscribe(wish))
    #expect(try watcher.nextBatch().caughtUp)
    let journal = try #require(service.journal)
    journal.hold()
    let request = try client.send(.submit(chainGraph("g")))
    let question = try client.send(.graphs(Selection(graphs: .all), after: nil, limit: 0))
    // Heartbeats go on while the disk stalls: a whole one passes.
    try client.awaitHeartbeat()
    #expect(try !client.hasReply(to: request, within: 50))
    #expect(try !client.hasReply(to: question, within: 1))
    #expect(worker.dispatched.isEmpty)
    #expect(watcher.batches.isEmpty)
    journal.commit()
    guard case .accepted(let graph, 3, false) = try client.reply(to: request) else {
      Issue.record("not accepted")
      return
    }
    guard case .graphs(let rows, false) = try client.reply(to: question) else {
      Issue.record("no rows")
      return
    }
    #expect(rows.map(\.graph) == [graph])
    #expect(try worker.awaitDispatches(1).map(\.attempt.operation.index) == [0])
    #expect(try !watcher.nextBatch().events.isEmpty)
    journal.commit()
  }

  /// What was not durable is gone, what was acknowledged is there.
  @Test(.checks("G1")) func keepsWhatItAcknowledged() throws {
    let disk = MemoryDisk()
    let folder = try TestFolder()
    var service = try Service(.memory(disk), in: folder)
    var client = try TestClient(service)
    let kept = try client.submit(chainGraph("kept"))
    try #require(service.journal).hold()
    _ = try client.send(.submit(chainGraph("lost")))
    try client.awaitHeartbeat()
    service.stop()
    service = try Service(.memory(disk), in: folder)
    #expect(service.ready.epoch == Epoch(2))
    client = try TestClient(service)
    #expect(try client.graphs(Selection(graphs: .all)).map(\.name) == ["kept"])
    #expect(try client.submit(chainGraph("next")) == GraphID(kept.number + 1))
  }

  /// A failed write ends the service with 74, and nothing more is said.
  @Test(.checks("G7")) func endsWhenTheDiskFails() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let journal = try #require(service.journal)
    journal.hold()
    let request = try client.send(.submit(chainGraph("g")))
    try client.awaitHeartbeat()
    let begin = MonotonicClock.now()
    journal.fail(JournalError.test)
    try eventually("the end of the service") { service.end != nil }
    // A second is promised; the rest is for a machine with other things to do.
    #expect(MonotonicClock.now() - begin < 5_000_000_000)
    #expect(service.stop()?.status == 74)
    #expect(try !client.hasReply(to: request, within: 50))
  }

  /// Submissions are refused while the disk is nearly full; what runs goes on; service resumes
  /// by itself.
  @Test(.checks("G8")) func aNearlyFullDiskRefusesSubmissions() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.timing.heartbeat = .milliseconds(50)
    }
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let journal = try #require(service.journal)
    let graph = try client.submit(chainGraph("g"))
    // Those that get in before the refusal must not keep the worker busy.
    var probe = chainGraph("probe")
    probe.isSuspended = true
    journal.setFreeBytes(service.diskReserve - 1)
    try eventually("a refusal") {
      guard case .refused(let refusal) = try client.ask(.submit(probe)) else {
        return false
      }
      #expect(refusal.code == .busy && !refusal.hint.isEmpty)
      return true
    }
    try worker.work(through: 3)
    #expect(try client.awaitEnd(of: graph).state == .succeeded)
    journal.setFreeBytes(service.diskReserve)
    try eventually("an accepted submission") {
      if case .accepted = try client.ask(.submit(probe)) { true } else { false }
    }
  }

  /// A journal that takes no more stops the loop from listening, and nothing is lost by it.
  @Test(.checks("G27")) func aFullJournalHoldsEverythingBack() throws {
    var bounds = JournalSettings()
    bounds.queueTurns = 1
    let service = try Service(.memory(MemoryDisk()), in: TestFolder(), bounds: bounds)
    let client = try TestClient(service)
    let journal = try #require(service.journal)
    journal.hold()
    let first = try client.send(.submit(chainGraph("a")))
    #expect(try !client.hasReply(to: first, within: 50))
    var others: [RequestID] = []
    for name in ["b", "c", "d"] { others.append(try client.send(.submit(chainGraph(name)))) }
    #expect(try !client.hasReply(to: others[0], within: 50))
    for (number, request) in ([first] + others).enumerated() {
      try eventually("the answer to request \(number)") {
        journal.commit()
        return try client.hasReply(to: request, within: 5)
      }
      guard case .accepted(let graph, _, _) = try client.reply(to: request) else {
        Issue.record("request \(number) was not accepted")
        return
      }
      #expect(graph.number == UInt32(number + 1))
    }
  }

  /// A chain goes through a worker: dispatched, reported, acknowledged, ended.
  @Test func runsAChain() throws {
    let service = try Service(.disk, in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("chain"))
    let first = try worker.awaitDispatches(1)[0]
    #expect(first.attempt == AttemptID(operation: OperationID(graph: graph, index: 0), attempt: 1))
    let number = try worker.report([.started(first.attempt)])
    try worker.awaitAcknowledgement(of: number)
    let row = try client.operations(.graph(graph))[0]
    #expect(row.state == .executing && row.workerName == "w1" && row.attempt == 1)
    try worker.report([.finished(first.attempt, .done)])
    try worker.work(through: 1)
    try worker.work(through: 1, result: .failed(3))
    let ended = try client.awaitEnd(of: graph)
    #expect(ended.state == .failed)
    #expect(ended.counts[.succeeded] == 2 && ended.counts[.failed] == 1)
    #expect(ended.finishedAt > .unknown)
  }

  /// What is not understood is counted, answered once and harms nobody else.
  @Test(.checks("G33")) func garbageIsHarmless() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    var generator = SystemRandomNumberGenerator()
    for size in [1, 2, 7, 64, 4_096] {
      let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
      for endpoint in [service.ready.clientEndpoint, service.ready.workerEndpoint] {
        let rude = try Dealer(endpoint)
        try rude.send([0xFF] + bytes)
        #expect(try rude.receive() != nil, "\(size) bytes went unanswered")
      }
    }
    let huge = try Dealer(service.ready.clientEndpoint)
    try huge.send([UInt8](repeating: 0, count: Limits.helloBytes + 1))
    #expect(try huge.receive() != nil)
    guard case .pong = try client.ask(.ping) else {
      Issue.record("the others are not served")
      return
    }
  }

  /// A request with a value that no decoder takes is refused by its number, whether it is heard at
  /// once or prepared; the same connection is heard on. One that waited for the answer waited for
  /// ever.
  @Test(.checks("G33"), arguments: [1, 6_000])
  func badValuesAreRefused(operations: Int) throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    var graph = GraphSubmission(name: "g")
    graph.templates = (0..<operations).map {
      OperationTemplate(name: "operation-\($0)", work: .command)
    }
    let name = Array("operation-\(operations - 1)".utf8)
    let good = Wire.encode(ClientMessage.request(RequestID(7), .submit(graph)))
    // Of the same length, so that the message is still one: a letter of the name is no UTF-8.
    let place = try #require(good.indices.last { good[$0...].starts(with: name) })
    var bad = good
    bad[place] = 0xFF
    for _ in 0..<3 {
      try client.dealer.send(bad)
      guard case .refused(let refusal) = try client.reply(to: RequestID(7)) else {
        Issue.record("not refused")
        return
      }
      #expect(refusal.code == .badRequest && refusal.message.contains("not understood"))
    }
    guard case .pong = try client.ask(.ping) else {
      Issue.record("the client is not heard any more")
      return
    }
  }

  /// More requests than are allowed at once are turned away, the others answered.
  @Test(.checks("G27")) func requestsInFlightAreBounded() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let journal = try #require(service.journal)
    journal.hold()
    let first = try client.send(.submit(chainGraph("g")))
    var requests: [RequestID] = []
    for _ in 0..<Limits.requestsInFlightPerClient { requests.append(try client.send(.ping)) }
    let last = try #require(requests.last)
    guard case .refused(let refusal) = try client.reply(to: last) else {
      Issue.record("not turned away")
      return
    }
    #expect(refusal.code == .busy)
    journal.commit()
    guard case .accepted = try client.reply(to: first) else {
      Issue.record("not accepted")
      return
    }
    for request in requests.dropLast() {
      guard case .pong = try client.reply(to: request) else {
        Issue.record("request \(request.number) was not answered")
        return
      }
    }
  }
}

extension JournalError {
  /// What a broken disk says.
  static var test: JournalError {
    do throws(JournalError) {
      _ = try JournalTools.verify(folder: "/proc/1/no-such-journal")
    } catch {
      return error
    }
    preconditionFailure("there is no journal in /proc")
  }
}
