// The requests of one connection that have no answer yet: which wait to be sent, which are on
// their way, which are lost with a connection and which are sent again. Pure: no socket, no
// clock. Lives on the connection's thread.

public import OpClusterModel

/// A request on its way, with its bytes for as long as they may be needed again.
struct PendingRequest: Sendable {
  var id: RequestID
  var bytes: [UInt8]
  /// It may be sent again on another connection without doing anything twice (G34).
  var isRepeatable: Bool
  /// When its caller gives up; nil: never.
  var deadline: Instant?
  var slot: ReplySlot<ClientReply>
}

struct PendingRequests {
  /// Requests of ours on their way at once; the rest of the coordinator's bound is left for
  /// heartbeats and subscriptions.
  static let inFlightLimit = Limits.requestsInFlightPerClient - 32

  /// Not sent on the present connection; oldest first.
  private var waiting: [PendingRequest] = []
  /// Sent on the present connection, by number.
  private var inFlight: [UInt64: PendingRequest] = [:]
  /// Turned away by a coordinator that is shutting down: they wait for the next connection.
  private var parked: [PendingRequest] = []

  /// Whether somebody waits for an answer.
  var isEmpty: Bool { waiting.isEmpty && inFlight.isEmpty && parked.isEmpty }

  mutating func add(_ request: PendingRequest) { waiting.append(request) }

  /// The next one to send, if there is one and the coordinator will take it.
  var next: PendingRequest? { inFlight.count < Self.inFlightLimit ? waiting.first : nil }

  /// `next` has been given to the socket.
  mutating func markNextSent() {
    var request = waiting.removeFirst()
    if !request.isRepeatable { request.bytes = [] }
    inFlight[request.id.number] = request
  }

  /// The answer to one of ours; an unknown number is late and dropped.
  mutating func answer(_ id: RequestID, _ reply: ClientReply) {
    guard let request = inFlight.removeValue(forKey: id.number) else { return }
    if case .refused(let refusal) = reply {
      guard refusal.code != .shuttingDown || !request.isRepeatable else {
        parked.append(request)
        return
      }
      request.slot.fill(.failure(ClientError(refusal)))
    } else {
      request.slot.fill(.success(reply))
    }
  }

  /// Nobody waits for this one any more. One that is on its way keeps its place until its answer
  /// comes, since the coordinator counts it, too.
  mutating func abandon(_ id: RequestID) {
    waiting.removeAll { $0.id == id }
    parked.removeAll { $0.id == id }
  }

  /// Ends what nobody will wait for after `now`.
  mutating func expire(at now: Instant, address: String) {
    let error = ClientError(
      .timedOut, "the coordinator at \(address) did not answer in the time given",
      hint: "it may still carry the request out; look at the present state")
    let isOver = { (request: PendingRequest) in
      guard let deadline = request.deadline, deadline <= now else { return false }
      request.slot.fill(.failure(error))
      return true
    }
    waiting.removeAll(where: isOver)
    parked.removeAll(where: isOver)
    for (number, request) in inFlight where isOver(request) { inFlight[number]?.deadline = nil }
  }

  /// The soonest deadline.
  var nextDeadline: Instant? {
    let unsent = (waiting + parked).compactMap(\.deadline).min()
    let sent = inFlight.values.compactMap(\.deadline).min()
    return [sent, unsent].compactMap(\.self).min()
  }

  /// The connection has ended: what may be repeated waits again, in the order in which it was
  /// asked; the rest has failed.
  mutating func connectionEnded(_ error: ClientError) {
    var again = parked
    for request in inFlight.values {
      if request.isRepeatable { again.append(request) } else { request.slot.fill(.failure(error)) }
    }
    again.sort { $0.id.number < $1.id.number }
    waiting.insert(contentsOf: again, at: 0)
    inFlight = [:]
    parked = []
  }

  /// Nothing will be answered any more.
  mutating func failAll(_ error: ClientError) {
    for request in waiting + parked + Array(inFlight.values) { request.slot.fill(.failure(error)) }
    waiting = []
    parked = []
    inFlight = [:]
  }
}

extension ClientRequest {
  /// Whether sending it a second time does nothing that the first did not: readings, and
  /// submissions that the coordinator recognises by their key (G19).
  public var isSafeToRepeat: Bool {
    switch self {
    case .submit(let submission): !submission.key.text.isEmpty
    case .graphs, .operations, .structure, .explain, .queues, .workers, .configuration, .ping,
      .log:
      true
    case .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .drainWorker:
      false
    case .subscribe, .grantCredit, .unsubscribe: false
    }
  }
}
