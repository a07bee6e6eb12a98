// Requests that are too large for the loop to decode: they are prepared elsewhere, and nobody can
// tell.

import Citations
import OpClusterHTTP
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import RealCluster
import Testing

@testable import OpClusterCoordinator

@Suite struct LargeRequestTests {
  /// A graph whose message is larger than the loop decodes itself.
  private func large(_ name: String, key: String = "") -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(key), name: name)
    submission.templates = (0..<6_000).map {
      OperationTemplate(name: "operation-\($0)", work: .command)
    }
    submission.groupEdges = [GroupEdge(from: 0, to: 5_999, policy: .succeeded)]
    return submission
  }

  // What a client says behind it is answered behind it, and knows the graph; so does a restart.
  @Test(.checks("G19", "G29")) func inOrder() throws {
    let (disk, folder) = (MemoryDisk(), try TestFolder())
    var service = try Service(.memory(disk), in: folder)
    var client = try TestClient(service)
    #expect(
      Wire.encode(ClientMessage.request(RequestID(1), .submit(large("g")))).count
        > CoordinatorLimits.framesHeardAtOnce)
    let other = try TestClient(service)
    var requests: [RequestID] = []
    for name in ["first", "second"] {
      requests.append(try client.send(.submit(large(name, key: name))))
      requests.append(try client.send(.graphs(Selection(graphs: .all), after: nil, limit: 9)))
      #expect(try other.ask(.ping) != .refused(Refusal(.busy, "")))
    }
    // The same again, in the same breath.
    requests.append(try client.send(.submit(large("first", key: "first"))))
    #expect(
      try client.reply(to: requests[0])
        == .accepted(GraphID(1), operations: 6_000, repeated: false))
    for (request, names) in [(requests[1], ["first"]), (requests[3], ["first", "second"])] {
      guard case .graphs(let rows, _) = try client.reply(to: request) else {
        Issue.record("no list of graphs")
        return
      }
      #expect(rows.map(\.name) == names)
    }
    #expect(
      try client.reply(to: requests[4])
        == .accepted(GraphID(1), operations: 6_000, repeated: true))
    service.stop()
    service = try Service(.memory(disk), in: folder)
    client = try TestClient(service)
    #expect(try client.graphs(Selection(graphs: .all), limit: 9).count == 2)
    #expect(
      try client.ask(.submit(large("second", key: "second")))
        == .accepted(GraphID(2), operations: 6_000, repeated: true))
  }

  // A question that looks at many stages keeps nobody waiting: others that are asked later are
  // answered before it, also its own client's; and one key has a bounded number of them.
  @Test(.checks("G29")) func questionsThatLookAtMuch() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) { $0.searchTime = .zero }
    let (client, other) = (try TestClient(service), try TestClient(service))
    let graph = try client.submit(large("g"))
    var selection = Selection.graph(graph)
    selection.operation = "*-5999"
    let question = ClientRequest.operations(selection, after: nil, limit: 9)
    let first = try client.send(question)
    let ping = try client.send(.ping)
    _ = try client.reply(to: ping)
    #expect(try !client.hasReply(to: first, within: 0))
    #expect(try other.ask(.ping) != .refused(Refusal(.busy, "")))
    guard case .operations(let rows, more: false) = try client.reply(to: first) else {
      Issue.record("no rows")
      return
    }
    #expect(rows.map(\.name) == ["operation-5999"])
    // The last graph is the one that was the last when it was asked.
    var last = Selection(graphs: .last(back: 0))
    last.operation = "*-5999"
    let old = try client.send(.operations(last, after: nil, limit: 9))
    // By its answer the search has begun.
    #expect(try client.ask(.ping) != .refused(Refusal(.busy, "")))
    let newer = try client.submit(arrayGraph("newer", 1))
    #expect(newer.number == graph.number + 1)
    guard case .operations(let found, more: false) = try client.reply(to: old) else {
      Issue.record("no rows of the former last graph")
      return
    }
    #expect(found.map(\.id.graph) == [graph])
    // So many at once that some are refused, and the others are answered.
    let many = try (0..<64).map { _ in try client.send(question) }
    var (answered, refused) = (0, 0)
    for request in many {
      switch try client.reply(to: request) {
      case .operations(let rows, more: false) where rows.count == 1: answered += 1
      case .refused(let refusal) where refusal.code == .busy && refusal.retryAfter != nil:
        refused += 1
      case let reply: Issue.record("\(reply)")
      }
    }
    #expect(answered >= CoordinatorLimits.unfinishedSearches && answered + refused == 64)
  }

  // Nor do many clients together have more than a bounded number of them, though none has its own
  // bound's worth; the others are told so.
  @Test(.checks("G29")) func questionsOfManyThatLookAtMuch() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) { $0.searchTime = .zero }
    let each = CoordinatorLimits.unfinishedSearches
    let all = CoordinatorLimits.allUnfinishedSearches
    let clients = try (0..<(all / each + 4)).map { _ in try TestClient(service) }
    var selection = Selection.graph(try clients[0].submit(large("g")))
    selection.operation = "*-5999"
    let question = ClientRequest.operations(selection, after: nil, limit: 9)
    var refusals: Set<String> = []
    // A client that got no processor for a while asks too slowly: then all ask once more.
    for _ in 0..<1_000 where refusals.isEmpty {
      let asked = try clients.map { client in
        try (0..<each).map { _ in try client.send(question) }
      }
      for (client, requests) in zip(clients, asked) {
        for request in requests {
          switch try client.reply(to: request) {
          case .operations(let rows, more: false): #expect(rows.map(\.name) == ["operation-5999"])
          case .refused(let refusal) where refusal.code == .busy:
            #expect(refusal.retryAfter != nil)
            refusals.insert(String(refusal.message.prefix { $0 != "," }))
          case let reply: Issue.record("\(reply)")
          }
        }
      }
    }
    #expect(refusals == ["answers to \(all) questions are being looked for"])
  }

  // A few bytes may mean as much: single edges among very many elements.
  @Test(.checks("G29")) func fewBytesForManyOperations() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.metrics = HTTPAddress("127.0.0.1:0")
    }
    let client = try TestClient(service)
    let other = try TestClient(service)
    var graph = arrayGraph("g", UInt32(CoordinatorLimits.operationsPlannedAtOnce) + 1)
    graph.elementEdges = ElementEdges(from: [0], to: [1], policies: [.succeeded])
    var requests: [(TestClient, RequestID)] = []
    for _ in 0..<2 {
      for client in [client, other] { requests.append((client, try client.send(.submit(graph)))) }
    }
    let list = try client.send(.graphs(Selection(graphs: .all), after: nil, limit: 9))
    var numbers: Set<UInt32> = []
    for (client, request) in requests {
      guard case .accepted(let number, let operations, false) = try client.reply(to: request) else {
        Issue.record("not accepted")
        return
      }
      numbers.insert(number.number)
      #expect(operations == (1 << 16) + 1)
    }
    #expect(numbers == [1, 2, 3, 4])
    // The loop has planned none of them.
    let address = try #require(service.ready.metrics)
    let figures = try PlainHTTP.get("/metrics", from: address.port)
    #expect(figures.contains("\nopcluster_messages_prepared_total 4\n"))
    guard case .graphs(let rows, _) = try client.reply(to: list) else {
      Issue.record("no list of graphs")
      return
    }
    #expect(rows.count >= 2)
  }

  // The structure of a large graph, which the history's thread tells, is that of a small one; so is
  // that of an ended graph, which follows from its submission and its outcomes.
  @Test(.checks("S116"), arguments: [2, 6_000], [false, true])
  func structures(count: Int, hasStageEdges: Bool) throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    var submission = GraphSubmission(name: "g")
    submission.queues = [.named("default"), .own(QueueSettings(name: "own"))]
    submission.templates = (0..<count).map { at in
      var template = OperationTemplate(
        name: "operation-\(at)", count: UInt32(1 + at % 2), work: .command)
      template.queue = UInt32(at % 2)
      template.isHeld = at == 0
      return template
    }
    if hasStageEdges {
      submission.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    } else {
      submission.elementEdges = ElementEdges(
        from: [0, 0, 0], to: [2, 1, 2], policies: [.succeeded])
    }
    let graph = try client.submit(submission)
    func structure() throws -> GraphStructure {
      let reply = try client.ask(.structure(.graph(graph)))
      guard case .structure(let structure) = reply else {
        throw Impatience(awaited: "a structure, not \(reply)")
      }
      return structure
    }
    let living = try structure()
    #expect(living.stages.map(\.name) == submission.templates.map(\.name))
    #expect(living.stages.map(\.queue).prefix(2) == ["default", "1/own"])
    #expect(living.stages[0].counts[.held] == 1 && living.stages[1].counts[.waiting] == 2)
    #expect(living.groupEdges == submission.groupEdges)
    #expect(living.elementEdges.from == (hasStageEdges ? [] : [0, 0]))
    #expect(living.elementEdges.to == (hasStageEdges ? [] : [1, 2]))
    #expect(living.elementEdgeCount == (hasStageEdges ? 0 : 2))
    #expect(living.row.state == .running && living.lastEvent > 0)
    _ = try client.ask(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
    let row = try client.awaitEnd(of: graph)
    var ended = try structure()
    #expect(ended.row == row && ended.lastEvent > living.lastEvent)
    for stage in ended.stages {
      #expect(stage.counts[.cancelled] == stage.count)
    }
    // Nothing else has changed.
    ended.lastEvent = living.lastEvent
    ended.row = living.row
    for at in ended.stages.indices { ended.stages[at].counts = living.stages[at].counts }
    #expect(ended == living)
  }

  // Whoever has proved a key is the submitter, and equal keys of two submitters are two graphs.
  @Test(.checks("G19", "G36")) func ofASubmitter() throws {
    let guarded = try GuardedService()
    var names: [String] = []
    for name in ["anna", "bert"] {
      let client = try TestClient(guarded.service, keys: guarded.key(name, .submitter))
      let graph = try client.submit(large("g", key: "same"))
      names += try client.graphs(.graph(graph), limit: 9).map(\.submitter)
      guard case .submission(let kept, _) = try client.ask(.submission(graph)) else {
        Issue.record("no submission")
        return
      }
      #expect(kept.templates.count == 6_000)
    }
    #expect(names == ["anna", "bert"])
  }

  // A stop while messages are prepared, or wait for that: none is known by half, and each may come
  // again.
  @Test(.checks("G1", "G19")) func aStopMeanwhile() throws {
    let (disk, folder) = (MemoryDisk(), try TestFolder())
    var service = try Service(.memory(disk), in: folder)
    let names = ["a", "b", "c", "d"]
    let clients = try names.map { name in
      let client = try TestClient(service)
      try client.send(.submit(large(name, key: name)))
      return client
    }
    _ = withExtendedLifetime(clients) { service.stop() }
    service = try Service(.memory(disk), in: folder)
    let client = try TestClient(service)
    for name in names {
      guard
        case .accepted(_, operations: 6_000, _) = try client.ask(
          .submit(large(name, key: name)))
      else {
        Issue.record("'\(name)' is refused")
        return
      }
    }
    #expect(try client.graphs(Selection(graphs: .all), limit: 9).map(\.name).sorted() == names)
  }

  // Where a key is removed meanwhile, what it sent keeps nobody else from being heard.
  @Test(.checks("G36")) func aKeyThatIsRemovedMeanwhile() throws {
    let guarded = try GuardedService()
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let bert = try TestClient(guarded.service, keys: guarded.key("bert", .submitter))
    for _ in 0..<6 { try anna.send(.submit(large("anna"))) }
    try guarded.remove("anna")
    for _ in 0..<2 {
      guard case .accepted = try bert.ask(.submit(large("bert"))) else {
        Issue.record("refused")
        return
      }
    }
    // Of hers those remain that were accepted before, each whole.
    let rows = try bert.graphs(Selection(graphs: .all), limit: 9)
    #expect(rows.count { $0.submitter == "bert" } == 2)
    #expect(rows.allSatisfy { $0.counts.total == 6_000 })
  }

  // What is refused, and what is no message at all, is told as for a small one.
  @Test(.checks("G33", "S58")) func refusals() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    var cyclic = large("g")
    cyclic.groupEdges.append(GroupEdge(from: 5_999, to: 0, policy: .succeeded))
    let refused = try client.send(.submit(cyclic))
    let accepted = try client.send(.submit(large("g")))
    guard case .refused(let refusal) = try client.reply(to: refused) else {
      Issue.record("a cycle was accepted")
      return
    }
    #expect(refusal.code == .cycle)
    #expect(
      try client.reply(to: accepted)
        == .accepted(GraphID(1), operations: 6_000, repeated: false))
    let broken = try TestClient(service)
    try broken.dealer.send([UInt8](repeating: 0xff, count: CoordinatorLimits.framesHeardAtOnce + 1))
    guard case .refused(let why) = try broken.reply(to: .none) else {
      Issue.record("nonsense was answered otherwise")
      return
    }
    #expect(why.code == .badRequest)
    // One that leaves while its message is prepared keeps nobody from being heard.
    do {
      let leaving = try TestClient(service)
      try leaving.send(.submit(large("left")))
    }
    #expect(
      try client.ask(.submit(large("last"))) != .refused(Refusal(.busy, "")))
    #expect(try client.graphs(Selection(graphs: .all), limit: 9).map(\.name).last == "last")
  }
}
