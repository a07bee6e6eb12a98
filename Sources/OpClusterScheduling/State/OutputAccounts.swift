// The bytes of outputs in memory, altogether and by the principal that they count for.

public import OpClusterModel

/// The principal that outputs are counted for: a limit covers all graphs of one client (G29).
public enum GraphOwner: Hashable, Sendable, CustomStringConvertible {
  /// An unnamed client: each connection counts for itself.
  case connection(PeerID)
  /// All connections of one key.
  case key(String)

  public var description: String {
    switch self {
    case .connection: "this connection"
    case .key(let name): "key \(name)"
    }
  }
}

/// The bytes of outputs in memory.
struct OutputAccounts: Sendable {
  /// Bytes of living graphs beyond the allowance of their operations.
  private(set) var living = 0
  /// All bytes of remembered ended graphs.
  var remembered = 0
  /// Not durable: graphs of earlier lives of the coordinator have no owner; each counts for itself.
  private var owners: [GraphID: GraphOwner] = [:]
  private var byOwner: [GraphOwner: Int] = [:]

  func owned(by owner: GraphOwner) -> Int { byOwner[owner] ?? 0 }
  func owner(of graph: GraphID) -> GraphOwner? { owners[graph] }

  mutating func own(_ graph: GraphID, by owner: GraphOwner, bytes: Int) {
    owners[graph] = owner
    if bytes > 0 { byOwner[owner, default: 0] += bytes }
  }

  mutating func change(_ graph: GraphID, by bytes: Int) {
    living += bytes
    if bytes != 0, let owner = owners[graph] { byOwner[owner, default: 0] += bytes }
  }

  mutating func end(_ graph: GraphID, bytes: Int) {
    change(graph, by: -bytes)
    if let owner = owners.removeValue(forKey: graph), byOwner[owner] == 0 { byOwner[owner] = nil }
  }
}
