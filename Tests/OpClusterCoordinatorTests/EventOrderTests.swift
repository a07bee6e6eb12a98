// What a client is told in which order, over real sockets: the events of a turn come before the
// replies of that turn, so that a library which applies them shows a caller its own effect (S3).

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct EventOrderTests {
  /// What came, in order: the graphs that were told submitted, and the replies.
  private enum Heard: Equatable {
    case submitted(GraphID)
    case cancelled(GraphID)
    case reply(RequestID)
  }

  private static let everything = EventSubscription(
    number: 1, selection: Selection(graphs: .all))

  /// Listens until so many replies have come.
  private func hear(_ client: TestClient, replies count: Int) throws -> [Heard] {
    var heard: [Heard] = []
    var left = count
    while left > 0 {
      switch try #require(try client.next()) {
      case .reply(let request, _):
        heard.append(.reply(request))
        left -= 1
      case .events(let batch):
        for event in batch.events {
          switch (event.subject, event.kind) {
          case (.graph(let graph), .graphSubmitted): heard.append(.submitted(graph))
          case (.operation(let id, _), .isCancelled): heard.append(.cancelled(id.graph))
          default: break
          }
        }
      case .welcome, .heartbeat: break
      }
    }
    return heard
  }

  // S3
  @Test(.checks("S3")) func eventsComeBeforeTheReplyOfTheirTurn() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    guard case .subscribed = try client.ask(.subscribe(Self.everything)) else {
      Issue.record("no subscription")
      return
    }
    for number in 1...20 as ClosedRange<UInt32> {
      let graph = GraphID(number)
      let submit = try client.send(.submit(arrayGraph("g", 1)))
      #expect(try hear(client, replies: 1) == [.submitted(graph), .reply(submit)])
      let cancel = try client.send(.cancel(.selection(.graph(graph)), reason: "", grace: nil))
      #expect(try hear(client, replies: 1) == [.cancelled(graph), .reply(cancel)])
    }
  }

  // Also where several turns become durable at once.
  @Test(.checks("S3")) func eachReplyFollowsItsOwnTurn() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let journal = try #require(service.journal)
    let client = try TestClient(service)
    _ = try client.ask(.subscribe(Self.everything))
    let other = try TestClient(service)
    journal.hold()
    var expected: [Heard] = []
    for number in 1...5 as ClosedRange<UInt32> {
      let request = try client.send(.submit(arrayGraph("g", 1)))
      // Its turn is over when what comes after it on the socket is answered or held back.
      #expect(try !client.hasReply(to: request, within: 20))
      expected += [.submitted(GraphID(number)), .reply(request)]
    }
    _ = try other.send(.ping)
    // A turn that a slow machine has not come to yet becomes durable after the others.
    journal.letGo()
    journal.commit()
    #expect(try hear(client, replies: 5) == expected)
  }

  // What others did before is not told, whatever the disk was at.
  @Test(.checks("S3", "S115", "S116")) func fromNowOnBeginsAfterItsAnswer() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let journal = try #require(service.journal)
    let other = try TestClient(service)
    let client = try TestClient(service)
    journal.hold()
    let before = try other.send(.submit(arrayGraph("before", 1)))
    #expect(try !other.hasReply(to: before, within: 50))
    let subscribe = try client.send(.subscribe(Self.everything))
    #expect(try !client.hasReply(to: subscribe, within: 50))
    let submit = try client.send(.submit(arrayGraph("own", 1)))
    #expect(try !client.hasReply(to: submit, within: 50))
    journal.letGo()
    journal.commit()
    let heard = try hear(client, replies: 2)
    #expect(heard == [.reply(subscribe), .submitted(GraphID(2)), .reply(submit)])
  }

  /// A program follows its own operations and is spared those of others.
  @Test func ownGraphsAreFollowed() throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let other = try TestClient(service)
    let client = try TestClient(service)
    _ = try client.ask(
      .subscribe(
        EventSubscription(
          number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true)))
    _ = try other.submit(arrayGraph("of another", 2))
    let submit = try client.send(.submit(arrayGraph("own", 2)))
    #expect(try hear(client, replies: 1) == [.submitted(GraphID(2)), .reply(submit)])
    let worker = try TestWorker(service)
    try worker.work(through: 4)
    _ = try other.awaitEnd(of: GraphID(2))
    var graphs: Set<GraphID> = []
    var hasEnded = false
    while !hasEnded {
      for event in try client.nextBatch().events {
        switch (event.subject, event.kind) {
        case (.operation(let id, _), _): graphs.insert(id.graph)
        case (.graph(let graph), let kind):
          graphs.insert(graph)
          if case .graphFinished = kind { hasEnded = true }
        case (.worker, _): Issue.record("events of workers were not asked for")
        case (.queue, _): break
        }
      }
    }
    #expect(graphs == [GraphID(2)])
  }
}
