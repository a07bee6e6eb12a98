// A connection of the simulated network: one socket of a worker or client, and the bytes in flight.
// Values; owned by the world.

import OpClusterModel

/// One socket of a worker or client, from its opening to its closing.
struct Connection: Sendable {
  enum Owner: Hashable, Sendable {
    case worker(Int)
    case client(Int)
    /// A peer that only says hello: a namesake of this worker, or (−1) a peer of another release.
    case stranger(Int)
  }
  let owner: Owner
  /// The coordinator's number for it; changes with each connection of the same socket.
  var peer: PeerID
  /// The life of the coordinator that it is connected to; −1: none.
  var life: Int
  /// Whether the owner has not closed it.
  var isOpen = true
  /// Whether the coordinator has put it out and ignores it (A21).
  var isShut = false
  /// The moment until which each direction stays silent.
  var cutUntil: [Instant] = [.zero, .zero]
  /// The newest arrival of each direction: only a fault changes the order.
  var lastArrival: [Instant] = [.zero, .zero]
  /// The bytes in flight, both directions (I18).
  var inFlight = 0
}

enum Direction: Int, Sendable {
  case toCoordinator, fromCoordinator
}

/// Bytes in flight.
struct Delivery: Sendable {
  var connection: Int
  var direction: Direction
  var bytes: [UInt8]
  /// The coordinator's number of the connection at sending: a new number means a new connection.
  var peer: PeerID
  var saidAt: Instant
}
