// Whose turn it is to be heard, and how much may wait for it (G27, G29). Pure.

import Citations
import OpClusterModel
import OpClusterScheduling
import Testing

@testable import OpClusterCoordinator

private typealias Bounds = CoordinatorLimits.FairQueue

/// A queue that expectations can ask.
private final class Queue {
  private var queue = FairRequestQueue()
  var count: Int { queue.count }
  var bytes: Int { queue.bytes }
  var isEmpty: Bool { queue.isEmpty }
  func admit(
    _ frame: FairRequestQueue.Frame, of holder: QuotaHolder, givesBack: Bool = false
  ) -> Bool {
    queue.admit(frame, of: holder, givesBack: givesBack)
  }
  func next(at now: Instant) -> (frame: FairRequestQueue.Frame, holder: QuotaHolder)? {
    queue.next(at: now)
  }
  func hasNext(at now: Instant) -> Bool { queue.hasNext(at: now) }
  /// Somebody's frame of a size was heard in this time.
  func charge(
    _ time: Span, for size: FairRequestQueue.Size = .small, to holder: QuotaHolder, at now: Instant
  ) {
    let bytes = Bounds.smallFrameBytes + (size == .large ? 1 : 0)
    let frame = FairRequestQueue.Frame(bytes: [UInt8](repeating: 1, count: bytes), peer: PeerID(1))
    queue.noteHearing(time, of: frame.size, by: holder, at: now)
  }
  func noteQuestion(
    _ time: Span, for size: FairRequestQueue.Size = .small, of holder: QuotaHolder, at now: Instant
  ) {
    queue.noteQuestion(time, for: size, of: holder, at: now)
  }
  func chargeRest(_ rest: Span, after before: Span, at now: Instant) {
    queue.chargeRest(rest, after: before, at: now)
  }
  func beginTurn(at now: Instant) { queue.beginTurn(at: now) }
  func endTurn(at now: Instant) { queue.endTurn(at: now) }
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    queue.expectedCost(ofQuestionBy: holder)
  }
  func forgetIdle(at now: Instant) { queue.forgetIdle(at: now) }
  func beginPreparing(_ peer: UInt64, of holder: QuotaHolder) {
    queue.beginPreparing(PeerID(peer), of: holder)
  }
  func prepared(in time: Span, by holder: QuotaHolder, at now: Instant) {
    queue.notePreparation(time, by: holder, at: now)
  }
  func postpone(_ next: (frame: FairRequestQueue.Frame, holder: QuotaHolder)) {
    queue.postpone(next.frame, of: next.holder)
  }
  func endPreparing() { queue.endPreparing() }
}

@Suite struct FairRequestQueueTests {
  private let one = QuotaHolder.key("one")
  private let other = QuotaHolder.key("other")
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func frame(_ peer: UInt64, bytes: Int = 1) -> FairRequestQueue.Frame {
    FairRequestQueue.Frame(bytes: [UInt8](repeating: 1, count: bytes), peer: PeerID(peer))
  }

  private func order(_ queue: Queue, at now: Instant) -> [UInt64] {
    var order: [UInt64] = []
    while let next = queue.next(at: now) { order.append(next.frame.peer.number) }
    return order
  }

