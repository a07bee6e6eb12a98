// What becomes of requests and subscriptions, without a socket.

import Citations
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

  // MARK: - A busy coordinator

  private static func busy(_ wait: Span) -> ClientReply {
    .refused(Refusal(.busy, "too much", retryAfter: wait))
  }

  /// Asked again after the time that the coordinator named, in the old order; nothing that
  /// waited behind it overtakes.
  @Test(.checks("G27")) func askedAgainWhenTheCoordinatorIsBusy() {
    var requests = PendingRequests()
    for number in 1...4 { requests.add(Self.request(UInt64(number), isRepeatable: false)) }
    for _ in 0..<3 {
      _ = requests.next()
      requests.markNextSent()
    }
    let now = Instant(nanoseconds: 1_000_000_000)
    requests.answer(RequestID(1), .effect(true), at: now)
    requests.answer(RequestID(2), Self.busy(.milliseconds(100)), at: now)
    requests.answer(RequestID(3), Self.busy(.milliseconds(90)), at: now)
    #expect(requests.takePostponement()?.refusal.code == .busy)
    #expect(requests.takePostponement() == nil)
    #expect(requests.next(at: now + .milliseconds(99)) == nil)
    #expect(requests.nextSending(at: now) == now + .milliseconds(100))
    var order: [UInt64] = []
    while let next = requests.next(at: now + .milliseconds(100)) {
      order.append(next.id.number)
      #expect(next.bytes == [1])
      requests.markNextSent()
    }
    #expect(order == [2, 3, 4])
  }

  /// Without room for more operations only submissions wait, in their order; what may make
  /// room goes at once, or nobody could ever make any.
  @Test(.checks("G27")) func onlySubmissionsWaitForRoom() {
    var requests = PendingRequests()
    for number in 1...3 { requests.add(Self.request(UInt64(number), isSubmission: true)) }
    requests.add(Self.request(4, isRepeatable: false))
    _ = requests.next()
    requests.markNextSent()
    let now = Instant(nanoseconds: 1_000_000_000)
    let full = Refusal(.busy, "full", retryAfter: .milliseconds(100), lacksRoom: true)
    requests.answer(RequestID(1), .refused(full), at: now)
    #expect(requests.takePostponement()?.refusal == full)
    requests.add(Self.request(5, isSubmission: true))
    requests.add(Self.request(6, isRepeatable: false))
    func sent(at moment: Instant) -> [UInt64] {
      var order: [UInt64] = []
      while let next = requests.next(at: moment) {
        order.append(next.id.number)
        requests.markNextSent()
      }
      return order
    }
    #expect(!requests.isPaused(at: now) && sent(at: now) == [4, 6])
    #expect(requests.nextSending(at: now) == now + .milliseconds(100))
    #expect(sent(at: now + .milliseconds(99)).isEmpty)
    requests.add(Self.request(7, isRepeatable: false))
    #expect(sent(at: now + .milliseconds(100)) == [1, 2, 3, 5, 7])
    #expect(requests.nextSending(at: now + .milliseconds(100)) == nil)
    // Another coordinator may have room.
    requests.answer(RequestID(2), .refused(full), at: now)
    requests.connectionEnded(ClientError(.connectionLost, "gone"))
    #expect(sent(at: now) == [1, 2, 3, 5])
  }

  /// What the connection says for itself waits likewise, and is said again.
  @Test func aSubscriptionIsAskedAgain() throws {
    var mind = ClientConversation(at: .zero)
    _ = mind.connect(at: .zero)
    _ = mind.take(.welcome(version: 1, build: "b", CoordinatorLife(Epoch(1))), at: .zero)
    let observation = mind.follow(
      EventSubscription(number: 1, selection: Selection(graphs: .all))
    ) { _ in }
    var last: UInt64 = 0
    #expect(mind.takeMessages(lastOwnRequest: &last, at: .zero).count == 1)
    let busy = Self.busy(.milliseconds(200))
    _ = mind.take(.reply(RequestID(last), busy), at: .zero)
    let early = Instant.zero + .milliseconds(199)
    #expect(mind.takeMessages(lastOwnRequest: &last, at: early).isEmpty)
    let late = Instant.zero + .milliseconds(200)
    #expect(mind.takeMessages(lastOwnRequest: &last, at: late).count == 1)
    observation.cancel()
  }

  /// The own chance adds up to half of the time, never takes from it.
  @Test func spreadByChance() {
    for (chance, pause) in [(0.0, Span.seconds(2)), (1.0, .seconds(3))] {
      var requests = PendingRequests()
      requests.add(Self.request(1))
      _ = requests.next()
      requests.markNextSent()
      requests.answer(RequestID(1), Self.busy(.seconds(2)), at: .zero, chance: chance)
      #expect(requests.takePostponement()?.pause == pause)
    }
  }

  /// Not for ever, and not beyond what the caller allows; a refusal without a time is final.
  @Test func busyForTooLong() async {
    var requests = PendingRequests()
    let (slot, hasty, untimed) = (
      ReplySlot<ClientReply>(), ReplySlot<ClientReply>(), ReplySlot<ClientReply>()
    )
    requests.add(Self.request(1, slot: slot))
    requests.add(Self.request(2, deadline: Instant(nanoseconds: 500_000_000), slot: hasty))
    requests.add(Self.request(3, slot: untimed))
    for _ in 0..<3 {
      _ = requests.next()
      requests.markNextSent()
    }
    requests.answer(RequestID(3), .refused(Refusal(.busy, "no time")), at: .zero)
    guard case .refused? = await Self.kind(untimed) else {
      Issue.record("a refusal without a time is not an error")
      return
    }
    var now = Instant.zero
    requests.answer(RequestID(2), Self.busy(.seconds(10)), at: now)
    var tries = 0
    while now < Instant.zero + PendingRequests.busyPatience {
      requests.answer(RequestID(1), Self.busy(.seconds(10)), at: now)
      now = now + .seconds(10)
      requests.expire(at: now, address: "x")
      if requests.next(at: now)?.id == RequestID(1) { requests.markNextSent() }
      tries += 1
    }
    requests.answer(RequestID(1), Self.busy(.seconds(10)), at: now)
    guard case .refused(let refusal)? = await Self.kind(slot) else {
      Issue.record("it never gives up")
      return
    }
    #expect(refusal.code == .busy && tries == 6 && requests.isEmpty)
    #expect(await Self.kind(hasty) == .timedOut)
  }

  /// `Limits.requestBytesInFlight`: what is too large goes alone.
  @Test func requestBytesInFlight() {
    var requests = PendingRequests()
    let half = [UInt8](repeating: 0, count: Limits.requestBytesInFlight / 2)
    for (number, bytes) in [half, half, [1], half + half + [1]].enumerated() {
      var request = Self.request(UInt64(number + 1))
      request.bytes = bytes
      requests.add(request)
    }
    for _ in 0..<2 {
      #expect(requests.next() != nil)
      requests.markNextSent()
    }
    #expect(requests.next() == nil)
    requests.answer(RequestID(1), .effect(true))
    #expect(requests.next()?.id == RequestID(3))
    requests.markNextSent()
    #expect(requests.next() == nil)
    requests.answer(RequestID(2), .effect(true))
    requests.answer(RequestID(3), .effect(true))
    #expect(requests.next()?.id == RequestID(4))
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
  /// one credit's worth of events is kept.
  @Test(.checks("G27")) func creditAfterALoss() async throws {
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
          subscription: first.number, first: 0, runs: EventStreamTests.runs(1...6),
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
          subscription: first.number, first: 6, runs: EventStreamTests.runs(7...7),
          caughtUp: false, resumeAt: 7)) == nil)
    #expect(try await feed.next()?.events.count == 6)
    let granted = subscriptions.due(&last).compactMap { request -> UInt32? in
      if case .grantCredit(_, let events) = request.1 { events } else { nil }
    }
    #expect(granted == [6])
  }

  /// A reader of everything, subscribed under number 1.
  private static func subscribed(
    credit: UInt32
  ) -> (feed: EventFeed, subscriptions: Subscriptions, lastRequest: UInt64) {
    let feed = EventFeed(credit: credit) {}
    var subscriptions = Subscriptions()
    var last: UInt64 = 0
    subscriptions.add(
      EventSubscription(number: 1, selection: Selection(graphs: .all), since: 0, credit: credit),
      sink: feed)
    _ = subscriptions.due(&last)
    return (feed, subscriptions, last)
  }

  /// A coordinator with many subscribers waits for grants of `Limits.eventsPerGrant`.
  @Test(.checks("G27"), arguments: [(Limits.eventCredit, Limits.eventsPerGrant), (40, 10), (1, 1)])
  func grantsComeEarly(credit: UInt32, least: UInt32) async throws {
    var (feed, subscriptions, last) = Self.subscribed(credit: credit)
    var read: UInt64 = 0
    func readOn(_ count: UInt64) async throws -> [UInt32] {
      let batch = EventBatch(
        subscription: 1, first: read,
        runs: EventStreamTests.runs(read + 1...read + count), caughtUp: false,
        resumeAt: read + count)
      read += count
      #expect(subscriptions.take(batch) == nil)
      _ = try await feed.next()
      return subscriptions.due(&last).compactMap { request -> UInt32? in
        if case .grantCredit(_, let events) = request.1 { events } else { nil }
      }
    }
    if least > 1 { #expect(try await readOn(UInt64(least) - 1) == []) }
    #expect(try await readOn(1) == [least])
  }

  /// A grant that a busy coordinator has refused is made again, or nothing would come any more.
  @Test func aRefusedGrantIsMadeAgain() async throws {
    var (feed, subscriptions, last) = Self.subscribed(credit: 8)
    let batch = EventBatch(
      subscription: 1, first: 0, runs: EventStreamTests.runs(1...4), caughtUp: false,
      resumeAt: 4)
    #expect(subscriptions.take(batch) == nil)
    _ = try await feed.next()
    for _ in 0..<3 {
      let due = subscriptions.due(&last)
      guard due.count == 1, case .grantCredit(1, 4) = due[0].1 else {
        Issue.record("no grant: \(due)")
        return
      }
      subscriptions.putOff(due[0].0)
    }
    let due = subscriptions.due(&last)
    subscriptions.answer(due[0].0, .effect(true))
    subscriptions.putOff(due[0].0)
    #expect(subscriptions.due(&last).isEmpty, "it was taken")
  }

  @Test func moreThanTheCreditIsAViolation() throws {
    var subscriptions = Self.subscribed(credit: 1).subscriptions
    let count = UInt64(Limits.entriesPerMessage)
    func take(_ first: UInt64, _ events: ClosedRange<UInt64>) -> ClientError.Kind? {
      subscriptions.take(
        EventBatch(
          subscription: 1, first: first, runs: EventStreamTests.runs(events),
          caughtUp: false, resumeAt: events.upperBound))?.kind
    }
    #expect(take(0, 1...(count + 1)) == nil)
    #expect(take(count + 1, (count + 2)...(count + 2)) == .protocolViolation)
    #expect(!subscriptions.hasImpatient)
  }
}
