// The peers of one ROUTER: maps connections to conversations, and keeps each peer's waiting
// messages. Pure except for the names; on the loop's thread.

package import OpClusterModel
import OpClusterScheduling
package import OpClusterZeroMQ

/// A conversation with one connection.
package struct Peer {
  package let id: PeerID
  let route: RoutingID
  /// The key that its connection was admitted with; nil over `ipc` and `inproc`.
  package let key: PublicKey?
  /// Its identity at its first message; a peer whose identity has changed is put out.
  package var principal: Principal
  /// Whether it has said hello and was welcomed.
  package var isGreeted = false
  /// The name under which a worker serves.
  package var workerName: String?
  /// Whether it was put out: it is ignored, so that it returns on a new connection.
  var isPutOut = false
  package var lastHeard: Instant
  var lastSpoken: Instant
  /// The requests of a client that are not answered yet.
  var requestsInFlight = 0
  /// Messages that its connection had no room for, oldest first.
  private(set) var outbox: [[UInt8]] = []
  private(set) var outboxBytes = 0
  /// After a refusal as too busy, the time until which all is refused, so that nothing overtakes.
  var refusedUntil: Instant?
  /// The time until which all arrivals are refused, because too much of it waits already.
  var closedUntil: Instant?
  /// The number of consecutive refusals for either reason.
  var refusals = 0
  /// The other end of its connection, if the kernel reports it.
  var origin: ConnectionOrigin?
  /// The frames since it was put out, or without a hello.
  var framesInVain = 0
  /// The reports of a worker about attempts that were never given to it.
  var lies = 0

  init(id: PeerID, _ sender: Sender, _ principal: Principal, at now: Instant) {
    self.id = id
    route = sender.connection
    key = sender.key
    self.principal = principal
    lastHeard = now
    lastSpoken = now
  }

  /// Whether arrivals are refused without parsing.
  func isClosed(at now: Instant) -> Bool {
    (refusedUntil.map { now < $0 } ?? false) || (closedUntil.map { now < $0 } ?? false)
  }

  /// The identity that a ban applies to.
  var culprit: Culprit? {
    principal.name.map { .key($0) } ?? origin?.process.map { .process($0) }
  }

  /// The principal that it counts for (G29): all connections of one key, or only this one.
  var holder: QuotaHolder { principal.name.map { .key($0) } ?? .connection(id) }

  /// Keeps a message; false if too much is kept already (G27).
  mutating func keep(_ bytes: [UInt8]) -> Bool {
    let fits = outbox.isEmpty || outboxBytes + bytes.count <= Limits.bytesPerSlowPeer
    guard fits, outbox.count < Limits.messagesPerSlowPeer else { return false }
    outbox.append(bytes)
    outboxBytes += bytes.count
    return true
  }

  /// Drops the oldest messages, which have left.
  mutating func dropKept(_ count: Int) {
    for bytes in outbox[..<count] { outboxBytes -= bytes.count }
    // An empty array keeps its capacity, and there are many peers.
    outbox = Array(outbox[count...])
  }
}

package struct PeerTable {
  /// Looked up, never iterated.
  private var numberByRoute: [RoutingID: PeerID] = [:]
  private var peers: [PeerID: Peer] = [:]
  /// The number of greeted peers.
  private(set) var greeted = 0
  /// The others, which have not been welcomed or were put out.
  private var strangers: Set<PeerID> = []
  /// The peers with messages in the outbox.
  package private(set) var waiting: Set<PeerID> = []

  /// The conversation of a connection; nil if it has not sent anything before.
  package func find(_ route: RoutingID) -> PeerID? { numberByRoute[route] }

  package subscript(_ id: PeerID) -> Peer? { peers[id] }

  /// Whether no further connection is accepted (G27).
  package var isFull: Bool { peers.count >= Limits.peersPerSocket }

  package mutating func add(
    _ id: PeerID, _ sender: Sender, _ principal: Principal, at now: Instant
  ) {
    numberByRoute[sender.connection] = id
    peers[id] = Peer(id: id, sender, principal, at: now)
    strangers.insert(id)
  }

  /// Changes a peer; does nothing if it does not exist.
  ///
  /// - Returns: The result of `body`; nil if the peer does not exist.
  @discardableResult
  package mutating func update<Result>(_ id: PeerID, _ body: (inout Peer) -> Result) -> Result? {
    guard let at = peers.index(forKey: id) else { return nil }
    let before = peers.values[at].isGreeted
    let result = body(&peers.values[at])
    let peer = peers.values[at]
    if peer.isGreeted != before {
      greeted += peer.isGreeted ? 1 : -1
      if peer.isGreeted { strangers.remove(id) } else { strangers.insert(id) }
    }
    if peer.outbox.isEmpty { waiting.remove(id) } else { waiting.insert(id) }
    return result
  }

  package mutating func remove(_ id: PeerID) {
    guard let peer = peers.removeValue(forKey: id) else { return }
    numberByRoute[peer.route] = nil
    waiting.remove(id)
    strangers.remove(id)
    if peer.isGreeted { greeted -= 1 }
  }

  /// The peers that are not greeted, in order. Costs nothing for those that are.
  package var ungreeted: [Peer] { strangers.sorted().compactMap { peers[$0] } }

  /// All peers, in order.
  package var all: [Peer] { peers.values.sorted { $0.id < $1.id } }
}
