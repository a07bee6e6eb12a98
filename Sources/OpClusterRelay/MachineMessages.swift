// The machines' side of a relay: receives their messages, and admits them by the same rules as a
// coordinator admits workers. Loop thread.

import Logging
import OpClusterCoordinator
import OpClusterModel
import OpClusterPresentation
import OpClusterRack
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ

extension RelayLoop {
  private static let tendingPause = OpClusterModel.Span.milliseconds(500)
  /// How long a connection may be without a welcome.
  private static let strangerPatience = OpClusterModel.Span.seconds(30)
  /// Descriptors for all else.
  private static let otherDescriptors = 64

  /// Takes a bounded number of messages; further ones keep the socket readable.
  func hearMachines() {
    var heard = 0
    for _ in 0..<Limits.framesPerTurn where heard < Limits.frameBytesPerTurn {
      switch port.receive() {
      case .nothing: return
      case .message(let bytes, let sender?):
        heard += bytes.count
        take(bytes, from: sender)
      case .message(let bytes, nil): heard += bytes.count
      case .malformed(let sender):
        if let peer = sender.flatMap({ port.peers.find($0.connection) }) {
          drop(peer, "several frames")
        }
      case .failed(let error):
        logger.error("the socket for machines failed: \(error)")
        return
      }
    }
  }

  private func take(_ bytes: [UInt8], from sender: Sender) {
    guard let peer = peer(of: sender) else { return }
    let message: WorkerMessage
    do throws(WireError) {
      message = try Wire.decodeWorkerMessage(bytes)
    } catch {
      return drop(peer, error.description)
    }
    port.peers.update(peer) { $0.lastHeard = now }
    var saying = Saying.workerWord
    if case .hello(let hello) = message {
      saying = .workerHello(name: hello.name, owner: access?.key(owning: hello.name))
      port.peers.update(peer) { $0.workerName = hello.name }
    }
    guard let known = port.peers[peer] else { return }
    switch Authorization.verdict(on: saying, from: known, .none) {
    case .allowed: apply(.machine(peer, message))
    case .refused(let refusal):
      noteTrouble("a machine is not let in: \(refusal.message)")
      send(.refused(refusal), to: peer)
      forget(peer)
    case .ignored: break
    }
  }

  /// The number of a connection; nil for a new one if there are too many.
  private func peer(of sender: Sender) -> PeerID? {
    if let known = port.peers.find(sender.connection) { return known }
    guard !port.peers.isFull else { return nil }
    lastPeer += 1
    let id = PeerID(lastPeer)
    port.peers.add(id, sender, principal(of: sender.key), at: now)
    return id
  }

  /// Over TCP there is nobody without a key.
  private func principal(of key: PublicKey?) -> Principal {
    guard let key else { return settings.machines.transport == .tcp ? .removed : .local }
    return access?.principal(of: key) ?? .removed
  }

  /// Ends the conversation with a machine that sends invalid messages: it begins again.
  private func drop(_ peer: PeerID, _ problem: String) {
    noteTrouble("a machine's message was not understood: \(problem)")
    send(.refused(Refusal(.busy, "a message was not understood: \(problem)")), to: peer)
    forget(peer)
  }

  /// The log gets fewer and fewer such lines, whatever a machine sends (G33).
  private func noteTrouble(_ trouble: String) {
    troubles += 1
    guard troubles.nonzeroBitCount == 1 else { return }
    logger.warning("\(trouble)", metadata: ["so_far": "\(troubles)"])
  }

  private func forget(_ peer: PeerID) {
    port.peers.remove(peer)
    apply(.machineGone(peer))
  }

  func send(_ message: CoordinatorMessage, to peer: PeerID) {
    if case .welcome = message { port.peers.update(peer) { $0.isGreeted = true } }
    port.send(Wire.encode(message, wording: \.forShell), to: peer, at: now)
  }

  /// Sends what waits, and forgets machines whose connections have ended or that read nothing.
  func tendMachines() {
    if !port.peers.waiting.isEmpty { port.flush(at: now) }
    for peer in port.takeGone() + port.takeTooSlow() { forget(peer) }
    guard now - lastTended >= Self.tendingPause else { return }
    lastTended = now
    let most = ProcessLimits.descriptors(raising: false) ?? Limits.peersPerSocket
    port.limitConnections(to: most - Self.otherDescriptors, silentPerHost: Limits.peersPerSocket)
    port.cutSilent(since: now - Self.strangerPatience)
    // Each try of a machine that is refused is another connection.
    for known in port.peers.ungreeted where now - known.lastHeard >= Self.strangerPatience {
      port.peers.remove(known.id)
    }
  }

  /// Keeps the gate open, and applies changes of the list of keys (G37).
  func attendToKeys() {
    access?.keepOpen(at: now)
    access?.reportRefused(logger)
    guard access?.refresh(at: now, logger) == true else { return }
    for known in port.peers.all where principal(of: known.key) != known.principal {
      let refusal = Authorization.keyChanged(known.principal, principal(of: known.key))
      send(.refused(refusal), to: known.id)
      forget(known.id)
    }
  }
}
