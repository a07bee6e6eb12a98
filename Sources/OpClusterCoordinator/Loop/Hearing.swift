// What peers say: frames in, words out, past the door, to whom they concern. A turn takes a bounded
// number from each socket, so that neither side starves the other. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hear() {
    var heard = 0
    for _ in 0..<(Limits.framesPerTurn / 2) where heard < Limits.frameBytesPerTurn / 2 {
      guard let (bytes, sender) = next(workers.receive(), isWorker: true) else { break }
      heard += bytes?.count ?? 0
      if let bytes, let sender { takeWorker(bytes, sender) }
    }
    heard = 0
    for _ in 0..<(Limits.framesPerTurn / 2) where heard < Limits.frameBytesPerTurn / 2 {
      guard let (bytes, sender) = next(clients.receive(), isWorker: false) else { break }
      heard += bytes?.count ?? 0
      if let bytes, let sender { takeClient(bytes, sender) }
    }
  }

  /// nil: nothing more is there. Without bytes: a frame that was not understood.
  private func next(
    _ result: ReceiveResult, isWorker: Bool
  ) -> (bytes: [UInt8]?, sender: Sender?)? {
    switch result {
    case .nothing: return nil
    case .message(let bytes, let sender): return (bytes, sender)
    case .malformed(let sender):
      if let sender, isWorker {
        dropWorker(sender, "several frames")
      } else {
        noteMalformed(sender?.connection, "several frames")
        if let sender { dropClient(sender) }
      }
      return (nil, nil)
    case .failed(let error):
      logger.error("a socket failed", metadata: ["error": "\(error)"])
      return nil
    }
  }

  // MARK: - Workers

  private func takeWorker(_ bytes: [UInt8], _ sender: Sender) {
    let id = workers.peers.find(sender.connection)
    if id == nil, workers.peers.isFull { return }
    guard id.flatMap({ workers.peers[$0] })?.isGreeted ?? false || bytes.count <= Limits.helloBytes
    else { return dropWorker(sender, "a first message of \(bytes.count) bytes") }
    let message: WorkerMessage
    do {
      message = try Wire.decodeWorkerMessage(bytes)
    } catch {
      return dropWorker(sender, error.description)
    }
    let peer = id ?? addPeer(sender, to: &workers)
    guard let known = workers.peers[peer] else { return }
    var saying = Saying.workerWord
    var isHello = false
    if case .hello(let hello) = message {
      saying = .workerHello(name: hello.name)
      isHello = true
    }
    switch Door.verdict(on: saying, from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      send(.refused(refusal), toWorker: peer)
      if refusal.code == .forbidden { workers.peers.update(peer) { $0.isPutOut = true } }
      return
    case .allowed: break
    }
    workers.peers.update(peer) { known in
      known.lastHeard = now
      if isHello { known.isGreeted = true }
    }
    if case .logChunk(let chunk) = message, let answer = logs.take(chunk, from: peer) {
      reply(answer.reply, to: answer.client, answer.request)
    }
    hasInput = true
    scheduler.handle(.worker(peer, message), into: &turn)
  }

  /// Ends the conversation with a worker that cannot be understood; it begins anew.
  private func dropWorker(_ sender: Sender, _ problem: String) {
    noteMalformed(sender.connection, problem)
    let known = workers.peers.find(sender.connection)
    if known.flatMap({ workers.peers[$0] })?.isPutOut == true { return }
    let peer = known ?? addPeer(sender, to: &workers)
    send(
      .refused(Refusal(.unknownWorker, "a message was not understood: \(problem)")),
      toWorker: peer)
    forgetWorker(peer)
  }

  func forgetWorker(_ peer: PeerID) {
    workers.peers.remove(peer)
    for answer in logs.workerGone(peer) { reply(answer.reply, to: answer.client, answer.request) }
    pendingGone.append(peer)
  }

  // MARK: - Clients

  private func takeClient(_ bytes: [UInt8], _ sender: Sender) {
    let id = clients.peers.find(sender.connection)
    if id == nil, clients.peers.isFull { return }
    // Who was put out costs no more than this.
    if let id, clients.peers[id]?.isPutOut == true {
      return clients.peers.update(id) { $0.lastHeard = now }
    }
    guard id.flatMap({ clients.peers[$0] })?.isGreeted ?? false || bytes.count <= Limits.helloBytes
    else {
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
    let peer = id ?? addPeer(sender, to: &clients)
    clients.peers.update(peer) { $0.lastHeard = now }
    switch message {
    case .hello(let hello): greet(hello, peer)
    case .request(let request, let what): take(request, what, of: bytes.count, from: peer)
    }
  }

  private func greet(_ hello: ClientHello, _ peer: PeerID) {
    guard let known = clients.peers[peer] else { return }
    switch Door.verdict(on: .clientHello(hello), from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
      if refusal.code == .forbidden { putOut(peer) } else { clients.peers.remove(peer) }
    case .allowed:
      if !known.isGreeted, let refusal = quotas.connect(known.holder) {
        send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
        return clients.peers.remove(peer)
      }
      clients.peers.update(peer) { $0.isGreeted = true }
      let version = ProtocolVersions.current.common(with: hello.versions) ?? 1
      send(
        .welcome(version: version, build: Coordinator.build, scheduler.life),
        toClient: peer)
    }
  }

  private func take(
    _ request: RequestID, _ what: ClientRequest, of bytes: Int, from peer: PeerID
  ) {
    guard let known = clients.peers[peer] else { return }
    switch Door.verdict(on: .request(what), from: known, load(of: peer)) {
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
    if case .submit(let graph) = what,
      let refusal = quotas.lackOfRoom(for: graph.operationCount, by: known.holder)
    {
      return refuse(request, refusal, known)
    }
    if let refusal = excess(of: what, bytes, from: known) {
      return refuse(request, refusal, known, holdsBack: true)
    }
    clients.peers.update(peer) { peer in
      peer.requestsInFlight += 1
      peer.refusedUntil = nil
      peer.refusals = 0
    }
    switch what {
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .ping:
      questions.append((peer, request, what))
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
      hasInput = true
      scheduler.handle(.client(peer, request, owned(what, by: peer)), into: &turn)
    }
  }

  /// Why this one is too much for its quota now (G29).
  private func excess(of what: ClientRequest, _ bytes: Int, from peer: Peer) -> Refusal? {
    switch what {
    case .grantCredit, .unsubscribe, .endWait:
      // They give something back; who waits for that must not wait for a quota.
      return nil
    default: break
    }
    if let until = peer.refusedUntil, now < until {
      return Refusal(
        .busy, "a request before this one was refused as too much", hint: "wait, then ask again",
        retryAfter: until - now)
    }
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
  private func dropClient(_ sender: Sender) {
    let peer = clients.peers.find(sender.connection) ?? addPeer(sender, to: &clients)
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
    if let known = clients.peers[peer], known.isGreeted { quotas.disconnect(known.holder) }
    clients.peers.update(peer) { known in
      known.isPutOut = true
      known.isGreeted = false
      known.dropKept(known.outbox.count)
      known.requestsInFlight = 0
    }
  }

  /// Its connection has ended.
  func forgetClient(_ peer: PeerID) {
    if let known = clients.peers[peer], known.isGreeted { quotas.disconnect(known.holder) }
    clients.peers.remove(peer)
  }

  // MARK: - Both

  /// Counts it; the log gets fewer and fewer lines of the same (G33).
  private func noteMalformed(_ route: RoutingID?, _ problem: String) {
    malformed += 1
    guard malformed.nonzeroBitCount == 1 else { return }
    logger.warning(
      "a message was not understood",
      metadata: [
        "peer": "\(route.map { "\($0)" } ?? "unnamed")", "problem": "\(problem)",
        "so_far": "\(malformed)",
      ])
  }

  private func addPeer(_ sender: Sender, to port: inout Port) -> PeerID {
    lastPeer += 1
    let id = PeerID(lastPeer)
    port.peers.add(id, sender, principal(of: sender, at: port.endpoint), at: now)
    return id
  }

  private func load(of peer: PeerID) -> Load {
    Load(
      clients: clients.peers.greeted,
      subscriptions: subscriptions.isEmpty ? 0 : subscriptions.count(of: peer),
      isDiskFull: isDiskFull)
  }

  private var configuration: ConfigurationValues {
    var values = ConfigurationValues(
      timing: settings.timing, clientEndpoint: clients.endpoint.address,
      workerEndpoint: workers.endpoint.address, stateFolder: settings.stateFolder)
    values.wall = .now
    values.diskFreeBytes = diskFreeBytes
    values.diskReserveBytes = settings.diskReserveBytes
    return values
  }
}
