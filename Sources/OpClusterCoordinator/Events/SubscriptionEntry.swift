// One subscription: its position, its credit, and what it takes of what becomes durable (S104).
// Pure; on the loop's thread.

import OpClusterModel

extension Subscriptions {
  struct Entry {
    let key: Key
    /// The principal that it counts for (G29), and its bytes.
    let holder: QuotaHolder
    let bytes: Int
    /// The request that opened it; a later refusal also answers this request.
    let request: RequestID
    var filter: EventFilter
    let takesRuns: Bool
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
    /// The bytes of its scopes that the sum of all includes.
    var countedScopeBytes = 0
    /// The slice that it waits for.
    var reading: UInt64?
    var state: State
    /// The time since when events wait without any being taken.
    var stalledSince: Instant?
    var hasCaughtUp = false
    /// The last sequence that counts of the present slice, whose reader does not know newer graphs.
    var readThrough: UInt64?
    /// The number of durable turns that it has processed or that precede it, of all so far.
    var turnsTold = 0
    /// Their events that are collected but not sent, and how many these are.
    var batch: [EventRun] = []
    var collected = 0
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
}

extension Subscriptions.Entry {
  /// The number of events that may be sent now.
  var room: UInt32 { min(credit, share - min(share, onTheWay)) }

  /// Limits the scopes to its share, which is smaller the more subscriptions there are.
  mutating func bound(scopeShare share: Int) {
    if filter.scopeBytes > share { filter.forgetScopes() }
  }

  /// Takes a turn whose last event is `last`, or falls behind.
  mutating func take(
    _ events: TurnEvents, _ last: UInt64, _ canTake: Bool, _ effects: inout [Subscriptions.Effect]
  ) {
    guard case .runs(let runs) = events, canTake else {
      state = .behind
      return
    }
    for run in runs where state == .live { take(run, &effects) }
    if state == .live { position = last + 1 }
  }

  /// Takes the selected part of a run, as far as the credit allows.
  private mutating func take(_ whole: EventRun, _ effects: inout [Subscriptions.Effect]) {
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
  mutating func takeFiltered(
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
    if fitting > 0 { stalledSince = nil }
    credit -= fitting
    onTheWay += fitting
    var taken: UInt32 = 0
    while taken < fitting {
      let count = min(fitting - taken, UInt32(Limits.entriesPerMessage - collected))
      collect(part.part(from: taken, count: count))
      taken += count
      position = part.first.sequence + UInt64(taken)
      if collected == Limits.entriesPerMessage { send(isMark: false, &effects) }
    }
    if fitting < part.count { state = .behind }
  }

  private mutating func collect(_ run: EventRun) {
    collected += Int(run.count)
    if takesRuns {
      batch.append(run)
    } else {
      run.forEach { batch.append(EventRun(first: $0, count: 1)) }
    }
  }

  /// Sends one message; no more is collected than `Limits.entriesPerMessage` events.
  mutating func send(isMark: Bool, _ effects: inout [Subscriptions.Effect]) {
    effects.append(
      .tell(
        key.peer,
        EventBatch(
          subscription: key.number, first: sent, runs: batch, caughtUp: isMark,
          resumeAt: position - 1)))
    sent += UInt64(collected)
    // An array keeps its capacity when it is emptied, and there are many subscribers.
    batch = []
    collected = 0
  }
}
