// Carries out the verdicts of admission: refuses, puts out, forgets or cuts peers. On the loop's
// thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

/// The socket that a peer is connected to.
enum Side {
  case worker, client
}

extension CoordinatorLoop {
  /// Adds a peer that nobody knows yet to the table of its socket.
  func addPeer(_ sender: Sender, to port: inout Port) -> PeerID {
    let id = admission.newPeer()
    port.peers.add(id, sender, principal(of: sender, at: port.endpoint), at: now)
    return id
  }

  /// Asks admission about a peer and carries its verdict out; true: the request is still to be
  /// carried out.
  func admits(_ request: AdmissionRequest, _ side: Side, _ peer: PeerID) -> Bool {
    let verdict: AdmissionVerdict? =
      switch side {
      case .client:
        clients.peers.update(peer) { admission.decide(request, from: &$0, at: now) }
      case .worker:
        workers.peers.update(peer) { admission.decide(request, from: &$0, at: now) }
      }
    return verdict.map { carryOut($0, side, peer) } ?? false
  }

  /// Carries out a verdict about a peer; true: the request is still to be carried out.
  func carryOut(_ verdict: AdmissionVerdict, _ side: Side, _ peer: PeerID) -> Bool {
    switch verdict {
    case .allowed: return true
    case .queued, .ignored: break
    case .refused(let request, let refusal): refuse(request, refusal, side, peer)
    case .turnedAway(let request, let refusal):
      refuse(request, refusal, side, peer)
      forget(side, peer)
    case .putOut(let request, let refusal):
      refuse(request, refusal, side, peer)
      putOut(side, peer)
    case .malformed(let problem): drop(side, peer, problem)
    case .expelled(let why):
      let what =
        switch why {
        case .asksOn: "a client asks on in spite of refusals and is put out"
        case .readsNothing: "a client does not read and is put out"
        }
      logger.warning("\(what)", metadata: ["peer": "\(peer)"])
      putOut(side, peer)
    case .cut(.wasPutOut):
      guard let origin = clients.peers[peer]?.origin else { break }
      logger.warning("a client that was put out goes on and is cut", metadata: ["peer": "\(peer)"])
      clients.cut(origin)
    case .cut(.saysNoHello(let messages)):
      let origin = clients.peers[peer]?.origin
      drop(side, peer, "\(messages) messages without a hello")
      if let origin { clients.cut(origin) }
    }
    return false
  }

  private func refuse(_ request: RequestID, _ refusal: Refusal, _ side: Side, _ peer: PeerID) {
    switch side {
    case .client: send(.reply(request, .refused(refusal)), toClient: peer)
    case .worker: send(.refused(refusal), toWorker: peer)
    }
  }

  /// Ends the conversation with a peer that sends invalid messages. A client is told once and then
  /// ignored: it returns on a new connection. A worker begins again.
  func drop(_ side: Side, _ peer: PeerID, _ problem: String) {
    switch side {
    case .client:
      noteMalformed(clients.peers[peer]?.route, problem)
      _ = admits(.unintelligible(nil, bytes: 0, problem: problem), .client, peer)
    case .worker:
      noteMalformed(workers.peers[peer]?.route, problem)
      _ = admits(.unintelligibleWord(problem), .worker, peer)
    }
  }

  /// Refuses a client's request that could not be decoded; without its number, ends the
  /// conversation.
  func dropRequest(_ request: RequestID?, of bytes: Int, from peer: PeerID, _ error: WireError) {
    let problem = error.description
    noteMalformed(clients.peers[peer]?.route, problem)
    _ = admits(.unintelligible(request, bytes: bytes, problem: problem), .client, peer)
  }

  /// Counts an invalid message; the log gets fewer and fewer such lines (G33).
  func noteMalformed(_ route: RoutingID?, _ problem: String) {
    operatorLog.malformed += 1
    guard operatorLog.malformed.nonzeroBitCount == 1 else { return }
    logger.warning(
      "a message was not understood",
      metadata: [
        "peer": "\(route.map { "\($0)" } ?? "unnamed")", "problem": "\(problem)",
        "so_far": "\(operatorLog.malformed)",
      ])
  }

  // MARK: - Gone

  /// Ignores a peer from now on.
  private func putOut(_ side: Side, _ peer: PeerID) {
    switch side {
    case .client:
      subscriptions.remove(peer: peer)
      leave(peer)
      clients.peers.update(peer) { known in
        known.isPutOut = true
        known.isGreeted = false
        known.dropKept(known.outbox.count)
        known.requestsInFlight = 0
      }
    case .worker:
      workers.peers.update(peer) { known in
        known.isPutOut = true
        known.isGreeted = false
      }
      endConversation(withWorker: peer)
    }
  }

  /// Forgets a peer whose connection has ended, or whose conversation begins again.
  func forget(_ side: Side, _ peer: PeerID) {
    switch side {
    case .client:
      leave(peer)
      clients.peers.remove(peer)
    case .worker:
      workers.peers.remove(peer)
      endConversation(withWorker: peer)
    }
  }

  private func leave(_ peer: PeerID) {
    guard let known = clients.peers[peer], known.isGreeted else { return }
    admission.left(known)
    sources.history.forget(peer, of: .principal(known.holder))
  }

  /// Ends the conversation with a worker. The scheduler learns it in its next turn, and
  /// redistributes the worker's operations once the worker is lost.
  private func endConversation(withWorker peer: PeerID) {
    for answer in sources.logs.workerGone(peer) {
      sendReply(answer.reply, to: answer.client, answer.request)
    }
    work.pendingGone.append(peer)
  }
}
