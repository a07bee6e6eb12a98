// Admission: decides whether a peer's request is carried out, waits, is refused, or ends its
// conversation, by role, bans, quotas, disk, memory and the order of turns, in one value. It has no
// socket, clock or randomness; the loop carries its verdicts out. Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// The state of admission.
///
/// A decision costs O(1) in addition to the size of its request, except for the bookkeeping of the
/// queue (see `FairRequestQueue`).
struct AdmissionControl: Sendable {
  /// The use of each principal (G29).
  private var quotas: QuotaBook
  /// Frames of clients that wait for their turn (G29).
  var queue: FairRequestQueue
  /// Accepts graphs as far as the memory allows.
  var memory: MemoryRoom
  var disk: DiskRoom
  /// Expelled peers, with the end of each ban.
  private var bans: [Culprit: Instant] = [:]
  private let banishment: Span
  /// Each conversation has a number of its own, which is never reused.
  private var lastPeer: UInt64 = 0
  /// Admitted requests that count once the scheduler has accepted them.
  private var pending: [Pending: [Addition]] = [:]
  /// The memory that graphs among these will use.
  private var pendingCost = 0

  /// A request of this turn that adds something. Looked up only.
  private struct Pending: Hashable, Sendable {
    let peer: PeerID
    let request: RequestID
  }

  private enum Addition: Sendable {
    /// A graph, with the size of its message and its future memory use.
    case graph(bytes: Int, cost: Int)
    case blocks(bytes: Int, GraphID)
    case queue(name: String)
  }

  /// - Parameters:
  ///   - memory: The available memory; nil if it is unknown.
  ///   - diskReserve: Bytes that must be free on the journal's disk, else submissions are refused
  ///     (G8).
  ///   - banishment: The time for which an expelled peer is not let in again.
  init(
    quotas: Quotas, memory: MemoryBound?, diskReserve: UInt64,
    banishment: Span = Limits.banishment
  ) {
    self.quotas = QuotaBook(quotas)
    self.banishment = banishment
    self.memory = MemoryRoom(memory)
    queue = FairRequestQueue(bytes: self.memory.waitingBytes)
    disk = DiskRoom(reserve: diskReserve)
  }

  // MARK: - Decisions

  /// Decides about a request of a peer at this moment. Notes in the peer and in itself what later
  /// decisions need.
  mutating func decide(
    _ request: AdmissionRequest, from peer: inout Peer, at now: Instant
  ) -> AdmissionVerdict {
    switch request {
    case .frame(let bytes): return decide(frame: bytes, from: &peer, at: now)
    case .hello(let hello, let facts): return decide(hello, facts, from: &peer, at: now)
    case .request(let number, let what, let bytes, let facts):
      return decide(number, what, bytes, facts, from: &peer, at: now)
    case .unread:
      if peer.isPutOut { return .ignored }
      ban(peer, at: now)
      return .expelled(.readsNothing)
    case .unintelligible(let request, let bytes, let problem):
      if peer.isPutOut { return .ignored }
      guard let request, peer.isGreeted else { return .putOut(.none, Self.notUnderstood) }
      return decide(unintelligible: request, bytes, problem, from: &peer, at: now)
    case .unintelligibleWord(let problem):
      if peer.isPutOut { return .ignored }
      return .turnedAway(
        .none, Refusal(.unknownWorker, "a message was not understood: \(problem)"))
    case .workerFrame(let bytes):
      if peer.isPutOut { return .ignored }
      let isKnown = peer.isGreeted || bytes <= Limits.helloBytes
      return isKnown ? .allowed : .malformed("a first message of \(bytes) bytes")
    case .workerWord(let saying):
      switch Authorization.verdict(on: saying, from: peer, load(AdmissionFacts())) {
      case .ignored: return .ignored
      case .allowed: return .allowed
      case .refused(let refusal):
        return refusal.code == .forbidden ? .putOut(.none, refusal) : .refused(.none, refusal)
      }
    case .falseReport:
      if peer.isPutOut { return .ignored }
      peer.lies += 1
      return peer.lies < Limits.liesPerWorker ? .ignored : .putOut(.none, Self.tooManyLies)
    }
  }

