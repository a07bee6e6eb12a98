// Who is told which events, and how far each has been told (S104, S115, G28). Events come in as
// they become durable; a subscriber that cannot take them falls behind and is served from the
// journal until it has caught up, so that a slow one costs no memory. Pure: no socket, no disk.
// Lives on the loop's thread.

import OpClusterModel

struct Subscriptions {
  struct Key: Hashable, Comparable, Sendable {
    var peer: PeerID
    /// The client's number for it.
    var number: UInt64
    static func < (a: Self, b: Self) -> Bool { (a.peer, a.number) < (b.peer, b.number) }
  }

  private struct DurableTurn {
    /// nil: nobody had subscribed when it was decided; the journal has them.
    let runs: [EventRun]?
    let last: UInt64
  }

  /// What is to be done for subscribers.
  enum Effect: Equatable {
    case reply(PeerID, RequestID, ClientReply)
    case tell(PeerID, EventBatch)
    /// Read the event log on from here.
    case read(SliceQuestion)
  }

  struct Entry {
    let key: Key
    /// The request that opened it; a refusal of later times answers it, too.
    let request: RequestID
    var filter: EventFilter
    let backlogOnly: Bool
    /// The next sequence to look at.
    var position: UInt64
    /// Events sent.
    var sent: UInt64 = 0
    /// What the subscriber allows.
    var credit: UInt32
    /// Sent or collected, and not granted again.
    var onTheWay: UInt32 = 0
    /// What all subscribers together allow this one (`Limits.eventsOnTheirWay`).
    var share: UInt32
    var state: State
    /// Since when it has had events waiting without taking any.
    var stalledSince: Instant?
    var hasCaughtUp = false
    /// The slice that is being read does not know graphs that came since: it counts up to here.
    var readThrough: UInt64?
    /// How many of the durable turns that are kept for everybody it has been told.
    var turnsTold = 0
    /// Told of them, not sent yet.
    var batch: [Event] = []
  }
  enum State: Equatable {
    /// Begins after what has been decided before it and is not durable yet.
    case awaited
    /// Waits for its first slice, which says whether the backlog still exists.
    case opening
    /// Is told what becomes durable.
    case live
    /// Something it has not been told is durable; to be read when it can take it.
    case behind
    /// A slice is being read.
    case reading
  }

  private var entries: [Key: Entry] = [:]
  /// In the order of their keys, so that behaviour never depends on hashing.
  private var order: [Key] = []
  /// The last durable event, told to everybody who is live.
  private(set) var told: UInt64
  /// Turns that have become durable since everybody was told. They are told to one subscriber
  /// after the other: all of their events for all at once would be too much memory (G29).
  private var turns: [DurableTurn] = []
  /// Of those that are told at the same time, who was the last.
  private var lastFlushed: (at: Int, key: Key)?
  private var lastReading: UInt64 = 0
  private var readings: [UInt64: Key] = [:]

  private let eventsOnTheirWay: UInt32

  /// - Parameters:
  ///   - told: The last event of the life before.
  ///   - eventsOnTheirWay: Sent to all together and not granted again, about.
  init(told: UInt64, eventsOnTheirWay: UInt32 = Limits.eventsOnTheirWay) {
    self.told = told
    self.eventsOnTheirWay = eventsOnTheirWay
  }

  var isEmpty: Bool { order.isEmpty }
  /// What each may have on its way: less the more there are, so that all together are bounded.
  private var share: UInt32 {
    max(Limits.leastEventShare, eventsOnTheirWay / UInt32(clamping: max(1, order.count)))
  }
  func count(of peer: PeerID) -> Int { order.count { $0.peer == peer } }
  /// Whoever has a subscription.
  var peers: Set<PeerID> { Set(order.map(\.peer)) }

  // MARK: - Coming and going

  /// Begins a subscription; a number that the client uses already begins anew.
  ///
  /// - Parameter decided: The newest event of the turns that are decided, durable or not. Whoever
  ///   asks for events from now on gets those after it, and is answered when it is durable (S115).
  mutating func add(
    _ wish: EventSubscription, _ filter: EventFilter, peer: PeerID, request: RequestID,
    decided: UInt64, into effects: inout [Effect]
  ) {
    let key = Key(peer: peer, number: wish.number)
    remove(key)
    var entry = Entry(
      key: key, request: request, filter: filter, backlogOnly: wish.backlogOnly,
      position: max(told, decided) + 1, credit: wish.credit, share: share, state: .awaited)
    if let since = wish.since {
      entry.position = since >= told ? told + 1 : since + 1
      entry.state = .opening
      ask(&entry, isFirst: true, isFromStart: since == 0, into: &effects)
    }
    entry.turnsTold = turns.count
    entries[key] = entry
    order.insert(key, at: order.firstIndex { key < $0 } ?? order.count)
    beginAwaited(key, told, into: &effects)
  }

