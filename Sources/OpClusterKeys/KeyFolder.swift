// The folder of keys: this user's identity in one cluster. Read and changed by commands and daemons
// at their start and by the coordinator while it runs. Blocking, small files; any thread.

public import OpClusterFolders
public import OpClusterModel
public import OpClusterZeroMQ

/// `own.key` is this user's identity in the cluster, `worker.key` that of this account's workers. A
/// coordinator also has `server.key`, its own identity, and `allowed`, the keys that it admits. The
/// folder must have mode 0700 and its files 0600, else nothing in it is used (G39).
public struct KeyFolder: Sendable {
  private let folder: PrivateFolder
  public var path: String { folder.path }

  static let ownName = "own.key"
  static let workerName = "worker.key"
  static let serverName = "server.key"
  static let allowedName = "allowed"

  public init(_ path: String) { folder = PrivateFolder(path) }

  /// The default folder: `$XDG_CONFIG_HOME/opcluster/keys`.
  public static var standard: KeyFolder {
    KeyFolder("\(UserFolders.configuration)/opcluster/keys")
  }

  // MARK: - Our own keys

  /// The user of a key: one account may submit and serve.
  public enum Bearer: Sendable, CaseIterable {
    case client, worker

    var fileName: String { self == .client ? KeyFolder.ownName : KeyFolder.workerName }
    private var other: Bearer { self == .client ? .worker : .client }

    /// The files that may contain its key, its own first: an admin's key serves both, and workers
    /// of earlier releases have theirs in `own.key`.
    fileprivate var files: [(name: String, roles: [Role])] {
      [
        (fileName, Role.allCases),
        (other.fileName, self == .client ? [.admin] : [.worker, .admin]),
      ]
    }
  }

  /// The path of the bearer's key, even if there is none.
  public func file(of bearer: Bearer) -> String { folder.file(bearer.fileName) }

  /// The bearer's key; nil if there is none.
  ///
  /// - Parameter isCertain: Exclude a key that may be the other bearer's.
  public func own(
    for bearer: Bearer = .client, isCertain: Bool = false
  ) throws(KeyError) -> OwnKey? {
    try located(bearer, isCertain: isCertain)?.own
  }

  /// The path of that key; nil if there is none.
  public func place(for bearer: Bearer) throws(KeyError) -> String? { try located(bearer)?.path }

  /// Finds a key. The role of a key that an administrator added by hand is unknown here: in the
  /// other bearer's file it counts only if there is nothing better.
  private func located(
    _ bearer: Bearer, isCertain: Bool = false
  ) throws(KeyError) -> (own: OwnKey, path: String)? {
    for (name, roles) in bearer.files {
      guard let text = try text(of: name) else { continue }
      let own = try OwnKey(parsing: text, folder.file(name))
      let isUsable = own.role.map(roles.contains) ?? (name == bearer.fileName || !isCertain)
      if isUsable { return (own, folder.file(name)) }
    }
    return nil
  }

  /// The keys for the connection of a client or a worker.
  public func clientKeys(
    for bearer: Bearer = .client
  ) throws(KeyError) -> (name: String, keys: SocketKeys) {
    guard let (own, path) = try located(bearer) else {
      let other: Bearer = bearer == .worker ? .client : .worker
      if let known = try text(of: other.fileName), !known.isEmpty {
        throw KeyError(
          .missing,
          "\(file(of: other)) is \(other == .worker ? "a worker's" : "no worker's"), and there is "
            + "no \(bearer.fileName) beside it",
          hint: "join with an invitation: " + (bearer == .worker ? "--join" : "opbatch key join"))
      }
      throw KeyError(
        .missing,
        "there is no key in \(self.path), and over TCP there is no way without one",
        hint: "ask the cluster's administrator for an invitation ('opcoord key invite'), or name "
          + "another folder with --keys")
    }
    guard let server = own.server else {
      throw KeyError(
        .missing, "\(path) does not say the key of the coordinator",
        hint: "'opcoord key show' prints it there; here: opbatch key new --server 'KEY'")
    }
    return (own.name, .client(own.pair, server: server))
  }

  /// Stores a key; never replaces another one.
  public func keep(_ own: OwnKey, for bearer: Bearer = .client) throws(KeyError) {
    try make()
    try exclusively { () throws(KeyError) in
      try checkVacant(for: bearer)
      try replace(bearer.fileName, with: Array(own.revealedText.utf8))
    }
  }

  /// Throws if the bearer has a key.
  public func checkVacant(for bearer: Bearer) throws(KeyError) {
    guard let (known, file) = try located(bearer, isCertain: true) else { return }
    // The place that earlier releases used.
    let isWorkers = bearer == .client && known.role == .worker
    throw KeyError(
      .refused, "\(path) holds the key of '\(known.name)' already",
      hint: isWorkers
        ? "it is a worker's; give it the name that it has now: mv \(file) \(self.file(of: .worker))"
        : "name another folder with --keys, or remove \(file)")
  }