  /// The number of a new conversation, with a worker or a client.
  mutating func newPeer() -> PeerID {
    lastPeer += 1
    return PeerID(lastPeer)
  }

  // MARK: - Frames of clients

  /// Decides about a frame; parses only as much of it as a refusal needs.
  private mutating func decide(
    frame bytes: [UInt8], from peer: inout Peer, at now: Instant
  ) -> AdmissionVerdict {
    if peer.isPutOut {
      peer.framesInVain += 1
      // Only once: the peer's last frames are still read after the cut.
      let isLast = peer.framesInVain == CoordinatorLimits.framesInVain + 1
      return isLast ? .cut(.wasPutOut) : .ignored
    }
    guard peer.isGreeted else {
      let isHello = bytes.count <= Limits.helloBytes
      return isHello ? .allowed : .malformed("a first message of \(bytes.count) bytes")
    }
    if peer.isClosed(at: now), let glance = RequestGlance(bytes), !glance.givesBack {
      return refuse(glance.id, tooEarly(peer, at: now), &peer, at: now)
    }
    let frame = FairRequestQueue.Frame(bytes: bytes, peer: peer.id)
    if queue.admit(frame, of: peer.holder) { return .queued }
    guard let glance = RequestGlance(bytes) else { return .putOut(.none, Self.notUnderstood) }
    if glance.givesBack, queue.admit(frame, of: peer.holder, givesBack: true) { return .queued }
    peer.closedUntil = now + QuotaBook.shortestWait
    let refusal = Refusal(
      .busy, "too many requests of \(peer.holder) wait already",
      hint: "wait for answers before asking again", retryAfter: QuotaBook.shortestWait)
    return refuse(glance.id, refusal, &peer, at: now)
  }

  // MARK: - Words of clients

  private mutating func decide(
    _ hello: ClientHello, _ facts: AdmissionFacts, from peer: inout Peer, at now: Instant
  ) -> AdmissionVerdict {
    if let verdict = countInVain(&peer) { return verdict }
    switch Authorization.verdict(on: .clientHello(hello), from: peer, load(facts)) {
    case .ignored: return .ignored
    case .refused(let refusal):
      let isKnown = peer.isGreeted || refusal.code == .forbidden
      return isKnown ? .putOut(.none, refusal) : .turnedAway(.none, refusal)
    case .allowed: break
    }
    if !peer.isGreeted {
      if let refusal = refusalOfBanned(peer, at: now) { return .putOut(.none, refusal) }
      if let refusal = quotas.connect(peer.holder) { return .turnedAway(.none, refusal) }
    }
    peer.isGreeted = true
    peer.framesInVain = 0
    return .allowed
  }

  private mutating func decide(
    _ number: RequestID, _ what: ClientRequest, _ bytes: Int, _ facts: AdmissionFacts,
    from peer: inout Peer, at now: Instant
  ) -> AdmissionVerdict {
    if let verdict = countInVain(&peer) { return verdict }
    switch Authorization.verdict(on: .request(what), from: peer, load(facts)) {
    case .ignored: return .ignored
    case .refused(let refusal):
      if peer.principal == .removed { return .putOut(number, refusal) }
      return refuse(number, refusal, &peer, at: now)
    case .allowed: break
    }
    let cost =
      switch what {
      case .submit(let graph), .reusable(let graph):
        MemoryRoom.cost(
          templates: graph.templates.count, operations: facts.operations ?? graph.operationCount,
          bytes: bytes)
      default: 0
      }
    // A lack of room is checked separately from rates: requests that free room are still accepted.
    if let refusal = lackOfRoom(for: what, bytes, cost, facts, of: peer) {
      return refuse(number, refusal, &peer, at: now)
    }
    if let refusal = excess(of: what, bytes, from: peer, at: now) {
      return refuse(number, refusal, &peer, at: now, holdsBack: true)
    }
    peer.requestsInFlight += 1
    if !peer.isClosed(at: now) { peer.refusals = 0 }
    note(what, bytes, cost, number, of: peer.id)
    return .allowed
  }

  /// Limits the messages of a peer that has not been greeted.
  private func countInVain(_ peer: inout Peer) -> AdmissionVerdict? {
    if peer.isGreeted || peer.isPutOut { return nil }
    peer.framesInVain += 1
    guard peer.framesInVain > CoordinatorLimits.framesInVain else { return nil }
    return .cut(.saysNoHello(messages: peer.framesInVain))
  }

