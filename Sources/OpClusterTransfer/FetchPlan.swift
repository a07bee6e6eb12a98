// Which content is fetched from which holder, and what happens when one of them does not give it.
// A value; the fetcher's thread owns it, opens the sockets and writes the bytes.

import DequeModule
import HeapModule
import OpClusterModel

/// The contents that a store wants from others. No method costs more than what it changes, times
/// the logarithm of the contents on their way; the end of a connection costs those of the
/// connection.
struct FetchPlan {
  /// What the thread has to do.
  enum Action: Hashable {
    /// Open a connection.
    case connect(ContentSource)
    case close(ContentSource)
    case send(ContentSource, ContentRequest)
    /// Nothing more will come of it.
    case giveUp(ContentDigest, FetchFailure)
  }

  fileprivate struct Fetch {
    var content: StoredContent
    var sources: [ContentSource]
    /// The source that is asked, or to be asked next.
    var at = 0
    /// Bytes that have come.
    var received: Int64 = 0
    /// When the search ends, unless something comes; nil: nobody has been asked.
    var deadline: Instant?
    /// How long to wait before asking a holder again that may be told of us soon.
    var pause = FetchPlan.shortestPause
    var state = State.waiting
    /// How often other bytes came.
    var restarts = 0
    var lastFailure = FetchFailure.unreachable
    /// When the search ends if the holders go on to be busy; nil: none has been.
    var busyUntil: Instant?
    /// Whether a holder was busy since all of them have been asked.
    var wasBusy = false
    /// When they are asked again, if it waits.
    var wakesAt: Instant?
    /// When the search ends if the holders go on to say that it cannot be had from them.
    var refusedUntil: Instant?

    enum State: Hashable {
      /// For its time.
      case waiting
      /// In the line of a holder.
      case inLine
      /// The holder sends it, under this number, and may send so many bytes more. `isInLine`: it
      /// waits for more credit.
      case active(number: UInt64, credit: Int64, isInLine: Bool)
    }
  }

  fileprivate struct Holder {
    /// nil: there is no connection.
    var isConnected: Bool?
    /// A connection is not tried before.
    var restsUntil = Instant.distantPast
    var rest = FetchPlan.shortestRest
    /// Those that wait for credit, to begin or to go on: each gets a share in turn.
    var line: Deque<ContentDigest> = []
    /// Those at whose turn so many others had begun that they have to wait for the end of one; in
    /// order. Whoever has begun is not behind them.
    var held: Deque<ContentDigest> = []
    var active: [UInt64: ContentDigest] = [:]
    /// Bytes that it may send us now.
    var credit: Int64 = 0
    /// When it last sent something, or was asked for something first.
    var lastProgress = Instant.distantPast
    /// When it last sent something over this connection.
    var lastPiece = Instant.distantPast
    /// When it is looked at next; nil: nobody waits for that.
    var alarm: Instant?
  }

  private enum Subject: Hashable {
    case fetch(ContentDigest)
    case holder(ContentSource)
  }

  private struct Alarm: Comparable {
    var at: Instant
    var subject: Subject
    static func < (one: Self, other: Self) -> Bool { one.at < other.at }
  }

  private var fetches: [ContentDigest: Fetch] = [:]
  private var holders: [ContentSource: Holder] = [:]
  private var alarms: Heap<Alarm> = []
  private var lastNumber: UInt64 = 0
  /// The thread carries them out, in order.
  private(set) var actions: [Action] = []

  /// A holder that sends nothing for so long is given up, and so is a search.
  private let patience: OpClusterModel.Span
  /// Whether the coordinator tells of further holders.
  private let hearsOfHolders: Bool
  private static let shortestPause = OpClusterModel.Span.milliseconds(20)
  private static let longestPause = OpClusterModel.Span.seconds(1)
  private static let shortestRest = OpClusterModel.Span.milliseconds(50)
  private static let longestRest = OpClusterModel.Span.seconds(5)
  private static let mostRestarts = 5
  /// In patiences: for so long a search goes on while others are served, each of which comes to an
  /// end; longer where those become holders, too.
  private static let patienceWithCrowds: Int64 = 12
  private static let patienceWithCrowdsOfHolders: Int64 = 180
  /// Contents that one holder sends at a time.
  fileprivate static let mostActive = 64
  /// The least credit that is given, so that small pieces do not each cost a message, and the most
  /// at once, so that a large content leaves room for others.
  private static let step: Int64 = 1 << 20
  private static let share: Int64 = 2 << 20