  // MARK: - The coordinator's

  /// The coordinator's own pair; nil if there is none.
  public func server() throws(KeyError) -> KeyPair? {
    guard let text = try text(of: Self.serverName) else { return nil }
    let path = folder.file(Self.serverName)
    let words = KeyLines.words(of: text).map(\.words)
    guard let line = words.first(where: { $0[0] == "secret" }), line.count == 2,
      let secret = SecretKey(String(line[1]))
    else {
      throw KeyError(.malformed, "\(path) does not hold a key", hint: "restore a copy")
    }
    return KeyPair(secret)
  }

  /// The admitted keys: none if there is no list.
  ///
  /// - Parameter isKnown: Whether there was a list. A missing or empty one is then being replaced,
  ///   or was lost, and is an error: it must not lock anybody out.
  public func allowed(isKnown: Bool = false) throws(KeyError) -> AllowList {
    let text = try text(of: Self.allowedName) ?? ""
    let path = folder.file(Self.allowedName)
    if isKnown, text.isEmpty {
      throw KeyError(
        .missing, "\(path) is missing or empty",
        hint: "restore a copy of it; a file with nothing but '#' lets nobody in")
    }
    return try AllowList(parsing: text, path)
  }

  /// Changes the list, atomically and durably.
  public func changeAllowed<Value>(
    _ change: (inout AllowList) throws(KeyError) -> Value
  ) throws(KeyError) -> Value {
    try make()
    return try exclusively { () throws(KeyError) in
      // The list is created before the server's key: if only the key exists, the list was lost.
      var list = try allowed(isKnown: try server() != nil)
      let value = try change(&list)
      try replace(Self.allowedName, with: Array(list.text.utf8))
      return value
    }
  }

  /// Watches for changes from now on.
  public func watch() -> FolderWatch { FolderWatch(folder) }

  /// The keys of a coordinator's service.
  public struct ServerKeys: Sendable {
    public var pair: KeyPair
    public var allowed: AllowList
    /// Whether they were just created.
    public var areNew: Bool
  }

  /// The coordinator's keys; if there are none, creates them, with a key for this user, so that
  /// everything on this machine works without a further step.
  public func prepareServer(at now: WallTime) throws(KeyError) -> ServerKeys {
    try make()
    return try exclusively { () throws(KeyError) in
      if let pair = try server() {
        return ServerKeys(pair: pair, allowed: try allowed(), areNew: false)
      }
      for bearer in Bearer.allCases {
        guard let own = try own(for: bearer) else { continue }
        throw KeyError(
          .missing, "\(path) has no server.key, but the key of '\(own.name)' in another cluster",
          hint: "name another folder for this coordinator with --keys")
      }
      let pair = KeyPair.random()
      let own = OwnKey(name: "local", role: .admin, server: pair.publicKey)
      var list = AllowList()
      try list.add(
        AllowedKey(name: own.name, role: .admin, key: own.pair.publicKey, addedAt: now))
      // The server's key last: the other files do not count until it exists.
      try replace(Self.allowedName, with: Array(list.text.utf8))
      try replace(Self.ownName, with: Array(own.revealedText.utf8))
      try replace(
        Self.serverName,
        with: Array(
          """
          # The key of this coordinator. Anybody who can read it can act as this coordinator.
          public \(pair.publicKey.text)
          secret \(pair.secretKey.revealedText)

          """.utf8))
      return ServerKeys(pair: pair, allowed: list, areNew: true)
    }
  }

  // MARK: - The folder, with errors of keys

  private func make() throws(KeyError) {
    do throws(FolderError) { try folder.make() } catch { throw KeyError(error) }
  }

  private func replace(_ name: String, with bytes: [UInt8]) throws(KeyError) {
    do throws(FolderError) { try folder.replace(name, with: bytes) } catch { throw KeyError(error) }
  }

  private func text(of name: String) throws(KeyError) -> String? {
    do throws(FolderError) {
      return try folder.read(name, limit: Limits.keyFileBytes)
        .map { String(decoding: $0, as: UTF8.self) }
    } catch {
      throw KeyError(error)
    }
  }

  /// Runs `body` while no other process changes the folder.
  private func exclusively<Value>(_ body: () throws(KeyError) -> Value) throws(KeyError) -> Value {
    let lock: FolderLock
    do throws(FolderError) { lock = try folder.lock() } catch { throw KeyError(error) }
    defer { withExtendedLifetime(lock) {} }
    return try body()
  }
}
