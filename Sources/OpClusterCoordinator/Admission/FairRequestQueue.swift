// Received frames of clients that wait to be heard, by principal, and the order of their turns
// (G29). Bounded (G27). Pure; on the loop's thread.
//
// The rule is class-based queueing (S. Floyd, V. Jacobson: Link-sharing and resource management
// models for packet networks, 1995), with the loop's time as the link, and that of the thread that
// prepares large messages, and a class for each principal: round robin, and a principal over its
// share waits only as long as it would otherwise hurt another. The cost of a frame is measured
// while it is heard, and charged afterwards; deficit round robin and start-time fair queueing would
// need it in advance. For principals p, q and moments t₀ < t:
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
// Costs, for n principals with frames or heard lately: O(1) for a frame in or out, except O(n)
// machine words to move the round; O(n) to find the lightest, once per millisecond.

import DequeModule
import OpClusterModel
import OpClusterScheduling

struct FairRequestQueue {
  struct Frame {
    let bytes: [UInt8]
    let peer: PeerID
    var size: Size { Size(bytes: bytes.count) }
    /// Whether another thread decodes it, and prepares what it submits.
    private(set) var isToBePrepared: Bool

    init(bytes: [UInt8], peer: PeerID) {
      self.bytes = bytes
      self.peer = peer
      isToBePrepared = bytes.count > CoordinatorLimits.framesHeardAtOnce
    }

    /// Notes that it means more work than its bytes tell.
    fileprivate mutating func noteWork() { isToBePrepared = true }
  }

  /// Debts of large messages hold back only large ones, those of small messages only small ones:
  /// the submitter of a large graph may look at it at once, unless a second large message waits
  /// before that.
  enum Size {
    case small, large

    init(bytes: Int) {
      self = bytes > CoordinatorLimits.FairQueue.smallFrameBytes ? .large : .small
    }
  }

  /// The frames of one principal, in order of arrival.
  private struct Line {
    private var frames: Deque<Frame> = []
    /// Frames of a client behind a message of it that is being prepared.
    private var heldBack: [Frame] = []
    private(set) var bytes = 0
    /// Whether it stands in `round`.
    var isInRound = false
    var time = TimeAccount()

    var count: Int { frames.count + heldBack.count }
    /// Whether a frame is ready to be heard.
    var hasNext: Bool { !frames.isEmpty }
    /// The next frame; nil if none is ready.
    var first: Frame? { frames.first }
    /// The size of the next frame.
    var size: Size { first?.size ?? .small }

    mutating func add(_ frame: Frame) {
      frames.append(frame)
      bytes += frame.bytes.count
    }

    mutating func next() -> Frame {
      let frame = takeFirst()
      bytes -= frame.bytes.count
      return frame
    }

    private mutating func takeFirst() -> Frame {
      let frame = frames.removeFirst()
      // An empty one keeps its capacity, and there are many.
      if frames.isEmpty { frames = [] }
      return frame
    }

    /// Adds a frame before all others that are not held back.
    mutating func addFirst(_ frame: Frame) {
      frames.prepend(frame)
      bytes += frame.bytes.count
    }

    /// Holds the first frames back as long as they are of this client. Amortised O(1) for each.
    mutating func holdBack(_ peer: PeerID) {
      while let first, first.peer == peer { heldBack.append(takeFirst()) }
    }

    /// Puts what was held back before all others. O(what was).
    mutating func putBack() {
      frames.prepend(contentsOf: heldBack)
      heldBack = []
    }
  }

  /// Looked up; iterated only to find the lightest, and to forget idle ones.
  private var lines: [QuotaHolder: Line] = [:]
  /// The principals with frames, in the order of turns.
  private var round: [QuotaHolder] = []
  private var turn = 0
  /// The message that another thread prepares; at most one, so that plans that no quota counts yet
  /// need the memory of one.
  private var preparing: (holder: QuotaHolder, peer: PeerID)?
  /// The messages that another thread has prepared.
  private(set) var prepared: UInt64 = 0
  private(set) var count = 0
  private(set) var bytes = 0
  /// The limit of the bytes of all frames.
  private let mostBytes: Int
  /// The idle time of the loop up to the last turn, and the beginning of the present idle time; nil
  /// during a turn.
  private var idleBefore = Span.zero
  private var idleSince: Instant? = .zero
  /// The frames heard in this turn, and the time spent on answers to its questions.
  private var hearings: [(holder: QuotaHolder, size: Size, time: Span)] = []
  private var answering = Span.zero
  /// The lightest of the recently heard principals, the use of the second lightest, and the time of
  /// that comparison.
  private var lightest: (holder: QuotaHolder?, used: Double) = (nil, .infinity)
  private var usedByNext = Double.infinity
  private var lookedUpAt = Instant.distantPast

