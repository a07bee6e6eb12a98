// The subscriptions: which events each subscriber gets, and its position (S104, S115, G28). Events
// arrive as they become durable. A subscriber that cannot receive them falls behind and is served
// from the journal until it has caught up, so a slow one costs no memory. Pure: no socket, no disk.
// On the loop's thread.

import OpClusterModel

struct Subscriptions {
  struct Key: Hashable, Comparable, Sendable {
    var peer: PeerID
    /// The client's number of the subscription.
    var number: UInt64
    static func < (a: Self, b: Self) -> Bool { (a.peer, a.number) < (b.peer, b.number) }
  }

  private struct DurableTurn {
    /// nil: nobody had subscribed when the turn was decided; the events are in the journal.
    let runs: [EventRun]?
    let last: UInt64
  }

  /// An action for subscribers.
  enum Effect: Equatable {
    case reply(PeerID, RequestID, ClientReply)
    case tell(PeerID, EventBatch)
    /// Read the event log from this position on.
    case read(SliceQuestion)
  }

  struct Entry {
    let key: Key
    /// The principal that it counts for (G29), and its bytes.
    let holder: QuotaHolder
    let bytes: Int
    /// The request that opened it; a later refusal also answers this request.
    let request: RequestID
    var filter: EventFilter
    let backlogOnly: Bool
    /// The next sequence to consider.
    var position: UInt64
    /// The number of sent events.
    var sent: UInt64 = 0
    /// The number of events that the subscriber allows.
    var credit: UInt32
    /// Events sent or collected that the subscriber has not granted again.
    var onTheWay: UInt32 = 0
    /// Its share of the events of all subscribers (`Limits.eventsOnTheirWay`).
    var share: UInt32
    /// Its share of the scopes of all subscribers (`Limits.scopeBytesTogether`).
    var scopeShare: Int
    /// The slice that it waits for.
    var reading: UInt64?
    var state: State
    /// The time since when events wait without any being taken.
    var stalledSince: Instant?
    var hasCaughtUp = false
    /// The last sequence that counts of the present slice, whose reader does not know newer graphs.
    var readThrough: UInt64?
    /// The number of kept durable turns that it has processed.
    var turnsTold = 0
    /// Their events that are collected but not sent.
    var batch: [Event] = []
  }
  enum State: Equatable {
    /// Waits until the turns decided before it are durable.
    case awaited
    /// Waits for its first slice, which shows whether the backlog still exists.
    case opening
    /// Receives events as they become durable.
    case live
    /// Durable events are pending; they are read when the subscriber can receive them.
    case behind
    /// A slice is being read.
    case reading
  }

