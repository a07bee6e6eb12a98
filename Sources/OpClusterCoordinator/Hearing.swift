// What peers say: frames in, words out, past the door, to whom they concern. A turn takes a bounded
// number from each socket, so that neither side starves the other. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hear() {
    for _ in 0..<(Limits.framesPerTurn / 2) {
      guard let (bytes, route) = next(workers.receive(), isWorker: true) else { break }
      if let bytes, let route { takeWorker(bytes, route) }
    }
    for _ in 0..<(Limits.framesPerTurn / 2) {
      guard let (bytes, route) = next(clients.receive(), isWorker: false) else { break }
      if let bytes, let route { takeClient(bytes, route) }
    }
  }

  /// nil: nothing more is there. Without bytes: a frame that was not understood.
  private func next(
    _ result: ReceiveResult, isWorker: Bool
  ) -> (bytes: [UInt8]?, route: RoutingID?)? {
    switch result {
    case .nothing: return nil
    case .message(let bytes, let sender): return (bytes, sender?.connection)
    case .malformed(let route):
      if let route, isWorker {
        dropWorker(route, "several frames")
      } else {
        noteMalformed(route, "several frames")
        if let route { dropClient(route) }
      }
      return (nil, nil)
    case .failed(let error):
      logger.error("a socket failed", metadata: ["error": "\(error)"])
      return nil
    }
  }

  // MARK: - Workers

  private func takeWorker(_ bytes: [UInt8], _ route: RoutingID) {
    let id = workers.peers.find(route)
    guard id.flatMap({ workers.peers[$0] })?.isGreeted ?? false || bytes.count <= Limits.helloBytes
    else { return dropWorker(route, "a first message of \(bytes.count) bytes") }
    let message: WorkerMessage
    do {
      message = try Wire.decodeWorkerMessage(bytes)
    } catch {
      return dropWorker(route, error.description)
    }
    let peer = id ?? addPeer(route, to: &workers.peers)
    guard let known = workers.peers[peer] else { return }
    let isHello = if case .hello = message { true } else { false }
    let saying = isHello ? Saying.workerHello : .workerWord
    switch Door.verdict(on: saying, from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal): return send(.refused(refusal), toWorker: peer)
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
  private func dropWorker(_ route: RoutingID, _ problem: String) {
    noteMalformed(route, problem)
    let peer = workers.peers.find(route) ?? addPeer(route, to: &workers.peers)
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

  private func takeClient(_ bytes: [UInt8], _ route: RoutingID) {
    let id = clients.peers.find(route)
    guard id.flatMap({ clients.peers[$0] })?.isGreeted ?? false || bytes.count <= Limits.helloBytes
    else {
      noteMalformed(route, "a first message of \(bytes.count) bytes")
      return dropClient(route)
    }
    let message: ClientMessage
    do {
      message = try Wire.decodeClientMessage(bytes)
    } catch {
      noteMalformed(route, error.description)
      return dropClient(route)
    }
    let peer = id ?? addPeer(route, to: &clients.peers)
    clients.peers.update(peer) { $0.lastHeard = now }
    switch message {
    case .hello(let hello): greet(hello, peer)
    case .request(let request, let what): take(request, what, from: peer)
    }
  }

  private func greet(_ hello: ClientHello, _ peer: PeerID) {
    guard let known = clients.peers[peer] else { return }
    switch Door.verdict(on: .clientHello(hello), from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      send(.reply(RequestID(0), .refused(refusal)), toClient: peer)
      clients.peers.remove(peer)
    case .allowed:
      clients.peers.update(peer) { $0.isGreeted = true }
      let version = ProtocolVersions.current.common(with: hello.versions) ?? 1
      send(
        .welcome(version: version, build: Coordinator.build, epoch: scheduler.epoch),
        toClient: peer)
    }
  }

  private func take(_ request: RequestID, _ what: ClientRequest, from peer: PeerID) {
    guard let known = clients.peers[peer] else { return }
    switch Door.verdict(on: .request(what), from: known, load(of: peer)) {
    case .ignored: return
    case .refused(let refusal):
      return send(.reply(request, .refused(refusal)), toClient: peer)
    case .allowed: clients.peers.update(peer) { $0.requestsInFlight += 1 }
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
    case .subscribe(let wish): subscribe(wish, peer, request)
    case .grantCredit(let number, let events):
      let isKnown = subscriptions.grant(Subscriptions.Key(peer: peer, number: number), events)
      reply(.effect(isKnown), to: peer, request)
    case .unsubscribe(let number):
      subscriptions.remove(Subscriptions.Key(peer: peer, number: number))
      reply(.effect(true), to: peer, request)
    default:
      hasInput = true
      scheduler.handle(.client(peer, request, what), into: &turn)
    }
  }

  /// A client that cannot be understood is told so once and not heard any more: it comes back on a
  /// new connection.
  private func dropClient(_ route: RoutingID) {
    let peer = clients.peers.find(route) ?? addPeer(route, to: &clients.peers)
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
    clients.peers.update(peer) { known in
      known.isPutOut = true
      known.isGreeted = false
      known.outbox = []
      known.requestsInFlight = 0
    }
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

  private func addPeer(_ route: RoutingID, to table: inout PeerTable) -> PeerID {
    lastPeer += 1
    let id = PeerID(lastPeer)
    table.add(id, route, at: now)
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
