// Events that are handed over as they come: before later replies, credit, end.

import Citations
import OpClusterClient
import OpClusterModel
import Synchronization
import Testing

@Suite struct ObservationTests {
  /// What handlers and completions were told, in one order.
  private final class Notes: Sendable {
    private let state = Mutex<[String]>([])
    func add(_ line: String) { state.withLock { $0.append(line) } }
    var lines: [String] { state.withLock { $0 } }
  }

  private static func shown(_ batch: EventBatch) -> String {
    "events " + batch.events.map { "\($0.sequence)" }.joined(separator: ",")
  }

  /// Events come before the reply that follows them on the socket, and are granted again.
  @Test func beforeLaterReplies() async throws {
    let subscription = Mutex<UInt64>(0)
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        switch request {
        case .subscribe(let wish):
          subscription.withLock { $0 = wish.number }
          return [.reply(id, .subscribed(since: 0))]
        case .queues:
          let number = subscription.withLock { $0 }
          return [
            EventStreamTests.batch(number, first: 0, 1...2),
            EventStreamTests.batch(number, first: 2, 3...4), .reply(id, .queues([])),
          ]
        default: return []
        }
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let notes = Notes()
    var wish = EventStreamTests.everything
    wish.credit = 4
    let observation = connection.observe(
      wish, events: { notes.add(Self.shown($0)) }, ended: { _ in notes.add("ended") })
    connection.send(.queues()) { _ in notes.add("reply") }
    #expect(await eventually { notes.lines.contains("reply") })
    #expect(notes.lines == ["events 1,2", "events 3,4", "reply"])
    #expect(
      await eventually {
        fake.requests.reduce(0) {
          if case .grantCredit(_, let events) = $1 { $0 + events } else { $0 }
        } == 4
      })
    observation.cancel()
    #expect(
      await eventually {
        fake.requests.contains { if case .unsubscribe = $0 { true } else { false } }
      })
    await connection.close()
    #expect(!notes.lines.contains("ended"))
    fake.stop()
  }

  @Test func goesOnAfterALoss() async throws {
    let first = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [
          .reply(id, .subscribed(since: 0)), EventStreamTests.batch(wish.number, first: 0, 1...2),
        ]
      })
    let connection = try await ClusterConnection.connect(to: first.address)
    let notes = Notes()
    let observation = connection.observe(
      EventStreamTests.everything, events: { notes.add(Self.shown($0)) },
      ended: { notes.add("ended \($0.kind)") })
    #expect(await eventually { notes.lines.count == 1 })
    first.stop()
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script(epoch: 2) { id, request, _ in
        guard case .subscribe(let wish) = request, wish.since == 2 else { return [] }
        return [EventStreamTests.batch(wish.number, first: 0, 3...3)]
      })
    #expect(await eventually { notes.lines.count == 2 })
    #expect(notes.lines == ["events 1,2", "events 3"])
    await connection.close()
    #expect(notes.lines.last == "ended connectionLost")
    second.stop()
    withExtendedLifetime(observation) {}
  }

  private static func event(_ sequence: UInt64, _ graph: UInt32, _ kind: Event.Kind) -> Event {
    Event(
      sequence: sequence, commit: CommitIndex(sequence), time: .unknown,
      subject: .graph(GraphID(graph)), kind: kind)
  }

  /// Graph 5 was accepted while its answer was lost, graph 4 is known. When the answer
  /// comes, the subscription has passed the events of graph 5: they are told after all, and nothing
  /// of graph 4 a second time.
  @Test(.checks("S116", "G34")) func acceptedWithoutAnAnswer() async throws {
    let first = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        let begun = Self.event(10, 4, .graphSubmitted(operations: 1))
        return [
          .reply(id, .subscribed(since: 9)),
          .events(
            EventBatch(
              subscription: wish.number, first: 0, runs: [EventRun(first: begun, count: 1)],
              caughtUp: true, resumeAt: 10)),
        ]
      })
    let connection = try await ClusterConnection.connect(to: first.address)
    let notes = Notes()
    let wish = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([])), includesOwn: true)
    let observation = connection.observe(
      wish, events: { notes.add(Self.shown($0)) }, ended: { notes.add("ended \($0)") })
    let submission = GraphSubmission(key: SubmissionKey("k"), name: "g")
    connection.send(.submit(submission)) { _ in notes.add("accepted") }
    #expect(await eventually { first.requests.count == 2 && notes.lines == ["events 10"] })
    first.stop()
    let log = [
      Self.event(11, 5, .graphSubmitted(operations: 1)), Self.event(12, 4, .graphSuspended(true)),
      Self.event(13, 5, .graphFinished(.succeeded)), Self.event(14, 4, .graphFinished(.succeeded)),
    ]
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script(epoch: 2) { id, request, _ in
        switch request {
        case .subscribe(let wish):
          guard case .numbers(let ranges) = wish.selection.graphs else { return [] }
          let told = log.filter { event in
            guard case .graph(let graph) = event.subject else { return false }
            return event.sequence > wish.since ?? 0
              && ranges.contains { $0.first <= graph && graph <= $0.last }
          }
          return [
            .reply(id, .subscribed(since: wish.since ?? 14)),
            .events(
              EventBatch(
                subscription: wish.number, first: 0,
                runs: told.map { EventRun(first: $0, count: 1) }, caughtUp: true, resumeAt: 14)),
          ]
        case .submit: return [.reply(id, .accepted(GraphID(5), operations: 1, repeated: true))]
        default: return []
        }
      })
    #expect(await eventually { notes.lines.count == 4 })
    #expect(notes.lines == ["events 10", "events 12,14", "accepted", "events 11,13"])
    let since = second.requests.compactMap { request in
      if case .subscribe(let wish) = request { wish.since } else { nil }
    }
    #expect(since == [10, 10])
    observation.cancel()
    await connection.close()
    second.stop()
  }

  @Test func lettingGoUnsubscribes() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in request.isSubscription ? [.reply(id, .subscribed(since: 0))] : [] }
    )
    let connection = try await ClusterConnection.connect(to: fake.address)
    do {
      let observation = connection.observe(
        EventStreamTests.everything, events: { _ in }, ended: { _ in })
      #expect(await eventually { fake.requests.contains(where: \.isSubscription) })
      withExtendedLifetime(observation) {}
    }
    #expect(
      await eventually {
        fake.requests.contains { if case .unsubscribe = $0 { true } else { false } }
      })
    await connection.close()
    fake.stop()
  }

  @Test func refusedAndImpossible() async throws {
    let refusal = Refusal(.limitExceeded, "64 subscriptions")
    let fake = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .refused(refusal))] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let notes = Notes()
    let refused = connection.observe(
      EventStreamTests.everything, events: { _ in }, ended: { notes.add("\($0.message)") })
    #expect(await eventually { notes.lines == ["64 subscriptions"] })
    // Own graphs cannot be added to a selection with conditions: told at once.
    let wish = EventSubscription(
      number: 1, selection: Selection(graphs: .numbers([]), operation: "a"), includesOwn: true)
    let impossible = connection.observe(wish, events: { _ in }, ended: { notes.add("\($0)") })
    #expect(
      notes.lines.last?.hasSuffix("; make a second subscription for the other selection") == true)
    await connection.close()
    #expect(notes.lines.count == 2)
    fake.stop()
    withExtendedLifetime((refused, impossible)) {}
  }
}
