// Subscriptions over a real socket pair: order, credit, loss, end.

import Citations
import OpClusterClient
import OpClusterModel
import Testing

@Suite struct EventStreamTests {
  static func runs(_ range: ClosedRange<UInt64>) -> [EventRun] {
    events(range).map { EventRun(first: $0, count: 1) }
  }

  /// Events `first…last` of graph 1.
  static func events(_ range: ClosedRange<UInt64>) -> [Event] {
    range.map {
      Event(
        sequence: $0, commit: CommitIndex($0), time: WallTime(milliseconds: 1),
        subject: .graph(GraphID(1)), kind: .graphSuspended($0 % 2 == 0))
    }
  }

  static func batch(
    _ subscription: UInt64, first: UInt64, _ range: ClosedRange<UInt64>, caughtUp: Bool = false
  ) -> ClientAnswer {
    .events(
      EventBatch(
        subscription: subscription, first: first, runs: runs(range), caughtUp: caughtUp,
        resumeAt: range.upperBound))
  }

  static let everything = EventSubscription(
    number: 77, selection: Selection(graphs: .all), since: 0)

  @Test func backlogInOrderThenTheEnd() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [
          .reply(id, .subscribed(since: 0)), Self.batch(wish.number, first: 0, 1...3),
          Self.batch(wish.number, first: 3, 4...5, caughtUp: true),
        ]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    var wish = Self.everything
    wish.backlogOnly = true
    var batches: [EventBatch] = []
    for try await batch in connection.events(wish) { batches.append(batch) }
    #expect(batches.flatMap(\.events) == Self.events(1...5))
    #expect(batches.map(\.first) == [0, 3])
    #expect(batches.map(\.caughtUp) == [false, true])
    // The number is the caller's own, whatever the connection calls it.
    #expect(batches.allSatisfy { $0.subscription == 77 })
    await connection.close()
    fake.stop()
  }

  /// The stream goes on where it was, on the new connection, without a gap or a repetition.
  @Test func lossOfTheConnection() async throws {
    let first = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [
          .reply(id, .subscribed(since: 0)),
          Self.batch(wish.number, first: 0, 1...2, caughtUp: true),
          Self.batch(wish.number, first: 2, 3...4),
        ]
      })
    let connection = try await ClusterConnection.connect(to: first.address)
    var stream = connection.events(Self.everything).makeAsyncIterator()
    #expect(try await stream.next()?.events == Self.events(1...2))
    #expect(try await stream.next()?.events == Self.events(3...4))
    first.stop()
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script(epoch: 2) { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [
          .reply(id, .subscribed(since: wish.since ?? 99)),
          Self.batch(wish.number, first: 0, 5...6, caughtUp: true),
        ]
      })
    let next = try await stream.next()
    #expect(next?.events == Self.events(5...6))
    #expect(next?.first == 4)
    // The backlog is told once in a stream's life.
    #expect(next?.caughtUp == false)
    let since = second.requests.compactMap { request in
      if case .subscribe(let wish) = request { wish.since } else { nil }
    }
    #expect(since == [4])
    await connection.close()
    second.stop()
  }

  /// Without a start of its own the stream goes on from what the first subscribing said.
  @Test func fromNowOnSurvivesALossWithoutEvents() async throws {
    let first = try await FakeCoordinator.start(
      Script { id, request, _ in
        request.isSubscription ? [.reply(id, .subscribed(since: 41))] : [.reply(id, .queues([]))]
      })
    let connection = try await ClusterConnection.connect(to: first.address)
    var wish = Self.everything
    wish.since = nil
    var stream = connection.events(wish).makeAsyncIterator()
    // The reply to a later request tells that the one before was taken in.
    #expect(await eventually { first.requests.contains(where: \.isSubscription) })
    _ = try await connection.request(.queues())
    first.stop()
    let second = try await FakeCoordinator.start(
      at: first.address,
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [Self.batch(wish.number, first: 0, 42...42)]
      })
    #expect(try await stream.next()?.events == Self.events(42...42))
    guard case .subscribe(let again)? = second.requests.first else {
      Issue.record("no subscription at the second coordinator")
      return
    }
    #expect(again.since == 41)
    await connection.close()
    second.stop()
  }

  /// No more comes than the reader takes; what it takes is granted again.
  @Test(.checks("G27")) func creditFollowsTheReader() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in
        guard case .subscribe(let wish) = request else { return [] }
        return [.reply(id, .subscribed(since: 0)), Self.batch(wish.number, first: 0, 1...8)]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    var wish = Self.everything
    wish.credit = 8
    var stream = connection.events(wish).makeAsyncIterator()
    #expect(await eventually { fake.requests.contains(where: \.isSubscription) })
    #expect(Self.grants(fake) == 0)
    _ = try await stream.next()
    #expect(await eventually { Self.grants(fake) == 8 })
    await connection.close()
    fake.stop()
  }

  private static func grants(_ fake: FakeCoordinator) -> UInt32 {
    fake.requests.reduce(0) {
      if case .grantCredit(_, let events) = $1 { $0 + events } else { $0 }
    }
  }

  /// A gap is not hidden: the socket is dropped and the stream goes on from the last event.
  @Test func gapLeadsToANewSubscription() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, position in
        guard case .subscribe(let wish) = request else { return [] }
        guard position > 1 else {
          return [
            Self.batch(wish.number, first: 0, 1...2), Self.batch(wish.number, first: 4, 5...6),
          ]
        }
        return [Self.batch(wish.number, first: 0, 3...6)]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    var stream = connection.events(Self.everything).makeAsyncIterator()
    #expect(try await stream.next()?.events == Self.events(1...2))
    #expect(try await stream.next()?.events == Self.events(3...6))
    await connection.close()
    fake.stop()
  }

  @Test func refusedSubscription() async throws {
    let refusal = Refusal(.unknownGraph, "no graph 9")
    let fake = try await FakeCoordinator.start(
      Script { id, _, _ in [.reply(id, .refused(refusal))] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let error = await #expect(throws: ClientError.self) {
      for try await _ in connection.events(Self.everything) {}
    }
    #expect(error?.kind == .refused(refusal))
    await connection.close()
    fake.stop()
  }

  /// Put out by the coordinator, it comes back by itself.
  @Test(.checks("G28")) func evictedSubscription() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, position in
        guard case .subscribe(let wish) = request else { return [] }
        guard position > 1 else {
          return [
            Self.batch(wish.number, first: 0, 1...1),
            .reply(id, .refused(Refusal(.evicted, "too slow"))),
          ]
        }
        return [Self.batch(wish.number, first: 0, 2...2)]
      })
    let connection = try await ClusterConnection.connect(to: fake.address)
    var stream = connection.events(Self.everything).makeAsyncIterator()
    #expect(try await stream.next()?.events == Self.events(1...1))
    #expect(try await stream.next()?.events == Self.events(2...2))
    await connection.close()
    fake.stop()
  }

  @Test func lettingGoUnsubscribes() async throws {
    let fake = try await FakeCoordinator.start(
      Script { id, request, _ in request.isSubscription ? [.reply(id, .subscribed(since: 0))] : [] }
    )
    let connection = try await ClusterConnection.connect(to: fake.address)
    do {
      let stream = connection.events(Self.everything)
      #expect(await eventually { fake.requests.contains(where: \.isSubscription) })
      _ = stream
    }
    #expect(
      await eventually {
        fake.requests.contains { if case .unsubscribe = $0 { true } else { false } }
      })
    await connection.close()
    fake.stop()
  }

  @Test func cancelledReaderAndClosedConnection() async throws {
    let fake = try await FakeCoordinator.start(Script { _, _, _ in [] })
    let connection = try await ClusterConnection.connect(to: fake.address)
    let reader = Task {
      var count = 0
      for try await _ in connection.events(Self.everything) { count += 1 }
      return count
    }
    #expect(await eventually { fake.requests.contains(where: \.isSubscription) })
    reader.cancel()
    #expect(try await reader.value == 0)
    let stream = connection.events(Self.everything)
    await connection.close()
    await #expect(throws: ClientError.self) { for try await _ in stream {} }
    fake.stop()
  }
}