  /// Refuses a request by its number: otherwise whoever asked would wait for ever, or ask the same
  /// again on a new connection. Reading it has cost as much as if it were valid.
  private mutating func decide(
    unintelligible request: RequestID, _ bytes: Int, _ problem: String, from peer: inout Peer,
    at now: Instant
  ) -> AdmissionVerdict {
    if let until = peer.refusedUntil, now < until {
      return refuse(request, tooEarly(peer, at: now), &peer, at: now)
    }
    if let refusal = quotas.take(bytes: bytes, operations: 0, by: peer.holder, at: now) {
      return refuse(request, refusal, &peer, at: now, holdsBack: true)
    }
    return .refused(
      request,
      Refusal(
        .badRequest, "the request was not understood: \(problem)",
        hint: "correct what was sent, or install the same release"))
  }

  private func load(_ facts: AdmissionFacts) -> Load {
    Load(
      clients: facts.clients, subscriptions: facts.subscriptions, isDiskFull: disk.isFull)
  }

  /// The refusal of an addition for which there is no room, or none for this principal.
  private func lackOfRoom(
    for what: ClientRequest, _ bytes: Int, _ cost: Int, _ facts: AdmissionFacts, of peer: Peer
  ) -> Refusal? {
    switch what {
    case .addBlocks(let id, let blocks):
      return Authorization.foreignWork(id.graph, of: facts.submitter, by: peer.principal)
        ?? quotas.lackOfRoom(forBlocks: blocks.count, by: peer.holder)
    case .createQueue: return quotas.lackOfRoomForAQueue(by: peer.holder)
    case .submit(let graph):
      return quotas.lackOfRoom(
        for: facts.operations ?? graph.operationCount, bytes: bytes, queues: graph.ownQueueCount,
        by: peer.holder)
        ?? facts.lackOfOutputRoom
        // Includes the graphs that this turn has admitted already.
        ?? memory.lackOfRoom(for: cost, beside: pendingCost)
    case .reusable: return memory.lackOfRoom(for: cost, beside: pendingCost)
    default: return nil
    }
  }

  /// The refusal of a request that exceeds its principal's quota now (G29).
  private mutating func excess(
    of what: ClientRequest, _ bytes: Int, from peer: Peer, at now: Instant
  ) -> Refusal? {
    switch what {
    case .grantCredit, .unsubscribe, .endWait:
      // These release something; a client that waits for that must not wait for a quota.
      return nil
    default: break
    }
    if let until = peer.refusedUntil, now < until { return tooEarly(peer, at: now) }
    return quotas.take(bytes: bytes, operations: 0, by: peer.holder, at: now)
  }

  private func tooEarly(_ peer: Peer, at now: Instant) -> Refusal {
    let until = max(peer.refusedUntil ?? now, peer.closedUntil ?? now)
    return Refusal(
      .busy, "a request before this one was refused as too much", hint: "wait, then ask again",
      retryAfter: max(until - now, .milliseconds(1)))
  }

  // MARK: - Refusals

  /// Refuses a request with the time to retry; expels a peer that ignores it repeatedly.
  ///
  /// - Parameter holdsBack: Refuses everything of the peer until then, so that nothing overtakes.
  private mutating func refuse(
    _ request: RequestID, _ refusal: Refusal, _ peer: inout Peer, at now: Instant,
    holdsBack: Bool = false
  ) -> AdmissionVerdict {
    if peer.refusals >= Limits.refusalsInARow {
      ban(peer, at: now)
      return .expelled(.asksOn)
    }
    peer.refusals += 1
    if holdsBack, peer.refusedUntil ?? now <= now, let pause = refusal.retryAfter {
      peer.refusedUntil = now + pause
    }
    return .refused(request, refusal)
  }

  /// Bans a peer that was expelled for its excess, so that it cannot reconnect at once.
  private mutating func ban(_ peer: Peer, at now: Instant) {
    guard let culprit = peer.culprit else { return }
    bans[culprit] = now + banishment
  }

