// The unanswered requests of one connection: waiting to be sent, on their way, lost with a
// connection, or to be sent again after a loss or a busy coordinator. Pure: no socket, no clock.
// Lives on the connection's thread.

public import OpClusterModel

/// A request with its bytes, as long as they may be needed again.
struct PendingRequest: Sendable {
  var id: RequestID
  var bytes: [UInt8]
  /// Sending it again on another connection has no second effect (G34).
  var isRepeatable: Bool
  /// A submission: subscriptions need its acceptance, too.
  var isSubmission = false
  /// The caller's deadline; nil: none.
  var deadline: Instant?
  /// Called exactly once.
  var completion: @Sendable (Result<ClientReply, ClientError>) -> Void
}

/// The submissions without an answer that the coordinator may have received.
struct UnansweredSubmissions {
  /// On any connection.
  var sent: Set<RequestID> = []
  /// Those of them that were sent on the present connection.
  var onTheWay: Set<RequestID> = []
}

struct PendingRequests {
  /// Maximum number of our requests on their way; the rest of the coordinator's limit is for
  /// heartbeats and subscriptions.
  static let inFlightLimit = Limits.requestsInFlightPerClient - 32

  /// How long a request is repeated to a coordinator that is too busy for it (G27).
  static let busyPatience = Span.seconds(60)

  /// The coordinator was too busy for a request, which is repeated after a pause.
  struct Postponement {
    var refusal: Refusal
    var pause: Span
  }

  private enum Stage {
    /// Not sent on the present connection.
    case waiting
    case inFlight
    /// Refused by a coordinator that is shutting down: waits for the next connection.
    case parked
  }
  private struct Entry {
    var request: PendingRequest
    var stage = Stage.waiting
    /// Whether a socket has taken it, possibly on an earlier connection.
    var wasSent = false
    /// The caller has its result. The entry stays until the answer comes, since the coordinator
    /// counts it, too.
    var isSettled = false
    /// The first time the coordinator was too busy for it.
    var busySince: Instant?
  }

  /// The entries by number. Iterated only where sorting gives the order.
  private var entries: [UInt64: Entry] = [:]
  /// The numbers of waiting requests in sending order; some may be gone.
  private var line: [UInt64] = []
  private var head = 0
  private(set) var inFlightCount = 0
  private var inFlightBytes = 0
  private var submissionsInFlight = 0
  /// Nothing is sent before this moment: the coordinator is too busy.
  private(set) var pausedUntil = Instant.zero
  /// No submission is sent before this moment: the coordinator has no room for more operations.
  private var roomAfter = Instant.zero
  /// Submissions that stand aside meanwhile, so that requests that may make room can pass.
  private var aside: [UInt64] = []
  /// The newest postponement that was not taken.
  private var postponement: Postponement?
  private var submissions = 0
  /// A lower bound of all deadlines.
  private(set) var nextDeadline: Instant?

  /// Whether no request waits for an answer.
  var isEmpty: Bool { entries.isEmpty }
  var hasSubmissions: Bool { submissions > 0 }
  /// Whether an answer to this request is still to come, perhaps after it is sent again.
  func awaits(_ id: RequestID) -> Bool { entries[id.number] != nil }
  /// Whether submissions are on their way on the present connection.
  var hasSubmissionsInFlight: Bool { submissionsInFlight > 0 }
  /// Costs all entries; for renewals of subscriptions, of which there are few.
  var unansweredSubmissions: UnansweredSubmissions {
    var result = UnansweredSubmissions()
    guard hasSubmissions else { return result }
    for entry in entries.values where entry.wasSent && entry.request.isSubmission {
      result.sent.insert(entry.request.id)
      if entry.stage == .inFlight { result.onTheWay.insert(entry.request.id) }
    }
    return result
  }

  mutating func add(_ request: PendingRequest) {
    entries[request.id.number] = Entry(request: request)
    // Submissions queue behind those aside: they do not overtake each other.
    if request.isSubmission, !aside.isEmpty {
      aside.append(request.id.number)
    } else {
      line.append(request.id.number)
    }
    if request.isSubmission { submissions += 1 }
    if let deadline = request.deadline { nextDeadline = min(nextDeadline ?? deadline, deadline) }
  }

