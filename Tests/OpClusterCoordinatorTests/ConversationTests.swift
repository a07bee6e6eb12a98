// Workers and followers over real sockets: restarts of either side, logs, events under load, and a
// follower that does not read.

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@Suite struct ConversationTests {
  /// A greeted client that claims other versions later is put out with everything of it: a
  /// subscription of it would take its share of the events on their way for ever.
  @Test(.checks("G32", "G33")) func aSecondHelloOfOtherVersionsLeavesNothing() throws {
    let service = try Service(.memory(.init()), in: TestFolder())
    let client = try TestClient(service)
    let wish = EventSubscription(number: 1, selection: Selection(graphs: .all))
    _ = try client.send(.subscribe(wish))
    let hello = ClientHello(versions: ProtocolVersions(lowest: 98, highest: 99))
    try client.dealer.send(Wire.encode(ClientMessage.hello(hello)))
    let isAnswered = try client.hasReply(to: RequestID(0), within: 10_000)
    #expect(isAnswered)
    let asked = try client.send(.ping)
    let isHeard = try client.hasReply(to: asked, within: 300)
    #expect(!isHeard, "it is put out")
    // Others are served, and so is it on a new connection.
    guard case .pong = try TestClient(service).ask(.ping) else {
      Issue.record("nobody is served")
      return
    }
  }

  /// What ran while the coordinator was away goes on, and its result counts.
  @Test(.checks("G24")) func aWorkerOutlivesTheCoordinator() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    var client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("g"))
    let attempt = try worker.awaitDispatches(1)[0].attempt
    try worker.awaitAcknowledgement(of: worker.report([.started(attempt)]))
    service.stop()
    service = try Service(.disk, in: folder)
    client = try TestClient(service)
    let again = try TestWorker(service, session: 1, executing: [attempt])
    #expect(again.welcome?.conversation.epoch == Epoch(2))
    #expect(again.welcome?.stale == [])
    try again.awaitAcknowledgement(of: again.report([.finished(attempt, .done)]))
    try again.work(through: 2)
    #expect(try client.awaitEnd(of: graph).state == .succeeded)
    let row = try client.operations(
      Selection(graphs: .numbers([.init(graph, graph)]), operation: "a"))
    #expect(row.map(\.attempt) == [1])
  }

  /// A worker that says nothing is lost after the time for it, and its work goes elsewhere.
  @Test(.checks("G22")) func aSilentWorkerIsLost() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.timing.heartbeat = .milliseconds(50)
      $0.timing.suspect = .milliseconds(300)
      $0.timing.lost = .milliseconds(600)
      $0.timing.fence = .zero
    }
    let client = try TestClient(service)
    let silent = try TestWorker(service, name: "silent", session: 1)
    let graph = try client.submit(chainGraph("g"))
    _ = try silent.awaitDispatches(1)
    try eventually("the loss") {
      guard case .workers(let rows) = try client.ask(.workers) else { return false }
      return rows.map(\.state) == [.down]
    }
    let other = try TestWorker(service, name: "other", session: 2)
    let attempt = try other.awaitDispatches(1)[0].attempt
    #expect(attempt.operation == OperationID(graph: graph, index: 0) && attempt.attempt == 2)
  }

  /// A malformed message ends a worker's conversation; it begins anew with what it holds.
  @Test func aGarbledWorkerBeginsAnew() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    _ = try client.submit(chainGraph("g"))
    let attempt = try worker.awaitDispatches(1)[0].attempt
    try worker.dealer.send([0xFF, 0xFF])
    while worker.refusals.isEmpty { try #require(try worker.takeNext()) }
    try worker.hello(assigned: [attempt])
    #expect(worker.welcome?.conversation.increment == 2 && worker.welcome?.stale == [])
    try worker.awaitAcknowledgement(of: worker.report([.finished(attempt, .done)]))
    try worker.work(through: 2)
  }

  /// Logs of what runs come from its holder, of what ended from whoever ran it; a worker that is
  /// gone is named.
  @Test func logsComeFromTheWorker() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.logPatience = .milliseconds(200)
    }
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    let graph = try client.submit(chainGraph("g"))
    let attempt = try worker.awaitDispatches(1)[0].attempt
    let selection = AttemptSelection(operation: attempt.operation)
    let ask = ClientRequest.log(selection, .standardError, offset: 5, maximumBytes: 100)
    let live = try client.send(ask)
    while worker.logRequests.isEmpty { try #require(try worker.takeNext()) }
    let asked = worker.logRequests[0]
    #expect(asked.attempt == attempt && asked.stream == .standardError && asked.offset == 5)
    let chunk = LogChunk(
      number: asked.number, offset: 5, bytes: [1, 2], size: 7, isComplete: false)
    try worker.dealer.send(Wire.encode(WorkerMessage.logChunk(chunk)))
    #expect(try client.reply(to: live) == .log(chunk))

    try worker.awaitAcknowledgement(of: worker.report([.finished(attempt, .done)]))
    try worker.work(through: 2)
    _ = try client.awaitEnd(of: graph)
    let later = try client.send(ask)
    while worker.logRequests.count < 2 { try #require(try worker.takeNext()) }
    #expect(worker.logRequests[1].attempt == attempt)
    guard case .refused(let refusal) = try client.reply(to: later) else {
      Issue.record("an answer from nowhere")
      return
    }
    #expect(refusal.code == .workerUnavailable && refusal.message.contains("w1"))
    let none = AttemptSelection(operation: attempt.operation, attempt: 5)
    let missing = try client.ask(.log(none, .standardOutput, offset: 0, maximumBytes: 1))
    guard case .refused(let unknown) = missing else {
      Issue.record("a log of nothing")
      return
    }
    #expect(unknown.code == .noSuchLog)
  }

  /// Followers from the beginning, from the middle and from now on see the same list,
  /// gapless, while it grows; with a credit that must be renewed all the time.
  @Test(.checks("S116"), arguments: [false, true]) func followersSeeEverythingOnce(
    isOnDisk: Bool
  ) throws {
    let service = try Service(isOnDisk ? .disk : .memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service, cpus: 64)
    for _ in 0..<5 { _ = try client.submit(arrayGraph("g", 40)) }
    try worker.work(through: 100)
    var followers = [try Follower(service, since: 0, credit: 64)]
    followers.append(try Follower(service, since: 150, credit: 7))
    try worker.work(through: 100)
    followers.append(try Follower(service, since: nil, credit: 1_000))
    for _ in 0..<5 { _ = try client.submit(arrayGraph("g", 40)) }
    try worker.work(through: 200)
    try eventually("the end of all graphs") {
      try client.graphs(Selection(graphs: .active)).isEmpty
    }
    // Only a number that is asked for behind the end of all graphs is behind all of theirs; on a
    // busy machine the worker may be told about after it.
    guard case .pong(_, _, let last) = try client.ask(.ping) else {
      Issue.record("no pong")
      return
    }
    for follower in followers {
      try follower.read(through: last)
      #expect(follower.sequences.filter { $0 <= last } == Array(follower.sequences[0]...last))
    }
    #expect(followers[0].sequences.first == 1)
    #expect(followers[1].sequences.first == 151)
  }

  /// A follower that leaves its events is put out with the place to resume from; the others
  /// are served.
  @Test(.checks("G28")) func aFollowerThatDoesNotReadIsPutOut() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.timing.heartbeat = .milliseconds(100)
      $0.subscriberPatience = .milliseconds(300)
      $0.subscriberBacklog = 50
    }
    let client = try TestClient(service)
    let slow = try Follower(service, since: nil, credit: 5)
    let good = try Follower(service, since: nil, credit: 10_000)
    let worker = try TestWorker(service)
    _ = try client.submit(arrayGraph("g", 40))
    try worker.work(through: 40)
    guard case .refused(let refusal) = try slow.awaitRefusal() else {
      Issue.record("not put out")
      return
    }
    #expect(refusal.code == .evicted)
    try slow.drain()
    let seen = try #require(slow.sequences.last)
    #expect(refusal.message.contains("last_seq=\(seen)"))
    try good.read(through: seen + 50)
    let resumed = try Follower(service, since: seen, credit: 10_000)
    try resumed.read(through: seen + 50)
    #expect(resumed.sequences.first == seen + 1)
  }

  /// Clients that wait hear from the coordinator at least once a heartbeat.
  @Test func subscribersHearHeartbeats() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder()) {
      $0.timing.heartbeat = .milliseconds(50)
    }
    let client = try TestClient(service)
    _ = try client.ask(
      .subscribe(EventSubscription(number: 1, selection: Selection(graphs: .all))))
    try client.awaitHeartbeat()
    try client.awaitHeartbeat()
    _ = try client.ask(.unsubscribe(subscription: 1))
  }
}