  /// While a message of a client is prepared, nothing that the client says behind it is heard, and
  /// no other large message; everything else is, and the order of each client stays (G29).
  @Test func nothingOvertakesWhatIsPrepared() {
    let large = CoordinatorLimits.framesHeardAtOnce + 1
    let queue = Queue()
    for (peer, bytes) in [(1, large), (1, 1), (2, 1), (1, 2), (2, large), (2, 2)] {
      #expect(queue.admit(frame(UInt64(peer), bytes: bytes), of: one))
    }
    #expect(queue.next(at: start)?.frame.isToBePrepared == true)
    queue.beginPreparing(1, of: one)
    #expect(queue.admit(frame(9, bytes: large), of: other))
    #expect(queue.admit(frame(1, bytes: 3), of: one))
    // What is behind a client's own large message waits with it.
    #expect(order(queue, at: start) == [2])
    #expect(!queue.hasNext(at: start) && queue.count == 6)
    queue.forgetIdle(at: start)
    queue.endPreparing()
    var heard: [(UInt64, Int)] = []
    while let next = queue.next(at: start) {
      heard.append((next.frame.peer.number, next.frame.bytes.count))
      guard next.frame.isToBePrepared else { continue }
      queue.beginPreparing(next.frame.peer.number, of: next.holder)
      #expect(!queue.hasNext(at: start) || next.frame.peer.number == 9)
      while let other = queue.next(at: start) {
        heard.append((other.frame.peer.number, other.frame.bytes.count))
      }
      queue.endPreparing()
    }
    #expect(heard.filter { $0.0 == 1 }.map(\.1) == [1, 2, 3])
    #expect(heard.filter { $0.0 == 2 }.map(\.1) == [large, 2])
    #expect(heard.filter { $0.0 == 9 }.map(\.1) == [large])
    #expect(queue.isEmpty && queue.bytes == 0)
  }

  /// What another thread does for a client is charged to it, beside one that uses less.
  @Test(.checks("G29")) func preparationIsCharged() {
    let queue = Queue()
    let large = CoordinatorLimits.framesHeardAtOnce + 1
    #expect(queue.admit(frame(1, bytes: large), of: one))
    #expect(queue.admit(frame(2), of: other))
    queue.prepared(in: Bounds.burst * 4, by: one, at: start)
    #expect(order(queue, at: start) == [2] && queue.count == 1)
    #expect(order(queue, at: start + .seconds(60)) == [1])
  }

