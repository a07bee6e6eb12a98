// The keys that the coordinator admits at present: the gate for new connections, its list, and the
// watch for changes. Owned by the loop; reads small files on its thread.

package import Logging
import OpClusterFolders
public import OpClusterKeys
package import OpClusterModel
package import OpClusterSystem
public import OpClusterZeroMQ

/// The keys of a coordinator that serves over TCP.
public struct CoordinatorKeys: Sendable {
  /// The coordinator's own keys.
  public var pair: KeyPair
  /// The keys that it admits at first.
  public var allowed: AllowList
  /// The folder of the list, which others change; nil: the list never changes.
  public var folder: KeyFolder?
  /// The authentication domain; a second coordinator in the same process needs a different one.
  public var domain: String

  public init(
    pair: KeyPair, allowed: AllowList, folder: KeyFolder? = nil, domain: String = Gate.domain
  ) {
    self.pair = pair
    self.allowed = allowed
    self.folder = folder
    self.domain = domain
  }
}

package struct Access {
  /// How long the gate stays open after the loop's last turn: behind a hanging loop nobody is
  /// admitted (G35).
  static let gatePatience = Span.seconds(5)
  /// The pause between readings of the list if the kernel does not report changes.
  package static let lookPause = Span.seconds(2)
  /// The pause if the kernel reports changes: it does not report that the folder was replaced.
  static let watchedLookPause = Span.seconds(10)

  let keys: CoordinatorKeys
  private let gate: Gate
  private let watch: FolderWatch?
  private var principals: [PublicKey: Principal] = [:]
  /// The names of keys that may serve.
  private var servingNames: Set<String> = []
  private var allowed: AllowList
  private var lastLook = Instant.now
  private var lastProblem = ""

  /// - Parameter admitsAll: Admits everybody, for a test of the proof.
  /// - Throws: `EADDRINUSE` if another coordinator of this process has the domain.
  package init(_ keys: CoordinatorKeys, admitsAll: Bool) throws(SystemError) {
    self.keys = keys
    allowed = keys.allowed
    // Before the list is read again, so that no change in between is missed.
    watch = keys.folder?.watch()
    gate = try Gate(domain: keys.domain) { _ in admitsAll }
    if !admitsAll { use(keys.allowed) }
  }

  /// For the poller; nil if there is nothing to wait for.
  package var descriptor: Int32? { watch.flatMap { $0.descriptor >= 0 ? $0.descriptor : nil } }

  package var serverKeys: SocketKeys { .server(keys.pair, domain: keys.domain) }

  package func principal(of key: PublicKey) -> Principal { principals[key] ?? .removed }

  /// The key that owns a worker's name; nil if none covers it.
  package func key(owning workerName: String) -> String? {
    workerName.owningKey(among: servingNames)
  }

  /// The names of the keys that were recently admitted from a network address.
  func names(admittedFrom address: String) -> [String] {
    Set(gate.keysAdmitted(from: address).compactMap { principal(of: $0).name }).sorted()
  }

  /// The last sign of life of the thread that answers for the gate.
  var lastBeat: Instant { Instant(nanoseconds: gate.keeperBeat) }

  /// Keeps the gate open, since the loop is alive.
  package func keepOpen(at now: Instant) {
    gate.open(until: (now + Self.gatePatience).nanoseconds)
  }

  private mutating func use(_ list: AllowList) {
    allowed = list
    var all: [PublicKey: Principal] = [:]
    for key in list.keys { all[key.key] = .known(name: key.name, role: key.role) }
    for invitation in list.invitations { all[invitation.key] = .invited(invitation.key) }
    principals = all
    servingNames = Set(list.keys.filter { $0.role.rights.contains(.serve) }.map(\.name))
    let known = Set(all.keys)
    gate.admit { known.contains($0) }
  }

  /// Reads the list again if it may have changed; true if it has. An unreadable or missing list
  /// changes nothing: its previous keys stay, and the log reports the problem.
  package mutating func refresh(at now: Instant, _ logger: Logger) -> Bool {
    guard let folder = keys.folder else { return false }
    let pause = descriptor == nil ? Self.lookPause : Self.watchedLookPause
    let isDue = now - lastLook >= pause
    guard watch?.takeChanges() == true || isDue else { return false }
    lastLook = now
    do throws(KeyError) {
      let list = try folder.allowed(isKnown: true)
      lastProblem = ""
      guard list != allowed else { return false }
      use(list)
      logger.info(
        "the list of keys has changed",
        metadata: ["keys": "\(list.keys.count)", "invitations": "\(list.invitations.count)"])
      return true
    } catch {
      if error.description != lastProblem {
        logger.error(
          "the list of keys cannot be used; the one before stays in force",
          metadata: ["problem": "\(error)"])
      }
      lastProblem = error.description
      return false
    }
  }

  /// Logs refused keys; many of them cost one line per turn.
  package func reportRefused(_ logger: Logger) {
    let refused = gate.takeRefused()
    guard let first = refused.first else { return }
    logger.warning(
      "a key was not let in",
      metadata: [
        "key": "\(first.key)", "address": "\(first.address)", "more": "\(refused.count - 1)",
        "so_far": "\(gate.counts.refused)",
      ])
  }

  /// Tries a random key against a bound address; returns the reason not to serve, if there is one.
  package func proof(at endpoint: Endpoint, _ now: Instant) throws(SystemError) -> String? {
    guard endpoint.transport == .tcp else { return nil }
    gate.open(until: (now + .seconds(30)).nanoseconds)
    switch try GateProof.attempt(at: endpoint, server: keys.pair.publicKey) {
    case .closed:
      // The proof's own attempt.
      _ = gate.takeRefused()
      return nil
    case .open: return "a random key was let in at \(endpoint)"
    case .unknown(let what): return "a random key was not refused at \(endpoint): \(what)"
    }
  }
}