  var count: Int { fetches.count }
  /// For tests: alarms that have not come, or are obsolete.
  var waitingAlarms: Int { alarms.count }
  func wants(_ digest: ContentDigest) -> Bool { fetches[digest] != nil }

  init(patience: OpClusterModel.Span, hearsOfHolders: Bool = false) {
    self.patience = patience
    self.hearsOfHolders = hearsOfHolders
  }

  mutating func takeActions() -> [Action] {
    defer { actions.removeAll(keepingCapacity: true) }
    return actions
  }

  var nextDeadline: Instant? { alarms.min?.at }

  // MARK: - Wishes

  /// Wants a content from these holders, the best first; further ones are added to those known.
  mutating func want(
    _ content: StoredContent, from sources: [ContentSource], at now: Instant
  ) {
    if let known = fetches[content.digest] {
      let new = sources.filter { !known.sources.contains($0) }
      fetches[content.digest]?.sources += new
      // Those before have others to serve.
      guard known.state == .waiting, known.wasBusy, !new.isEmpty else { return }
      fetches[content.digest]?.at = known.sources.count
      return ask(content.digest, at: now)
    }
    fetches[content.digest] = Fetch(content: content, sources: sources)
    ask(content.digest, at: now)
  }

  /// Wants it no more, or has it.
  mutating func drop(_ digest: ContentDigest, at now: Instant) {
    leave(digest, tells: true)
    guard let source = fetches.removeValue(forKey: digest).flatMap(Self.source) else { return }
    giveCredit(to: source, at: now)
  }

  private static func source(of fetch: Fetch) -> ContentSource? {
    fetch.sources.indices.contains(fetch.at) ? fetch.sources[fetch.at] : nil
  }

  /// What came was not the content: everything again, from the next holder.
  mutating func restart(_ digest: ContentDigest, at now: Instant) {
    leave(digest, tells: true)
    let source = fetches[digest].flatMap(Self.source)
    fetches[digest]?.received = 0
    fetches[digest]?.restarts += 1
    // Each try brings bytes, so that time alone would never end it.
    if fetches[digest].map({ $0.restarts >= Self.mostRestarts }) == true {
      fetches[digest] = nil
      actions.append(.giveUp(digest, .different))
    } else {
      moveOn(digest, .different, at: now)
    }
    if let source { giveCredit(to: source, at: now) }
  }

  /// Puts a fetch into the line of its holder.
  private mutating func ask(_ digest: ContentDigest, at now: Instant) {
    guard let fetch = fetches[digest] else { return }
    guard let source = Self.source(of: fetch) else { return wait(digest, at: now) }
    fetches[digest]?.state = .inLine
    holders[source, default: Holder()].line.append(digest)
    giveCredit(to: source, at: now)
  }

  /// Takes a fetch away from its holder.
  private mutating func leave(_ digest: ContentDigest, tells: Bool) {
    guard let fetch = fetches[digest], let source = Self.source(of: fetch),
      case .active(let number, let credit, _) = fetch.state
    else { return }
    holders[source]?.active[number] = nil
    holders[source]?.credit -= credit
    fetches[digest]?.state = .waiting
    if tells { actions.append(.send(source, .stop(number: number))) }
  }

  /// Turns to the next holder; after the last one it begins again, until its time is over.
  private mutating func moveOn(
    _ digest: ContentDigest, _ failure: FetchFailure, at now: Instant
  ) {
    guard let fetch = fetches[digest] else { return }
    fetches[digest]?.lastFailure = failure
    if !failure.isNewsOfHolders {
      fetches[digest]?.refusedUntil = nil
    } else if fetch.refusedUntil == nil {
      fetches[digest]?.refusedUntil = now + patience / 4
    }
    if fetch.at + 1 < fetch.sources.count {
      fetches[digest]?.at += 1
      return ask(digest, at: now)
    }
    fetches[digest]?.at = 0
    wait(digest, at: now)
  }

