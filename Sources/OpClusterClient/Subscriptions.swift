// The subscriptions of one connection over all the sockets it goes through: where each is, what is
// to be asked next, and that its batches arrive without a gap. Pure: no socket, no clock. Lives on
// the connection's thread.

import OpClusterModel

struct Subscriptions {
  private struct Entry {
    let feed: EventFeed
    /// As the reader asked for it; `number` is the reader's.
    let wish: EventSubscription
    /// What the coordinator knows it by; another one after each loss, so that late batches of an
    /// earlier time cannot be taken for new ones.
    var number: UInt64
    var state = State.unsent
    /// The request that opened it; a refusal may come at any time.
    var request: RequestID?
    /// After which sequence the next subscribing goes on; nil: from then on.
    var since: UInt64?
    /// Events the coordinator may send under `number` before it is granted more.
    var credit: UInt32
    /// Events received under `number`.
    var received: UInt64 = 0
    /// Events given to the reader, over all.
    var delivered: UInt64 = 0
    var hasCaughtUp = false
  }
  private enum State { case unsent, sent, parked }

  private var entries: [Entry] = []
  private var lastNumber: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }

  mutating func add(_ wish: EventSubscription, feed: EventFeed) {
    lastNumber += 1
    entries.append(
      Entry(feed: feed, wish: wish, number: lastNumber, since: wish.since, credit: wish.credit))
  }

  /// What is to be said to the coordinator now; `lastRequest` numbers the requests on.
  mutating func due(_ lastRequest: inout UInt64) -> [(RequestID, ClientRequest)] {
    func makeID() -> RequestID {
      lastRequest += ConnectionLoop.requestStep
      return RequestID(lastRequest)
    }
    var result: [(RequestID, ClientRequest)] = []
    for at in entries.indices where entries[at].state != .parked {
      let entry = entries[at]
      if entry.state == .unsent {
        guard !entry.feed.isAbandoned else { continue }
        let id = makeID()
        result.append((id, .subscribe(subscription(of: entry))))
        entries[at].request = id
        entries[at].state = .sent
      } else if entry.feed.isAbandoned {
        result.append((makeID(), .unsubscribe(subscription: entry.number)))
      } else {
        let threshold = max(1, entry.wish.credit / 4)
        let count = entry.feed.takeConsumed(atLeast: threshold)
        guard count > 0 else { continue }
        result.append((makeID(), .grantCredit(subscription: entry.number, events: count)))
      }
    }
    entries.removeAll { $0.feed.isAbandoned }
    return result
  }

  private func subscription(of entry: Entry) -> EventSubscription {
    var subscription = entry.wish
    subscription.number = entry.number
    subscription.since = entry.since
    subscription.credit = entry.credit
    return subscription
  }

  /// A reply to one of the requests of `due`; others are not ours.
  mutating func answer(_ id: RequestID, _ reply: ClientReply) {
    guard let at = entries.firstIndex(where: { $0.request == id }) else { return }
    switch reply {
    case .subscribed(let since):
      if entries[at].since == nil { entries[at].since = since }
    case .refused(let refusal) where refusal.code == .shuttingDown:
      entries[at].state = .parked
    case .refused(let refusal) where refusal.code == .evicted:
      restart(at)
    case .refused(let refusal):
      entries[at].feed.end(.failure(ClientError(refusal)))
      entries.remove(at: at)
    default: break
    }
  }

  /// A batch from the coordinator. Returns what is wrong with it, if anything; the connection
  /// cannot be trusted then.
  mutating func take(_ batch: EventBatch) -> ClientError? {
    // An unknown number is of an earlier time, or of one just abandoned.
    guard let at = entries.firstIndex(where: { $0.number == batch.subscription }) else {
      return nil
    }
    guard batch.first == entries[at].received else {
      return ClientError(
        .protocolViolation,
        "events were lost on the way: \(batch.first) were sent, \(entries[at].received) came")
    }
    entries[at].received += UInt64(batch.events.count)
    if batch.caughtUp {
      // Everything up to there has been told, whether it was selected or not.
      entries[at].since = batch.resumeAt
    } else if let last = batch.events.last {
      entries[at].since = last.sequence
    }
    return deliver(batch, at)
  }

  private mutating func deliver(_ batch: EventBatch, _ at: Int) -> ClientError? {
    var shown = batch
    shown.subscription = entries[at].wish.number
    shown.first = entries[at].delivered
    // The reader hears once that the backlog is told, even if there was another after a loss.
    shown.caughtUp = batch.caughtUp && !entries[at].hasCaughtUp
    entries[at].delivered += UInt64(batch.events.count)
    entries[at].hasCaughtUp = entries[at].hasCaughtUp || batch.caughtUp
    if shown.caughtUp || !shown.events.isEmpty {
      guard entries[at].feed.deliver(shown) else {
        let error = ClientError(
          .protocolViolation, "the coordinator sent more events than it was allowed to")
        entries[at].feed.end(.failure(error))
        entries.remove(at: at)
        return error
      }
    }
    if batch.caughtUp, entries[at].wish.backlogOnly {
      entries[at].feed.end(.success(()))
      entries.remove(at: at)
    }
    return nil
  }

  /// The connection has ended: every subscription goes on from where it was on the next one.
  mutating func connectionEnded() {
    for at in entries.indices { restart(at) }
  }

  private mutating func restart(_ at: Int) {
    lastNumber += 1
    entries[at].number = lastNumber
    entries[at].state = .unsent
    entries[at].request = nil
    entries[at].received = 0
    // What is delivered but not read counts against the new credit.
    let unread = UInt32(clamping: entries[at].feed.startAnew())
    entries[at].credit = max(1, entries[at].wish.credit - min(unread, entries[at].wish.credit))
  }

  /// Nothing will come any more.
  mutating func failAll(_ error: ClientError) {
    for entry in entries { entry.feed.end(.failure(error)) }
    entries = []
  }
}
