// What clients say: frames come into the request queue first, and are heard from there in turns of
// their principals, so that nobody who asks for much takes the loop from others (G29). Who has too
// much waiting, or does not wait when told to, is refused without a look. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hearClients() {
    var received = 0
    for _ in 0..<(Limits.framesPerTurn / 2) where received < Limits.frameBytesPerTurn / 2 {
      guard let (bytes, sender) = next(clients.receive(), isWorker: false) else { break }
      received += bytes?.count ?? 0
      if let bytes, let sender { takeClient(bytes, sender) }
    }
    hearWaiting()
  }

  /// One after the other, for a bounded time.
  private func hearWaiting() {
    var clock = Instant.now
    // What has been asked for is answered at the end of the turn: its time is set aside.
    var end = clock + CoordinatorLimits.hearingTime
    var heard = 0
    while heard < Limits.frameBytesPerTurn / 2, clock < end,
      let (frame, holder) = requestQueue.next(at: clock)
    {
      let asked = questions.count
      heard += frame.bytes.count
      hear(frame)
      let now = Instant.now
      requestQueue.noteHearing(now - clock, of: frame, by: holder, at: now)
      clock = now
      if questions.count > asked {
        end = end - requestQueue.expectedCost(ofQuestionBy: holder)
      }
    }
  }

  /// A greeted client's message, when its turn has come.
  private func hear(_ frame: FairRequestQueue.Frame) {
    let peer = frame.peer
    guard let known = clients.peers[peer], !known.isPutOut else { return }
    let message: ClientMessage
    do {
      message = try Wire.decodeClientMessage(frame.bytes)
    } catch {
      noteMalformed(known.route, error.description)
      return drop(peer)
    }
    switch message {
    case .hello(let hello): greet(hello, peer)
    case .request(let request, let what): take(request, what, of: frame.bytes.count, from: peer)
    }
  }

  // MARK: - Arriving

  private func takeClient(_ bytes: [UInt8], _ sender: Sender) {
    guard let id = clients.peers.find(sender.connection), let known = clients.peers[id] else {
      return takeStranger(bytes, sender)
    }
    if known.isPutOut { return takeInVain(known) }
    guard known.isGreeted else { return takeStranger(bytes, sender) }
    clients.peers.update(id) { $0.lastHeard = now }
    if known.isClosed(at: now), let glance = RequestGlance(bytes), !glance.givesBack {
      return refuse(glance.id, tooEarly(known), known)
    }
    let frame = FairRequestQueue.Frame(bytes: bytes, peer: id)
    if requestQueue.admit(frame, of: known.holder) { return }
    guard let glance = RequestGlance(bytes) else { return drop(id) }
    if glance.givesBack, requestQueue.admit(frame, of: known.holder, givesBack: true) { return }
    clients.peers.update(id) { $0.closedUntil = now + QuotaBook.shortestWait }
    refuse(
      glance.id,
      Refusal(
        .busy, "too many requests of \(known.holder) wait already",
        hint: "wait for answers before asking again", retryAfter: QuotaBook.shortestWait), known)
  }

  /// Somebody who has not been greeted: what is not a hello ends soon.
  private func takeStranger(_ bytes: [UInt8], _ sender: Sender) {
    let id = clients.peers.find(sender.connection)
    if id == nil, clients.peers.isFull { return }
    guard bytes.count <= Limits.helloBytes else {
      noteMalformed(sender.connection, "a first message of \(bytes.count) bytes")
      return dropClient(sender)
    }
    let message: ClientMessage
    do {
      message = try Wire.decodeClientMessage(bytes)
    } catch {
      noteMalformed(sender.connection, error.description)
      return dropClient(sender)
    }
    let peer = id ?? addClient(sender)
    clients.peers.update(peer) { known in
      known.lastHeard = now
      known.framesInVain += 1
    }
    if let known = clients.peers[peer], known.framesInVain > CoordinatorLimits.framesInVain {
      noteMalformed(known.route, "\(known.framesInVain) messages without a hello")
      drop(peer)
      if let origin = known.origin { clients.cut(origin) }
      return
    }
    switch message {
    case .hello(let hello): greet(hello, peer)
    case .request(let request, let what): take(request, what, of: bytes.count, from: peer)
    }
  }

  /// Who was put out costs no more than this, and goes on for so long only.
  private func takeInVain(_ peer: Peer) {
    clients.peers.update(peer.id) { known in
      known.lastHeard = now
      known.framesInVain += 1
    }
    guard peer.framesInVain == CoordinatorLimits.framesInVain, let origin = peer.origin else {
      return
    }
    logger.warning("a client that was put out goes on and is cut", metadata: ["peer": "\(peer.id)"])
    clients.cut(origin)
  }

  private func addClient(_ sender: Sender) -> PeerID {
    let peer = addPeer(sender, to: &clients)
    let origin = clients.lastOrigin()
    clients.peers.update(peer) { $0.origin = origin }
    return peer
  }

  private func tooEarly(_ peer: Peer) -> Refusal {
    let until = max(peer.refusedUntil ?? now, peer.closedUntil ?? now)
    return Refusal(
      .busy, "a request before this one was refused as too much", hint: "wait, then ask again",
      retryAfter: max(until - now, .milliseconds(1)))
  }

  // MARK: - Being heard

  private func greet(_ hello: ClientHello, _ peer: PeerID) {
    guard let known = clients.peers[peer] else { return }
    switch Authorization.verdict(on: .clientHello(hello), from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
      let isKnown = known.isGreeted || refusal.code == .forbidden
      if isKnown { putOut(peer) } else { clients.peers.remove(peer) }
    case .allowed:
      if !known.isGreeted, let refusal = banishment(of: known) {
        send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
        return putOut(peer)
      }
      if !known.isGreeted, let refusal = quotas.connect(known.holder) {
        send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
        return clients.peers.remove(peer)
      }
      clients.peers.update(peer) { known in
        known.isGreeted = true
        known.framesInVain = 0
      }
      let version = ProtocolVersions.current.common(with: hello.versions) ?? 1
      send(
        .welcome(version: version, build: Build.name, scheduler.life),
        toClient: peer)
    }
  }

  private func take(
    _ request: RequestID, _ what: ClientRequest, of bytes: Int, from peer: PeerID
  ) {
    guard let known = clients.peers[peer] else { return }
    switch Authorization.verdict(on: .request(what), from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      if known.principal == .removed {
        send(.reply(request, .refused(refusal)), toClient: peer)
        return putOut(peer)
      }
      return refuse(request, refusal, known)
    case .allowed: break
    }
    // Room for more operations is another matter than time: whatever makes room is still taken.
    if case .addBlocks(let id, _) = what, let refusal = foreignWork(id.graph, known.principal) {
      return refuse(request, refusal, known)
    }
    if case .addBlocks(_, let blocks) = what,
      let refusal = quotas.lackOfRoom(forBlocks: blocks.count, by: known.holder)
    {
      return refuse(request, refusal, known)
    }
    if case .createQueue = what, let refusal = quotas.lackOfRoomForAQueue(by: known.holder) {
      return refuse(request, refusal, known)
    }
    if case .submit(let graph) = what,
      let refusal = quotas.lackOfRoom(
        for: graph.operationCount, bytes: bytes, queues: graph.ownQueueCount, by: known.holder)
        ?? scheduler.lackOfRoom(forOutputsOf: graph, by: known.holder)
        ?? memory.lackOfRoom(for: MemoryRoom.cost(of: graph, bytes: bytes) + submittingCost)
    {
      return refuse(request, refusal, known)
    }
    if let refusal = excess(of: what, bytes, from: known) {
      return refuse(request, refusal, known, holdsBack: true)
    }
    clients.peers.update(peer) { peer in
      peer.requestsInFlight += 1
      if !peer.isClosed(at: now) { peer.refusals = 0 }
    }
    switch what {
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .ping:
      questions.append(
        ClientQuestion(peer: peer, request: request, what: what, size: .init(bytes: bytes)))
    case .configuration:
      reply(.configuration(configuration), to: peer, request)
    case .log(let attempt, let stream, let offset, let bytes):
      askLog(
        LogQuestion(
          peer: peer, request: request, attempt: attempt, stream: stream, offset: offset,
          maximumBytes: bytes))
    case .enrol(let name, let key): enrol(name, key, peer, request)
    case .subscribe(let wish): subscribe(wish, peer, request)
    case .grantCredit(let number, let events):
      let isKnown = subscriptions.grant(Subscriptions.Key(peer: peer, number: number), events)
      reply(.effect(isKnown), to: peer, request)
    case .unsubscribe(let number):
      subscriptions.remove(Subscriptions.Key(peer: peer, number: number))
      reply(.effect(true), to: peer, request)
    default:
      note(what, bytes, from: peer, request)
      hasInput = true
      let input = Input.client(
        peer, request, owned(what, by: peer), onlyOf: settings.steering.bound(of: known.principal))
      scheduler.handle(input, into: &turn)
    }
  }

  /// What counts toward quotas once the turn has taken it.
  private func note(
    _ what: ClientRequest, _ bytes: Int, from peer: PeerID, _ request: RequestID
  ) {
    switch what {
    case .submit(let graph):
      submitting.append((peer, request, bytes, MemoryRoom.cost(of: graph, bytes: bytes)))
    case .addBlocks(let id, let blocks):
      addingBlocks.append((peer, request, id.graph, blocks.count))
    case .createQueue(let settings):
      makingQueues.append((peer, request, settings.name))
    default: break
    }
  }

  /// Whoever steers may stop and order what others have submitted. What they run is theirs to say:
  /// it may run as their account.
  private func foreignWork(_ graph: GraphID, _ principal: Principal) -> Refusal? {
    guard let name = principal.name, let submitter = scheduler.submitter(of: graph),
      !submitter.isEmpty, submitter != name
    else { return nil }
    return Refusal(
      .forbidden, "graph \(graph.number) was submitted with another key than '\(name)'",
      hint: "add blocks with the key of its submitter")
  }

  /// What this turn has taken already.
  private var submittingCost: Int { submitting.reduce(0) { $0 + $1.cost } }

  /// Why this one is too much for its quota now (G29).
  private func excess(of what: ClientRequest, _ bytes: Int, from peer: Peer) -> Refusal? {
    switch what {
    case .grantCredit, .unsubscribe, .endWait:
      // They give something back; who waits for that must not wait for a quota.
      return nil
    default: break
    }
    if let until = peer.refusedUntil, now < until { return tooEarly(peer) }
    return quotas.take(bytes: bytes, operations: 0, by: peer.holder, at: now)
  }

  /// Says when to come again; who does not listen is put out.
  ///
  /// - Parameter holdsBack: Until then the peer is refused everything, so that nothing overtakes.
  private func refuse(
    _ request: RequestID, _ refusal: Refusal, _ peer: Peer, holdsBack: Bool = false
  ) {
    if peer.refusals >= Limits.refusalsInARow {
      logger.warning(
        "a client asks on in spite of refusals and is put out", metadata: ["peer": "\(peer.id)"])
      banish(peer)
      return putOut(peer.id)
    }
    clients.peers.update(peer.id) { known in
      known.refusals += 1
      if holdsBack, known.refusedUntil ?? now <= now, let pause = refusal.retryAfter {
        known.refusedUntil = now + pause
      }
    }
    send(.reply(request, .refused(refusal)), toClient: peer.id)
  }

  /// A client that cannot be understood is told so once and not heard any more: it comes back on a
  /// new connection.
  func dropClient(_ sender: Sender) {
    drop(clients.peers.find(sender.connection) ?? addClient(sender))
  }

  private func drop(_ peer: PeerID) {
    if clients.peers[peer]?.isPutOut == true { return }
    send(
      .reply(
        RequestID(0),
        .refused(
          Refusal(
            .badRequest, "a message was not understood", hint: "install the same release"))),
      toClient: peer)
    putOut(peer)
  }

  func putOut(_ peer: PeerID) {
    subscriptions.remove(peer: peer)
    if let known = clients.peers[peer], known.isGreeted { leave(known) }
    clients.peers.update(peer) { known in
      known.isPutOut = true
      known.isGreeted = false
      known.dropKept(known.outbox.count)
      known.requestsInFlight = 0
    }
  }

  /// Its connection has ended.
  func forgetClient(_ peer: PeerID) {
    if let known = clients.peers[peer], known.isGreeted { leave(known) }
    clients.peers.remove(peer)
  }

  private func leave(_ peer: Peer) {
    quotas.disconnect(peer.holder)
    history.forget(peer.id, of: .principal(peer.holder))
  }

  // MARK: - Banishment

  /// Who was put out for taking too much is not let in at once with the same again.
  func banish(_ peer: Peer) {
    guard let culprit = peer.culprit else { return }
    banished[culprit] = now + Limits.banishment
  }

  private func banishment(of peer: Peer) -> Refusal? {
    guard let culprit = peer.culprit, let until = banished[culprit], now < until else { return nil }
    return Refusal(
      .busy, "\(culprit) was put out, because it did not wait when it was told to",
      hint: "wait, then connect again", retryAfter: until - now)
  }
}

/// Who is not let in again when it was put out.
enum Culprit: Hashable, CustomStringConvertible {
  case key(String)
  case process(Int32)

  var description: String {
    switch self {
    case .key(let name): "key \(name)"
    case .process(let number): "process \(number)"
    }
  }
}
