// The subscriptions of one connection across all its sockets: their positions, their next requests,
// and the check that batches arrive without a gap. Pure: no socket, no clock. Lives on the
// connection's thread.

import OpClusterModel

struct Subscriptions {
  fileprivate struct Entry {
    let sink: any EventSink
    /// The reader's subscription; `number` is the reader's.
    let wish: EventSubscription
    /// The number for the coordinator. It changes after each loss, so that late batches cannot be
    /// taken for new ones.
    var number: UInt64
    var state = State.unsent
    /// The request that opened it; a refusal may come at any time.
    var request: RequestID?
    /// Whether the coordinator was too busy for it. It may accept submissions meanwhile.
    var wasPutOff = false
    /// Everything through here has been delivered; nil: it begins with the subscription.
    var seen: UInt64?
    /// The life of the coordinator that counted it; nil: the reader gave the position without one.
    var seenLife: CoordinatorLife?
    /// For `includesOwn`.
    var own = OwnGraphs()
    /// Events to grant again besides those that were read: duplicates that were not delivered, or
    /// grants that a busy coordinator refused.
    var ungranted: UInt32 = 0
    /// Unanswered grants. Looked up only.
    var grants: [RequestID: UInt32] = [:]
    /// The number of events that the coordinator may send under `number` before the next grant.
    var credit: UInt32
    /// The number of events received under `number`.
    var received: UInt64 = 0
    /// The number of events given to the reader in all.
    var delivered: UInt64 = 0
    var hasCaughtUp = false
  }
  fileprivate enum State { case unsent, sent, parked }

  /// The coordinator's present life.
  var life = CoordinatorLife(Epoch(0))
  private var entries: [Entry] = []
  private var lastNumber: UInt64 = 0

  /// Whether a reader must be told if the coordinator stays away.
  var hasImpatient: Bool { entries.contains { !$0.sink.isPatient } }

  mutating func add(_ wish: EventSubscription, sink: any EventSink) {
    lastNumber += 1
    var entry = Entry(sink: sink, wish: wish, number: lastNumber, credit: wish.credit)
    entry.seen = wish.since
    entry.seenLife = wish.known?.life
    entries.append(entry)
  }

  /// Whether a subscription must be renewed for graphs that it does not follow. New submissions
  /// wait meanwhile.
  var awaitsRenewal: Bool {
    entries.contains { $0.own.isOutdated && $0.state == .sent && !$0.sink.isAbandoned }
  }

  /// Returns the requests that are due now; `lastRequest` continues the numbering.
  ///
  /// - Parameters:
  ///   - hasSubmissionsOnTheWay: Whether this connection has sent submissions without an answer.
  ///   - submissions: Ours without an answer.
  mutating func due(
    _ lastRequest: inout UInt64, hasSubmissionsOnTheWay: Bool = false,
    submissions: () -> UnansweredSubmissions = { UnansweredSubmissions() }
  ) -> [(RequestID, ClientRequest)] {
    func makeID() -> RequestID {
      lastRequest += ConnectionLoop.requestStep
      return RequestID(lastRequest)
    }
    var result: [(RequestID, ClientRequest)] = []
    for at in entries.indices where entries[at].state != .parked {
      if entries[at].own.isOutdated, entries[at].state == .sent, !entries[at].sink.isAbandoned,
        !hasSubmissionsOnTheWay
      {
        result.append((makeID(), .unsubscribe(subscription: entries[at].number)))
        restart(at, submissions())
      }
      let entry = entries[at]
      if entry.state == .unsent {
        guard !entry.sink.isAbandoned else { continue }
        if entry.wasPutOff { entries[at].renewOwn(awaiting: submissions()) }
        let id = makeID()
        result.append((id, .subscribe(subscription(of: entries[at]))))
        entries[at].request = id
        entries[at].state = .sent
      } else if entry.sink.isAbandoned {
        result.append((makeID(), .unsubscribe(subscription: entry.number)))
      } else if let count = takeGrant(at) {
        let id = makeID()
        result.append((id, .grantCredit(subscription: entry.number, events: count)))
        entries[at].grants[id] = count
      }
    }
    entries.removeAll { $0.sink.isAbandoned }
    return result
  }

