// One ROUTER with the table of its peers: takes frames in, sends messages or keeps them for a peer
// that cannot take them now. Lives on the loop's thread.

import OpClusterModel
import OpClusterZeroMQ

struct Port: ~Copyable {
  private let socket: Socket
  private(set) var endpoint: Endpoint
  var peers = PeerTable()
  /// Peers whose connection has ended, or that cannot take so much; the loop forgets them.
  private(set) var gone: [PeerID] = []
  private var isReadableItem: Poller.Item?

  /// - Throws: `EADDRINUSE` and what else binding may answer.
  init(_ endpoint: Endpoint, keys: SocketKeys?) throws(SocketError) {
    let fresh = try Socket(role: .router(maximumMessageBytes: Limits.messageBytes), keys: keys)
    self.endpoint = try fresh.bind(endpoint)
    socket = consume fresh
  }

  mutating func join(_ poller: inout Poller) {
    isReadableItem = poller.add(socket)
  }

  /// While nobody listens, frames stay in libzmq's queue, whose bound slows the peers down.
  func listen(_ isListening: Bool, _ poller: inout Poller) {
    guard let item = isReadableItem else { return }
    poller.change(item, to: isListening ? .readable : [])
  }

  /// One frame, if there is one.
  func receive() -> ReceiveResult { socket.receive() }

  /// Sends now, or keeps it in order; a peer for which too much waits is gone (G27).
  mutating func send(_ bytes: [UInt8], to id: PeerID, at now: Instant) {
    guard let peer = peers[id], !peer.isPutOut else { return }
    guard peer.outbox.isEmpty else { return keep(bytes, for: id) }
    switch socket.send(bytes, to: peer.route) {
    case .sent: peers.update(id) { $0.lastSpoken = now }
    case .wouldBlock: keep(bytes, for: id)
    case .unreachable, .failed: gone.append(id)
    }
  }

  private mutating func keep(_ bytes: [UInt8], for id: PeerID) {
    var isTooMuch = false
    peers.update(id) { peer in
      isTooMuch = peer.outbox.count >= Limits.messagesPerSlowPeer
      if !isTooMuch { peer.outbox.append(bytes) }
    }
    if isTooMuch { gone.append(id) }
  }

  /// Tries again what peers could not take.
  mutating func flush(at now: Instant) {
    for id in peers.waiting.sorted() {
      guard let peer = peers[id] else { continue }
      var sent = 0
      sending: for bytes in peer.outbox {
        switch socket.send(bytes, to: peer.route) {
        case .sent: sent += 1
        case .wouldBlock: break sending
        case .unreachable, .failed:
          gone.append(id)
          break sending
        }
      }
      guard sent > 0 else { continue }
      peers.update(id) { peer in
        peer.outbox.removeFirst(sent)
        peer.lastSpoken = now
      }
    }
  }

  /// Peers that have gone since the last call.
  mutating func takeGone() -> [PeerID] {
    defer { gone.removeAll(keepingCapacity: true) }
    return gone
  }
}
