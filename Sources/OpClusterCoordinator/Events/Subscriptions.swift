// The subscriptions: which events each subscriber gets, and its position (S104, S115, G28). Events
// arrive as they become durable. A subscriber that cannot receive them falls behind and is served
// from the journal until it has caught up, so a slow one costs no memory. A turn visits those whom
// its events may concern, and no others. Pure: no socket, no disk. On the loop's thread.

import HeapModule
import OpClusterModel

struct Subscriptions {
  struct Key: Hashable, Comparable, Sendable {
    var peer: PeerID
    /// The client's number of the subscription.
    var number: UInt64
    static func < (a: Self, b: Self) -> Bool { (a.peer, a.number) < (b.peer, b.number) }
  }

  private struct DurableTurn {
    let events: TurnEvents
    let last: UInt64
  }

  /// A subscription that waits until a number has reached a value.
  private struct Threshold: Comparable {
    let value: UInt64
    let key: Key
    static func < (a: Self, b: Self) -> Bool { (a.value, a.key) < (b.value, b.key) }
  }

  /// An action for subscribers.
  enum Effect: Equatable {
    case reply(PeerID, RequestID, ClientReply)
    case tell(PeerID, EventBatch)
    /// Read the event log from this position on.
    case read(SliceQuestion)
  }

  /// Looked up, never iterated.
  private var entries: [Key: Entry] = [:]
  /// All keys. Their order is that of what is sent, so that behaviour never depends on hashing.
  private var all = SubscriptionSet()
  private var index = SubscriptionIndex()
  /// The last durable event that was passed to the live subscribers.
  private(set) var told: UInt64
  /// The last event of the turns before `turns`: what a live subscriber has not got of them does
  /// not concern it.
  private var flushed: UInt64
  /// The turns that became durable since the last complete flush. Subscribers get them one after
  /// the other: all events for all of them at once would use too much memory (G29).
  private var turns: [DurableTurn] = []
  /// The number of turns before these.
  private var turnsBefore = 0
  /// Those whom the turns may concern.
  private var concerned = SubscriptionSet()
  /// Those that wait for their first turn, by position.
  private var awaiting: Heap<Threshold> = []
  /// The subscriptions that are behind, and of these:
  private var behind = SubscriptionSet()
  /// those that the next flush considers,
  private var asking = SubscriptionSet()
  /// those that wait only until their connections take something,
  private var blocked = SubscriptionSet()
  /// and those that wait only for a greater share, by what is on the way to them. Some no longer
  /// do.
  private var crowded: Heap<Threshold> = []
  /// The last subscriber that the present flush has served.
  private var lastFlushed: Key?
  /// The number of subscriptions looked at so far, for tests.
  private(set) var looks = 0
  /// The events that all have room for without an allocation, for tests.
  var capacity: Int { all.keys.reduce(0) { $0 + (entries[$1]?.batch.capacity ?? 0) } }
  private var lastReading: UInt64 = 0
  private var readings: [UInt64: Key] = [:]

  /// The bytes of the subscriptions by principal; looked up only.
  private var bytesByHolder: [QuotaHolder: Int] = [:]
  private(set) var bytes = 0

  private let eventsOnTheirWay: UInt32

  /// - Parameters:
  ///   - told: The last event of the previous life.
  ///   - eventsOnTheirWay: The approximate number of ungranted events of all subscribers together.
  init(told: UInt64, eventsOnTheirWay: UInt32 = Limits.eventsOnTheirWay) {
    self.told = told
    flushed = told
    self.eventsOnTheirWay = eventsOnTheirWay
  }

  var isEmpty: Bool { all.isEmpty }
  /// All of them, and those that are served from the journal.
  var number: Int { all.count }
  var numberBehind: Int { behind.count }
  /// The number of events in flight for each: the more subscribers, the fewer, so the sum is
  /// bounded.
  private var share: UInt32 {
    max(Limits.leastEventShare, eventsOnTheirWay / UInt32(clamping: max(1, all.count)))
  }
  /// The bytes of all scopes.
  private(set) var scopeBytes = 0
  private var scopeShare: Int {
    max(Limits.leastScopeShare, Limits.scopeBytesTogether / max(1, all.count))
  }
  func count(of peer: PeerID) -> Int { all.numbers(of: peer).count }
  /// Whether a peer has subscriptions.
  func follows(_ peer: PeerID) -> Bool { count(of: peer) > 0 }