  /// Returns the events to grant, if they are enough for a message.
  private mutating func takeGrant(_ at: Int) -> UInt32? {
    let threshold = max(1, min(entries[at].wish.credit / 4, Limits.eventsPerGrant))
    let ungranted = entries[at].ungranted
    let read = entries[at].sink.takeConsumed(atLeast: threshold - min(ungranted, threshold))
    guard read + ungranted >= threshold else { return nil }
    entries[at].ungranted = 0
    return read + ungranted
  }

  private func subscription(of entry: Entry) -> EventSubscription {
    var subscription = entry.wish
    subscription.number = entry.number
    subscription.since = entry.seen
    subscription.credit = entry.credit
    if let seen = entry.seen, let life = entry.seenLife, life.number != 0 {
      subscription.known = EventMark(life: life, sequence: seen)
    }
    if entry.wish.includesOwn {
      subscription.selection = entry.own.added(to: entry.wish.selection)
      subscription.since = entry.own.beginning ?? entry.seen
    }
    return subscription
  }

  /// Applies a reply to a request of `due`, or the last one to a submission.
  ///
  /// - Parameter isLast: Whether the request is not sent again. A submission that was refused for
  ///   now may have been accepted before, on another connection.
  mutating func answer(
    _ id: RequestID, _ reply: ClientReply, isLast: Bool = true,
    submissions: () -> UnansweredSubmissions = { UnansweredSubmissions() }
  ) {
    if isLast { for at in entries.indices { entries[at].own.answered(id) } }
    for at in entries.indices where !entries[at].grants.isEmpty { entries[at].grants[id] = nil }
    guard let at = entries.firstIndex(where: { $0.request == id }) else { return }
    switch reply {
    case .subscribed(let since):
      if entries[at].seen == nil {
        entries[at].seen = since
        entries[at].seenLife = life
      }
    case .refused(let refusal) where refusal.code == .shuttingDown:
      entries[at].state = .parked
    case .refused(let refusal) where refusal.code == .evicted:
      restart(at, submissions())
    case .refused(let refusal):
      entries[at].sink.end(.failure(ClientError(refusal)))
      entries.remove(at: at)
    default: break
    }
  }

  /// The coordinator was too busy for a subscription or a grant: repeats it later. It may accept
  /// `submissions`, which are on their way, before that, and would not tell of them.
  mutating func putOff(
    _ id: RequestID, submissions: () -> UnansweredSubmissions = { UnansweredSubmissions() }
  ) {
    for at in entries.indices {
      if let events = entries[at].grants.removeValue(forKey: id) { entries[at].ungranted += events }
    }
    guard let at = entries.firstIndex(where: { $0.request == id }) else { return }
    entries[at].request = nil
    entries[at].state = .unsent
    entries[at].wasPutOff = true
    entries[at].renewOwn(awaiting: submissions())
  }

  /// Notes an accepted graph of this connection. Call it before the submitter gets the answer.
  ///
  /// - Parameter isRepeated: The graph had been accepted before (G19).
  mutating func accepted(_ graph: GraphID, by request: RequestID, isRepeated: Bool) {
    for at in entries.indices where entries[at].wish.followsOwn(graph) {
      entries[at].own.accepted(graph, by: request, isRepeated: isRepeated)
    }
  }

  /// Notes that no submission is unanswered.
  mutating func allAnswered() {
    for at in entries.indices { entries[at].own.allAnswered() }
  }

