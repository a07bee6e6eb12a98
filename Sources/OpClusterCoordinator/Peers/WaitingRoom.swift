// Frames of clients that were received and not heard yet, by principal, and whose turn it is (G29):
// one after the other, and who has used more than its share of the loop's time waits as long as
// somebody lighter is there. Bounded (G27). Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling

struct WaitingRoom {
  struct Frame {
    let bytes: [UInt8]
    let peer: PeerID
    var size: Size { Size(bytes: bytes.count) }
  }

  /// What is asked in large messages holds back only large ones, and so with small ones: who has
  /// submitted a large graph may look at it at once, unless a second one waits before that.
  enum Size {
    case small, large

    /// The largest small frame.
    static let mostSmallBytes = 16 << 10

    init(bytes: Int) { self = bytes > Self.mostSmallBytes ? .large : .small }
  }

  /// Who has more frames waiting than this asks for more than it is given.
  static let manyWaiting = 16

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
  /// What the messages of all may have.
  private let mostBytes: Int
  /// Time in which the loop had nothing to do, up to the last turn, and since when it has had
  /// nothing to do again; nil while a turn goes on.
  private var idleBefore = Span.zero
  private var idleSince: Instant? = .zero
  /// What this turn has heard, and how long answering its questions took.
  private var hearings: [(holder: QuotaHolder, size: Size, time: Span)] = []
  private var answering = Span.zero
  /// Who has used least of those that were heard lately, what the next one has used, and when that
  /// was looked up.
  private var lightest: (holder: QuotaHolder?, used: Double) = (nil, .infinity)
  private var usedByNext = Double.infinity
  private var lookedUpAt = Instant.distantPast

  init(bytes: Int = Limits.waitingBytes) { mostBytes = bytes }

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
        bytes + size <= mostBytes
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
      guests.values[at].time.lastHeard = idle(at: now)
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

  /// A turn begins: nobody can be heard until it ends but by it.
  mutating func beginTurn(at now: Instant) {
    idleBefore = idle(at: now)
    idleSince = nil
    hearings.removeAll(keepingCapacity: true)
    answering = .zero
  }

  mutating func endTurn(at now: Instant) { idleSince = now }

  private func idle(at now: Instant) -> Span {
    idleSince.map { idleBefore + (now - $0) } ?? idleBefore
  }

  /// A frame that `next` gave was heard in this time.
  mutating func noteHearing(
    _ time: Span, of frame: Frame, by holder: QuotaHolder, at now: Instant
  ) {
    hearings.append((holder, frame.size, time))
    charge(time, of: time, for: frame.size, to: holder, at: now)
  }

  /// A question, asked in a frame of this size, was answered in this time.
  mutating func noteQuestion(_ time: Span, for size: Size, of holder: QuotaHolder, at now: Instant)
  {
    answering = answering + time
    guests[holder, default: Guest()].time.noteQuestion(time)
    charge(time, of: time, for: size, to: holder, at: now)
  }

  /// What a turn takes after it has heard everybody, as decisions, records and rows, goes to those
  /// whom it heard, in proportion to what hearing them was of the turn until then; the rest to
  /// nobody, since workers and the clock caused it. Answers have been charged by themselves.
  ///
  /// - Parameter before: What the turn took until then, hearing workers included.
  mutating func chargeRest(_ rest: Span, after before: Span, at now: Instant) {
    let restPerHearing = max(0, (rest - answering).seconds / max(before.seconds, 1e-9))
    for (holder, size, time) in hearings {
      let part = time.scaled(by: restPerHearing)
      charge(part, of: time + part, for: size, to: holder, at: now)
    }
  }

  /// - Parameter whole: What the message has taken by now.
  private mutating func charge(
    _ time: Span, of whole: Span, for size: Size, to holder: QuotaHolder, at now: Instant
  ) {
    var guest = guests[holder] ?? Guest()
    let isHeavy = size == .large || guest.count > Self.manyWaiting
    let weighted = time.seconds * (isHeavy ? TimeAccount.heavyWeight : 1)
    let isAlone = !hasLighter(than: holder, using: weighted, at: now)
    guest.time.take(
      time, of: whole, for: size, weighted: weighted, isAlone: isAlone, at: now)
    guests[holder] = guest
  }

