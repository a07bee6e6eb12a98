// One ROUTER with the table of its peers: receives frames, sends messages, and keeps messages for
// peers that cannot receive now. On the loop's thread.

package import OpClusterModel
package import OpClusterSystem
package import OpClusterZeroMQ

package struct Port: ~Copyable {
  private let socket: Socket
  package private(set) var endpoint: Endpoint
  package var peers = PeerTable()
  /// Peers whose connection has ended; the loop forgets them.
  private var gone: [PeerID] = []
  /// Peers with too many waiting messages; the loop puts them out.
  private var tooSlow: [PeerID] = []
  private var isReadableItem: SocketPoller.Item?
  private(set) var census = ConnectionCensus()
  private(set) var traffic = PortTraffic()

  /// - Throws: `EADDRINUSE` and other errors of binding.
  package init(_ endpoint: Endpoint, keys: SocketKeys?) throws(SystemError) {
    let fresh = try Socket(role: .router(maximumMessageBytes: Limits.messageBytes), keys: keys)
    try fresh.watchConnections()
    self.endpoint = try fresh.bind(endpoint)
    socket = consume fresh
  }

  package mutating func join(_ poller: inout SocketPoller) {
    isReadableItem = poller.add(socket)
  }

  /// Counts the connections and cuts those beyond `most` (A7).
  package mutating func limitConnections(to most: Int, silentPerHost: Int) {
    census = socket.countConnections(most: most, silentPerHost: silentPerHost)
  }

  /// Cuts connections that have been silent since this moment.
  package func cutSilent(since moment: Instant) { socket.cutSilent(since: moment.nanoseconds) }

  /// While it does not listen, frames stay in libzmq's queue, whose limit slows the peers down.
  func listen(_ isListening: Bool, _ poller: inout SocketPoller) {
    guard let item = isReadableItem else { return }
    poller.change(item, to: isListening ? .readable : [])
  }

  /// Receives one frame, if there is one.
  package mutating func receive() -> ReceiveResult {
    let result = socket.receive()
    if case .message(let bytes, _) = result { traffic.received(bytes.count) }
    return result
  }

  /// The other end of the last frame's connection.
  func lastOrigin() -> ConnectionOrigin? { socket.lastOrigin() }

  /// Cuts the connection of a peer that was put out and continues to send.
  func cut(_ origin: ConnectionOrigin) { socket.cut(origin) }

  /// Cuts connections with more than `limit` unheard bytes (A4).
  func cutUnheard(beyond limit: UInt64) -> [UnheardConnection] {
    let found = socket.unheard(beyond: limit)
    for connection in found { socket.cut(connection.origin) }
    return found
  }

  /// Sends a message now, or keeps it in order; drops a peer with too many waiting messages (G27).
  package mutating func send(_ bytes: [UInt8], to id: PeerID, at now: Instant) {
    guard let peer = peers[id], !peer.isPutOut else { return }
    guard peer.outbox.isEmpty else { return keep(bytes, for: id) }
    switch socket.send(bytes, to: peer.route) {
    case .sent:
      traffic.sent(bytes.count)
      peers.update(id) { $0.lastSpoken = now }
    case .wouldBlock: keep(bytes, for: id)
    case .unreachable, .failed: gone.append(id)
    }
  }

  private mutating func keep(_ bytes: [UInt8], for id: PeerID) {
    var isKept = true
    peers.update(id) { isKept = $0.keep(bytes) }
    if !isKept { tooSlow.append(id) }
  }

  /// Tries the kept messages again.
  package mutating func flush(at now: Instant) {
    for id in peers.waiting.sorted() {
      guard let peer = peers[id] else { continue }
      var sent = 0
      sending: for bytes in peer.outbox {
        switch socket.send(bytes, to: peer.route) {
        case .sent:
          traffic.sent(bytes.count)
          sent += 1
        case .wouldBlock: break sending
        case .unreachable, .failed:
          gone.append(id)
          break sending
        }
      }
      guard sent > 0 else { continue }
      peers.update(id) { peer in
        peer.dropKept(sent)
        peer.lastSpoken = now
      }
    }
  }

  /// The peers that have left since the last call.
  package mutating func takeGone() -> [PeerID] {
    defer { gone.removeAll(keepingCapacity: true) }
    return gone
  }

  /// The peers since the last call that did not read their messages (G27).
  package mutating func takeTooSlow() -> [PeerID] {
    defer { tooSlow.removeAll(keepingCapacity: true) }
    return tooSlow
  }
}
