// The token that an administrator gives to another machine for joining: one word that needs no
// quoting in shells and chats. Pure.

public import OpClusterModel
public import OpClusterZeroMQ

/// A one-time secret, its role, the key of the coordinator that made it, and that coordinator's
/// address.
public struct JoinToken: Sendable {
  public var pair: KeyPair
  /// The role of the new key: stated here, so that the wrong program does not use the token up.
  public var role: Role
  public var server: PublicKey
  /// The coordinator's address for clients.
  public var clientAddress: String

  /// The prefix of every token, so that people and programs recognise it.
  public static let prefix = "opjoin_"

  public init(pair: KeyPair, role: Role, server: PublicKey, clientAddress: String) {
    self.pair = pair
    self.role = role
    self.server = server
    self.clientAddress = clientAddress
  }

  /// The text; show it once, only to the invited person.
  public var revealedText: String {
    Self.prefix
      + Self.spell(
        pair.secretKey.revealed + server.bytes + [role.initial] + Array(clientAddress.utf8))
  }

  /// nil for a text that `revealedText` did not produce, apart from surrounding blanks.
  public init?(_ text: String) {
    let word = text.split(whereSeparator: \.isWhitespace)
    guard word.count == 1, word[0].hasPrefix(Self.prefix),
      let bytes = Self.read(word[0].dropFirst(Self.prefix.count)),
      bytes.count > 2 * PublicKey.byteCount,
      let role = Role.allCases.first(where: { $0.initial == bytes[2 * PublicKey.byteCount] }),
      let secret = SecretKey(bytes: Array(bytes[..<PublicKey.byteCount])),
      let server = PublicKey(
        bytes: Array(bytes[PublicKey.byteCount..<2 * PublicKey.byteCount])),
      let address = String(validating: bytes[(2 * PublicKey.byteCount + 1)...], as: UTF8.self),
      let endpoint = try? Endpoint(address), endpoint.transport == .tcp
    else { return nil }
    self.init(
      pair: KeyPair(secret), role: role, server: server, clientAddress: endpoint.address)
  }

  /// Base64 with `-` and `_`, without padding (RFC 4648).
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  private static func spell(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(alphabet[Int(bits >> count & 63)])
      }
    }
    if count > 0 { text.append(alphabet[Int(bits << (6 - count) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  private static func read(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count: UInt32 = 0
    for character in text.utf8.prefix(1_024) {
      guard let value = alphabet.firstIndex(of: character) else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    // Rejects all but one spelling of each token.
    return bits & (1 << count - 1) == 0 ? bytes : nil
  }
}

extension Role {
  /// Each role begins with a different letter.
  fileprivate var initial: UInt8 { rawValue.utf8.first ?? 0 }
}
