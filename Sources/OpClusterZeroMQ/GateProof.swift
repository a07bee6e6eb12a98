// The proof at start that a server lets in nobody it does not know: one connection to itself with a
// key that was made this moment (G35). On the thread of the server's start.

public import OpClusterSystem

/// Why a server must not serve.
public enum GateProof: Hashable, Sendable {
  /// The key of chance was refused, as it must be.
  case closed
  /// It was let in.
  case open
  /// Nothing is known: nobody answered in time, or otherwise than a gate does.
  case unknown(String)

  /// How long a proof may take, in nanoseconds: on a busy machine longer than anywhere else, since
  /// nobody is served without it.
  public static let patience: Int64 = 25_000_000_000

  /// Tries the door at `endpoint`, a bound TCP address, with a random key.
  public static func attempt(
    at endpoint: Endpoint, server: PublicKey, patience: Int64 = GateProof.patience
  ) throws(SystemError) -> GateProof {
    let dealer = try Socket(
      role: .dealer(maximumMessageBytes: 1_024),
      keys: .client(KeyPair.random(), server: server))
    try dealer.connect(endpoint.seenFromHere)
    let deadline = MonotonicClock.now() + patience
    var poller = SocketPoller()
    _ = poller.add(dealer, for: [])
    while MonotonicClock.now() < deadline {
      _ = try poller.wait(until: deadline)
      switch dealer.nextConnectionEvent() {
      case nil: continue
      case .connected: return .open
      case .handshakeFailed(.notAuthorized(status: 400)): return .closed
      case let other?: return .unknown("\(other)")
      }
    }
    return .unknown("no answer within \(patience / 1_000_000_000) s")
  }
}
