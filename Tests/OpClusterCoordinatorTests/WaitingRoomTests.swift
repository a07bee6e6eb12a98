// Whose turn it is to be heard, and how much may wait for it (G27, G29). Pure.

import OpClusterModel
import OpClusterScheduling
import Testing

@testable import OpClusterCoordinator

/// A waiting room that expectations can ask.
private final class Room {
  private var room = WaitingRoom()
  var count: Int { room.count }
  var bytes: Int { room.bytes }
  var isEmpty: Bool { room.isEmpty }
  func admit(
    _ frame: WaitingRoom.Frame, of holder: QuotaHolder, givesBack: Bool = false
  ) -> Bool {
    room.admit(frame, of: holder, givesBack: givesBack)
  }
  func next(at now: Instant) -> (frame: WaitingRoom.Frame, holder: QuotaHolder)? {
    room.next(at: now)
  }
  func hasNext(at now: Instant) -> Bool { room.hasNext(at: now) }
  /// Somebody's frame of a size was heard in this time.
  func charge(
    _ time: Span, for size: WaitingRoom.Size = .small, to holder: QuotaHolder, at now: Instant
  ) {
    let bytes = WaitingRoom.Size.mostSmallBytes + (size == .large ? 1 : 0)
    let frame = WaitingRoom.Frame(bytes: [UInt8](repeating: 1, count: bytes), peer: PeerID(1))
    room.noteHearing(time, of: frame, by: holder, at: now)
  }
  func noteQuestion(
    _ time: Span, for size: WaitingRoom.Size = .small, of holder: QuotaHolder, at now: Instant
  ) {
    room.noteQuestion(time, for: size, of: holder, at: now)
  }
  func chargeRest(_ rest: Span, after before: Span, at now: Instant) {
    room.chargeRest(rest, after: before, at: now)
  }
  func beginTurn(at now: Instant) { room.beginTurn(at: now) }
  func endTurn(at now: Instant) { room.endTurn(at: now) }
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    room.expectedCost(ofQuestionBy: holder)
  }
  func forgetIdle(at now: Instant) { room.forgetIdle(at: now) }
}

@Suite struct WaitingRoomTests {
  private let one = QuotaHolder.key("one")
  private let other = QuotaHolder.key("other")
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func frame(_ peer: UInt64, bytes: Int = 1) -> WaitingRoom.Frame {
    WaitingRoom.Frame(bytes: [UInt8](repeating: 1, count: bytes), peer: PeerID(peer))
  }

  private func order(_ room: Room, at now: Instant) -> [UInt64] {
    var order: [UInt64] = []
    while let next = room.next(at: now) { order.append(next.frame.peer.number) }
    return order
  }

  /// In turns among principals, in order within each.
  @Test func turns() {
    let room = Room()
    for peer: UInt64 in [10, 11, 12, 13] {
      #expect(room.admit(frame(peer), of: one))
    }
    #expect(room.admit(frame(20), of: other))
    #expect(room.count == 5 && room.bytes == 5 && room.hasNext(at: start))
    #expect(order(room, at: start) == [10, 20, 11, 12, 13])
    #expect(room.isEmpty && room.bytes == 0 && !room.hasNext(at: start))
  }

  /// `Limits.waitingFramesPerPrincipal`: at it and one past it, and room again after one was heard.
  @Test func waitingFramesPerPrincipal() {
    let room = Room()
    for number in 0..<Limits.waitingFramesPerPrincipal {
      #expect(room.admit(frame(UInt64(number)), of: one))
    }
    #expect(!room.admit(frame(1), of: one))
    #expect(room.admit(frame(2), of: other))
    #expect(room.next(at: start)?.holder == one)
    #expect(room.admit(frame(3), of: one))
    #expect(!room.admit(frame(4), of: one))
    #expect(order(room, at: start).count == Limits.waitingFramesPerPrincipal + 1)
  }

