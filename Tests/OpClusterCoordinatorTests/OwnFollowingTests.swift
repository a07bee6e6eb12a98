// Who follows what its own connection submits: told from the first event on, before the reply,
// nothing of others, and gapless when the coordinator is gone in between (S104, S115, G19, G34).
// The real coordinator, and the real connection.

import OpClusterJournal
import OpClusterModel
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterClient
@testable import OpClusterCoordinator

@Suite struct OwnFollowingTests {
  static let nothingButOwn = EventSubscription(
    number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true)

  /// `name` with an operation that ends at once, and one that waits for a worker if it is to last.
  static func graph(_ name: String, lasts: Bool = false) -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(name), name: name)
    submission.templates = [OperationTemplate(name: "a", work: .nothing)]
    if lasts { submission.templates.append(OperationTemplate(name: "b", work: .command)) }
    return submission
  }

  // MARK: - The coordinator

  /// All of a graph is there before the reply to its submission, and nothing of others.
  @Test func eventsBeforeTheReply() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let own = try TestClient(service)
    let other = try TestClient(service)
    _ = try own.ask(.subscribe(Self.nothingButOwn))
    _ = try other.submit(Self.graph("others", lasts: true))
    for number in 1...20 {
      let before = own.batches.count
      let graph = try own.submit(Self.graph("mine-\(number)"))
      let events = own.batches.dropFirst(before).flatMap(\.events)
      let kinds = events.filter { $0.graph == graph }.map(\.kind)
      #expect(kinds.first == .graphSubmitted(operations: 1))
      #expect(kinds.last == .graphFinished(.succeeded))
      #expect(events.allSatisfy { $0.graph == graph || $0.graph == nil })
    }
    // A graph that had been accepted before is not followed anew.
    _ = try own.ask(.submit(Self.graph("others", lasts: true)))
    // All events of queues, whoever made them; none of workers.
    _ = try other.ask(.createQueue(QueueSettings(name: "made-by-another")))
    _ = try TestWorker(service)
    _ = try own.ask(.ping)
    let rest = own.batches.flatMap(\.events)
    #expect(
      rest.contains {
        guard case .queueCreated(let settings) = $0.kind else { return false }
        return settings.name == "made-by-another"
      })
    #expect(!rest.contains { if case .worker = $0.subject { true } else { false } })
    service.stop()
  }

  // MARK: - The connection

  /// What an observer and its completions have heard.
  final class Heard: Sendable {
    private struct State {
      var events: [Event] = []
      var ended: Set<GraphID> = []
      var accepted: [String: (graph: GraphID, isRepeated: Bool)] = [:]
      var failures: [String] = []
    }
    private let state = Mutex(State())
    func take(_ batch: EventBatch) {
      state.withLock {
        $0.events += batch.events
        for event in batch.events {
          guard case .graphFinished = event.kind, let graph = event.graph else { continue }
          $0.ended.insert(graph)
        }
      }
    }
    func fail(_ text: String) { state.withLock { $0.failures.append(text) } }
    func take(_ name: String, _ result: Result<ClientReply, ClientError>) {
      switch result {
      case .success(.accepted(let graph, _, let isRepeated)):
        state.withLock { $0.accepted[name] = (graph, isRepeated) }
      case .success(let reply): fail("\(name): \(reply)")
      case .failure(let error): fail("\(name): \(error)")
      }
    }
    var events: [Event] { state.withLock { $0.events } }
    /// Graphs whose end was heard. A copy of all events at each look would cost a long wait.
    var ended: Set<GraphID> { state.withLock { $0.ended } }
    var countOfAccepted: Int { state.withLock { $0.accepted.count } }
    var accepted: [String: (graph: GraphID, isRepeated: Bool)] { state.withLock { $0.accepted } }
    var failures: [String] { state.withLock { $0.failures } }
  }

  /// Every event there has been since the beginning, as another client sees it.
  static func everything(_ service: Service) throws -> [Event] {
    let client = try TestClient(service)
    _ = try client.ask(
      .subscribe(
        EventSubscription(
          number: 1, selection: Selection(graphs: .all), since: 0, backlogOnly: true,
          credit: 1_000_000)))
    var events: [Event] = []
    while true {
      let batch = try client.nextBatch()
      events += batch.events
      if batch.caughtUp { return events }
    }
  }

  /// Graph by graph the observer has heard all there is, once and in order, and nothing else.
  static func expectComplete(_ heard: Heard, _ service: Service) throws {
    let graphs = Set(heard.accepted.values.map(\.graph))
    let all = try everything(service)
    do {
      try eventually("the end of every graph") { graphs.isSubset(of: heard.ended) }
    } catch {
      let missed = graphs.subtracting(heard.ended)
      let known = all.filter { $0.graph.map(missed.contains) ?? false }
      let told = heard.events.filter { $0.graph.map(missed.contains) ?? false }
      Issue.record(
        """
        never heard the end of \(missed.sorted()); there is: \(known.prefix(12)); \
        told: \(told.prefix(12)); \(heard.failures)
        """)
      throw error
    }
    let told = heard.events
    #expect(told.allSatisfy { event in event.graph.map { graphs.contains($0) } ?? true })
    let wanted = Dictionary(grouping: all, by: \.graph)
    let heardOf = Dictionary(grouping: told, by: \.graph)
    for graph in graphs.sorted() {
      #expect(heardOf[graph] == wanted[graph], "graph \(graph.number)")
    }
    let queueEvents = told.filter { $0.graph == nil }.map(\.sequence)
    #expect(queueEvents == queueEvents.sorted() && Set(queueEvents).count == queueEvents.count)
    #expect(heard.failures.isEmpty)
  }

  static func observe(_ connection: ClusterConnection, _ heard: Heard) -> Observation {
    connection.observe(
      nothingButOwn, events: { heard.take($0) }, ended: { heard.fail("ended: \($0)") })
  }

  /// Waits until the coordinator has taken in what was sent before; facts may still be held.
  static func awaitTaken(_ connection: ClusterConnection) throws {
    let isTaken = Mutex(false)
    connection.send(.configuration) { _ in isTaken.withLock { $0 = true } }
    try eventually("an answer to a question") { isTaken.withLock { $0 } }
  }

  /// Four graphs in one loss: accepted and lasting; two whose answers did not arrive, with the
  /// acceptance on disk or lost with the last writes; and one never sent before.
  @Test(arguments: [true, false])
  func coordinatorKilled(isDurable: Bool) async throws {
    let disk = MemoryDisk()
    let first = try Service(.memory(disk), in: TestFolder())
    let journal = try #require(first.journal)
    let connection = try await ClusterConnection.connect(to: first.ready.clientEndpoint.address)
    try Self.kill(first, journal, disk, connection, isDurable: isDurable)
    await connection.close()
  }

  /// Without a pause of the task: sockets stay on their thread (A13).
  private static func kill(
    _ first: Service, _ journal: SteeredJournal, _ disk: MemoryDisk,
    _ connection: ClusterConnection, isDurable: Bool
  ) throws {
    let heard = Heard()
    let observation = observe(connection, heard)
    func submit(_ name: String, lasts: Bool) {
      connection.send(.submit(graph(name, lasts: lasts))) { heard.take(name, $0) }
    }
    submit("known", lasts: true)
    try eventually("an acceptance") { heard.accepted["known"] != nil }
    _ = try TestClient(first).submit(graph("others", lasts: true))
    journal.hold()
    submit("unanswered", lasts: true)
    submit("unanswered and ended", lasts: false)
    try awaitTaken(connection)
    if isDurable { journal.letGo() }
    first.stop()
    #expect(heard.countOfAccepted == 1)
    submit("new", lasts: true)
    let second = try Service(.memory(disk), in: first.folder)
    try eventually("all acceptances") { heard.countOfAccepted == 4 || !heard.failures.isEmpty }
    #expect(heard.accepted["unanswered"]?.isRepeated == isDurable)
    #expect(heard.accepted["unanswered and ended"]?.isRepeated == isDurable)
    #expect(heard.accepted["new"]?.isRepeated == false)
    let worker = try TestWorker(second)
    try worker.work(through: 4)
    try expectComplete(heard, second)
    observation.cancel()
    second.stop()
  }

  /// A program that adds graphs one by one without waiting, while the coordinator is killed again
  /// and again, with and without its last writes.
  @Test(arguments: 1...3 as ClosedRange<UInt64>) func killedAgainAndAgain(seed: UInt64) async throws
  {
    let disk = MemoryDisk()
    let service = try Service(.memory(disk), in: TestFolder())
    let connection = try await ClusterConnection.connect(to: service.ready.clientEndpoint.address)
    var generator = MessageGenerator(state: seed &* 0x9E37_79B9_7F4A_7C15)
    try Self.killAgain(service, disk, connection, &generator)
    await connection.close()
  }

  private static func killAgain(
    _ first: Service, _ disk: MemoryDisk, _ connection: ClusterConnection,
    _ generator: inout MessageGenerator
  ) throws {
    var service = first
    let heard = Heard()
    let observation = observe(connection, heard)
    var submitted = 0
    func submit(_ count: UInt32) {
      for _ in 0..<count {
        submitted += 1
        let name = "g\(submitted)"
        connection.send(.submit(graph(name))) { heard.take(name, $0) }
      }
    }
    submit(20)
    for _ in 0..<4 {
      let journal = try #require(service.journal)
      submit(generator.below(300))
      let enough = heard.countOfAccepted + Int(generator.below(100))
      try eventually("some acceptances") {
        heard.countOfAccepted >= min(enough, submitted) || !heard.failures.isEmpty
      }
      journal.hold()
      submit(generator.below(300))
      let isDurable = generator.below(2) == 0
      if isDurable { journal.letGo() }
      service.stop()
      submit(generator.below(20))
      service = try Service(.memory(disk), in: first.folder)
    }
    try eventually("all acceptances") {
      heard.countOfAccepted == submitted || !heard.failures.isEmpty
    }
    try expectComplete(heard, service)
    observation.cancel()
    service.stop()
  }
}