  private mutating func wait(_ digest: ContentDigest, at now: Instant) {
    guard let fetch = fetches[digest] else { return }
    var known = fetch.deadline ?? now + patience
    // The busy one serves it in the end, whoever is out of reach besides.
    if fetch.wasBusy, let until = fetch.busyUntil {
      known = max(known, min(now + patience, until))
    }
    // An order about it may still be on its way to the holder; not for long.
    let deadline = min(known, fetch.refusedUntil ?? known)
    guard now < deadline else {
      fetches[digest] = nil
      return actions.append(.giveUp(digest, fetch.wasBusy ? .busy : fetch.lastFailure))
    }
    let wakesAt = min(now + fetch.pause, deadline)
    fetches[digest]?.state = .waiting
    fetches[digest]?.deadline = known
    fetches[digest]?.pause = min(fetch.pause * 2, Self.longestPause)
    fetches[digest]?.wakesAt = wakesAt
    alarms.insert(Alarm(at: wakesAt, subject: .fetch(digest)))
  }

  // MARK: - Holders

  /// Gives those in a holder's line their shares, as long as there is credit; connects first.
  private mutating func giveCredit(to source: ContentSource, at now: Instant) {
    guard let holder = holders[source] else { return }
    guard holder.isAwaited else { return closeIfIdle(source) }
    guard let isConnected = holder.isConnected else {
      guard now >= holder.restsUntil else { return setAlarm(for: source, at: holder.restsUntil) }
      holders[source]?.isConnected = false
      noteProgress(of: source, at: now)
      return actions.append(.connect(source))
    }
    guard isConnected else { return }
    while let digest = holders[source]?.next {
      guard let fetch = fetches[digest], Self.source(of: fetch) == source, fetch.isInLine else {
        holders[source]?.takeNext()
        continue
      }
      let left = fetch.content.size - fetch.received - fetch.credit
      let room = Limits.contentCredit - (holders[source]?.credit ?? 0)
      guard room >= min(left, Self.step) else { return }
      let isNew = fetch.state == .inLine
      let isFull = holders[source]?.hasPlace == false
      holders[source]?.takeNext()
      if isNew, isFull {
        holders[source]?.held.append(digest)
        continue
      }
      give(min(left, room, Self.share), to: digest, fetch, source, at: now)
    }
    closeIfIdle(source)
  }

  /// Gives a content credit; it is in line again if that does not suffice for the rest of it.
  private mutating func give(
    _ more: Int64, to digest: ContentDigest, _ fetch: Fetch, _ source: ContentSource,
    at now: Instant
  ) {
    let number: UInt64
    switch fetch.state {
    case .active(let known, _, _):
      number = known
      actions.append(.send(source, .credit(number: number, bytes: more)))
    case .waiting, .inLine:
      lastNumber += 1
      number = lastNumber
      if holders[source]?.active.isEmpty == true { noteProgress(of: source, at: now) }
      holders[source]?.active[number] = digest
      if fetch.deadline == nil { fetches[digest]?.deadline = now + patience }
      let wish = ContentWish(
        digest: digest, offset: fetch.received, credit: more, hearsOfHolders: hearsOfHolders)
      actions.append(.send(source, .wish(number: number, wish)))
    }
    holders[source]?.credit += more
    let credit = fetch.credit + more
    let isInLine = credit < fetch.content.size - fetch.received
    fetches[digest]?.state = .active(number: number, credit: credit, isInLine: isInLine)
    if isInLine { holders[source]?.line.append(digest) }
  }

  private mutating func noteProgress(of source: ContentSource, at now: Instant) {
    holders[source]?.lastProgress = now
    setAlarm(for: source, at: now + patience)
  }

  private mutating func setAlarm(for source: ContentSource, at moment: Instant) {
    if let known = holders[source]?.alarm, known <= moment { return }
    holders[source]?.alarm = moment
    alarms.insert(Alarm(at: moment, subject: .holder(source)))
  }

