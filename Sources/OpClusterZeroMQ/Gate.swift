// Who may connect over TCP. A server makes a gate before it binds, says whom it admits, and keeps
// it open for as long as it is alive; the keeper (GateKeeper.swift) asks it. Any thread.

public import OpClusterSystem
import Synchronization

/// Decides about the keys of new connections in one domain of this process.
///
/// A gate is closed until its owner says that it is alive (`open`), and closes by itself when the
/// owner does not say so again: behind a server that hangs nobody is let in (G35).
public final class Gate: Sendable {
  /// The domain of a coordinator; another one in the same process needs a name of its own.
  public static let domain = "op"

  /// Whether the owner of a key is let in. Called on the keeper's thread: pure, quick, bounded.
  public typealias Decision = @Sendable (PublicKey) -> Bool

  /// A connection that was not let in.
  public struct Refused: Hashable, Sendable {
    public let key: PublicKey
    /// The network address it came from.
    public let address: String
  }

  /// What became of the connections until now.
  public struct Counts: Hashable, Sendable {
    public var admitted: UInt64 = 0
    public var refused: UInt64 = 0
    /// Asked while the gate was closed; they got no answer.
    public var unanswered: UInt64 = 0
  }

  /// Admitted connections that are remembered, each pair of key and address once.
  static let admittedKept = 256

  /// Refused connections that are kept for the owner to look at.
  static let refusedKept = 64

  private struct State {
    var decision: Decision
    var openUntil: Int64 = .min
    var counts = Counts()
    var refused: [Refused] = []
    /// The latest last.
    var admitted: [(key: PublicKey, address: String)] = []
  }

  public let domain: String
  private let state: Mutex<State>

  /// Makes a closed gate, and the keeper with the first one. Before the server binds.
  ///
  /// - Throws: `EADDRINUSE` if the domain has a gate already, or what libzmq answered.
  public init(domain: String = Gate.domain, admitting decision: @escaping Decision)
    throws(SystemError)
  {
    self.domain = domain
    state = Mutex(State(decision: decision))
    try GateKeeper.shared.register(self)
  }

  /// Admits others from now on. Connections that are there already are the owner's to end (A21).
  public func admit(by decision: @escaping Decision) {
    state.withLock { $0.decision = decision }
  }

  /// Says that the owner is alive; the gate closes at this moment of the `MonotonicClock`.
  public func open(until moment: Int64) { state.withLock { $0.openUntil = moment } }

  public var counts: Counts { state.withLock(\.counts) }

  /// When the keeper's thread was last seen alive, by the `MonotonicClock`: about once a second.
  public var keeperBeat: Int64 { GateKeeper.shared.lastBeat }

  /// Whom the gate has refused since the last call; the oldest ones only, if there were many.
  public func takeRefused() -> [Refused] {
    state.withLock { state in
      defer { state.refused = [] }
      return state.refused
    }
  }

  /// Whose keys came in from a network address lately, for the log: an address is no proof.
  public func keysAdmitted(from address: String) -> [PublicKey] {
    state.withLock { state in state.admitted.filter { $0.address == address }.map(\.key) }
  }

  /// What the keeper answers; nil: nothing, so that the handshake dies of its own patience.
  func verdict(on key: PublicKey?, from address: String, at now: Int64) -> Bool? {
    state.withLock { state in
      guard now < state.openUntil else {
        state.counts.unanswered += 1
        return nil
      }
      guard let key, state.decision(key) else {
        state.counts.refused += 1
        if let key, state.refused.count < Self.refusedKept {
          state.refused.append(Refused(key: key, address: address))
        }
        return false
      }
      state.counts.admitted += 1
      state.admitted.removeAll { $0.key == key && $0.address == address }
      state.admitted.append((key, address))
      if state.admitted.count > Self.admittedKept { state.admitted.removeFirst() }
      return true
    }
  }
}
