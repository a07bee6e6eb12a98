// The requests of one connection that have no answer yet: which wait to be sent, which are on
// their way, which are lost with a connection and which are sent again, there or here after the
// coordinator was too busy. Pure: no socket, no clock. Lives on the connection's thread.

public import OpClusterModel

/// A request on its way, with its bytes for as long as they may be needed again.
struct PendingRequest: Sendable {
  var id: RequestID
  var bytes: [UInt8]
  /// It may be sent again on another connection without doing anything twice (G34).
  var isRepeatable: Bool
  /// A graph: what its acceptance says matters to subscriptions, too.
  var isSubmission = false
  /// When its caller gives up; nil: never.
  var deadline: Instant?
  /// Called once, whatever becomes of it.
  var completion: @Sendable (Result<ClientReply, ClientError>) -> Void
}

struct PendingRequests {
  /// Requests of ours on their way at once; the rest of the coordinator's bound is left for
  /// heartbeats and subscriptions.
  static let inFlightLimit = Limits.requestsInFlightPerClient - 32

  /// How long a request is asked again of a coordinator that is too busy for it (G27).
  static let busyPatience = Span.seconds(60)

  /// The coordinator was too busy for a request, which is asked again after a while.
  struct Postponement {
    var refusal: Refusal
    var pause: Span
  }

  private enum Stage {
    /// Not sent on the present connection.
    case waiting
    case inFlight
    /// Turned away by a coordinator that is shutting down: waits for the next connection.
    case parked
  }
  private struct Entry {
    var request: PendingRequest
    var stage = Stage.waiting
    /// Given to a socket, be it of an earlier connection.
    var wasSent = false
    /// Its caller has been told already; its place is kept until its answer comes, since the
    /// coordinator counts it, too.
    var isSettled = false
    /// When the coordinator was too busy for it the first time.
    var busySince: Instant?
  }

  /// By number. Iterated only where the order is made by sorting.
  private var entries: [UInt64: Entry] = [:]
  /// Numbers of those that wait, in the order in which they are sent; some may be gone.
  private var line: [UInt64] = []
  private var head = 0
  private(set) var inFlightCount = 0
  private var inFlightBytes = 0
  /// Nothing is sent before this moment: the coordinator is too busy.
  private(set) var pausedUntil = Instant.zero
  /// No submission is sent before this moment: the coordinator has no room for more operations…
  private var roomAfter = Instant.zero
  /// …and these stand aside meanwhile, so that what may make room passes them.
  private var aside: [UInt64] = []
  /// The newest postponement, until it is taken.
  private var postponement: Postponement?
  private var submissions = 0
  /// No deadline is earlier; a later one may be the next.
  private(set) var nextDeadline: Instant?

  /// Whether somebody waits for an answer.
  var isEmpty: Bool { entries.isEmpty }
  var hasSubmissions: Bool { submissions > 0 }
  /// Submissions that the coordinator may have got, on whichever connection.
  var sentSubmissions: Set<RequestID> {
    guard hasSubmissions else { return [] }
    return Set(
      entries.values.lazy.filter { $0.wasSent && $0.request.isSubmission }.map(\.request.id))
  }

  mutating func add(_ request: PendingRequest) {
    entries[request.id.number] = Entry(request: request)
    // Behind those that stand aside: submissions do not overtake each other.
    if request.isSubmission, !aside.isEmpty {
      aside.append(request.id.number)
    } else {
      line.append(request.id.number)
    }
    if request.isSubmission { submissions += 1 }
    if let deadline = request.deadline { nextDeadline = min(nextDeadline ?? deadline, deadline) }
  }

