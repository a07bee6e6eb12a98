// What becomes of requests and subscriptions, without a socket.

import OpClusterModel
import Testing

@testable import OpClusterClient

@Suite struct PendingRequestsTests {
  static func request(
    _ number: UInt64, isRepeatable: Bool = true, isSubmission: Bool = false,
    deadline: Instant? = nil, slot: ReplySlot<ClientReply> = ReplySlot()
  ) -> PendingRequest {
    PendingRequest(
      id: RequestID(number), bytes: [1], isRepeatable: isRepeatable, isSubmission: isSubmission,
      deadline: deadline
    ) { result in
      let isFirst = slot.fill(result)
      #expect(isFirst, "a completion is called once")
    }
  }

  /// The kind of error that a slot was filled with; nil for an answer.
  static func kind(_ slot: ReplySlot<ClientReply>) async -> ClientError.Kind? {
    if case .failure(let error) = await slot.outcome() { error.kind } else { nil }
  }

  @Test func noMoreThanTheCoordinatorTakes() {
    var requests = PendingRequests()
    for number in 0...UInt64(PendingRequests.inFlightLimit) { requests.add(Self.request(number)) }
    for _ in 0..<PendingRequests.inFlightLimit {
      #expect(requests.next() != nil)
      requests.markNextSent()
    }
    #expect(requests.next() == nil)
    requests.answer(RequestID(5), .queues([]))
    #expect(requests.next()?.id == RequestID(UInt64(PendingRequests.inFlightLimit)))
  }

  @Test func repeatedInTheOrderInWhichTheyWereAsked() async {
    var requests = PendingRequests()
    let slot = ReplySlot<ClientReply>()
    let unrepeatable = Self.request(2, isRepeatable: false, slot: slot)
    for request in [Self.request(1), unrepeatable, Self.request(3), Self.request(4)] {
      requests.add(request)
    }
    for _ in 0..<3 { requests.markNextSent() }
    requests.connectionEnded(.lost("x"))
    #expect(await Self.kind(slot) == .connectionLost)
    var order: [UInt64] = []
    while let next = requests.next() {
      order.append(next.id.number)
      requests.markNextSent()
    }
    #expect(order == [1, 3, 4])
  }

  @Test func lateAnswersAndUnknownOnesAreDropped() async {
    var requests = PendingRequests()
    let slot = ReplySlot<ClientReply>()
    requests.add(Self.request(1, deadline: Instant(nanoseconds: 10), slot: slot))
    requests.markNextSent()
    #expect(requests.nextDeadline == Instant(nanoseconds: 10))
    requests.expire(at: Instant(nanoseconds: 9), address: "x")
    #expect(!requests.isEmpty)
    requests.expire(at: Instant(nanoseconds: 10), address: "x")
    #expect(requests.nextDeadline == nil)
    #expect(await Self.kind(slot) == .timedOut)
    // Its place is free when the answer comes.
    #expect(!requests.isEmpty)
    requests.answer(RequestID(1), .queues([]))
    requests.answer(RequestID(99), .queues([]))
    #expect(requests.isEmpty)
  }

  @Test func abandonedBeforeItWasSent() {
    var requests = PendingRequests()
    requests.add(Self.request(1))
    requests.abandon(RequestID(1))
    #expect(requests.next() == nil)
    #expect(requests.isEmpty)
  }

  /// Delivered and not read counts against the credit of the next subscription: never more than
  /// one credit's worth of events is kept (G28).
  @Test func creditAfterALoss() async throws {
    let feed = EventFeed(credit: 8) {}
    var subscriptions = Subscriptions()
    var last: UInt64 = 0
    let wish = EventSubscription(
      number: 1, selection: Selection(graphs: .all), since: 0, credit: 8)
    subscriptions.add(wish, sink: feed)
    func subscribed() -> EventSubscription? {
      for case (_, .subscribe(let subscription)) in subscriptions.due(&last) {
        return subscription
      }
      return nil
    }
    let first = try #require(subscribed())
    #expect(first.credit == 8)
    #expect(
      subscriptions.take(
        EventBatch(
          subscription: first.number, first: 0, events: EventStreamTests.events(1...6),
          caughtUp: false, resumeAt: 6)) == nil)
    subscriptions.connectionEnded()
    let second = try #require(subscribed())
    #expect(second.credit == 2)
    #expect(second.since == 6)
    #expect(second.number != first.number)
    // A late batch of the first subscription is not taken for the second's.
    #expect(
      subscriptions.take(
        EventBatch(
          subscription: first.number, first: 6, events: EventStreamTests.events(7...7),
          caughtUp: false, resumeAt: 7)) == nil)
    #expect(try await feed.next()?.events.count == 6)
    let granted = subscriptions.due(&last).compactMap { request -> UInt32? in
      if case .grantCredit(_, let events) = request.1 { events } else { nil }
    }
    #expect(granted == [6])
  }

  @Test func moreThanTheCreditIsAViolation() throws {
    let feed = EventFeed(credit: 1) {}
    var subscriptions = Subscriptions()
    var last: UInt64 = 0
    subscriptions.add(
      EventSubscription(number: 1, selection: Selection(graphs: .all), since: 0, credit: 1),
      sink: feed)
    _ = subscriptions.due(&last)
    let count = UInt64(Limits.entriesPerMessage)
    func take(_ first: UInt64, _ events: ClosedRange<UInt64>) -> ClientError.Kind? {
      subscriptions.take(
        EventBatch(
          subscription: 1, first: first, events: EventStreamTests.events(events),
          caughtUp: false, resumeAt: events.upperBound))?.kind
    }
    #expect(take(0, 1...(count + 1)) == nil)
    #expect(take(count + 1, (count + 2)...(count + 2)) == .protocolViolation)
    #expect(!subscriptions.hasImpatient)
  }
}