  /// An idle connection stays for a while: the next content often comes from the same holder.
  private mutating func closeIfIdle(_ source: ContentSource) {
    guard let holder = holders[source], !holder.isAwaited, holder.active.isEmpty,
      holder.isConnected == nil
    else { return }
    holders[source] = nil
  }

  mutating func connected(_ source: ContentSource, at now: Instant) {
    guard holders[source]?.isConnected == false else { return }
    holders[source]?.isConnected = true
    holders[source]?.rest = Self.shortestRest
    giveCredit(to: source, at: now)
  }

  /// The connection has ended, or could not be made: what it had or would have brought is asked of
  /// others.
  mutating func lost(_ source: ContentSource, at now: Instant) {
    guard let holder = holders[source], holder.isConnected != nil else { return }
    var fresh = Holder()
    fresh.restsUntil = now + holder.rest
    fresh.rest = min(holder.rest * 2, Self.longestRest)
    holders[source] = fresh
    for digest in holder.active.values.sorted() + holder.held + holder.line {
      guard let fetch = fetches[digest], fetch.state != .waiting, Self.source(of: fetch) == source
      else { continue }
      fetches[digest]?.state = .waiting
      // It waited for others that came from there: the search for it begins now.
      if now < holder.lastPiece + patience { fetches[digest]?.deadline = now + patience }
      moveOn(digest, .unreachable, at: now)
    }
    closeIfIdle(source)
  }

  // MARK: - Answers

  /// Whether these bytes are the next ones of a content; then they have to be written.
  mutating func take(
    piece count: Int, at offset: Int64, number: UInt64, from source: ContentSource,
    at now: Instant
  ) -> PieceVerdict {
    guard let digest = holders[source]?.active[number], let fetch = fetches[digest],
      case .active(_, let credit, let isInLine) = fetch.state
    else { return .late }
    let end = fetch.received + Int64(count)
    guard offset == fetch.received, Int64(count) <= credit, end <= fetch.content.size,
      count > 0 || fetch.content.size == 0
    else { return .broken }
    holders[source]?.lastProgress = now
    holders[source]?.lastPiece = now
    holders[source]?.credit -= Int64(count)
    fetches[digest]?.received = end
    fetches[digest]?.deadline = now + patience
    fetches[digest]?.refusedUntil = nil
    fetches[digest]?.busyUntil = nil
    fetches[digest]?.wasBusy = false
    fetches[digest]?.pause = Self.shortestPause
    fetches[digest]?.state = .active(
      number: number, credit: credit - Int64(count), isInLine: isInLine)
    // The holder has ended it as well.
    if end == fetch.content.size { leave(digest, tells: false) }
    giveCredit(to: source, at: now)
    return end == fetch.content.size ? .last(digest) : .next(digest)
  }

  /// What a piece is.
  enum PieceVerdict: Hashable {
    case next(ContentDigest)
    /// With it the content is complete; the fetch stays until `drop` or `restart`.
    case last(ContentDigest)
    /// Of a transfer that has ended.
    case late
    /// The holder does not keep the rules; end its connection.
    case broken
  }

  mutating func refused(
    _ refusal: ContentRefusal, number: UInt64, from source: ContentSource, at now: Instant
  ) {
    guard let digest = holders[source]?.active[number] else { return }
    holders[source]?.lastProgress = now
    leave(digest, tells: false)
    switch refusal {
    // Of the only holder it is asked again soon.
    case .notGranted: moveOn(digest, .notGranted, at: now)
    case .busy:
      noteBusy(digest, at: now)
      moveOn(digest, .busy, at: now)
    case .absent: moveOn(digest, .absent, at: now)
    case .damaged: moveOn(digest, .damaged, at: now)
    case .failed, .full: moveOn(digest, .failed, at: now)
    }
    giveCredit(to: source, at: now)
  }