  private func keys(of peer: PeerID, in some: SubscriptionSet) -> [Key] {
    some.numbers(of: peer).map { Key(peer: peer, number: $0) }
  }

  /// Keeps a changed entry, and what all together come to.
  private mutating func store(_ changed: Entry) {
    var entry = changed
    scopeBytes += entry.filter.scopeBytes - entry.countedScopeBytes
    entry.countedScopeBytes = entry.filter.scopeBytes
    entries[entry.key] = entry
    if entry.state == .behind { behind.insert(entry.key) } else { behind.remove(entry.key) }
  }

  // MARK: - Coming and going

  /// The refusal of a subscription that is too much for its principal, or for all together (G29).
  func lackOfRoom(
    for filter: EventFilter, number: UInt64, of peer: PeerID, by holder: QuotaHolder
  ) -> Refusal? {
    if filter.includesOwn {
      let most = CoordinatorLimits.ownSubscriptionsPerClient
      let others = keys(of: peer, in: all).count { key in
        key.number != number && entries[key]?.filter.includesOwn ?? false
      }
      guard others < most else {
        return Refusal(
          .limitExceeded, "a client has at most \(most) subscriptions to its own graphs",
          hint: "end one of them")
      }
    }
    guard filter.bytes <= Limits.subscriptionBytes else {
      return Refusal(
        .limitExceeded,
        "the selection takes \(filter.bytes >> 10) KiB; a subscription may have "
          + "\(Limits.subscriptionBytes >> 10) KiB",
        hint: "select ranges of graphs and elements instead of single ones")
    }
    let wanted = filter.bytes + CoordinatorLimits.subscriptionBytesEach
    let replaced = entries[Key(peer: peer, number: number)]?.bytes ?? 0
    let own = (bytesByHolder[holder] ?? 0) - replaced
    guard own + wanted <= Limits.subscriptionBytesPerPrincipal else {
      return Refusal(
        .limitExceeded,
        "the subscriptions of \(holder) take \(own >> 10) KiB; with \(wanted >> 10) KiB more they "
          + "would have over \(Limits.subscriptionBytesPerPrincipal >> 10)",
        hint: "end some of them, or select less")
    }
    let isFirst = own == 0 && wanted <= CoordinatorLimits.smallSubscriptionBytes
    guard isFirst || bytes - replaced + wanted <= Limits.subscriptionBytesTogether else {
      return Refusal(
        .busy,
        "all subscriptions together take \(bytes >> 20) MiB, of "
          + "\(Limits.subscriptionBytesTogether >> 20)", hint: "select less, or try again later",
        retryAfter: .seconds(5))
    }
    return nil
  }

  /// Begins a subscription; a number already in use by the client begins again.
  ///
  /// - Parameter decided: The newest event of all decided turns, durable or not. A subscription
  ///   without a position gets the events after it, and is answered when it is durable (S115).
  mutating func add(
    _ wish: EventSubscription, _ filter: EventFilter, peer: PeerID, by holder: QuotaHolder,
    request: RequestID, decided: UInt64, into effects: inout [Effect]
  ) {
    let key = Key(peer: peer, number: wish.number)
    remove(key)
    var entry = Entry(
      key: key, holder: holder, bytes: filter.bytes + CoordinatorLimits.subscriptionBytesEach,
      request: request, filter: filter, takesRuns: wish.takesRuns, backlogOnly: wish.backlogOnly,
      position: max(told, decided) + 1, credit: wish.credit, share: share, state: .awaited)
    if let since = wish.since {
      entry.position = since >= told ? told + 1 : since + 1
      entry.state = .opening
      ask(&entry, isFirst: true, isFromStart: since == 0, into: &effects)
    }
    entry.turnsTold = turnsBefore + turns.count
    bytes += entry.bytes
    bytesByHolder[holder, default: 0] += entry.bytes
    store(entry)
    all.insert(key)
    index.insert(key, filter)
    beginAwaited(key, told, into: &effects)
    if entries[key]?.state == .awaited {
      awaiting.insert(Threshold(value: entry.position, key: key))
    }
  }

