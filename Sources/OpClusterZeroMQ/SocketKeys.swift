// The keys of one socket, and how libzmq is told of them. Used by `Socket` before it binds or
// connects, on its thread.

import CZeroMQ
import OpClusterSystem

/// Who a socket is to its peers over TCP. Over `ipc` and `inproc` nobody is asked: the modes of
/// files and the walls of the process decide.
public enum SocketKeys: Sendable {
  /// A router that lets in whom the gate of its domain admits (G35).
  case server(KeyPair, domain: String = Gate.domain)
  /// A dealer with a key of its own that will talk to one server only.
  case client(KeyPair, server: PublicKey)

  var isServer: Bool { if case .server = self { true } else { false } }
}

extension SocketHandle {
  /// What CURVE adds to each message: the name of its command, a nonce, a seal and a byte of flags.
  static let sealBytes = 8 + 8 + 16 + 1

  /// Tells libzmq to use the keys for what is bound or connected from now on.
  func use(_ keys: SocketKeys, maximumMessageBytes: Int) throws(SystemError) {
    // libzmq counts what is on the wire.
    try set(.maximumMessageBytes, to: maximumMessageBytes + Self.sealBytes)
    switch keys {
    case .server(let own, let domain):
      try set(.curveServer, to: 1)
      try set(ZMQ_CURVE_SECRETKEY, to: own.secretKey.bytes, "the secret key")
      // Either of these alone lets anybody in when there is no handler (A6).
      try set(ZMQ_ZAP_DOMAIN, to: Array(domain.utf8), "the domain")
      try set(.zapEnforceDomain, to: 1)
      needsIdentity = true
    case .client(let own, let server):
      try set(ZMQ_CURVE_SERVERKEY, to: server.bytes, "the server's key")
      try set(ZMQ_CURVE_PUBLICKEY, to: own.publicKey.bytes, "the public key")
      try set(ZMQ_CURVE_SECRETKEY, to: own.secretKey.bytes, "the secret key")
    }
  }

  /// The value stays out of the error.
  private func set(_ option: Int32, to value: [UInt8], _ name: String) throws(SystemError) {
    guard unsafe zmq_setsockopt(checked(), option, value, value.count) == 0 else {
      throw .last("set \(name) of a socket")
    }
  }
}