  /// A holder serves as many as it can: whoever waits for a place does not search in vain.
  private mutating func noteBusy(_ digest: ContentDigest, at now: Instant) {
    guard let fetch = fetches[digest] else { return }
    let patiences =
      hearsOfHolders ? Self.patienceWithCrowdsOfHolders : Self.patienceWithCrowds
    let until = fetch.busyUntil ?? now + patience * patiences
    fetches[digest]?.busyUntil = until
    fetches[digest]?.wasBusy = true
    fetches[digest]?.deadline = max(fetch.deadline ?? now, min(now + patience, until))
  }

  // MARK: - Time

  mutating func passTime(at now: Instant) {
    while let alarm = alarms.min, alarm.at <= now {
      _ = alarms.removeMin()
      switch alarm.subject {
      case .fetch(let digest):
        // Alarms before the last one are of rounds that have ended otherwise.
        guard let fetch = fetches[digest], fetch.state == .waiting, fetch.wakesAt == alarm.at,
          fetch.received < fetch.content.size || fetch.content.size == 0
        else { continue }
        let deadline = min(fetch.deadline ?? .distantFuture, fetch.refusedUntil ?? .distantFuture)
        if now >= deadline {
          wait(digest, at: now)
        } else {
          fetches[digest]?.wasBusy = false
          ask(digest, at: now)
        }
      case .holder(let source): look(at: source, now)
      }
    }
  }

  private mutating func look(at source: ContentSource, _ now: Instant) {
    holders[source]?.alarm = nil
    guard let holder = holders[source] else { return }
    guard let isConnected = holder.isConnected else { return giveCredit(to: source, at: now) }
    guard now >= holder.lastProgress + patience else {
      return setAlarm(for: source, at: holder.lastProgress + patience)
    }
    // Nobody has waited for it: it is not needed any more.
    let isIdle = isConnected && holder.active.isEmpty
    actions.append(.close(source))
    if isIdle { holders[source] = nil } else { lost(source, at: now) }
  }
}

extension FetchPlan.Holder {
  /// Whether something waits for credit.
  fileprivate var isAwaited: Bool { !line.isEmpty || !held.isEmpty }
  /// Whether it may begin with a further content.
  fileprivate var hasPlace: Bool { active.count < FetchPlan.mostActive }
  private var isNextHeld: Bool { hasPlace && !held.isEmpty }

  /// Whose turn it is.
  fileprivate var next: ContentDigest? { isNextHeld ? held.first : line.first }

  fileprivate mutating func takeNext() {
    if isNextHeld { _ = held.popFirst() } else { _ = line.popFirst() }
  }
}

extension FetchPlan.Fetch {
  /// Whether it waits for credit.
  fileprivate var isInLine: Bool {
    switch state {
    case .inLine, .active(_, _, isInLine: true): true
    case .waiting, .active: false
    }
  }

  /// Bytes that the holder may send now.
  fileprivate var credit: Int64 {
    if case .active(_, let credit, _) = state { credit } else { 0 }
  }
}

/// Why a content was not fetched.
package enum FetchFailure: Hashable, Sendable, CustomStringConvertible {
  /// No holder could be reached, or each went away.
  case unreachable
  case notGranted
  case absent
  /// A holder has found other bytes in its store, and dropped them.
  case damaged
  /// Other bytes came, again and again.
  case different
  case busy
  case failed
  /// The own store does not take it.
  case store(StoreProblem)

  /// Whether something has changed since the coordinator said who has it: it has to say so anew.
  package var isNewsOfHolders: Bool {
    switch self {
    case .notGranted, .absent, .damaged: true
    case .unreachable, .different, .busy, .failed, .store: false
    }
  }

  package var description: String {
    switch self {
    case .unreachable: "no holder can be reached"
    case .notGranted: "its holders were not told that it may be read here"
    case .absent: "its holders do not have it any more"
    case .damaged: "what its holders have is damaged"
    case .different: "other bytes came from its holders, each time"
    case .busy: "its holders have too many readers"
    case .failed: "its holders cannot read it"
    case .store(let problem): problem.text
    }
  }
}

/// What the own store says, in words; whether it is only a lack of room.
package struct StoreProblem: Hashable, Sendable {
  package var text: String
  package var isLackOfRoom: Bool
}
