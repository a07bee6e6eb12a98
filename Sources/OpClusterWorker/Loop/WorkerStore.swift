// The worker's store with its server and its fetcher: what the brain asks of them, and their news.
// Loop thread, but for the news, which come from others.

import Glibc
import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterStore
import OpClusterSystem
import OpClusterTransfer
import OpClusterZeroMQ

/// What happened in the store.
enum StoreNews: Sendable {
  case gained(StoredContent)
  /// It was here before, and is whole.
  case found(StoredContent)
  case lost([ContentDigest])
  case missed(StoredContent, FetchFailure)
  case undelivered([FailedDelivery])
}

final class WorkerStore {
  /// Where others read from it.
  let source: ContentSource
  let news: Mailbox<StoreNews>
  /// The store as attempts use it.
  let forAttempts: AttemptStore
  private let store: ContentStore
  /// Bytes of all contents, of those that have to stay, and promised ones.
  var usage: (bytes: Int64, kept: Int64, promised: Int64, limit: Int64) { store.usage }
  private let server: ContentServer
  private let fetcher: ContentFetcher
  private let deliveries: StoreDeliveries
  private let logger: Logger

  /// Opens the store, and listens. nil: it is switched off, or there is no address for it.
  ///
  /// - Throws: If the folder or the address cannot be used.
  static func open(
    _ configuration: WorkerConfiguration, in folder: String
  ) throws(WorkerError) -> WorkerStore? {
    let limit = configuration.storeBytes ?? usualBytes(of: folder)
    guard limit > 0, let endpoint = endpoint(configuration, in: folder) else { return nil }
    do throws(StoreError) {
      return try WorkerStore(configuration, folder, limit: limit, endpoint)
    } catch {
      throw WorkerError(.machine, "the store: \(error)")
    }
  }

  private init(
    _ configuration: WorkerConfiguration, _ folder: String, limit: Int64, _ endpoint: Endpoint
  ) throws(StoreError) {
    logger = configuration.logger
    var keys: KeyPair?
    if case .client(let own, _) = configuration.keys { keys = own }
    // Each transfer has one.
    _ = ProcessLimits.descriptors(raising: true)
    do throws(SystemError) {
      let news = try Mailbox<StoreNews>(capacity: .max)
      self.news = news
      do throws(StoreError) {
        store = try ContentStore(folder: folder, limit: limit) { digests in
          _ = news.post(.lost(digests))
        }
      } catch {
        throw SystemError(
          action: "open the store in \(folder)", code: EIO, advice: error.description)
      }
      let allowance = SharedSendAllowance(bytesPerSecond: configuration.uploadBytesPerSecond)
      server = try ContentServer(
        store, at: endpoint, keys: keys, logger: logger, allowance: allowance
      ) { content in
        _ = news.post(.gained(content))
      }
      fetcher = try ContentFetcher(
        into: store, keys: keys, hearsOfHolders: true, logger: logger
      ) { content, failure in
        _ = news.post(failure.map { .missed(content, $0) } ?? .gained(content))
      }
      deliveries = StoreDeliveries(from: store, keys: keys, allowance: allowance) { failed in
        _ = news.post(.undelivered(failed))
      }
    } catch {
      throw .machine(error)
    }
    source = ContentSource(
      endpoint: Self.reachable(server.endpoint, configuration),
      key: endpoint.transport == .tcp ? keys?.publicKey.bytes ?? [] : [])
    forAttempts = AttemptStore(
      keepBytes: { [store] bytes in
        try Self.kept { () throws(StoreError) in try store.add(bytes) }
      },
      keepFile: { [store] file in
        try Self.kept { () throws(StoreError) in try store.add(file: file) }
      },
      link: { [store] in try store.link($0, to: $1, isExecutable: $2) })
    checkFound()
  }

  /// For attempts a lack of room is an end of its own.
  private static func kept(
    _ keep: () throws(StoreError) -> StoredContent
  ) throws -> StoredContent {
    do throws(StoreError) {
      return try keep()
    } catch {
      throw error.isLackOfRoom ? StoreIsFull(error.description) : error
    }
  }

