// Frames of clients that were received and not heard yet, by principal, and whose turn it is (G29).
// Bounded (G27). Pure; on the loop's thread.
//
// The rule is class-based queueing (S. Floyd, V. Jacobson: Link-sharing and resource management
// models for packet networks, 1995) with the loop's time for a link and a class for each principal:
// round robin, and who is over its share waits only as long as that would hurt another one. What a
// frame costs is measured while it is heard, and charged afterwards; deficit round robin and
// start-time fair queueing would have to know it before. For principals p, q and moments t₀ < t:
//
//   owed(p, t)    = max(0, owed(p, t₀) − share · (t − t₀)), apart for large ones, small paid first
//   used(p, t)    = used(p, t₀) · max(0, 1 − (t − t₀) / fading)
//   a charge c of p raises used(p) by weight · c, and owed(p) by c, to `most` at the most
//   weight        = `heavyWeight` for large frames and behind `manyWaiting` others, otherwise 1
//   present(q)    ⇔ frames of q wait, or one was heard within `presence` of the loop's idle time
//   lighter(p, c) ⇔ some q ≠ p with present(q) has used(q) < used(p) + weight · c
//   most          = lighter(p, c) ? max(`mostTogether`, its message + `burst`) : `mostAlone`
//   waits(p)      ⇔ owed(p) > `burst` and lighter(p, 0)
//   next          = one frame of the first p with ¬waits(p), in the round, behind the last one
//   Beside lighter ones p has of a time T at most share · T + `burst` + one frame, of each size.
//
// `share` is `Limits.sharePercent`; the other constants are those of `CoordinatorLimits.FairQueue`.
// Costs, for n principals with frames or heard lately: a frame in or out O(1) but for moving the
// round, O(n) machine words; who is the lightest is looked up once a millisecond, O(n).

import OpClusterModel
import OpClusterScheduling

struct FairRequestQueue {
  struct Frame {
    let bytes: [UInt8]
    let peer: PeerID
    var size: Size { Size(bytes: bytes.count) }
  }

  /// What is asked in large messages holds back only large ones, and so with small ones: who has
  /// submitted a large graph may look at it at once, unless a second one waits before that.
  enum Size {
    case small, large

    init(bytes: Int) {
      self = bytes > CoordinatorLimits.FairQueue.smallFrameBytes ? .large : .small
    }
  }

  /// The frames of one principal, in their order.
  private struct Line {
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
  private var lines: [QuotaHolder: Line] = [:]
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
    if lines[holder] == nil { lines[holder] = Line() }
    guard let at = lines.index(forKey: holder) else { return false }
    if givesBack {
      guard lines.values[at].count < 2 * Limits.waitingFramesPerPrincipal,
        size <= CoordinatorLimits.FairQueue.givingBackBytes
      else { return false }
    } else if lines.values[at].count > 0 {
      guard lines.values[at].count < Limits.waitingFramesPerPrincipal,
        lines.values[at].bytes + size <= Limits.waitingBytesPerPrincipal,
        bytes + size <= mostBytes
      else { return false }
    }
    lines.values[at].add(frame)
    if !lines.values[at].isInRound {
      lines.values[at].isInRound = true
      round.append(holder)
    }
    count += 1
    bytes += size
    noteLight(lines.values[at].time, holder)
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
      guard let at = lines.index(forKey: holder) else {
        round.remove(at: turn)
        continue
      }
      let frame = lines.values[at].next()
      lines.values[at].time.lastHeard = idle(at: now)
      noteLight(lines.values[at].time, holder)
      count -= 1
      bytes -= frame.bytes.count
      if lines.values[at].count == 0 {
        lines.values[at].isInRound = false
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
    lines[holder, default: Line()].time.noteQuestion(time)
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
    var line = lines[holder] ?? Line()
    let isHeavy = size == .large || line.count > CoordinatorLimits.FairQueue.manyWaiting
    let weighted = time.seconds * (isHeavy ? CoordinatorLimits.FairQueue.heavyWeight : 1)
    let isAlone = !hasLighter(than: holder, using: weighted, at: now)
    line.time.take(
      time, of: whole, for: size, weighted: weighted, isAlone: isAlone, at: now)
    lines[holder] = line
  }

  /// What one more question of a principal will take, as far as the last ones tell.
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    lines[holder]?.time.question ?? CoordinatorLimits.FairQueue.firstQuestion
  }

  private mutating func isHeldBack(_ holder: QuotaHolder, at now: Instant) -> Bool {
    guard let line = lines[holder], line.time.isOverdrawn(for: line.size, at: now)
    else { return false }
    return hasLighter(than: holder, using: 0, at: now)
  }

  /// Whether somebody else who was heard lately has used less than this one with so much more.
  private mutating func hasLighter(
    than holder: QuotaHolder, using more: Double, at now: Instant
  ) -> Bool {
    if now - lookedUpAt > CoordinatorLimits.FairQueue.comparisonPause || now < lookedUpAt {
      lookedUpAt = now
      (lightest, usedByNext) = ((nil, .infinity), .infinity)
      let idle = idle(at: now)
      for (other, line) in lines where line.count > 0 || line.time.isActive(idle: idle) {
        noteLight(line.time, other)
      }
    }
    let least = lightest.holder == holder ? usedByNext : lightest.used
    return (lines[holder]?.time.used(at: now) ?? 0) + more > least
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
    lines = lines.filter {
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
  /// Seconds used, weighted, as of `fadedAt`; they fade.
  private var recent = 0.0
  private var fadedAt = Instant.zero
  /// How long the loop had had nothing to do by then; nil: never.
  var lastHeard: Span?
  /// What a question took, lately.
  private(set) var question = CoordinatorLimits.FairQueue.firstQuestion

  func isActive(idle: Span) -> Bool {
    lastHeard.map { idle - $0 <= CoordinatorLimits.FairQueue.presence } ?? false
  }

  /// Seconds of the last one or two, weighted.
  func used(at now: Instant) -> Double {
    let age = max(0, (now - fadedAt).seconds)
    let fading = CoordinatorLimits.FairQueue.fadingSeconds
    // A straight line is near enough, and cheap.
    return age >= fading ? 0 : recent * (1 - age / fading)
  }

  func isOverdrawn(for size: FairRequestQueue.Size, at now: Instant) -> Bool {
    owed(for: size, at: now) > CoordinatorLimits.FairQueue.burst
  }

  private func owed(for size: FairRequestQueue.Size, at now: Instant) -> Span {
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
    _ time: Span, of whole: Span, for size: FairRequestQueue.Size, weighted: Double, isAlone: Bool,
    at now: Instant
  ) {
    (owedForSmall, owedForLarge) = (owed(for: .small, at: now), owed(for: .large, at: now))
    paidAt = now
    typealias Bounds = CoordinatorLimits.FairQueue
    let most = isAlone ? Bounds.mostAlone : max(Bounds.mostTogether, whole + Bounds.burst)
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