/// A client with one subscription to everything that gives back credit as it reads.
private final class Follower {
  private let client: TestClient
  private let request: RequestID
  private var told: UInt64 = 0
  private(set) var sequences: [UInt64] = []

  init(_ service: Service, since: UInt64?, credit: UInt32) throws {
    client = try TestClient(service)
    request = try client.send(
      .subscribe(
        EventSubscription(
          number: 3, selection: Selection(graphs: .all), since: since, credit: credit)))
    guard case .subscribed = try client.reply(to: request) else {
      throw Impatience(awaited: "a subscription")
    }
  }

  func read(through last: UInt64) throws {
    while (sequences.last ?? 0) < last {
      let batch = try client.nextBatch()
      take(batch)
      let count = UInt32(batch.events.count)
      if count > 0 { _ = try client.send(.grantCredit(subscription: 3, events: count)) }
    }
  }

  private func take(_ batch: EventBatch) {
    #expect(batch.first == told)
    told += UInt64(batch.events.count)
    sequences += batch.events.map(\.sequence)
  }

  /// The second answer to the subscription, without granting anything.
  func awaitRefusal() throws -> ClientReply { try client.reply(to: request) }

  /// Takes in what has arrived already.
  func drain() throws {
    while !client.batches.isEmpty { take(try client.nextBatch()) }
  }
}
