// Frames of clients that were received and not heard yet, by principal, and whose turn it is (G29):
// one after the other, and who has used more than its share of the loop's time waits as long as
// somebody lighter is there. Bounded (G27). Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling

struct WaitingRoom {
  struct Frame {
    let bytes: [UInt8]
    let peer: PeerID
    var size: Size { bytes.count > WaitingRoom.largeBytes ? .large : .small }
  }

  /// What is asked in large messages and what in small ones is paid for separately: who has
  /// submitted a large graph may look at it at once.
  enum Size { case small, large }

  /// The largest small frame.
  static let largeBytes = 16 << 10

  /// A request that gives back is no larger.
  static let givingBackBytes = 64

  private struct Guest {
    private var frames: [Frame] = []
    private var head = 0
    private(set) var bytes = 0
    /// It stands in `round`.
    var isInRound = false
    var time = TimeAccount()

    var count: Int { frames.count - head }
    /// Of the next frame.
    var size: Size { head < frames.count ? frames[head].size : .small }

    mutating func add(_ frame: Frame) {
      frames.append(frame)
      bytes += frame.bytes.count
    }

    mutating func next() -> Frame {
      let frame = frames[head]
      bytes -= frame.bytes.count
      head += 1
      if head == frames.count {
        frames.removeAll(keepingCapacity: frames.count <= 256)
        head = 0
      } else if head >= 256 {
        frames.removeFirst(head)
        head = 0
      }
      return frame
    }
  }

  /// Looked up; iterated only for looking who is the lightest, and for forgetting.
  private var guests: [QuotaHolder: Guest] = [:]
  /// Those with frames, in turns.
  private var round: [QuotaHolder] = []
  private var turn = 0
  private(set) var count = 0
  private(set) var bytes = 0
  /// Time that went into what clients asked for, all together.
  private var taken = Span.zero
  /// Who has used least of those that were heard lately, and when that was looked up.
  private var lightest: (holder: QuotaHolder?, used: Double) = (nil, .infinity)
  private var lookedUpAt = Instant(nanoseconds: .min / 2)

  var isEmpty: Bool { count == 0 }

  // MARK: - Frames

  /// Keeps a frame until its turn; false where its principal has too much waiting (G27).
  ///
  /// - Parameter givesBack: It lets go of something, as a grant of credit does: there is room for
  ///   it where there is none for others, or who waits for it would wait for ever.
  mutating func admit(
    _ frame: Frame, of holder: QuotaHolder, givesBack: Bool = false
  ) -> Bool {
    let size = frame.bytes.count
    if guests[holder] == nil { guests[holder] = Guest() }
    guard let at = guests.index(forKey: holder) else { return false }
    if givesBack {
      guard guests.values[at].count < 2 * Limits.waitingFramesPerPrincipal,
        size <= WaitingRoom.givingBackBytes
      else { return false }
    } else if guests.values[at].count > 0 {
      guard guests.values[at].count < Limits.waitingFramesPerPrincipal,
        guests.values[at].bytes + size <= Limits.waitingBytesPerPrincipal,
        bytes + size <= Limits.waitingBytes
      else { return false }
    }
    guests.values[at].add(frame)
    if !guests.values[at].isInRound {
      guests.values[at].isInRound = true
      round.append(holder)
    }
    count += 1
    bytes += size
    noteLight(guests.values[at].time, holder)
    return true
  }

  /// The next to be heard; nil when nobody waits, or those who wait have used too much.
  mutating func next(at now: Instant) -> (frame: Frame, holder: QuotaHolder)? {
    var looked = 0
    while looked < round.count {
      if turn >= round.count { turn = 0 }
      let holder = round[turn]
      if isHeldBack(holder, at: now) {
        turn += 1
        looked += 1
        continue
      }
      guard let at = guests.index(forKey: holder) else {
        round.remove(at: turn)
        continue
      }
      let frame = guests.values[at].next()
      guests.values[at].time.wasHeard(at: now, taken: taken)
      noteLight(guests.values[at].time, holder)
      count -= 1
      bytes -= frame.bytes.count
      if guests.values[at].count == 0 {
        guests.values[at].isInRound = false
        round.remove(at: turn)
      } else {
        turn += 1
      }
      return (frame, holder)
    }
    return nil
  }

  /// Whether `next` would give one.
  mutating func hasNext(at now: Instant) -> Bool {
    for holder in round where !isHeldBack(holder, at: now) { return true }
    return false
  }

  // MARK: - Time

  /// Time of the loop that went into what a principal asked for.
  mutating func charge(
    _ span: Span, for size: Size = .small, to holder: QuotaHolder, at now: Instant
  ) {
    taken = taken + span
    let isAlone = !(hasLighter(than: holder, at: now))
    guests[holder, default: Guest()].time.take(span, for: size, isAlone: isAlone, at: now)
  }

