// Whether what a peer says is carried out, waits, is refused, or ends its conversation: role, bans,
// quotas, the disk, memory, and whose turn it is, in one value. It has no socket, no clock and no
// chance; the loop carries its verdicts out. Pure; on the loop's thread.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// The state that admission goes by.
///
/// A decision costs O(1) beside what its request has brought, but for the queue's bookkeeping,
/// which `FairRequestQueue` states.
struct AdmissionControl: Sendable {
  /// What each principal takes (G29).
  private var quotas: QuotaBook
  /// Frames of clients that wait for their turn (G29).
  var queue: FairRequestQueue
  /// Graphs are taken as far as the memory goes.
  var memory: MemoryRoom
  var disk: DiskRoom
  /// Who was put out, and until when.
  private var bans: [Culprit: Instant] = [:]
  /// Conversations have numbers of their own, whatever became of those before.
  private var lastPeer: UInt64 = 0
  /// What was let through and counts as soon as the scheduler has taken it.
  private var pending: [Pending: [Addition]] = [:]
  /// What graphs among these will take of the memory.
  private var pendingCost = 0

  /// A request of this turn that adds something. Looked up only.
  private struct Pending: Hashable, Sendable {
    let peer: PeerID
    let request: RequestID
  }

  private enum Addition: Sendable {
    /// A graph, with the size of its message and what it will take of the memory.
    case graph(bytes: Int, cost: Int)
    case blocks(bytes: Int, GraphID)
    case queue(name: String)
  }

  /// - Parameters:
  ///   - memory: How much there is; nil: nobody says.
  ///   - diskReserve: Bytes that the journal's disk must have free, or submissions are refused
  ///     (G8).
  init(quotas: Quotas, memory: MemoryBound?, diskReserve: UInt64) {
    self.quotas = QuotaBook(quotas)
    self.memory = MemoryRoom(memory)
    queue = FairRequestQueue(bytes: self.memory.waitingBytes)
    disk = DiskRoom(reserve: diskReserve)
  }

  // MARK: - Decisions

  /// What is to be done about a request of a peer at this moment. Notes in the peer and in itself
  /// what later decisions go by.
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
    case .unintelligible:
      return peer.isPutOut ? .ignored : .putOut(.none, Self.notUnderstood)
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

  /// A frame, which is looked into as far as its refusal needs it.
  private mutating func decide(
    frame bytes: [UInt8], from peer: inout Peer, at now: Instant
  ) -> AdmissionVerdict {
    if peer.isPutOut {
      peer.framesInVain += 1
      // Once: who is cut is not cut again while its last frames are read.
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
      if let refusal = banishment(of: peer, at: now) { return .putOut(.none, refusal) }
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
      if case .submit(let graph) = what { MemoryRoom.cost(of: graph, bytes: bytes) } else { 0 }
    // Room for more operations is another matter than time: whatever makes room is still taken.
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

  /// Whoever has not been greeted says a bounded number of things.
  private func countInVain(_ peer: inout Peer) -> AdmissionVerdict? {
    if peer.isGreeted || peer.isPutOut { return nil }
    peer.framesInVain += 1
    guard peer.framesInVain > CoordinatorLimits.framesInVain else { return nil }
    return .cut(.saysNoHello(messages: peer.framesInVain))
  }

  private func load(_ facts: AdmissionFacts) -> Load {
    Load(
      clients: facts.clients, subscriptions: facts.subscriptions, isDiskFull: disk.isFull)
  }

  /// Why there is no room for what a request would add, or may not be for this principal.
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
        for: graph.operationCount, bytes: bytes, queues: graph.ownQueueCount, by: peer.holder)
        ?? facts.lackOfOutputRoom
        // With what this turn has taken already.
        ?? memory.lackOfRoom(for: cost, beside: pendingCost)
    default: return nil
    }
  }

  /// Why this one is too much for its quota now (G29).
  private mutating func excess(
    of what: ClientRequest, _ bytes: Int, from peer: Peer, at now: Instant
  ) -> Refusal? {
    switch what {
    case .grantCredit, .unsubscribe, .endWait:
      // They give something back; who waits for that must not wait for a quota.
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

  /// Says when to come again; who does not listen is put out.
  ///
  /// - Parameter holdsBack: Until then the peer is refused everything, so that nothing overtakes.
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

  /// Who was put out for taking too much is not let in at once with the same again.
  private mutating func ban(_ peer: Peer, at now: Instant) {
    guard let culprit = peer.culprit else { return }
    bans[culprit] = now + Limits.banishment
  }

  private func banishment(of peer: Peer, at now: Instant) -> Refusal? {
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

  /// A greeted client's connection has ended, or it was put out.
  mutating func left(_ peer: Peer) { quotas.disconnect(peer.holder) }

  /// What counts toward quotas once the turn has taken it.
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
    // A client may number two requests alike.
    pending[Pending(peer: peer, request: request), default: []].append(addition)
  }

  /// The scheduler has accepted a graph.
  ///
  /// - Parameter queues: Those that came with it.
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

  /// The scheduler has done what a request said.
  ///
  /// - Parameter queueNamed: The queue that was made under a name.
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

  /// A graph of this coordinator's earlier life goes on.
  mutating func resumed(_ graph: GraphID, cost: Int) { memory.began(graph, cost: cost) }

  mutating func ended(_ graph: GraphID) {
    quotas.ended(graph)
    memory.ended(graph)
  }

  /// A queue is gone, whoever made it.
  mutating func removed(_ queue: QueueID) { quotas.removed(queue) }

  /// The scheduler has decided about everything that was let through.
  mutating func endTurn() {
    pending.removeAll(keepingCapacity: true)
    pendingCost = 0
  }

  /// Forgets those of whom nothing is left. O(principals), twice a heartbeat.
  mutating func forgetIdle(at now: Instant) {
    quotas.forgetIdle(at: now)
    queue.forgetIdle(at: now)
    bans = bans.filter { $0.value > now }
  }
}

/// How much the journal's disk has left (G8).
struct DiskRoom: Sendable {
  /// Bytes that must be free, or submissions are refused.
  let reserve: UInt64
  /// Bytes that were free when it was looked at last; nil: not yet, or nobody can tell.
  private(set) var free: UInt64?

  init(reserve: UInt64) { self.reserve = reserve }

  var isFull: Bool { free.map { $0 < reserve } ?? false }

  /// - Returns: Whether it is full now and was not, or the other way round.
  mutating func note(_ bytes: UInt64?) -> Bool {
    let wasFull = isFull
    free = bytes
    return isFull != wasFull
  }
}