  /// Answers a subscription from now on as soon as everything before it is durable.
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
    guard entries.removeValue(forKey: key) != nil else { return }
    order.removeAll { $0 == key }
    readings = readings.filter { $0.value != key }
  }

  mutating func remove(peer: PeerID) {
    for key in order where key.peer == peer { remove(key) }
  }

  /// The subscriber has read so many more; false when it has no such subscription.
  mutating func grant(_ key: Key, _ events: UInt32) -> Bool {
    guard let entry = entries[key] else { return false }
    entries[key]?.credit = min(
      entry.credit.addingReportingOverflow(events).overflow ? .max : entry.credit + events,
      Limits.eventCredit * 16)
    entries[key]?.onTheWay = entry.onTheWay - min(entry.onTheWay, events)
    if events > 0 { entries[key]?.stalledSince = nil }
    return true
  }

  /// A peer has submitted a graph, of which nothing is durable yet.
  mutating func noteOwn(_ graph: GraphID, of peer: PeerID) {
    for key in order where key.peer == peer {
      guard let entry = entries[key], entry.filter.includesOwn else { continue }
      entries[key]?.filter.learnOwn(graph)
      let isAsking = entry.state == .reading || entry.state == .opening
      if isAsking, entry.readThrough == nil { entries[key]?.readThrough = told }
    }
  }

  // MARK: - What becomes durable

  /// A turn has become durable whose last event is `last`. nil for `runs`: nobody had subscribed
  /// when it was decided; the journal has them.
  mutating func tell(_ runs: [EventRun]?, through last: UInt64) {
    told = max(told, last)
    if !order.isEmpty { turns.append(DurableTurn(runs: runs, last: last)) }
  }

  /// Tells a subscriber of the turns that it has not been told yet.
  private mutating func takeTurns(
    _ key: Key, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) {
    guard let entry = entries[key] else { return }
    let share = share
    entries[key]?.share = share
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

  /// Sends one peer what the turns told since the last call.
  mutating func flush(
    peer: PeerID, canTake: (PeerID) -> Bool, into effects: inout [Effect]
  ) {
    for key in order where key.peer == peer {
      takeTurns(key, canTake: canTake, into: &effects)
      finishBatch(key, isEnd: false, into: &effects)
    }
  }

  /// Sends everybody what the turns told since the last time, and asks for what those behind can
  /// take; as many as make one message. True: there are more, to be sent when these have left.
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

  /// In the order of keys; some may have gone meanwhile.
  private mutating func nextToFlush() -> Key? {
    var at = 0
    if let last = lastFlushed {
      at = last.at + 1
      if last.at >= order.count || order[last.at] != last.key {
        at = order.firstIndex { last.key < $0 } ?? order.count
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
    if !isFirst { entry.state = .reading }
    effects.append(
      .read(
        SliceQuestion(
          number: lastReading, from: entry.position, isFirst: isFirst,
          isFromStart: isFromStart, room: entry.room, filter: entry.filter)))
  }

  /// Who wants a slice; nil when it does so no more.
  func reader(of reading: UInt64) -> PeerID? { readings[reading]?.peer }

  /// Nobody could be asked for a slice: one that has begun asks again; one that has not is told to
  /// come again.
  mutating func putBack(_ reading: UInt64, _ busy: Refusal, into effects: inout [Effect]) {
    guard let key = readings.removeValue(forKey: reading), let entry = entries[key] else { return }
    if entry.state == .opening {
      effects.append(.reply(key.peer, entry.request, .refused(busy)))
      remove(key)
    } else {
      entries[key]?.state = .behind
      entries[key]?.readThrough = nil
    }
  }

  /// A slice of the event log has been read.
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
      for (graph, scope) in found.scopes { entry.filter.learn(scope, of: graph) }
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

  /// Sends what is collected; with the mark, if the backlog has just been told.
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

  /// Puts out those that have left too much waiting for too long (G28).
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
  /// Events that may be sent now.
  fileprivate var room: UInt32 { min(credit, share - min(share, onTheWay)) }

  /// Takes in what of a run is meant, as far as the credit goes.
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

  /// Takes in what the reader has let pass already.
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

  /// One message of at most `Limits.entriesPerMessage` events.
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