  /// What one more question of a principal will take, as far as the last ones tell.
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    guests[holder]?.time.question ?? TimeAccount.firstQuestion
  }

  mutating func noteQuestion(_ span: Span, of holder: QuotaHolder, at now: Instant) {
    guests[holder, default: Guest()].time.noteQuestion(span)
    charge(span, to: holder, at: now)
  }

  private mutating func isHeldBack(_ holder: QuotaHolder, at now: Instant) -> Bool {
    guard let guest = guests[holder], guest.time.isOverdrawn(for: guest.size, at: now)
    else { return false }
    return hasLighter(than: holder, at: now)
  }

  /// Whether somebody else who was heard lately has used less.
  private mutating func hasLighter(than holder: QuotaHolder, at now: Instant) -> Bool {
    if now - lookedUpAt > .milliseconds(1) || now < lookedUpAt {
      lookedUpAt = now
      lightest = (nil, .infinity)
      for (other, guest) in guests
      where guest.count > 0 || guest.time.isActive(at: now, taken: taken) {
        let used = guest.time.used(at: now)
        if used < lightest.used { lightest = (other, used) }
      }
    }
    guard let other = lightest.holder, other != holder else { return false }
    return (guests[holder]?.time.used(at: now) ?? 0) > lightest.used
  }

  /// Somebody is there who may be the lightest.
  private mutating func noteLight(_ time: TimeAccount, _ holder: QuotaHolder) {
    let used = time.used(at: lookedUpAt)
    if used < lightest.used { lightest = (holder, used) }
  }

  /// Forgets those of whom nothing is left.
  mutating func forgetIdle(at now: Instant) {
    guests = guests.filter {
      $0.value.count > 0 || !$0.value.time.isIdle(at: now, taken: taken)
    }
  }
}

/// What a principal has used of the loop's time.
struct TimeAccount: Hashable, Sendable {
  private var small = Debt()
  private var large = Debt()
  /// Seconds used, fading within about a second.
  private var recent = 0.0
  private var fadedAt = Instant.zero
  private var lastHeard = Instant(nanoseconds: .min / 2)
  /// What all had taken of the loop's time by then.
  private var takenBefore = Span.zero
  /// What a question took, lately.
  private(set) var question = firstQuestion

  static let firstQuestion = Span(nanoseconds: 500_000)
  /// What may be used at once.
  static let burst = Span.milliseconds(20)
  /// What is owed at most by who had nobody lighter beside it.
  static let mostAlone = Span.milliseconds(40)
  /// Who was heard within this time is one of those who share. Time in which the loop was busy with
  /// what clients asked for does not count: nobody could be heard then, and a long turn of one
  /// would make all others absent.
  static let presence = Span.milliseconds(100)

  mutating func wasHeard(at now: Instant, taken: Span) {
    lastHeard = now
    takenBefore = taken
  }

  func isActive(at now: Instant, taken: Span) -> Bool {
    now - lastHeard <= Self.presence + (taken - takenBefore)
  }

  /// Seconds of the last one, roughly.
  func used(at now: Instant) -> Double {
    let age = max(0, (now - fadedAt).seconds)
    // A straight line is near enough, and cheap.
    return age >= 2 ? 0 : recent * (1 - age / 2)
  }

  func isOverdrawn(for size: WaitingRoom.Size, at now: Instant) -> Bool {
    (size == .small ? small : large).amount(at: now) > Self.burst
  }

  /// - Parameter isAlone: Nobody lighter was there: what it took more than its share of was free.
  mutating func take(
    _ span: Span, for size: WaitingRoom.Size, isAlone: Bool, at now: Instant
  ) {
    switch size {
    case .small: small.add(span, isAlone: isAlone, at: now)
    case .large: large.add(span, isAlone: isAlone, at: now)
    }
    recent = used(at: now) + span.seconds
    fadedAt = now
  }

  mutating func noteQuestion(_ span: Span) {
    question = Span(nanoseconds: (question.nanoseconds * 3 + span.nanoseconds) / 4)
  }

  func isIdle(at now: Instant, taken: Span) -> Bool {
    small.amount(at: now) == .zero && large.amount(at: now) == .zero && used(at: now) == 0
      && !isActive(at: now, taken: taken)
  }
}

/// What has not been paid for; paid for at the rate of a principal's share.
private struct Debt: Hashable, Sendable {
  private var owed = Span.zero
  private var paidAt = Instant.zero

  func amount(at now: Instant) -> Span {
    let paid = (now - paidAt).nanoseconds / 100 * Int64(Limits.sharePercent)
    return max(.zero, owed - Span(nanoseconds: paid))
  }

  mutating func add(_ span: Span, isAlone: Bool, at now: Instant) {
    let before = amount(at: now)
    owed = before + span
    if isAlone { owed = max(before, min(owed, TimeAccount.mostAlone)) }
    paidAt = now
  }
}