  /// Returns the next request to send, if the coordinator will accept it.
  ///
  /// - Parameter isDraining: Whether submissions wait that no connection has sent, and all that
  ///   stands behind them.
  mutating func next(
    at now: Instant = .zero, isDraining: Bool = false
  ) -> PendingRequest? {
    guard inFlightCount < Self.inFlightLimit, now >= pausedUntil else { return nil }
    if !aside.isEmpty, now >= roomAfter { rejoin() }
    while head < line.count {
      if let entry = entries[line[head]], entry.stage == .waiting {
        if isDraining, entry.request.isSubmission, !entry.wasSent { return nil }
        let bytes = inFlightBytes + entry.request.bytes.count
        return inFlightCount == 0 || bytes <= Limits.requestBytesInFlight ? entry.request : nil
      }
      head += 1
    }
    line.removeAll(keepingCapacity: true)
    head = 0
    return nil
  }

  /// Notes that the socket has taken the result of `next`.
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
    if entry.request.isSubmission { submissionsInFlight += 1 }
    entries[number] = entry
  }

  /// Applies an answer; drops an unknown number, which is late. `chance` in 0…1 spreads many
  /// clients over time.
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
    if entry.request.isSubmission { submissionsInFlight -= 1 }
  }

  /// Puts a request that the coordinator was too busy for back into the line: it had no effect.
  /// False if the caller no longer waits, or the coordinator has been busy for too long.
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
    // Earlier requests go first.
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

  /// Takes the submissions out of the line while there is no room for them.
  private mutating func stepAside() {
    let waiting = line[head...].filter { entries[$0] != nil }
    aside = Self.merged(aside, waiting.filter { entries[$0]?.request.isSubmission == true })
    line = waiting.filter { entries[$0]?.request.isSubmission == false }
    head = 0
  }

  /// Puts them back to their places.
  private mutating func rejoin() {
    line = Self.merged(aside, Array(line[head...]))
    head = 0
    aside = []
  }

  /// Merges two lines by request order.
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

  /// The coordinator's wait, plus a random addition of up to a half.
  private static func spread(_ wait: Span, _ chance: Double) -> Span {
    wait.scaled(by: 1 + chance / 2)
  }

  /// Pauses all sending: the coordinator is too busy.
  mutating func pause(_ wait: Span, at now: Instant, chance: Double) {
    pausedUntil = max(pausedUntil, now + Self.spread(min(wait, Self.busyPatience), chance))
  }

  /// Returns the newest postponement since the last call.
  mutating func takePostponement() -> Postponement? {
    defer { postponement = nil }
    return postponement
  }

  /// Whether nothing at all may be sent now.
  func isPaused(at now: Instant) -> Bool { pausedUntil > now }

  /// The next moment when a request that waits now may be sent.
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

  /// Notes that the caller no longer waits.
  mutating func abandon(_ id: RequestID) {
    settle(
      id.number, ClientError(.cancelled, "the task that waited for the answer was cancelled"))
  }

  /// Completes a request with an error; one on its way keeps its place until its answer comes.
  private mutating func settle(_ number: UInt64, _ error: ClientError) {
    guard let entry = entries[number] else { return }
    guard entry.stage == .inFlight else { return remove(number, .failure(error)) }
    guard !entry.isSettled else { return }
    entries[number]?.isSettled = true
    entry.request.completion(.failure(error))
  }

  /// Fails the requests with a deadline up to `now`.
  mutating func expire(at now: Instant, address: String) {
    guard let soonest = nextDeadline, soonest <= now else { return }
    let error = ClientError(
      .timedOut, "the coordinator at \(address) did not answer in the time given",
      hint: "it may still carry the request out; look at the present state")
    let due = entries.values.filter { $0.request.deadline.map { $0 <= now } ?? false }
    for number in due.map(\.request.id.number).sorted() { settle(number, error) }
    nextDeadline = entries.values.lazy.filter { !$0.isSettled }.compactMap(\.request.deadline).min()
  }

  /// Handles the end of the connection: repeatable requests wait again in their order, the others
  /// fail.
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
    // The next coordinator may have time and room.
    pausedUntil = .zero
    roomAfter = .zero
    if !aside.isEmpty { rejoin() }
    inFlightCount = 0
    inFlightBytes = 0
    submissionsInFlight = 0
  }

  /// Fails all requests.
  mutating func failAll(_ error: ClientError) {
    for number in entries.keys.sorted() { remove(number, .failure(error)) }
    line = []
    aside = []
    head = 0
  }
}

extension ClientRequest {
  /// Whether sending it twice has no second effect: reads, and submissions that the coordinator
  /// recognises by their key (G19).
  public var isSafeToRepeat: Bool {
    switch self {
    case .submit(let submission): !submission.key.text.isEmpty
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log, .locate, .place, .bring, .reusable:
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
