// The one error of this target: what is wrong between a program and its coordinator, and what a
// person can do about it. Plain values.

public import OpClusterModel
import OpClusterPresentation

/// The reason why a request or a connection failed.
public struct ClientError: Error, Sendable, Hashable, CustomStringConvertible {
  public var kind: Kind
  /// One sentence without a full stop; names the address or the thing.
  public var message: String
  /// The remedy; may be empty.
  public var hint: Advice

  public enum Kind: Sendable, Hashable {
    /// The coordinator does not answer at the address, or no longer does.
    case unreachable
    /// The coordinator speaks no protocol version that we speak (G32).
    case versionMismatch
    /// The coordinator refused; nothing was changed (S145).
    case refused(Refusal)
    /// The coordinator does not know our key: it was never added, or has been removed (G35, G37).
    case keyRefused
    /// The coordinator's key differs from the one that our key file names.
    case wrongServerKey
    /// A socket file is served by a user who is neither this user nor root.
    case foreignServer
    /// The peer is not a coordinator, or breaks the protocol.
    case protocolViolation
    /// The connection ended during a request that must not be repeated. The request may have been
    /// carried out (G34).
    case connectionLost
    /// The caller's time limit has passed. The request may still be carried out.
    case timedOut
    /// The address has no form that can be connected to.
    case badAddress
    /// A configuration file cannot be read or understood.
    case badConfiguration
    /// The waiting task was cancelled. The request may still be carried out.
    case cancelled
  }

  public init(_ kind: Kind, _ message: String, hint: Advice = "") {
    self.kind = kind
    self.message = message
    self.hint = hint
  }

  public init(_ refusal: Refusal) {
    self.init(
      refusal.code == .versionMismatch ? .versionMismatch : .refused(refusal), refusal.message,
      hint: refusal.hint)
  }

  public var description: String {
    hint.isEmpty ? message : "\(message); \(hint.forShell)"
  }
}

extension ClientError {
  /// The error if the coordinator does not answer; `detail` says how that showed.
  static func unreachable(_ address: String, _ detail: String) -> ClientError {
    ClientError(
      .unreachable, "cannot reach the coordinator at \(address): \(detail)",
      hint: .startCluster)
  }

  static func keyRefused(_ address: String, _ name: String) -> ClientError {
    ClientError(
      .keyRefused,
      "the coordinator at \(address) does not let in the key '\(name)': it was never added, or "
        + "was removed",
      hint: .addKey)
  }

  static func wrongServerKey(_ address: String) -> ClientError {
    ClientError(
      .wrongServerKey,
      "what listens at \(address) hung up during the handshake: it has another key than the "
        + "coordinator that ours is for",
      hint: .compareKeys)
  }

  static func foreignServer(_ address: String, user: UInt32) -> ClientError {
    ClientError(
      .foreignServer,
      "the socket at \(address) is served by a process of user \(user), who is neither this user "
        + "nor root and could read everything that is sent there; nothing was sent",
      hint: .changeUser)
  }

  static func lost(_ address: String) -> ClientError {
    ClientError(
      .connectionLost,
      "the connection to \(address) ended before the answer came; the request may have been "
        + "carried out or not",
      hint: "look at the present state before you repeat it")
  }

  static let closed = ClientError(.connectionLost, "the connection was closed by its owner")

  static func busy(_ limit: String) -> ClientError {
    ClientError(
      Refusal(
        .busy, "too many requests at once on one connection (\(limit))",
        hint: "wait for answers before asking more"))
  }
}
