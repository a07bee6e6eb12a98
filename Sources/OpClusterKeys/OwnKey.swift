// The identity of this machine or user in one cluster: `own.key`. Pure, except for the check of the
// key pair.

public import OpClusterModel
public import OpClusterZeroMQ

/// An own key, and the coordinator that it is for.
public struct OwnKey: Sendable {
  /// Its present or future name at the coordinator.
  public var name: String
  /// The role as announced; the coordinator's list decides.
  public var role: Role?
  public var pair: KeyPair
  /// The coordinator's key; nil until it is known.
  public var server: PublicKey?
  /// The coordinator's address for this role; nil if it is unknown.
  public var coordinator: String?

  public init(
    name: String, role: Role? = nil, pair: KeyPair = .random(), server: PublicKey? = nil,
    coordinator: String? = nil
  ) {
    self.name = name
    self.role = role
    self.pair = pair
    self.server = server
    self.coordinator = coordinator
  }

  /// For a file that only its owner can read: it contains the secret.
  var revealedText: String {
    var lines = [
      "# The key of '\(name)' in an OpCluster. Anybody who can read it can act as '\(name)'.",
      "name \(name)",
    ]
    if let role { lines.append("role \(role.rawValue)") }
    lines += ["public \(pair.publicKey.text)", "secret \(pair.secretKey.revealedText)"]
    if let server { lines.append("server \(server.text)") }
    if let coordinator { lines.append("coordinator \(coordinator)") }
    return lines.joined(separator: "\n") + "\n"
  }

  init(parsing text: String, _ path: String) throws(KeyError) {
    var values: [String: Substring] = [:]
    for (number, words) in KeyLines.words(of: text) {
      let word = String(words[0])
      guard words.count == 2, Self.words.contains(word), values[word] == nil else {
        throw KeyLines.malformed(path, number, "not understood")
      }
      values[word] = words[1]
    }
    guard let name = values["name"], String(name).isValidName,
      let secret = values["secret"].flatMap({ SecretKey(String($0)) })
    else { throw Self.damaged(path) }
    let pair = KeyPair(secret)
    guard values["public"].map({ $0 == pair.publicKey.text }) ?? true else {
      throw Self.damaged(path)
    }
    var server: PublicKey?
    if let text = values["server"] {
      server = PublicKey(String(text))
      if server == nil { throw Self.damaged(path) }
    }
    self.init(
      name: String(name), role: values["role"].flatMap { Role(rawValue: String($0)) }, pair: pair,
      server: server, coordinator: values["coordinator"].map(String.init))
  }

  private static let words = ["name", "role", "public", "secret", "server", "coordinator"]

  /// Does not reveal the content.
  private static func damaged(_ path: String) -> KeyError {
    KeyError(
      .malformed, "\(path) does not hold a key", hint: "restore a copy, or make a new key")
  }
}