  /// The next one to send, if there is one and the coordinator will take it.
  mutating func next(at now: Instant = .zero) -> PendingRequest? {
    guard inFlightCount < Self.inFlightLimit, now >= pausedUntil else { return nil }
    if !aside.isEmpty, now >= roomAfter { rejoin() }
    while head < line.count {
      if let entry = entries[line[head]], entry.stage == .waiting {
        let bytes = inFlightBytes + entry.request.bytes.count
        return inFlightCount == 0 || bytes <= Limits.requestBytesInFlight ? entry.request : nil
      }
      head += 1
    }
    line.removeAll(keepingCapacity: true)
    head = 0
    return nil
  }

  /// What `next` gave has been given to the socket.
  mutating func markNextSent() {
    let number = line[head]
    head += 1
    if head >= 4_096 {
      line.removeFirst(head)
      head = 0
    }
    guard var entry = entries.removeValue(forKey: number) else { return }
    entry.stage = .inFlight
    entry.wasSent = true
    inFlightCount += 1
    inFlightBytes += entry.request.bytes.count
    entries[number] = entry
  }

  /// The answer to one of ours; an unknown number is late and dropped. `chance` in 0…1 spreads
  /// many clients over time.
  mutating func answer(
    _ id: RequestID, _ reply: ClientReply, at now: Instant = .zero, chance: Double = 0
  ) {
    guard let entry = entries[id.number], entry.stage == .inFlight else { return }
    if case .refused(let refusal) = reply {
      if refusal.code == .shuttingDown, entry.request.isRepeatable, !entry.isSettled {
        leaveFlight(entry)
        entries[id.number]?.stage = .parked
        return
      }
      if postpone(entry, refusal, at: now, chance) { return }
      remove(id.number, .failure(ClientError(refusal)))
    } else {
      remove(id.number, .success(reply))
    }
  }

  private mutating func leaveFlight(_ entry: Entry) {
    inFlightCount -= 1
    inFlightBytes -= entry.request.bytes.count
  }

  /// Puts a request back into the line that the coordinator was too busy for: it has done nothing
  /// with it. False where nobody waits any more, or it has been too busy for too long.
  private mutating func postpone(
    _ entry: Entry, _ refusal: Refusal, at now: Instant, _ chance: Double
  ) -> Bool {
    guard refusal.code == .busy, let wait = refusal.retryAfter, !entry.isSettled else {
      return false
    }
    let since = entry.busySince ?? now
    let pause = Self.spread(wait, chance)
    guard now + pause - since <= Self.busyPatience else { return false }
    let number = entry.request.id.number
    leaveFlight(entry)
    entries[number]?.stage = .waiting
    entries[number]?.busySince = since
    postponement = Postponement(refusal: refusal, pause: pause)
    // What was asked first goes first.
    let at = line[head...].firstIndex { $0 > number } ?? line.count
    line.insert(number, at: at)
    if refusal.lacksRoom, entry.request.isSubmission {
      roomAfter = max(roomAfter, now + pause)
      stepAside()
    } else {
      pausedUntil = max(pausedUntil, now + pause)
    }
    return true
  }

  /// Takes the submissions out of the line, as long as there is no room for them.
  private mutating func stepAside() {
    let waiting = line[head...].filter { entries[$0] != nil }
    aside = Self.merged(aside, waiting.filter { entries[$0]?.request.isSubmission == true })
    line = waiting.filter { entries[$0]?.request.isSubmission == false }
    head = 0
  }

  /// Puts them back to where they were.
  private mutating func rejoin() {
    line = Self.merged(aside, Array(line[head...]))
    head = 0
    aside = []
  }

  /// Two lines in one, each in its own order; of two heads the one that was asked first.
  private static func merged(_ first: [UInt64], _ second: [UInt64]) -> [UInt64] {
    var all: [UInt64] = []
    all.reserveCapacity(first.count + second.count)
    var rest = second[...]
    for number in first {
      while let head = rest.first, head < number { all.append(rest.removeFirst()) }
      all.append(number)
    }
    return all + rest
  }

  /// As long as the coordinator wants, and by chance up to half as long again.
  private static func spread(_ wait: Span, _ chance: Double) -> Span {
    wait.scaled(by: 1 + chance / 2)
  }