  /// What gives back has room where there is none for others: up to as many again, if small.
  @Test func whatGivesBackIsAdmitted() {
    let room = Room()
    #expect(room.admit(frame(1, bytes: Limits.waitingBytesPerPrincipal), of: one))
    let largest = frame(2, bytes: WaitingRoom.givingBackBytes)
    #expect(!room.admit(largest, of: one))
    #expect(room.admit(largest, of: one, givesBack: true))
    let tooLarge = frame(3, bytes: WaitingRoom.givingBackBytes + 1)
    #expect(!room.admit(tooLarge, of: one, givesBack: true))
    for _ in 2..<2 * Limits.waitingFramesPerPrincipal {
      #expect(room.admit(largest, of: one, givesBack: true))
    }
    #expect(!room.admit(largest, of: one, givesBack: true))
  }

  /// `Limits.waitingBytesPerPrincipal` and `Limits.waitingBytes`; one message always fits.
  @Test func waitingBytes() {
    let room = Room()
    let half = Limits.waitingBytesPerPrincipal / 2
    #expect(room.admit(frame(1, bytes: half), of: one))
    #expect(!room.admit(frame(2, bytes: half + 1), of: one))
    #expect(room.admit(frame(2, bytes: half), of: one))
    #expect(!room.admit(frame(3), of: one))
    #expect(room.admit(frame(4, bytes: Limits.waitingBytesPerPrincipal - 1), of: other))
    #expect(room.bytes == Limits.waitingBytes - 1)
    #expect(room.admit(frame(5), of: other))
    // The house is full: whoever has something waiting gets no more, everybody else one.
    let third = QuotaHolder.connection(PeerID(3))
    #expect(room.admit(frame(6, bytes: half), of: third))
    #expect(!room.admit(frame(7), of: third))
    #expect(order(room, at: start).count == 5)
  }