  /// What was here before is told once it has been compared with its digests.
  private func checkFound() {
    guard !store.list.isEmpty else { return }
    do throws(SystemError) {
      _ = try startThread(name: "check", takesSignals: false) { [store, news] in
        store.check { _ = news.post(.found($0)) }
      }
    } catch {
      logger.error("what the store has is not looked at, and not used: \(error)")
    }
  }

  // MARK: - Where

  /// The usual limit: a quarter of the disk, at most 50 GiB.
  private static func usualBytes(of folder: String) -> Int64 {
    let parent = folder.split(separator: "/").dropLast().joined(separator: "/")
    return usualBytes(ofDisk: Folders.diskBytes(of: "/\(parent)") ?? .max)
  }

  static func usualBytes(ofDisk bytes: Int64) -> Int64 { min(Limits.storeBytes, bytes / 4) }

  /// Where it listens: as configured, else beside its coordinator's kind of address.
  private static func endpoint(
    _ configuration: WorkerConfiguration, in folder: String
  ) -> Endpoint? {
    if let given = configuration.storeAddress { return given }
    if configuration.coordinator.transport == .tcp {
      return configuration.keys == nil ? nil : try? Endpoint("tcp://*:0")
    }
    do throws(EndpointError) {
      return try Endpoint("ipc://\(folder).socket")
    } catch {
      configuration.logger.warning(
        "there is no store: \(error); choose a shorter --scratch, or name a --store-address")
      return nil
    }
  }

  /// The address for others: where it listens at all interfaces, the one toward the coordinator.
  private static func reachable(
    _ endpoint: Endpoint, _ configuration: WorkerConfiguration
  ) -> String {
    guard endpoint.isWildcard, let port = endpoint.port else { return endpoint.address }
    let coordinator = configuration.coordinator
    guard let colon = coordinator.address.lastIndex(of: ":"), coordinator.transport == .tcp
    else { return "tcp://127.0.0.1:\(port)" }
    let host = coordinator.address[..<colon].dropFirst("tcp://".utf8.count)
    let own = OwnAddress.toward(host: String(host), port: coordinator.port ?? 7_421)
    return "tcp://\(own ?? "127.0.0.1"):\(port)"
  }

  // MARK: - Orders

  func fetch(_ content: StoredContent, from sources: [ContentSource]) {
    if fetcher.fetch(content, from: sources) { return }
    _ = news.post(.missed(content, .busy))
  }

  func drop(_ digest: ContentDigest) { fetcher.drop(digest) }
  func deliver(_ deliveries: [ContentDelivery]) { self.deliveries.deliver(deliveries) }
  /// Of those that are gone the coordinator hears as lost.
  func keep(_ digests: [ContentDigest]) { for digest in digests { _ = store.keep(digest) } }
  func letGo(_ digests: [ContentDigest]) { for digest in digests { store.letGo(digest) } }

  func grant(_ orders: [GrantOrder], at now: Instant) {
    let grants = orders.map { order in
      ContentGrant(
        digest: order.digest,
        reader: PublicKey(bytes: order.reader).map(ContentReader.key) ?? .local,
        until: now + GrantOrder.time, mayWrite: order.mayWrite)
    }
    if !server.grant(grants) { logger.error("the store's server does not keep up with its grants") }
  }

  func revoke(_ key: [UInt8]) {
    guard let key = PublicKey(bytes: key) else { return }
    if !server.revoke(.key(key)) { logger.error("the store's server does not keep up") }
  }

  func end() {
    server.end()
    fetcher.end()
    deliveries.end()
  }
}

extension FetchFailure {
  /// What follows for those who wait.
  var miss: ContentMiss {
    // Whoever has waited that long for a crowd may find another worker less so.
    if isNewsOfHolders || self == .busy { return .holdersChanged }
    if case .store(let problem) = self, problem.isLackOfRoom { return .storeFull }
    return self == .unreachable ? .unreachable : .failed
  }
}
