// The keys that peers over TCP know each other by: 32 bytes on an elliptic curve, a public and a
// secret one. Values; any thread.

import CZeroMQ
import Synchronization

/// Names a peer; anybody may know it.
public struct PublicKey: Hashable, Sendable, CustomStringConvertible {
  /// Characters of the printable spelling.
  public static let textBytes = 40
  /// Bytes of the key itself.
  public static let byteCount = 32

  public let bytes: [UInt8]

  /// nil unless there are 32 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == PublicKey.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Reads the 40 characters of Z85; nil for anything else.
  public init?(_ text: String) { self.init(spelling: text.utf8) }

  init?(spelling: some Collection<UInt8>) {
    guard spelling.count == PublicKey.textBytes, let bytes = Z85.decode(spelling) else {
      return nil
    }
    self.bytes = bytes
  }

  /// The 40 characters of Z85. Quote them in a shell, with `'`.
  public var text: String { Z85.encode(bytes) }
  public var description: String { text }
}

/// Proves to be a peer; whoever has it, is that peer. It shows itself to nobody by accident:
/// neither in a description nor in a mirror (G39).
public struct SecretKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  let bytes: [UInt8]

  /// nil unless there are 32 bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == PublicKey.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Reads the 40 characters of Z85; nil for anything else.
  public init?(_ text: String) {
    guard text.utf8.count == PublicKey.textBytes, let bytes = Z85.decode(text.utf8) else {
      return nil
    }
    self.bytes = bytes
  }

  /// The key itself, for a file that only its owner can read, or a token that is handed over once.
  public var revealed: [UInt8] { bytes }
  /// The same in Z85.
  public var revealedText: String { Z85.encode(bytes) }

  public var description: String { "(secret)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A public key and the secret one it belongs to.
public struct KeyPair: Sendable {
  public let publicKey: PublicKey
  public let secretKey: SecretKey

  /// libzmq opens and closes its source of chance in each call; not two at once (A16).
  private static let turn = Mutex<Void>(())

  /// A fresh pair that nobody else has.
  public static func random() -> KeyPair {
    var publicText = [CChar](repeating: 0, count: PublicKey.textBytes + 1)
    var secretText = publicText
    let code = turn.withLock { _ in unsafe zmq_curve_keypair(&publicText, &secretText) }
    guard code == 0, let publicKey = PublicKey(spelling: spelling(publicText)),
      let secretBytes = Z85.decode(spelling(secretText)), let secret = SecretKey(bytes: secretBytes)
    else { preconditionFailure("libzmq was built without CURVE; nothing can be kept private") }
    return KeyPair(publicKey: publicKey, secretKey: secret)
  }

  /// The pair that a secret key belongs to.
  public init(_ secretKey: SecretKey) {
    var publicText = [CChar](repeating: 0, count: PublicKey.textBytes + 1)
    let code = KeyPair.turn.withLock { _ in
      unsafe zmq_curve_public(&publicText, secretKey.revealedText)
    }
    guard code == 0, let publicKey = PublicKey(spelling: KeyPair.spelling(publicText)) else {
      preconditionFailure("libzmq was built without CURVE; nothing can be kept private")
    }
    self.init(publicKey: publicKey, secretKey: secretKey)
  }

  private init(publicKey: PublicKey, secretKey: SecretKey) {
    self.publicKey = publicKey
    self.secretKey = secretKey
  }

  private static func spelling(_ text: [CChar]) -> [UInt8] {
    text.prefix(PublicKey.textBytes).map { UInt8(bitPattern: $0) }
  }
}