  /// Answers a waiting subscription as soon as everything before it is durable.
  private mutating func beginAwaited(
    _ key: Key, _ durable: UInt64, into effects: inout [Effect]
  ) {
    guard let entry = entries[key], entry.state == .awaited, entry.position <= durable + 1 else {
      return
    }
    effects.append(.reply(key.peer, entry.request, .subscribed(since: entry.position - 1)))
    entries[key]?.state = .live
    finishBatch(key, isEnd: true, into: &effects)
  }

  mutating func remove(_ key: Key) {
    guard let entry = entries.removeValue(forKey: key) else { return }
    all.remove(key)
    index.remove(key, entry.filter)
    concerned.remove(key)
    behind.remove(key)
    asking.remove(key)
    blocked.remove(key)
    if all.isEmpty { index.forgetGraphs() }
    scopeBytes -= entry.countedScopeBytes
    if let reading = entry.reading { readings[reading] = nil }
    bytes -= entry.bytes
    let left = (bytesByHolder[entry.holder] ?? 0) - entry.bytes
    bytesByHolder[entry.holder] = left > 0 ? left : nil
  }

  mutating func remove(peer: PeerID) {
    for key in keys(of: peer, in: all) { remove(key) }
  }

  /// Grants further events to a subscription; false if the peer has no such subscription.
  mutating func grant(_ key: Key, _ events: UInt32) -> Bool {
    guard let entry = entries[key] else { return false }
    entries[key]?.credit = min(
      entry.credit.addingReportingOverflow(events).overflow ? .max : entry.credit + events,
      Limits.eventCredit * 16)
    entries[key]?.onTheWay = entry.onTheWay - min(entry.onTheWay, events)
    if events > 0 { entries[key]?.stalledSince = nil }
    if entry.state == .behind { asking.insert(key) }
    return true
  }

  /// Notes that a peer has submitted a graph, of which nothing is durable yet.
  mutating func noteOwn(_ graph: GraphID, of peer: PeerID) {
    index.noteOwn(graph, of: peer)
    for key in keys(of: peer, in: all) {
      guard let entry = entries[key], entry.filter.includesOwn else { continue }
      entries[key]?.filter.learnOwn(graph)
      let isAsking = entry.state == .reading || entry.state == .opening
      if isAsking, entry.readThrough == nil { entries[key]?.readThrough = told }
    }
  }

  // MARK: - What becomes durable

  /// Takes a durable turn whose last event is `last`. Costs the subscriptions that its events may
  /// concern; all of them if its events are in the journal, as only those of the turns before the
  /// first subscription are.
  mutating func tell(_ events: TurnEvents, through last: UInt64) {
    guard last > told else { return }
    told = last
    if all.isEmpty { return }
    turns.append(DurableTurn(events: events, last: last))
    // A flush that has begun begins again.
    lastFlushed = nil
    while let first = awaiting.min, first.value <= last + 1 {
      awaiting.removeMin()
      if isIn(.awaited, first.key) { concerned.insert(first.key) }
    }
    guard case .runs(let runs) = events else {
      for key in all.keys where isIn(.live, key) { concerned.insert(key) }
      return
    }
    for run in runs {
      for key in index.candidates(for: run) where isConcerned(key, run) { concerned.insert(key) }
      if case .graphFinished = run.first.kind, let graph = run.graph { index.forget(graph) }
    }
  }

  private mutating func isIn(_ state: State, _ key: Key) -> Bool {
    looks += 1
    guard let at = entries.index(forKey: key) else { return false }
    return entries.values[at].state == state
  }

  private mutating func isConcerned(_ key: Key, _ run: EventRun) -> Bool {
    looks += 1
    guard let at = entries.index(forKey: key) else { return false }
    return entries.values[at].state == .live && entries.values[at].filter.mayPass(run)
  }

  /// Passes the pending turns to a subscriber.
  private mutating func takeTurns(
    _ key: Key, canTake: Bool, into effects: inout [Effect]
  ) {
    looks += 1
    guard let entry = entries[key] else { return }
    let share = share
    for turn in turns[max(0, entry.turnsTold - turnsBefore)...] {
      beginAwaited(key, turn.last, into: &effects)
      guard var entry = entries.removeValue(forKey: key) else { return }
      entry.share = share
      if entry.state == .live {
        entry.position = max(entry.position, flushed + 1)
        if entry.position <= turn.last { entry.take(turn.events, turn.last, canTake, &effects) }
      }
      store(entry)
    }
    entries[key]?.turnsTold = turnsBefore + turns.count
  }

