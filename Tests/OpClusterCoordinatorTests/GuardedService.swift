// A coordinator over TCP with keys of its own, for the tests of this target.

import FoundationEssentials
import OpClusterJournal
import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ
import Synchronization

@testable import OpClusterCoordinator

/// A coordinator with a key folder of its own, and keys for everybody.
final class GuardedService {
  let folder: TestFolder
  let keys: KeyFolder
  let server: KeyPair
  let service: Service
  private var pairs: [String: KeyPair] = [:]
  private static let count = Atomic<Int>(0)

  init(change: (inout CoordinatorSettings) -> Void = { _ in }) throws {
    folder = try TestFolder()
    keys = KeyFolder("\(folder.path)/keys")
    let prepared = try keys.prepareServer(at: .now)
    server = prepared.pair
    let number = Self.count.add(1, ordering: .relaxed).newValue
    let guarded = CoordinatorKeys(
      pair: server, allowed: prepared.allowed, folder: keys, domain: "service-\(number)")
    let any = try Endpoint("tcp://127.0.0.1:*")
    service = try Service(.memory(MemoryDisk()), in: folder) { settings in
      settings.clientEndpoint = any
      settings.workerEndpoint = any
      settings.keys = guarded
      change(&settings)
    }
  }

  /// Adds a key and waits until the coordinator lets it in.
  func key(_ name: String, _ role: Role) throws -> SocketKeys {
    let pair = KeyPair.random()
    let added = AllowedKey(name: name, role: role, key: pair.publicKey, addedAt: .now)
    try keys.changeAllowed { list throws(KeyError) in try list.add(added) }
    return try admitted(pair)
  }

  /// Waits until the coordinator has read the list: the handshake succeeds.
  func admitted(_ pair: KeyPair) throws -> SocketKeys {
    let own = SocketKeys.client(pair, server: server.publicKey)
    try eventually("the key is let in") {
      try Dealer(service.ready.clientEndpoint, keys: own).nextEvent() == .connected
    }
    return own
  }

  func remove(_ name: String) throws {
    try keys.changeAllowed { list throws(KeyError) in _ = try list.remove(named: name) }
  }
}