  /// What one more question of a principal will take, as far as the last ones tell.
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    guests[holder]?.time.question ?? TimeAccount.firstQuestion
  }

  private mutating func isHeldBack(_ holder: QuotaHolder, at now: Instant) -> Bool {
    guard let guest = guests[holder], guest.time.isOverdrawn(for: guest.size, at: now)
    else { return false }
    return hasLighter(than: holder, using: 0, at: now)
  }

  /// Whether somebody else who was heard lately has used less than this one with so much more.
  private mutating func hasLighter(
    than holder: QuotaHolder, using more: Double, at now: Instant
  ) -> Bool {
    if now - lookedUpAt > .milliseconds(1) || now < lookedUpAt {
      lookedUpAt = now
      (lightest, usedByNext) = ((nil, .infinity), .infinity)
      let idle = idle(at: now)
      for (other, guest) in guests where guest.count > 0 || guest.time.isActive(idle: idle) {
        noteLight(guest.time, other)
      }
    }
    let least = lightest.holder == holder ? usedByNext : lightest.used
    return (guests[holder]?.time.used(at: now) ?? 0) + more > least
  }

  /// Somebody is there who may be the lightest.
  private mutating func noteLight(_ time: TimeAccount, _ holder: QuotaHolder) {
    let used = time.used(at: lookedUpAt)
    if holder == lightest.holder {
      lightest.used = used
    } else if used < lightest.used {
      (lightest, usedByNext) = ((holder, used), lightest.used)
    } else {
      usedByNext = min(usedByNext, used)
    }
  }

  /// Forgets those of whom nothing is left.
  mutating func forgetIdle(at now: Instant) {
    let idle = idle(at: now)
    guests = guests.filter {
      $0.value.count > 0 || !$0.value.time.isForgettable(at: now, idle: idle)
    }
  }
}

/// What a principal has used of the loop's time.
struct TimeAccount: Hashable, Sendable {
  /// What has not been paid for; paid for at the rate of a principal's share, small ones first.
  private var owedForSmall = Span.zero
  private var owedForLarge = Span.zero
  private var paidAt = Instant.zero
  /// Seconds used, weighted, fading within about a second.
  private var recent = 0.0
  private var fadedAt = Instant.zero
  /// How long the loop had had nothing to do by then; nil: never.
  var lastHeard: Span?
  /// What a question took, lately.
  private(set) var question = firstQuestion

  /// What large messages take, and what who has many waiting takes, counts so many times when it is
  /// told who is the lightest: nobody else is heard while the loop is at a large message, and who
  /// asks without end would have as much as anybody else.
  static let heavyWeight = 2.0
  static let firstQuestion = Span(nanoseconds: 500_000)
  /// What may be used at once, of either size.
  static let burst = Span.milliseconds(20)
  /// What is owed at most by who had nobody lighter beside it.
  static let mostAlone = Span.milliseconds(40)
  /// What is owed at most for more than one message: who was the lightest for a while, beside
  /// others that used much, is not held back for long when somebody lighter comes.
  static let mostTogether = Span.milliseconds(100)
  /// Who was heard within this time is one of those who share. Only time in which the loop had
  /// nothing to do counts: nobody can be heard in a long turn of somebody else, which would make
  /// all others absent.
  static let presence = Span.milliseconds(100)

  func isActive(idle: Span) -> Bool { lastHeard.map { idle - $0 <= Self.presence } ?? false }

  /// Seconds of the last one, roughly, weighted.
  func used(at now: Instant) -> Double {
    let age = max(0, (now - fadedAt).seconds)
    // A straight line is near enough, and cheap.
    return age >= 2 ? 0 : recent * (1 - age / 2)
  }

  func isOverdrawn(for size: WaitingRoom.Size, at now: Instant) -> Bool {
    owed(for: size, at: now) > Self.burst
  }

  private func owed(for size: WaitingRoom.Size, at now: Instant) -> Span {
    let paid = (now - paidAt) / 100 * Limits.sharePercent
    switch size {
    case .small: return max(.zero, owedForSmall - paid)
    case .large: return max(.zero, owedForLarge - max(.zero, paid - owedForSmall))
    }
  }

  /// - Parameters:
  ///   - whole: What the message has taken by now.
  ///   - weighted: The time in seconds, times its weight.
  ///   - isAlone: Nobody lighter was there: what it took more than its share of was free.
  mutating func take(
    _ time: Span, of whole: Span, for size: WaitingRoom.Size, weighted: Double, isAlone: Bool,
    at now: Instant
  ) {
    (owedForSmall, owedForLarge) = (owed(for: .small, at: now), owed(for: .large, at: now))
    paidAt = now
    let most = isAlone ? Self.mostAlone : max(Self.mostTogether, whole + Self.burst)
    switch size {
    case .small: owedForSmall = max(owedForSmall, min(owedForSmall + time, most))
    case .large: owedForLarge = max(owedForLarge, min(owedForLarge + time, most))
    }
    recent = used(at: now) + weighted
    fadedAt = now
  }

  mutating func noteQuestion(_ time: Span) {
    question = (question * 3 + time) / 4
  }

  func isForgettable(at now: Instant, idle: Span) -> Bool {
    owed(for: .small, at: now) == .zero && owed(for: .large, at: now) == .zero
      && used(at: now) == 0 && !isActive(idle: idle)
  }
}