  /// Sends one peer its events of the turns since the last call.
  ///
  /// - Parameter stuck: The peers whose connections take nothing now.
  mutating func flush(peer: PeerID, stuck: Set<PeerID>, into effects: inout [Effect]) {
    if stuck.contains(peer) { putBehind(peer) }
    for key in keys(of: peer, in: concerned) {
      concerned.remove(key)
      takeTurns(key, canTake: !stuck.contains(peer), into: &effects)
      finishBatch(key, isEnd: false, into: &effects)
      if behind.contains(key) { asking.insert(key) }
    }
  }

  /// A connection that takes nothing puts its subscriptions behind, whatever happens.
  private mutating func putBehind(_ peer: PeerID, after last: Key? = nil) {
    guard told > flushed else { return }
    for key in keys(of: peer, in: all) where last.map({ $0 < key }) ?? true && isIn(.live, key) {
      concerned.insert(key)
    }
  }

  /// Sends the subscribers the events of the turns since the last call, and requests slices for
  /// those behind, within the size of one message. True: there is more, to be sent when these have
  /// left. Costs those that may be told something, and the stuck ones.
  ///
  /// - Parameter stuck: The peers whose connections take nothing now.
  @discardableResult
  mutating func flush(
    at now: Instant, stuck: Set<PeerID>, into effects: inout [Effect]
  ) -> Bool {
    if lastFlushed == nil { beginFlush(stuck) }
    if !stuck.isEmpty {
      for peer in stuck.sorted() { putBehind(peer, after: lastFlushed) }
    }
    var runs = 0
    while let key = nextToFlush() {
      lastFlushed = key
      concerned.remove(key)
      asking.remove(key)
      blocked.remove(key)
      let before = effects.count
      takeTurns(key, canTake: !stuck.contains(key.peer), into: &effects)
      finishBatch(key, isEnd: false, into: &effects)
      askIfBehind(key, at: now, canTake: !stuck.contains(key.peer), into: &effects)
      for case .tell(_, let batch) in effects[before...] { runs += batch.runs.count }
      if runs >= Limits.entriesPerMessage { return true }
    }
    turnsBefore += turns.count
    turns.removeAll(keepingCapacity: true)
    flushed = told
    lastFlushed = nil
    return false
  }

  /// Finds those that can ask again, and bounds what is kept. Costs the peers that were stuck, and
  /// those that are found; all subscriptions once after one was added, where scopes are too large.
  private mutating func beginFlush(_ stuck: Set<PeerID>) {
    for peer in blocked.peers where !stuck.contains(peer) {
      for key in keys(of: peer, in: blocked) {
        blocked.remove(key)
        asking.insert(key)
      }
    }
    let share = UInt64(share)
    while let first = crowded.min, first.value < share {
      crowded.removeMin()
      if behind.contains(first.key) { asking.insert(first.key) }
    }
    guard scopeBytes > Limits.scopeBytesTogether else { return }
    for key in all.keys {
      guard var entry = entries[key] else { continue }
      entry.bound(scopeShare: scopeShare)
      store(entry)
    }
  }

  /// The next subscriber in the order of keys; some may have left meanwhile.
  private func nextToFlush() -> Key? {
    let (one, other) = (concerned.first(after: lastFlushed), asking.first(after: lastFlushed))
    guard let one, let other else { return one ?? other }
    return min(one, other)
  }

  private mutating func askIfBehind(
    _ key: Key, at now: Instant, canTake: Bool, into effects: inout [Effect]
  ) {
    guard var entry = entries[key], entry.state == .behind else { return }
    entry.share = share
    if entry.room > 0, canTake {
      ask(&entry, isFirst: false, isFromStart: false, into: &effects)
    } else {
      if entry.stalledSince == nil { entry.stalledSince = now }
      if entry.room > 0 { blocked.insert(key) } else { noteCrowded(entry) }
    }
    store(entry)
  }

