// G39: no answer to anybody has a secret value in it: every request is asked by every role, of a
// graph that lives, of one that has ended, and in the next life of the coordinator.

import OpClusterJournal
import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ
import Testing

@testable import OpClusterCoordinator

@Suite struct SecretServiceTests {
  private static let secret = "5d1c-hush-hush-77"

  private var graph: GraphSubmission {
    var graph = chainGraph("g", key: "k")
    graph.secrets = [Self.secret]
    for at in graph.templates.indices { graph.templates[at].secrets = [0] }
    return graph
  }

  private func isFound(in bytes: [UInt8]) -> Bool {
    let wanted = Array(Self.secret.utf8)
    return bytes.indices.contains { at in bytes[at...].starts(with: wanted) }
  }

  /// One of each kind, about a graph: a new kind does not compile until it is listed.
  private func requests(about graph: GraphID) throws -> [ClientRequest] {
    let all = Selection(graphs: .all)
    let id = OperationID(graph: graph, index: 0)
    let nobody = OperationTarget.operations([OperationID(graph: GraphID(99), index: 0)])
    var again = self.graph
    again.key = SubmissionKey("k")
    again.secrets = ["another"]
    let list: [ClientRequest] = [
      .submit(again), .enqueue([id], queue: "default"), .cancel(nobody, reason: "", grace: nil),
      .cancelQueue("none", reason: ""), .suspendGraphs(.graph(GraphID(99)), true),
      .createQueue(QueueSettings(name: "default")), .changeQueue("none", QueueChange()),
      .removeQueue("none"), .addDependency(from: id, to: id, .succeeded),
      .removeDependency(from: id, to: id), .setPriority(nobody, .high), .hold(nobody, true),
      .setQueue(nobody, queue: "none"), .addBlocks(id, [1]),
      .beginWait(id, .operations([id])), .endWait(id), .drainWorker("none"),
      .resumeWorker("none"), .forgetWorker("none"), .removeGraphs([GraphID(99)]),
      .graphs(all, after: nil, limit: 0), .operations(all, after: nil, limit: 0),
      .operations(.graph(graph), after: nil, limit: 1), .structure(.graph(graph)),
      .explain(.graph(graph)), .submission(graph), .queues(), .workers, .configuration, .ping,
      .enrol(name: "x", publicKey: Array(repeating: 1, count: 32)),
      .log(
        AttemptSelection(operation: id, attempt: 1), .standardOutput, offset: 0,
        maximumBytes: 10),
      .subscribe(EventSubscription(number: 1, selection: all, since: 0, backlogOnly: true)),
      .grantCredit(subscription: 1, events: 1_000), .unsubscribe(subscription: 1),
      .locate([], reader: ContentAsker()), .place([], avoided: [], writer: ContentAsker()),
      .bring(EverySaying.content, unreached: [], reader: ContentAsker()),
    ]
    let kinds = Set(list.map { Self.kind($0) })
    #expect(kinds == Set(0..<37), "not all kinds are asked")
    return list
  }

  private static func kind(_ request: ClientRequest) -> Int {
    switch request {
    case .submit: 0
    case .enqueue: 1
    case .cancel: 2
    case .cancelQueue: 3
    case .suspendGraphs: 4
    case .createQueue: 5
    case .changeQueue: 6
    case .removeQueue: 7
    case .addDependency: 8
    case .removeDependency: 9
    case .setPriority: 10
    case .hold: 11
    case .setQueue: 12
    case .addBlocks: 13
    case .beginWait: 14
    case .endWait: 15
    case .drainWorker: 16
    case .graphs: 17
    case .operations: 18
    case .structure: 19
    case .explain: 20
    case .submission: 21
    case .queues: 22
    case .workers: 23
    case .configuration: 24
    case .ping: 25
    case .enrol: 26
    case .log: 27
    case .subscribe: 28
    case .grantCredit: 29
    case .unsubscribe: 30
    case .resumeWorker: 31
    case .forgetWorker: 32
    case .removeGraphs: 33
    case .locate: 34
    case .place: 35
    case .bring: 36
    case .reusable: 37
    }
  }

  /// Asks everything; nothing that was said has the secret in it.
  private func askEverything(_ client: TestClient, about graph: GraphID) throws {
    for request in try requests(about: graph) {
      // A log is asked of a worker, which may not answer.
      if case .log = request { _ = try client.send(request) } else { _ = try client.ask(request) }
    }
    #expect(client.heard.count > 100 && !isFound(in: client.heard))
  }

  @Test func nobodyIsTold() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    var client = try TestClient(service)
    let number = try client.submit(graph)
    try askEverything(client, about: number)
    let worker = try TestWorker(service)
    let first = try worker.awaitDispatches(1)
    #expect(worker.templates.first?.secrets == [Self.secret])
    try askEverything(client, about: number)
    try worker.awaitAcknowledgement(
      of: worker.report(first.map { .finished($0.attempt, .failed(3)) }))
    _ = try client.awaitEnd(of: number)
    try askEverything(client, about: number)
    guard case .submission(let shown, _) = try client.ask(.submission(number)) else {
      Issue.record("the history does not know the graph")
      return
    }
    #expect(shown.secrets == [] && shown.templates.first?.secrets == [0])
    service.stop()
    service = try Service(.disk, in: folder)
    client = try TestClient(service)
    try askEverything(client, about: number)
    // Done again, it has its secrets, which its submitter need not know.
    var again = shown
    again.key = SubmissionKey("again")
    again.continued = ContinuedGraph(graph: number, reused: OperationRuns(graph: number))
    _ = try client.submit(again)
    let other = try TestWorker(service, session: 2)
    _ = try other.awaitDispatches(1)
    #expect(other.templates.first?.secrets == [Self.secret])
  }

  @Test func noRoleIsTold() throws {
    let guarded = try GuardedService()
    let anna = try TestClient(guarded.service, keys: guarded.key("anna", .submitter))
    let number = try anna.submit(graph)
    try askEverything(anna, about: number)
    for role in [Role.observer, .submitter, .admin] {
      let keys = try guarded.key("other-\(role.rawValue)", role)
      let client = try TestClient(guarded.service, keys: keys)
      try askEverything(client, about: number)
    }
    _ = try anna.ask(.cancel(.selection(.graph(number)), reason: "", grace: nil))
    _ = try anna.awaitEnd(of: number)
    let olga = try TestClient(guarded.service, keys: guarded.key("olga", .observer))
    try askEverything(olga, about: number)
    // Another one who submits may not use them either.
    let eve = try TestClient(guarded.service, keys: guarded.key("eve", .submitter))
    var again = graph
    again.key = SubmissionKey("eve")
    again.secrets = []
    again.continued = ContinuedGraph(graph: number, reused: OperationRuns(graph: number))
    guard case .refused(let refusal) = try eve.ask(.submit(again)) else {
      Issue.record("somebody else has the secrets")
      return
    }
    #expect(refusal.code == .forbidden)
  }
}