  /// Nothing is sent for so long: the coordinator is too busy.
  mutating func pause(_ wait: Span, at now: Instant, chance: Double) {
    pausedUntil = max(pausedUntil, now + Self.spread(min(wait, Self.busyPatience), chance))
  }

  /// The newest postponement since the last call.
  mutating func takePostponement() -> Postponement? {
    defer { postponement = nil }
    return postponement
  }

  /// Whether nothing at all may be sent now.
  func isPaused(at now: Instant) -> Bool { pausedUntil > now }

  /// When something may be sent again that may not be sent now.
  func nextSending(at now: Instant) -> Instant? {
    if pausedUntil > now { return pausedUntil }
    return !aside.isEmpty && roomAfter > now ? roomAfter : nil
  }

  private mutating func remove(
    _ number: UInt64, _ result: Result<ClientReply, ClientError>
  ) {
    guard let entry = entries.removeValue(forKey: number) else { return }
    if entry.stage == .inFlight { leaveFlight(entry) }
    if entry.request.isSubmission { submissions -= 1 }
    if !entry.isSettled { entry.request.completion(result) }
  }

  /// Nobody waits for this one any more.
  mutating func abandon(_ id: RequestID) {
    settle(
      id.number, ClientError(.cancelled, "the task that waited for the answer was cancelled"))
  }

  /// Tells the caller; what is on its way keeps its place until its answer comes.
  private mutating func settle(_ number: UInt64, _ error: ClientError) {
    guard let entry = entries[number] else { return }
    guard entry.stage == .inFlight else { return remove(number, .failure(error)) }
    guard !entry.isSettled else { return }
    entries[number]?.isSettled = true
    entry.request.completion(.failure(error))
  }

  /// Ends what nobody will wait for after `now`.
  mutating func expire(at now: Instant, address: String) {
    guard let soonest = nextDeadline, soonest <= now else { return }
    let error = ClientError(
      .timedOut, "the coordinator at \(address) did not answer in the time given",
      hint: "it may still carry the request out; look at the present state")
    let due = entries.values.filter { $0.request.deadline.map { $0 <= now } ?? false }
    for number in due.map(\.request.id.number).sorted() { settle(number, error) }
    nextDeadline = entries.values.lazy.filter { !$0.isSettled }.compactMap(\.request.deadline).min()
  }

  /// The connection has ended: what may be repeated waits again, in the order in which it was
  /// asked; the rest has failed.
  mutating func connectionEnded(_ error: ClientError) {
    let lost = entries.values.filter { $0.stage != .waiting }.map(\.request.id.number).sorted()
    var again: [UInt64] = []
    for number in lost {
      guard var entry = entries[number] else { continue }
      guard entry.request.isRepeatable, !entry.isSettled else {
        remove(number, .failure(error))
        continue
      }
      entry.stage = .waiting
      entries[number] = entry
      again.append(number)
    }
    line.replaceSubrange(0..<head, with: again)
    head = 0
    // The next coordinator may have time, and room.
    pausedUntil = .zero
    roomAfter = .zero
    if !aside.isEmpty { rejoin() }
    inFlightCount = 0
    inFlightBytes = 0
  }

  /// Nothing will be answered any more.
  mutating func failAll(_ error: ClientError) {
    for number in entries.keys.sorted() { remove(number, .failure(error)) }
    line = []
    aside = []
    head = 0
  }
}

extension ClientRequest {
  /// Whether sending it a second time does nothing that the first did not: readings, and
  /// submissions that the coordinator recognises by their key (G19).
  public var isSafeToRepeat: Bool {
    switch self {
    case .submit(let submission): !submission.key.text.isEmpty
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log:
      true
    case .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue,
      .addBlocks, .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker,
      .removeGraphs, .enrol:
      false
    case .subscribe, .grantCredit, .unsubscribe: false
    }
  }
}