  /// Notes a subscription that lacks room; a grant makes it ask again as well.
  private mutating func noteCrowded(_ entry: Entry) {
    guard entry.credit > 0 else { return }
    crowded.insert(Threshold(value: UInt64(entry.onTheWay), key: entry.key))
    // Those that no longer wait are dropped before they are the most.
    guard crowded.count > 2 * behind.count + 64 else { return }
    crowded = Heap(
      behind.keys.compactMap { key in
        entries[key].map { Threshold(value: UInt64($0.onTheWay), key: key) }
      })
  }

  // MARK: - What the journal says

  private mutating func ask(
    _ entry: inout Entry, isFirst: Bool, isFromStart: Bool, into effects: inout [Effect]
  ) {
    lastReading += 1
    readings[lastReading] = entry.key
    entry.reading = lastReading
    if !isFirst { entry.state = .reading }
    effects.append(
      .read(
        SliceQuestion(
          number: lastReading, from: entry.position, isFirst: isFirst,
          isFromStart: isFromStart, room: entry.room, filter: entry.filter)))
  }

  /// The peer that waits for a slice; nil if it no longer does.
  func reader(of reading: UInt64) -> PeerID? { readings[reading]?.peer }

  /// Handles a slice that could not be requested: an open subscription asks again; a new one is
  /// refused and told to retry.
  mutating func putBack(_ reading: UInt64, _ busy: Refusal, into effects: inout [Effect]) {
    guard let key = readings.removeValue(forKey: reading), let entry = entries[key] else { return }
    entries[key]?.reading = nil
    if entry.state == .opening {
      effects.append(.reply(key.peer, entry.request, .refused(busy)))
      remove(key)
    } else {
      entries[key]?.state = .behind
      entries[key]?.readThrough = nil
      behind.insert(key)
      asking.insert(key)
    }
  }

  /// Takes a slice of the event log.
  mutating func take(_ slice: Slice, into effects: inout [Effect]) {
    guard let key = readings.removeValue(forKey: slice.number), var entry = entries[key] else {
      return
    }
    switch slice.content {
    case .failure(let refusal):
      effects.append(.reply(key.peer, entry.request, .refused(refusal)))
      return remove(key)
    case .success(let found):
      if entry.state == .opening {
        entry.position = max(entry.position, found.from)
        effects.append(.reply(key.peer, entry.request, .subscribed(since: entry.position - 1)))
      }
      entry.reading = nil
      entry.share = share
      entry.bound(scopeShare: scopeShare)
      for (graph, scope) in found.scopes {
        entry.filter.learn(scope, of: graph, within: scopeShare)
      }
      entry.state = .live
      let last = entry.readThrough ?? .max
      entry.readThrough = nil
      for run in found.runs where entry.state == .live {
        if let part = run.prefix(through: last) { entry.takeFiltered(part, &effects) }
      }
      if entry.state == .live {
        entry.position = max(entry.position, min(found.next, last == .max ? last : last + 1))
        if entry.position <= told { entry.state = .behind }
      }
    }
    let hasCaughtUp = entry.state == .live
    store(entry)
    if !hasCaughtUp { asking.insert(key) }
    finishBatch(key, isEnd: hasCaughtUp, into: &effects)
  }

  /// Sends the collected events, with the caught-up mark at the end of the backlog.
  private mutating func finishBatch(
    _ key: Key, isEnd: Bool, into effects: inout [Effect]
  ) {
    guard var entry = entries[key] else { return }
    let isMark = isEnd && !entry.hasCaughtUp
    if isMark || !entry.batch.isEmpty { entry.send(isMark: isMark, &effects) }
    if isMark { entry.hasCaughtUp = true }
    store(entry)
    if isMark, entry.backlogOnly { remove(key) }
  }

  // MARK: - Patience

  /// Evicts subscribers that have left too many events waiting for too long (G28).
  mutating func evict(
    at now: Instant, patience: Span, backlog: UInt64, into effects: inout [Effect]
  ) {
    for key in behind.keys {
      looks += 1
      guard let entry = entries[key], let since = entry.stalledSince,
        now - since >= patience, told - min(told, entry.position - 1) > backlog
      else { continue }
      let last = entry.position - 1
      effects.append(
        .reply(
          key.peer, entry.request,
          .refused(
            Refusal(
              .evicted,
              "the subscriber took no events for \((now - since).wholeSeconds) s; last_seq=\(last)",
              hint: "subscribe again since \(last)"))))
      remove(key)
    }
  }
}
