// What happens to a dealer's connection. Values; DealerConnection.swift reads them.

import CZeroMQ

/// A turn in the life of a dealer's connection.
///
/// Of a connection over `inproc`, `connected` is told as soon as the dealer connects, and nothing
/// else: libzmq watches none of those. That such a peer has ended shows in its silence, by which
/// every peer is judged anyway (A11).
///
/// Everything but `connected` is an end: the owner drops the socket and opens a fresh one later
/// (A19). Several ends of one connection may be told, e.g. a failed handshake and a disconnect.
public enum ConnectionEvent: Hashable, Sendable {
  /// The handshake is done; messages can flow.
  case connected
  /// Nobody listens there, or the network says so.
  case refused
  /// The other side is there, but speaks another protocol, hung up, or did not let us in.
  case handshakeFailed(HandshakeFailure)
  /// The connection has ended, by the other side or by the network.
  case disconnected
}

/// Why a handshake failed.
public enum HandshakeFailure: Hashable, Sendable {
  /// The connection broke or the time was up; carries libzmq's `errno`.
  case broken(code: Int32)
  /// The other side does not speak our protocol; carries libzmq's code.
  case protocolViolation(code: Int32)
  /// The other side does not know us; carries its status, 400 as a rule.
  case notAuthorized(status: Int32)
  /// A socket file is served by another user than it may be.
  case foreignServer(user: UInt32)
}

extension HandshakeFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .broken(let code): unsafe String(cString: zmq_strerror(code))
    case .protocolViolation: "what listens there does not speak ZeroMQ's protocol"
    case .notAuthorized: "our key is not let in"
    case .foreignServer(let user):
      "it is served by a process of user \(user), who could read everything that is sent there"
    }
  }
}