  init(bytes: Int = Limits.waitingBytes) { mostBytes = bytes }

  var isEmpty: Bool { count == 0 }

  // MARK: - Frames

  /// Keeps a frame until its turn; false if too much of its principal waits already (G27).
  ///
  /// - Parameter givesBack: The frame releases something, for example a grant of credit: it has
  ///   room beyond the limits, else a client that waits for the release might wait forever.
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
    putInRound(holder)
    count += 1
    bytes += size
    noteLight(lines.values[at].time, holder)
    return true
  }

  private mutating func putInRound(_ holder: QuotaHolder) {
    guard let at = lines.index(forKey: holder), !lines.values[at].isInRound else { return }
    lines.values[at].isInRound = true
    round.append(holder)
  }

  /// The next frame to hear; nil if none waits, or all waiting principals are over their share.
  /// While a message is prepared, no other that is to be prepared comes, and nothing of its client.
  mutating func next(at now: Instant) -> (frame: Frame, holder: QuotaHolder)? {
    var looked = 0
    while looked < round.count {
      if turn >= round.count { turn = 0 }
      let holder = round[turn]
      if isThrottled(holder, at: now) {
        turn += 1
        looked += 1
        continue
      }
      guard let at = lines.index(forKey: holder) else {
        round.remove(at: turn)
        continue
      }
      if let preparing {
        if preparing.holder == holder { lines.values[at].holdBack(preparing.peer) }
        guard let first = lines.values[at].first else {
          lines.values[at].isInRound = false
          round.remove(at: turn)
          continue
        }
        if first.isToBePrepared {
          turn += 1
          looked += 1
          continue
        }
      }
      let frame = lines.values[at].next()
      lines.values[at].time.lastHeard = idle(at: now)
      noteLight(lines.values[at].time, holder)
      count -= 1
      bytes -= frame.bytes.count
      if !lines.values[at].hasNext {
        lines.values[at].isInRound = false
        round.remove(at: turn)
      } else {
        turn += 1
      }
      return (frame, holder)
    }
    return nil
  }

  /// Whether `next` surely returns a frame.
  mutating func hasNext(at now: Instant) -> Bool {
    for holder in round where !isBlocked(holder) && !isThrottled(holder, at: now) { return true }
    return false
  }

  /// Whether the principal's next frame waits for a message that is being prepared. What is behind
  /// a frame of the same client is looked at by `next`.
  private func isBlocked(_ holder: QuotaHolder) -> Bool {
    guard let preparing, let first = lines[holder]?.first else { return false }
    return first.isToBePrepared || first.peer == preparing.peer
  }

  // MARK: - Preparation

  /// Puts a frame back that `next` returned: it is to be prepared, as was seen when it was decoded.
  /// It is again the next one of its principal.
  mutating func postpone(_ frame: Frame, of holder: QuotaHolder) {
    var frame = frame
    frame.noteWork()
    lines[holder, default: Line()].addFirst(frame)
    count += 1
    bytes += frame.bytes.count
    putInRound(holder)
  }

  /// Notes that the message of a client is prepared by another thread. Expects that none is.
  mutating func beginPreparing(_ peer: PeerID, of holder: QuotaHolder) {
    preparing = (holder, peer)
  }

  var isPreparing: Bool { preparing != nil }
  func isPreparing(_ peer: PeerID) -> Bool { preparing?.peer == peer }

  /// Ends that: what came behind the message is next.
  mutating func endPreparing() {
    guard let (holder, _) = preparing else { return }
    preparing = nil
    prepared &+= 1
    guard let at = lines.index(forKey: holder) else { return }
    lines.values[at].putBack()
    if lines.values[at].hasNext { putInRound(holder) }
  }

  // MARK: - Time

  /// Begins a turn: until its end, no frame is heard except by it.
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

  /// Charges the time that another thread took to prepare a message. Where processors are few it
  /// was missing to others, as if the loop had done it: a client that floods would have one of its
  /// own.
  mutating func notePreparation(_ time: Span, by holder: QuotaHolder, at now: Instant) {
    charge(time, of: time, for: .large, to: holder, at: now)
  }

  /// Charges the time of hearing a frame that `next` returned.
  mutating func noteHearing(
    _ time: Span, of size: Size, by holder: QuotaHolder, at now: Instant
  ) {
    hearings.append((holder, size, time))
    charge(time, of: time, for: size, to: holder, at: now)
  }

  /// Charges the time of answering a question that came in a frame of this size.
  mutating func noteQuestion(_ time: Span, for size: Size, of holder: QuotaHolder, at now: Instant)
  {
    answering = answering + time
    lines[holder, default: Line()].time.noteQuestion(time)
    charge(time, of: time, for: size, to: holder, at: now)
  }

  /// Charges the rest of a turn (decisions, records, rows) to the heard principals, in proportion
  /// to each one's part of the turn until then. The remainder is charged to nobody, since workers
  /// and the clock caused it. Answers were charged separately.
  ///
  /// - Parameter before: The time of the turn until then, including hearing workers.
  mutating func chargeRest(_ rest: Span, after before: Span, at now: Instant) {
    let restPerHearing = max(0, (rest - answering).seconds / max(before.seconds, 1e-9))
    for (holder, size, time) in hearings {
      let part = time.scaled(by: restPerHearing)
      charge(part, of: time + part, for: size, to: holder, at: now)
    }
  }

  /// - Parameter whole: The total time of the message so far.
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

  /// The expected time of one more question of a principal, from its latest ones.
  func expectedCost(ofQuestionBy holder: QuotaHolder) -> Span {
    lines[holder]?.time.question ?? CoordinatorLimits.FairQueue.firstQuestion
  }

  private mutating func isThrottled(_ holder: QuotaHolder, at now: Instant) -> Bool {
    guard let line = lines[holder], line.time.isOverdrawn(for: line.size, at: now)
    else { return false }
    return hasLighter(than: holder, using: 0, at: now)
  }

  /// Whether another recently heard principal has used less than this one with `more` added.
  private mutating func hasLighter(
    than holder: QuotaHolder, using more: Double, at now: Instant
  ) -> Bool {
    if now - lookedUpAt > CoordinatorLimits.FairQueue.comparisonPause || now < lookedUpAt {
      lookedUpAt = now
      (lightest, usedByNext) = ((nil, .infinity), .infinity)
      let idle = idle(at: now)
      for (other, line) in lines where line.hasNext || line.time.isActive(idle: idle) {
        noteLight(line.time, other)
      }
    }
    let least = lightest.holder == holder ? usedByNext : lightest.used
    return (lines[holder]?.time.used(at: now) ?? 0) + more > least
  }

  /// Considers a present principal as the lightest.
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

  /// Forgets principals without frames, debts or recent use.
  mutating func forgetIdle(at now: Instant) {
    let idle = idle(at: now)
    lines = lines.filter {
      $0.value.count > 0 || !$0.value.time.isForgettable(at: now, idle: idle)
    }
  }
}

/// A principal's use of the loop's time.
struct TimeAccount: Hashable, Sendable {
  /// The unpaid time; paid at the rate of a principal's share, small frames first.
  private var owedForSmall = Span.zero
  private var owedForLarge = Span.zero
  private var paidAt = Instant.zero
  /// The weighted seconds used, as of `fadedAt`; they fade.
  private var recent = 0.0
  private var fadedAt = Instant.zero
  /// The idle time of the loop at the last hearing; nil if there was none.
  var lastHeard: Span?
  /// The recent time of a question.
  private(set) var question = CoordinatorLimits.FairQueue.firstQuestion

  func isActive(idle: Span) -> Bool {
    lastHeard.map { idle - $0 <= CoordinatorLimits.FairQueue.presence } ?? false
  }

  /// The weighted seconds of the last one or two seconds.
  func used(at now: Instant) -> Double {
    let age = max(0, (now - fadedAt).seconds)
    let fading = CoordinatorLimits.FairQueue.fadingSeconds
    // Linear fading is accurate enough and cheap.
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
  ///   - whole: The total time of the message so far.
  ///   - weighted: The time in seconds, times its weight.
  ///   - isAlone: No lighter principal was present, so time beyond the share cost nobody.
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