  private func refusalOfBanned(_ peer: Peer, at now: Instant) -> Refusal? {
    guard let culprit = peer.culprit, let until = bans[culprit], now < until else { return nil }
    return Refusal(
      .busy, "\(culprit) was put out, because it did not wait when it was told to",
      hint: "wait, then connect again", retryAfter: until - now)
  }

  private static let notUnderstood = Refusal(
    .badRequest, "a message was not understood", hint: "install the same release")

  private static let tooManyLies = Refusal(
    .forbidden, "\(Limits.liesPerWorker) reports were about attempts never given to this worker",
    hint: "two workers may share one session or one folder; start it anew")

  // MARK: - What became of requests

  /// Notes that a greeted client's connection has ended, or that the client was put out.
  mutating func left(_ peer: Peer) { quotas.disconnect(peer.holder) }

  /// Notes an addition that counts toward quotas once the turn has accepted it.
  private mutating func note(
    _ what: ClientRequest, _ bytes: Int, _ cost: Int, _ request: RequestID, of peer: PeerID
  ) {
    let addition: Addition
    switch what {
    case .submit:
      addition = .graph(bytes: bytes, cost: cost)
      pendingCost += cost
    case .addBlocks(let id, let blocks): addition = .blocks(bytes: blocks.count, id.graph)
    case .createQueue(let settings): addition = .queue(name: settings.name)
    default: return
    }
    // A client may use one number for two requests.
    pending[Pending(peer: peer, request: request), default: []].append(addition)
  }

  /// Notes that the scheduler has accepted a graph.
  ///
  /// - Parameter queues: The number of queues that came with it.
  mutating func began(
    _ graph: GraphID, operations: Int, queues: Int, _ request: RequestID, of peer: PeerID,
    by holder: QuotaHolder
  ) {
    var sent = (bytes: 0, cost: 0)
    let additions = pending[Pending(peer: peer, request: request)] ?? []
    find: for case .graph(let bytes, let cost) in additions {
      sent = (bytes, cost)
      break find
    }
    if queues > 0 { quotas.brought(queues, with: graph, by: holder) }
    quotas.began(graph, operations: operations, bytes: sent.bytes, by: holder)
    memory.began(graph, cost: sent.cost)
  }

  /// Notes that the scheduler has carried out a request.
  ///
  /// - Parameter queueNamed: The queue that was created under a name.
  mutating func done(
    _ request: RequestID, of peer: PeerID, by holder: QuotaHolder,
    queueNamed: (String) -> QueueID?
  ) {
    for addition in pending[Pending(peer: peer, request: request)] ?? [] {
      switch addition {
      case .graph: break
      case .blocks(let bytes, let graph): quotas.added(bytes, to: graph, by: holder)
      case .queue(let name): if let queue = queueNamed(name) { quotas.made(queue, by: holder) }
      }
    }
  }

  /// Notes a graph that continues from the coordinator's previous life.
  mutating func resumed(_ graph: GraphID, cost: Int) { memory.began(graph, cost: cost) }

  mutating func ended(_ graph: GraphID) {
    quotas.ended(graph)
    memory.ended(graph)
  }

  /// Notes that a queue was removed, by any client.
  mutating func removed(_ queue: QueueID) { quotas.removed(queue) }

  /// Ends a turn: the scheduler has decided about all admitted requests.
  mutating func endTurn() {
    pending.removeAll(keepingCapacity: true)
    pendingCost = 0
  }

  /// Forgets principals without any use. O(principals), twice per heartbeat.
  mutating func forgetIdle(at now: Instant) {
    quotas.forgetIdle(at: now)
    queue.forgetIdle(at: now)
    bans = bans.filter { $0.value > now }
  }
}

/// The free space of the journal's disk (G8).
struct DiskRoom: Sendable {
  /// Bytes that must be free, else submissions are refused.
  let reserve: UInt64
  /// The free bytes at the latest check; nil if there was none, or the number is unknown.
  private(set) var free: UInt64?

  init(reserve: UInt64) { self.reserve = reserve }

  var isFull: Bool { free.map { $0 < reserve } ?? false }

  /// - Returns: Whether the disk has become full, or is no longer full.
  mutating func note(_ bytes: UInt64?) -> Bool {
    let wasFull = isFull
    free = bytes
    return isFull != wasFull
  }
}
