// Who is connected to one ROUTER: names of connections ⇄ numbers of conversations, and what waits
// for each. Pure but for its names; lives on the loop's thread.

import OpClusterModel
import OpClusterScheduling
import OpClusterZeroMQ

/// A conversation with one connection.
struct Peer {
  let id: PeerID
  let route: RoutingID
  /// Which key its connection was let in with; nil over `ipc` and `inproc`.
  let key: PublicKey?
  /// Who that was when it spoke first; whoever is somebody else now is put out.
  var principal: Principal
  /// It has said hello and was welcomed.
  var isGreeted = false
  /// Of a worker: under which name it serves.
  var workerName: String?
  /// It was put out: nothing of it is heard any more, so that it comes back on a new connection.
  var isPutOut = false
  var lastHeard: Instant
  var lastSpoken: Instant
  /// Requests of a client that are not answered yet.
  var requestsInFlight = 0
  /// Messages that its connection had no room for, oldest first.
  private(set) var outbox: [[UInt8]] = []
  private(set) var outboxBytes = 0
  /// When it was refused as too busy, until then; it stays so, so that nothing overtakes.
  var refusedUntil: Instant?
  /// Everything that arrives until then is refused: too much of it waits already.
  var closedUntil: Instant?
  /// Requests refused for either in a row.
  var refusals = 0
  /// The other end of its connection, where the kernel tells.
  var origin: ConnectionOrigin?
  /// Frames that came since it was put out, or without a hello.
  var framesInVain = 0
  /// What a worker said of attempts that were never given to it.
  var lies = 0

  init(id: PeerID, _ sender: Sender, _ principal: Principal, at now: Instant) {
    self.id = id
    route = sender.connection
    key = sender.key
    self.principal = principal
    lastHeard = now
    lastSpoken = now
  }

  /// Whether what arrives now is refused without a look.
  func isClosed(at now: Instant) -> Bool {
    (refusedUntil.map { now < $0 } ?? false) || (closedUntil.map { now < $0 } ?? false)
  }

  /// Who is not let in again when it was put out.
  var culprit: Culprit? {
    principal.name.map { .key($0) } ?? origin?.process.map { .process($0) }
  }

  /// Who it is counted with (G29): all connections of one key, or this one alone.
  var holder: QuotaHolder { principal.name.map { .key($0) } ?? .connection(id) }

  /// Keeps a message; false when too much is kept already (G27).
  mutating func keep(_ bytes: [UInt8]) -> Bool {
    let fits = outbox.isEmpty || outboxBytes + bytes.count <= Limits.bytesPerSlowPeer
    guard fits, outbox.count < Limits.messagesPerSlowPeer else { return false }
    outbox.append(bytes)
    outboxBytes += bytes.count
    return true
  }

  /// The oldest so many have left.
  mutating func dropKept(_ count: Int) {
    for bytes in outbox[..<count] { outboxBytes -= bytes.count }
    outbox.removeFirst(count)
  }
}

struct PeerTable {
  /// Looked up, never iterated.
  private var numberByRoute: [RoutingID: PeerID] = [:]
  private var peers: [PeerID: Peer] = [:]
  /// Greeted ones.
  private(set) var greeted = 0
  /// Those with something in the outbox.
  private(set) var waiting: Set<PeerID> = []

  /// The conversation of a connection; nil for one that has not spoken before.
  func find(_ route: RoutingID) -> PeerID? { numberByRoute[route] }

  subscript(_ id: PeerID) -> Peer? { peers[id] }

  /// No further connection is kept in mind (G27).
  var isFull: Bool { peers.count >= Limits.peersPerSocket }

  mutating func add(_ id: PeerID, _ sender: Sender, _ principal: Principal, at now: Instant) {
    numberByRoute[sender.connection] = id
    peers[id] = Peer(id: id, sender, principal, at: now)
  }

  /// Changes a peer; does nothing for one that is gone.
  ///
  /// - Returns: What `body` does; nil for one that is gone.
  @discardableResult
  mutating func update<Result>(_ id: PeerID, _ body: (inout Peer) -> Result) -> Result? {
    guard let at = peers.index(forKey: id) else { return nil }
    let before = peers.values[at].isGreeted
    let result = body(&peers.values[at])
    let peer = peers.values[at]
    if peer.isGreeted != before { greeted += peer.isGreeted ? 1 : -1 }
    if peer.outbox.isEmpty { waiting.remove(id) } else { waiting.insert(id) }
    return result
  }

  mutating func remove(_ id: PeerID) {
    guard let peer = peers.removeValue(forKey: id) else { return }
    numberByRoute[peer.route] = nil
    waiting.remove(id)
    if peer.isGreeted { greeted -= 1 }
  }

  /// All of them, in order.
  var all: [Peer] { peers.values.sorted { $0.id < $1.id } }
}