  /// A frame that turns out to be large while another one is prepared waits for that, in its place.
  @Test(.checks("G29")) func postponed() throws {
    let queue = Queue()
    let large = CoordinatorLimits.framesHeardAtOnce + 1
    #expect(queue.admit(frame(1, bytes: large), of: one))
    #expect(queue.next(at: start)?.frame.isToBePrepared == true)
    queue.beginPreparing(1, of: one)
    for bytes in 1...3 { #expect(queue.admit(frame(2, bytes: bytes), of: other)) }
    #expect(queue.admit(frame(1, bytes: 4), of: one))
    #expect(queue.next(at: start)?.frame.bytes.count == 1)
    let next = try #require(queue.next(at: start))
    #expect(next.frame.bytes.count == 2 && !next.frame.isToBePrepared)
    queue.postpone(next)
    #expect(queue.next(at: start) == nil && !queue.hasNext(at: start))
    #expect(queue.count == 3 && queue.bytes == 2 + 3 + 4)
    queue.endPreparing()
    var heard: [Int] = []
    while let next = queue.next(at: start) {
      heard.append(next.frame.bytes.count)
      #expect(next.frame.isToBePrepared == (next.frame.bytes.count == 2))
    }
    #expect(Set(heard.prefix(2)) == [2, 4] && heard.last == 3)
    // The last one of its line is put back as well.
    #expect(queue.admit(frame(3, bytes: 5), of: other))
    queue.postpone(try #require(queue.next(at: start)))
    #expect(queue.hasNext(at: start))
    #expect(queue.next(at: start)?.frame.isToBePrepared == true)
    #expect(queue.isEmpty && queue.bytes == 0)
  }

  /// In turns among principals, in order within each.
  @Test func turns() {
    let queue = Queue()
    for peer: UInt64 in [10, 11, 12, 13] {
      #expect(queue.admit(frame(peer), of: one))
    }
    #expect(queue.admit(frame(20), of: other))
    #expect(queue.count == 5 && queue.bytes == 5 && queue.hasNext(at: start))
    #expect(order(queue, at: start) == [10, 20, 11, 12, 13])
    #expect(queue.isEmpty && queue.bytes == 0 && !queue.hasNext(at: start))
  }

  /// `Limits.waitingFramesPerPrincipal`: at it and one past it, and room again after one was heard.
  @Test func waitingFramesPerPrincipal() {
    let queue = Queue()
    for number in 0..<Limits.waitingFramesPerPrincipal {
      #expect(queue.admit(frame(UInt64(number)), of: one))
    }
    #expect(!queue.admit(frame(1), of: one))
    #expect(queue.admit(frame(2), of: other))
    #expect(queue.next(at: start)?.holder == one)
    #expect(queue.admit(frame(3), of: one))
    #expect(!queue.admit(frame(4), of: one))
    #expect(order(queue, at: start).count == Limits.waitingFramesPerPrincipal + 1)
  }

  /// What gives back has room where there is none for others: up to as many again, if small.
  @Test func whatGivesBackIsAdmitted() {
    let queue = Queue()
    #expect(queue.admit(frame(1, bytes: Limits.waitingBytesPerPrincipal), of: one))
    let largest = frame(2, bytes: Bounds.givingBackBytes)
    #expect(!queue.admit(largest, of: one))
    #expect(queue.admit(largest, of: one, givesBack: true))
    let tooLarge = frame(3, bytes: Bounds.givingBackBytes + 1)
    #expect(!queue.admit(tooLarge, of: one, givesBack: true))
    for _ in 2..<2 * Limits.waitingFramesPerPrincipal {
      #expect(queue.admit(largest, of: one, givesBack: true))
    }
    #expect(!queue.admit(largest, of: one, givesBack: true))
  }

  /// `Limits.waitingBytesPerPrincipal` and `Limits.waitingBytes`; one message always fits.
  @Test func waitingBytes() {
    let queue = Queue()
    let half = Limits.waitingBytesPerPrincipal / 2
    #expect(queue.admit(frame(1, bytes: half), of: one))
    #expect(!queue.admit(frame(2, bytes: half + 1), of: one))
    #expect(queue.admit(frame(2, bytes: half), of: one))
    #expect(!queue.admit(frame(3), of: one))
    #expect(queue.admit(frame(4, bytes: Limits.waitingBytesPerPrincipal - 1), of: other))
    #expect(queue.bytes == Limits.waitingBytes - 1)
    #expect(queue.admit(frame(5), of: other))
    // The queue is full: whoever has something waiting gets no more, everybody else one.
    let third = QuotaHolder.connection(PeerID(3))
    #expect(queue.admit(frame(6, bytes: half), of: third))
    #expect(!queue.admit(frame(7), of: third))
    #expect(order(queue, at: start).count == 5)
  }

  /// How much of a second a principal gets that always asks for more, in pieces of so long, while
  /// another one asks every two milliseconds for little.
  private func share(of piece: Span, beside small: Span?) -> (heavy: Double, longestWait: Double) {
    let queue = Queue()
    var now = start
    var used: Int64 = 0
    var wait = 0.0
    var due = start
    while now - start < .seconds(4) {
      _ = queue.admit(frame(1), of: one)
      if !queue.hasNext(at: now) { now = now + .milliseconds(1) }
      if let small, now >= due {
        _ = queue.admit(frame(2), of: other)
        let asked = now
        var next = queue.next(at: now)
        while next?.holder == one {
          now = now + piece
          queue.charge(piece, to: one, at: now)
          used += piece.nanoseconds
          next = queue.next(at: now)
        }
        wait = max(wait, (now - asked).seconds)
        now = now + small
        queue.charge(small, to: other, at: now)
        due = now + .milliseconds(2)
      } else if queue.next(at: now) != nil {
        now = now + piece
        queue.charge(piece, to: one, at: now)
        used += piece.nanoseconds
      }
    }
    return (Double(used) / Double((now - start).nanoseconds), wait)
  }

  /// `Limits.sharePercent`: that much while somebody lighter is there, all of it otherwise.
  @Test(arguments: [100, 1_000, 10_000] as [Int64])
  func sharePercent(microseconds: Int64) {
    let piece = Span(nanoseconds: microseconds * 1_000)
    let most = Double(Limits.sharePercent) / 100
    let (heavy, wait) = share(of: piece, beside: Span(nanoseconds: 20_000))
    // Beside what may be used at once.
    #expect(heavy > most * 0.8 && heavy < most * 1.2 + 0.015, "\(heavy)")
    #expect(wait < piece.seconds * 1.5 + 0.001)
    #expect(share(of: piece, beside: nil).heavy > 0.99)
  }

  /// Two that ask for as much as they can leave nothing unused between them, and have as much of
  /// it, but for `Bounds.heavyWeight` of large messages and of who has many waiting.
  @Test(
    arguments: [FairRequestQueue.Size.small, .large],
    [(1, 1.0), (Bounds.manyWaiting + 1, 1.0), (Bounds.manyWaiting + 2, 2.0)])
  func nothingIsWasted(size: FairRequestQueue.Size, waiting: (count: Int, weight: Double)) {
    let queue = Queue()
    let bytes = size == .large ? Bounds.smallFrameBytes + 1 : 1
    var now = start
    var used = [one: 0.0, other: 0.0]
    for _ in 1..<waiting.count { _ = queue.admit(frame(2), of: other) }
    _ = queue.admit(frame(1, bytes: bytes), of: one)
    _ = queue.admit(frame(2), of: other)
    for _ in 0..<6_000 {
      guard let next = queue.next(at: now) else {
        Issue.record("both are held back")
        return
      }
      now = now + .milliseconds(1)
      let isOne = next.holder == one
      queue.charge(.milliseconds(1), for: isOne ? size : .small, to: next.holder, at: now)
      used[next.holder, default: 0] += 1
      _ = queue.admit(isOne ? frame(1, bytes: bytes) : frame(2), of: next.holder)
    }
    let weight = size == .large ? Bounds.heavyWeight : 1
    let ratio = (used[one] ?? 0) * weight / ((used[other] ?? 0) * waiting.weight)
    #expect(ratio > 0.9 && ratio < 1.1, "\(used)")
  }

  /// Who has gone is not waited for, and what is forgotten is little. Time in which a turn goes on
  /// makes nobody absent, however long it is.
  @Test(arguments: [1, 1_000] as [Int64])
  func presence(milliseconds: Int64) {
    let queue = Queue()
    queue.beginTurn(at: start)
    _ = queue.admit(frame(2), of: other)
    _ = queue.next(at: start)
    queue.charge(Span(nanoseconds: 1_000), to: other, at: start)
    let end = start + .milliseconds(milliseconds)
    // A second of debt takes twenty to pay: nobody lighter was there, or this is forgiven.
    queue.charge(.seconds(1), to: one, at: end)
    queue.endTurn(at: end)
    _ = queue.admit(frame(1), of: one)
    #expect(queue.next(at: end + .milliseconds(90)) == nil)
    #expect(queue.next(at: end + .milliseconds(110)) != nil)
    queue.forgetIdle(at: end + .seconds(25))
    #expect(queue.expectedCost(ofQuestionBy: other) == Bounds.firstQuestion)
  }

  /// What a turn takes behind the hearing belongs to whom it heard, in proportion; what it took to
  /// hear workers and to look at the clock to nobody, and answers were charged before.
  @Test func theRestIsShared() {
    func isThrottled(_ use: (Queue) -> Void) -> Bool {
      let queue = Queue()
      queue.beginTurn(at: start)
      _ = queue.admit(frame(2), of: other)
      _ = queue.next(at: start)
      queue.charge(Span(nanoseconds: 10_000), to: other, at: start)
      use(queue)
      queue.endTurn(at: start + .seconds(1))
      let soon = start + .seconds(1)
      _ = queue.admit(frame(2), of: other)
      _ = queue.admit(frame(1), of: one)
      return order(queue, at: soon) == [2]
    }
    let end = start + .seconds(1)
    // 1 ms of 2 ms were this one's: of 200 ms a half, and of 20 ms too little to be held back.
    for (rest, isMuch) in [(Span.milliseconds(200), true), (.milliseconds(20), false)] {
      let held = isThrottled { queue in
        queue.charge(.milliseconds(1), to: one, at: end)
        queue.chargeRest(rest, after: .milliseconds(2), at: end)
      }
      #expect(held == isMuch)
    }
    // Its part of a long turn is small where something else took the turn.
    #expect(
      !isThrottled { queue in
        queue.charge(.milliseconds(1), to: one, at: end)
        queue.chargeRest(.milliseconds(200), after: .milliseconds(100), at: end)
      })
    // What answers took is not charged twice.
    #expect(
      !isThrottled { queue in
        queue.charge(.milliseconds(1), to: one, at: end)
        queue.noteQuestion(.milliseconds(1), of: one, at: end)
        queue.noteQuestion(.milliseconds(190), of: other, at: end)
        queue.chargeRest(.milliseconds(200), after: .milliseconds(1), at: end)
      })
    // The rest of one long message is owed in full: for 600 ms it is held back for 11 s and more.
    var account = TimeAccount()
    for whole in [Span.milliseconds(300), .milliseconds(600)] {
      account.take(
        .milliseconds(300), of: whole, for: .large, weighted: 0.04, isAlone: false, at: start)
    }
    #expect(account.isOverdrawn(for: .large, at: start + .seconds(11)))
    #expect(!account.isOverdrawn(for: .large, at: start + .seconds(12)))
    // Nor is it kept for the next turn.
    #expect(
      !isThrottled { queue in
        queue.charge(.milliseconds(1), to: one, at: end)
        queue.endTurn(at: end)
        queue.beginTurn(at: end)
        queue.chargeRest(.milliseconds(200), after: .milliseconds(1), at: end)
      })
  }

  /// Who has used least so far is not alone when it asks for much: it owes that when the other one
  /// has used less.
  @Test func theLightestIsNotAlone() {
    let queue = Queue()
    for holder in [other, one] {
      _ = queue.admit(frame(1), of: holder)
      _ = queue.next(at: start)
    }
    queue.charge(.milliseconds(10), to: other, at: start)
    queue.charge(.seconds(1), to: one, at: start + .milliseconds(2))
    // What is forgiven to who is alone is paid for by then; a second is not.
    let later = start + .milliseconds(1_500)
    _ = queue.admit(frame(2), of: other)
    _ = queue.admit(frame(1), of: one)
    #expect(order(queue, at: later) == [2])
  }

  /// Who was the lightest beside somebody else's flood is not held back for long when somebody
  /// lighter than both comes.
  @Test func whatManyMessagesOweIsBounded() {
    let queue = Queue()
    let third = QuotaHolder.key("third")
    var now = start
    while now - start < .seconds(10) {
      _ = queue.admit(frame(1), of: one)
      _ = queue.admit(frame(2), of: other)
      guard let next = queue.next(at: now) else {
        Issue.record("both are held back")
        return
      }
      now = now + .milliseconds(1)
      queue.charge(.milliseconds(1), to: next.holder, at: now)
    }
    let come = now
    var heard: Set<QuotaHolder> = []
    while heard.count < 2, now - come < .seconds(10) {
      now = now + .milliseconds(10)
      _ = queue.admit(frame(3), of: third)
      while let next = queue.next(at: now) {
        queue.charge(Span(nanoseconds: 10_000), to: next.holder, at: now)
        if next.holder != third { heard.insert(next.holder) }
      }
    }
    let longest = (Bounds.mostTogether - Bounds.burst).seconds * 100
    #expect((now - come).seconds < longest / Double(Limits.sharePercent) + 0.1)
  }

  /// Somebody who has just come, or was just heard, is there from that moment on.
  @Test func newcomersCount() {
    let queue = Queue()
    for _ in 0..<3 { _ = queue.admit(frame(1), of: one) }
    _ = queue.next(at: start)
    queue.charge(.milliseconds(100), to: one, at: start)
    let soon = start + .milliseconds(2)
    #expect(queue.hasNext(at: soon))
    _ = queue.admit(frame(2), of: other)
    #expect(order(queue, at: soon) == [2])
    #expect(!queue.hasNext(at: soon))
  }

  /// Who has submitted a large graph may look at it at once, but submits no second one, while
  /// somebody lighter is there; and who has asked for much in small messages may still submit.
  /// Answers are owed as their questions are.
  @Test(arguments: [false, true])
  func largeAndSmallAreHeldBackApart(byAnswers: Bool) {
    for (heavy, light) in [
      (FairRequestQueue.Size.large, FairRequestQueue.Size.small), (.small, .large),
    ] {
      let queue = Queue()
      let most = Bounds.smallFrameBytes
      let bytes = [FairRequestQueue.Size.large: most + 1, .small: most]
      _ = queue.admit(frame(2), of: other)
      _ = queue.next(at: start)
      if byAnswers {
        queue.noteQuestion(.seconds(1), for: heavy, of: one, at: start)
      } else {
        queue.charge(.seconds(1), for: heavy, to: one, at: start)
      }
      let soon = start + .milliseconds(2)
      _ = queue.admit(frame(1, bytes: bytes[light] ?? 0), of: one)
      _ = queue.admit(frame(1, bytes: bytes[heavy] ?? 0), of: one)
      #expect(order(queue, at: soon) == [1])
      #expect(queue.count == 1 && !queue.hasNext(at: soon))
    }
  }

  /// Both sizes are paid for from one share, small ones first.
  @Test func bothSizesHaveOneShare() {
    var account = TimeAccount()
    account.take(
      .milliseconds(40), of: .milliseconds(40), for: .small, weighted: 0.04, isAlone: false,
      at: start)
    account.take(
      .milliseconds(40), of: .milliseconds(40), for: .large, weighted: 0.04, isAlone: false,
      at: start)
    func overdrawn(after seconds: Double) -> [Bool] {
      let now = start + Span(nanoseconds: Int64(seconds * 100 / Double(Limits.sharePercent) * 1e9))
      return [FairRequestQueue.Size.small, .large].map { account.isOverdrawn(for: $0, at: now) }
    }
    #expect(overdrawn(after: 0.019) == [true, true])
    #expect(overdrawn(after: 0.021) == [false, true])
    #expect(overdrawn(after: 0.059) == [false, true])
    #expect(overdrawn(after: 0.061) == [false, false])
  }

  /// The turn sets aside what questions took before.
  @Test func questionsAreExpected() {
    let queue = Queue()
    #expect(queue.expectedCost(ofQuestionBy: one) == Bounds.firstQuestion)
    for _ in 0..<30 { queue.noteQuestion(.milliseconds(8), of: one, at: start) }
    let expected = queue.expectedCost(ofQuestionBy: one)
    #expect(expected > .milliseconds(7) && expected <= .milliseconds(8))
  }
}

@Suite struct HearingTimeTests {
  // Clients are heard for as long as the rest of a turn takes, within bounds.
  @Test(.checks("G29")) func hearingTakesItsShare() {
    var clock = LoopClock()
    let least = CoordinatorLimits.hearingTime
    let most = CoordinatorLimits.longestHearing
    for rest in [Span.zero, least / 2, least] {
      clock.lastRest = rest
      #expect(clock.hearingTime == least)
    }
    clock.lastRest = most / 2
    #expect(clock.hearingTime == most / 2)
    clock.lastRest = most + most
    #expect(clock.hearingTime == most)
  }
}