  /// Applies a batch. Returns an error if the batch is wrong; the connection must be dropped then.
  ///
  /// - Parameter hasSubmissions: Whether submissions of ours are unanswered.
  mutating func take(_ batch: EventBatch, hasSubmissions: Bool = false) -> ClientError? {
    // An unknown number belongs to an earlier socket, or to an abandoned subscription.
    guard let at = entries.firstIndex(where: { $0.number == batch.subscription }) else {
      return nil
    }
    guard batch.first == entries[at].received else {
      return ClientError(
        .protocolViolation,
        "events were lost on the way: \(batch.first) were sent, \(entries[at].received) came")
    }
    let count = batch.eventCount
    entries[at].received += UInt64(count)
    entries[at].seenLife = life
    var news = batch
    if entries[at].wish.includesOwn {
      news.runs = batch.runs.compactMap { entries[at].admit($0, hasSubmissions) }
      entries[at].ungranted += UInt32(count - news.eventCount)
    } else if let last = batch.runs.last {
      entries[at].seen = last.lastSequence
    }
    if batch.caughtUp {
      // Everything up to there has been delivered, selected or not.
      entries[at].seen = max(entries[at].seen ?? 0, batch.resumeAt)
      entries[at].own.caughtUp()
    }
    return deliver(news, at)
  }

  private mutating func deliver(_ batch: EventBatch, _ at: Int) -> ClientError? {
    var shown = batch
    shown.subscription = entries[at].wish.number
    shown.first = entries[at].delivered
    // The reader hears `caughtUp` once, even if a loss caused another backlog.
    shown.caughtUp = batch.caughtUp && !entries[at].hasCaughtUp
    entries[at].delivered += UInt64(batch.eventCount)
    entries[at].hasCaughtUp = entries[at].hasCaughtUp || batch.caughtUp
    if shown.caughtUp || !shown.runs.isEmpty {
      guard entries[at].sink.deliver(shown) else {
        let error = ClientError(
          .protocolViolation, "the coordinator sent more events than it was allowed to")
        entries[at].sink.end(.failure(error))
        entries.remove(at: at)
        return error
      }
    }
    if batch.caughtUp, entries[at].wish.backlogOnly {
      entries[at].sink.end(.success(()))
      entries.remove(at: at)
    }
    return nil
  }

  /// Handles the end of the connection: every subscription continues on the next one. `submissions`
  /// will be sent again.
  mutating func connectionEnded(submissions: UnansweredSubmissions = UnansweredSubmissions()) {
    for at in entries.indices { restart(at, submissions) }
  }

  private mutating func restart(_ at: Int, _ submissions: UnansweredSubmissions) {
    lastNumber += 1
    entries[at].number = lastNumber
    entries[at].state = .unsent
    entries[at].request = nil
    entries[at].received = 0
    entries[at].ungranted = 0
    entries[at].grants = [:]
    entries[at].wasPutOff = false
    entries[at].renewOwn(awaiting: submissions)
    // Delivered and unread events count against the new credit.
    let unread = UInt32(clamping: entries[at].sink.startAnew())
    entries[at].credit = max(1, entries[at].wish.credit - min(unread, entries[at].wish.credit))
  }

  /// Fails impatient subscriptions: the coordinator has been away for long.
  mutating func failImpatient(_ error: ClientError) {
    for entry in entries where !entry.sink.isPatient { entry.sink.end(.failure(error)) }
    entries.removeAll { !$0.sink.isPatient }
  }

  /// Fails all subscriptions.
  mutating func failAll(_ error: ClientError) {
    for entry in entries { entry.sink.end(.failure(error)) }
    entries = []
  }
}

extension Subscriptions.Entry {
  /// The subscription begins anew while these submissions are not answered.
  fileprivate mutating func renewOwn(awaiting submissions: UnansweredSubmissions) {
    if wish.includesOwn { own.renewed(awaiting: submissions, seen: seen) }
  }

  /// The events of a run that are new to the reader; marks them as delivered.
  fileprivate mutating func admit(_ run: EventRun, _ hasSubmissions: Bool) -> EventRun? {
    guard let news = own.admit(run, seen: seen) else { return nil }
    seen = max(seen ?? 0, news.lastSequence)
    own.note(news.first, hasUnanswered: hasSubmissions)
    return news
  }
}

extension EventSubscription {
  /// Whether it follows this graph only because of `includesOwn`.
  fileprivate func followsOwn(_ graph: GraphID) -> Bool {
    guard includesOwn, case .numbers(let ranges) = selection.graphs else { return false }
    return !ranges.contains { $0.first <= graph && graph <= $0.last }
  }
}