  private var entries: [Key: Entry] = [:]
  /// In the order of their keys, so that behaviour never depends on hashing.
  private var order: [Key] = []
  /// The last durable event that was passed to the live subscribers.
  private(set) var told: UInt64
  /// The turns that became durable since the last complete flush. Subscribers get them one after
  /// the other: all events for all of them at once would use too much memory (G29).
  private var turns: [DurableTurn] = []
  /// The last subscriber that the present flush has served.
  private var lastFlushed: (at: Int, key: Key)?
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
    self.eventsOnTheirWay = eventsOnTheirWay
  }

  var isEmpty: Bool { order.isEmpty }
  /// The number of events in flight for each: the more subscribers, the fewer, so the sum is
  /// bounded.
  private var share: UInt32 {
    max(Limits.leastEventShare, eventsOnTheirWay / UInt32(clamping: max(1, order.count)))
  }
  /// The bytes of all scopes, for tests.
  var scopeBytes: Int { entries.values.reduce(0) { $0 + $1.filter.scopeBytes } }
  private var scopeShare: Int {
    max(Limits.leastScopeShare, Limits.scopeBytesTogether / max(1, order.count))
  }
  func count(of peer: PeerID) -> Int { places(of: peer).count }
  /// The peers with subscriptions.
  var peers: Set<PeerID> { Set(order.map(\.peer)) }

  /// The positions of a peer's subscriptions in the order.
  private func places(of peer: PeerID) -> Range<Int> {
    let first = place(of: Key(peer: peer, number: 0))
    var end = first
    while end < order.count, order[end].peer == peer { end += 1 }
    return first..<end
  }

  /// The position of the first subscription that does not precede a key.
  private func place(of key: Key) -> Int {
    var low = 0
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if order[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: - Coming and going

  /// The refusal of a subscription that is too much for its principal, or for all together (G29).
  func lackOfRoom(
    for filter: EventFilter, number: UInt64, of peer: PeerID, by holder: QuotaHolder
  ) -> Refusal? {
    if filter.includesOwn {
      let most = CoordinatorLimits.ownSubscriptionsPerClient
      let others = order[places(of: peer)].count { key in
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
      request: request, filter: filter, backlogOnly: wish.backlogOnly,
      position: max(told, decided) + 1, credit: wish.credit, share: share,
      scopeShare: scopeShare, state: .awaited)
    if let since = wish.since {
      entry.position = since >= told ? told + 1 : since + 1
      entry.state = .opening
      ask(&entry, isFirst: true, isFromStart: since == 0, into: &effects)
    }
    entry.turnsTold = turns.count
    bytes += entry.bytes
    bytesByHolder[holder, default: 0] += entry.bytes
    entries[key] = entry
    order.insert(key, at: place(of: key))
    beginAwaited(key, told, into: &effects)
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
    order.remove(at: place(of: key))
    if let reading = entry.reading { readings[reading] = nil }
    bytes -= entry.bytes
    let left = (bytesByHolder[entry.holder] ?? 0) - entry.bytes
    bytesByHolder[entry.holder] = left > 0 ? left : nil
  }

  mutating func remove(peer: PeerID) {
    for key in order[places(of: peer)] { remove(key) }
  }

  /// Grants further events to a subscription; false if the peer has no such subscription.
  mutating func grant(_ key: Key, _ events: UInt32) -> Bool {
    guard let entry = entries[key] else { return false }
    entries[key]?.credit = min(
      entry.credit.addingReportingOverflow(events).overflow ? .max : entry.credit + events,
      Limits.eventCredit * 16)
    entries[key]?.onTheWay = entry.onTheWay - min(entry.onTheWay, events)
    if events > 0 { entries[key]?.stalledSince = nil }
    return true
  }

  /// Notes that a peer has submitted a graph, of which nothing is durable yet.
  mutating func noteOwn(_ graph: GraphID, of peer: PeerID) {
    for key in order[places(of: peer)] {
      guard let entry = entries[key], entry.filter.includesOwn else { continue }
      entries[key]?.filter.learnOwn(graph)
      let isAsking = entry.state == .reading || entry.state == .opening
      if isAsking, entry.readThrough == nil { entries[key]?.readThrough = told }
    }
  }

  // MARK: - What becomes durable

  /// Takes a durable turn whose last event is `last`. `runs` is nil if nobody had subscribed when
  /// it was decided; its events are in the journal.
  mutating func tell(_ runs: [EventRun]?, through last: UInt64) {
    told = max(told, last)
    if !order.isEmpty { turns.append(DurableTurn(runs: runs, last: last)) }
  }

  /// Passes the pending turns to a subscriber.
  private mutating func takeTurns(
    _ key: Key, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) {
    guard let entry = entries[key] else { return }
    let (share, scopeShare) = (share, scopeShare)
    entries[key]?.share = share
    entries[key]?.bound(scopeShare: scopeShare)
    for turn in turns[entry.turnsTold...] {
      beginAwaited(key, turn.last, into: &effects)
      guard var entry = entries.removeValue(forKey: key) else { return }
      if entry.state == .live, entry.position <= turn.last {
        if let runs = turn.runs, canTake(key.peer) {
          for run in runs where entry.state == .live { entry.take(run, &effects) }
          if entry.state == .live { entry.position = turn.last + 1 }
        } else {
          entry.state = .behind
        }
      }
      entries[key] = entry
    }
    entries[key]?.turnsTold = turns.count
  }

  /// Sends one peer its events of the turns since the last call.
  mutating func flush(
    peer: PeerID, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) {
    for key in order[places(of: peer)] {
      takeTurns(key, canTake: canTake, into: &effects)
      finishBatch(key, isEnd: false, into: &effects)
    }
  }

  /// Sends all subscribers the events of the turns since the last call, and requests slices for
  /// those behind, within the size of one message. True: there is more, to be sent when these have
  /// left.
  @discardableResult
  mutating func flush(
    at now: Instant, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) -> Bool {
    var events = 0
    while let key = nextToFlush() {
      let before = effects.count
      takeTurns(key, canTake: canTake, into: &effects)
      finishBatch(key, isEnd: false, into: &effects)
      askIfBehind(key, at: now, canTake: canTake, into: &effects)
      for case .tell(_, let batch) in effects[before...] { events += batch.events.count }
      if events >= Limits.entriesPerMessage { return true }
    }
    turns.removeAll(keepingCapacity: true)
    for key in order { entries[key]?.turnsTold = 0 }
    lastFlushed = nil
    return false
  }

  /// The next subscriber in the order of keys; some may have left meanwhile.
  private mutating func nextToFlush() -> Key? {
    var at = 0
    if let last = lastFlushed {
      at = last.at + 1
      if last.at >= order.count || order[last.at] != last.key {
        at = place(of: last.key)
        if at < order.count, order[at] == last.key { at += 1 }
      }
    }
    guard at < order.count else { return nil }
    lastFlushed = (at, order[at])
    return order[at]
  }

  private mutating func askIfBehind(
    _ key: Key, at now: Instant, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) {
    guard var entry = entries[key], entry.state == .behind else { return }
    if entry.room > 0, canTake(key.peer) {
      ask(&entry, isFirst: false, isFromStart: false, into: &effects)
    } else if entry.stalledSince == nil {
      entry.stalledSince = now
    }
    entries[key] = entry
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
      for (graph, scope) in found.scopes {
        entry.filter.learn(scope, of: graph, within: entry.scopeShare)
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
    entries[key] = entry
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
    entries[key] = entry
    if isMark, entry.backlogOnly { remove(key) }
  }

  // MARK: - Patience

  /// Evicts subscribers that have left too many events waiting for too long (G28).
  mutating func evict(
    at now: Instant, patience: Span, backlog: UInt64, into effects: inout [Effect]
  ) {
    for key in order {
      guard let entry = entries[key], entry.state == .behind, let since = entry.stalledSince,
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

extension Subscriptions.Entry {
  /// The number of events that may be sent now.
  fileprivate var room: UInt32 { min(credit, share - min(share, onTheWay)) }

  /// Limits the scopes to its share, which is smaller the more subscriptions there are.
  fileprivate mutating func bound(scopeShare share: Int) {
    scopeShare = share
    if filter.scopeBytes > share { filter.forgetScopes() }
  }

  /// Takes the selected part of a run, as far as the credit allows.
  fileprivate mutating func take(_ whole: EventRun, _ effects: inout [Subscriptions.Effect]) {
    guard let run = whole.suffix(from: position) else { return }
    if filter.unknownGraph(of: run) != nil {
      position = run.first.sequence
      state = .behind
      return
    }
    var parts: [EventRun] = []
    filter.forEachPart(of: run) { parts.append($0) }
    for part in parts where state == .live { append(part, &effects) }
    if state == .live { advance(past: run) }
  }

  /// Takes a run that the reader has already filtered.
  fileprivate mutating func takeFiltered(
    _ whole: EventRun, _ effects: inout [Subscriptions.Effect]
  ) {
    guard let run = whole.suffix(from: position) else { return }
    append(run, &effects)
    if state == .live { advance(past: run) }
  }

  private mutating func advance(past run: EventRun) {
    position = run.end
    if case .graphFinished = run.first.kind, let graph = run.graph { filter.forget(graph) }
  }

  private mutating func append(_ part: EventRun, _ effects: inout [Subscriptions.Effect]) {
    let fitting = min(part.count, room)
    if fitting > 0 {
      part.part(from: 0, count: fitting).forEach { batch.append($0) }
      credit -= fitting
      onTheWay += fitting
      position = part.first.sequence + UInt64(fitting)
      stalledSince = nil
      while batch.count >= Limits.entriesPerMessage { send(isMark: false, &effects) }
    }
    if fitting < part.count { state = .behind }
  }

  /// Sends one message of at most `Limits.entriesPerMessage` events.
  fileprivate mutating func send(isMark: Bool, _ effects: inout [Subscriptions.Effect]) {
    let events = Array(batch.prefix(Limits.entriesPerMessage))
    batch.removeFirst(events.count)
    let resumeAt = batch.first.map { $0.sequence - 1 } ?? position - 1
    effects.append(
      .tell(
        key.peer,
        EventBatch(
          subscription: key.number, first: sent, events: events,
          caughtUp: isMark && batch.isEmpty, resumeAt: resumeAt)))
    sent += UInt64(events.count)
    if isMark, !batch.isEmpty { send(isMark: true, &effects) }
  }
}