  /// How much of a second a principal gets that always asks for more, in pieces of so long, while
  /// another one asks every two milliseconds for little.
  private func share(of piece: Span, beside small: Span?) -> (heavy: Double, longestWait: Double) {
    let room = Room()
    var now = start
    var used: Int64 = 0
    var wait = 0.0
    var due = start
    while now - start < .seconds(4) {
      _ = room.admit(frame(1), of: one)
      if !room.hasNext(at: now) { now = now + .milliseconds(1) }
      if let small, now >= due {
        _ = room.admit(frame(2), of: other)
        let asked = now
        var next = room.next(at: now)
        while next?.holder == one {
          now = now + piece
          room.charge(piece, to: one, at: now)
          used += piece.nanoseconds
          next = room.next(at: now)
        }
        wait = max(wait, (now - asked).seconds)
        now = now + small
        room.charge(small, to: other, at: now)
        due = now + .milliseconds(2)
      } else if room.next(at: now) != nil {
        now = now + piece
        room.charge(piece, to: one, at: now)
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
  /// it, but for `TimeAccount.heavyWeight` of large messages and of who has many waiting.
  @Test(
    arguments: [WaitingRoom.Size.small, .large],
    [(1, 1.0), (WaitingRoom.manyWaiting + 1, 1.0), (WaitingRoom.manyWaiting + 2, 2.0)])
  func nothingIsWasted(size: WaitingRoom.Size, waiting: (count: Int, weight: Double)) {
    let room = Room()
    let bytes = size == .large ? WaitingRoom.Size.mostSmallBytes + 1 : 1
    var now = start
    var used = [one: 0.0, other: 0.0]
    for _ in 1..<waiting.count { _ = room.admit(frame(2), of: other) }
    _ = room.admit(frame(1, bytes: bytes), of: one)
    _ = room.admit(frame(2), of: other)
    for _ in 0..<6_000 {
      guard let next = room.next(at: now) else {
        Issue.record("both are held back")
        return
      }
      now = now + .milliseconds(1)
      let isOne = next.holder == one
      room.charge(.milliseconds(1), for: isOne ? size : .small, to: next.holder, at: now)
      used[next.holder, default: 0] += 1
      _ = room.admit(isOne ? frame(1, bytes: bytes) : frame(2), of: next.holder)
    }
    let weight = size == .large ? TimeAccount.heavyWeight : 1
    let ratio = (used[one] ?? 0) * weight / ((used[other] ?? 0) * waiting.weight)
    #expect(ratio > 0.9 && ratio < 1.1, "\(used)")
  }

  /// Who has gone is not waited for, and what is forgotten is little. Time in which a turn goes on
  /// makes nobody absent, however long it is.
  @Test(arguments: [1, 1_000] as [Int64])
  func presence(milliseconds: Int64) {
    let room = Room()
    room.beginTurn(at: start)
    _ = room.admit(frame(2), of: other)
    _ = room.next(at: start)
    room.charge(Span(nanoseconds: 1_000), to: other, at: start)
    let end = start + .milliseconds(milliseconds)
    // A second of debt takes twenty to pay: nobody lighter was there, or this is forgiven.
    room.charge(.seconds(1), to: one, at: end)
    room.endTurn(at: end)
    _ = room.admit(frame(1), of: one)
    #expect(room.next(at: end + .milliseconds(90)) == nil)
    #expect(room.next(at: end + .milliseconds(110)) != nil)
    room.forgetIdle(at: end + .seconds(25))
    #expect(room.expectedCost(ofQuestionBy: other) == TimeAccount.firstQuestion)
  }

  /// What a turn takes behind the hearing belongs to whom it heard, in proportion; what it took to
  /// hear workers and to look at the clock to nobody, and answers were charged before.
  @Test func theRestIsShared() {
    func isHeldBack(_ use: (Room) -> Void) -> Bool {
      let room = Room()
      room.beginTurn(at: start)
      _ = room.admit(frame(2), of: other)
      _ = room.next(at: start)
      room.charge(Span(nanoseconds: 10_000), to: other, at: start)
      use(room)
      room.endTurn(at: start + .seconds(1))
      let soon = start + .seconds(1)
      _ = room.admit(frame(2), of: other)
      _ = room.admit(frame(1), of: one)
      return order(room, at: soon) == [2]
    }
    let end = start + .seconds(1)
    // 1 ms of 2 ms were this one's: of 200 ms a half, and of 20 ms too little to be held back.
    for (rest, isMuch) in [(Span.milliseconds(200), true), (.milliseconds(20), false)] {
      let held = isHeldBack { room in
        room.charge(.milliseconds(1), to: one, at: end)
        room.chargeRest(rest, after: .milliseconds(2), at: end)
      }
      #expect(held == isMuch)
    }
    // Its part of a long turn is small where something else took the turn.
    #expect(
      !isHeldBack { room in
        room.charge(.milliseconds(1), to: one, at: end)
        room.chargeRest(.milliseconds(200), after: .milliseconds(100), at: end)
      })
    // What answers took is not charged twice.
    #expect(
      !isHeldBack { room in
        room.charge(.milliseconds(1), to: one, at: end)
        room.noteQuestion(.milliseconds(1), of: one, at: end)
        room.noteQuestion(.milliseconds(190), of: other, at: end)
        room.chargeRest(.milliseconds(200), after: .milliseconds(1), at: end)
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
      !isHeldBack { room in
        room.charge(.milliseconds(1), to: one, at: end)
        room.endTurn(at: end)
        room.beginTurn(at: end)
        room.chargeRest(.milliseconds(200), after: .milliseconds(1), at: end)
      })
  }

  /// Who has used least so far is not alone when it asks for much: it owes that when the other one
  /// has used less.
  @Test func theLightestIsNotAlone() {
    let room = Room()
    for holder in [other, one] {
      _ = room.admit(frame(1), of: holder)
      _ = room.next(at: start)
    }
    room.charge(.milliseconds(10), to: other, at: start)
    room.charge(.seconds(1), to: one, at: start + .milliseconds(2))
    // What is forgiven to who is alone is paid for by then; a second is not.
    let later = start + .milliseconds(1_500)
    _ = room.admit(frame(2), of: other)
    _ = room.admit(frame(1), of: one)
    #expect(order(room, at: later) == [2])
  }

  /// Who was the lightest beside somebody else's flood is not held back for long when somebody
  /// lighter than both comes.
  @Test func whatManyMessagesOweIsBounded() {
    let room = Room()
    let third = QuotaHolder.key("third")
    var now = start
    while now - start < .seconds(10) {
      _ = room.admit(frame(1), of: one)
      _ = room.admit(frame(2), of: other)
      guard let next = room.next(at: now) else {
        Issue.record("both are held back")
        return
      }
      now = now + .milliseconds(1)
      room.charge(.milliseconds(1), to: next.holder, at: now)
    }
    let come = now
    var heard: Set<QuotaHolder> = []
    while heard.count < 2, now - come < .seconds(10) {
      now = now + .milliseconds(10)
      _ = room.admit(frame(3), of: third)
      while let next = room.next(at: now) {
        room.charge(Span(nanoseconds: 10_000), to: next.holder, at: now)
        if next.holder != third { heard.insert(next.holder) }
      }
    }
    let longest = (TimeAccount.mostTogether - TimeAccount.burst).seconds * 100
    #expect((now - come).seconds < longest / Double(Limits.sharePercent) + 0.1)
  }

  /// Somebody who has just come, or was just heard, is there from that moment on.
  @Test func newcomersCount() {
    let room = Room()
    for _ in 0..<3 { _ = room.admit(frame(1), of: one) }
    _ = room.next(at: start)
    room.charge(.milliseconds(100), to: one, at: start)
    let soon = start + .milliseconds(2)
    #expect(room.hasNext(at: soon))
    _ = room.admit(frame(2), of: other)
    #expect(order(room, at: soon) == [2])
    #expect(!room.hasNext(at: soon))
  }

  /// Who has submitted a large graph may look at it at once, but submits no second one, while
  /// somebody lighter is there; and who has asked for much in small messages may still submit.
  /// Answers are owed as their questions are.
  @Test(arguments: [false, true])
  func largeAndSmallAreHeldBackApart(byAnswers: Bool) {
    for (heavy, light) in [(WaitingRoom.Size.large, WaitingRoom.Size.small), (.small, .large)] {
      let room = Room()
      let most = WaitingRoom.Size.mostSmallBytes
      let bytes = [WaitingRoom.Size.large: most + 1, .small: most]
      _ = room.admit(frame(2), of: other)
      _ = room.next(at: start)
      if byAnswers {
        room.noteQuestion(.seconds(1), for: heavy, of: one, at: start)
      } else {
        room.charge(.seconds(1), for: heavy, to: one, at: start)
      }
      let soon = start + .milliseconds(2)
      _ = room.admit(frame(1, bytes: bytes[light] ?? 0), of: one)
      _ = room.admit(frame(1, bytes: bytes[heavy] ?? 0), of: one)
      #expect(order(room, at: soon) == [1])
      #expect(room.count == 1 && !room.hasNext(at: soon))
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
      return [WaitingRoom.Size.small, .large].map { account.isOverdrawn(for: $0, at: now) }
    }
    #expect(overdrawn(after: 0.019) == [true, true])
    #expect(overdrawn(after: 0.021) == [false, true])
    #expect(overdrawn(after: 0.059) == [false, true])
    #expect(overdrawn(after: 0.061) == [false, false])
  }

  /// The turn sets aside what questions took before.
  @Test func questionsAreExpected() {
    let room = Room()
    #expect(room.expectedCost(ofQuestionBy: one) == TimeAccount.firstQuestion)
    for _ in 0..<30 { room.noteQuestion(.milliseconds(8), of: one, at: start) }
    let expected = room.expectedCost(ofQuestionBy: one)
    #expect(expected > .milliseconds(7) && expected <= .milliseconds(8))
  }
}
