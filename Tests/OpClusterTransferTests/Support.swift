// Stores in folders of their own, servers and fetchers over real sockets.

import FoundationEssentials
import Glibc
import Logging
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterTransfer

/// A folder of its own for a test, removed with it.
final class Folder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/opcluster-transfer-XXXXXX".utf8CString)
    path = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe String(cString: mkdtemp(buffer.baseAddress!))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Bytes that are the same for the same seed.
func someBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + 8)
  while bytes.count < count {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: state >> (shift * 8))) }
  }
  return Array(bytes.prefix(count))
}

/// A worker's side that gives: a store and its server.
final class Holder: Sendable {
  let folder = Folder()
  let store: ContentStore
  let keys: KeyPair?
  let server: ContentServer

  /// - Parameter endpoint: Another one than a free port, or a socket file where there are no keys.
  init(
    hasKeys: Bool = true, limit: Int64 = 1 << 32, at endpoint: String? = nil,
    allowance: SharedSendAllowance = SharedSendAllowance(),
    unheardBytes: Int = Limits.unheardBytes
  ) throws {
    keys = hasKeys ? KeyPair.random() : nil
    store = try ContentStore(folder: folder.path + "/store", limit: limit)
    let usual = hasKeys ? "tcp://127.0.0.1:0" : "ipc://\(folder.path)/contents"
    server = try ContentServer(
      store, at: Endpoint(endpoint ?? usual), keys: keys, logger: quiet, allowance: allowance,
      unheardBytes: unheardBytes)
  }

  deinit { server.end() }

  var source: ContentSource {
    ContentSource(endpoint: server.endpoint.address, key: keys?.publicKey.bytes ?? [])
  }

  /// Grants what it has to a reader.
  func grant(
    _ contents: [StoredContent], to reader: Reader,
    for time: OpClusterModel.Span = .seconds(60)
  ) {
    let until = Instant(nanoseconds: MonotonicClock.now()) + time
    let grants = contents.map {
      ContentGrant(digest: $0.digest, reader: reader.identity, until: until)
    }
    #expect(server.grant(grants))
  }
}

/// A worker's side that takes: a store and its fetcher.
final class Reader: Sendable {
  let folder = Folder()
  let store: ContentStore
  let keys: KeyPair?
  let fetcher: ContentFetcher
  private let ends: Ends

  /// - Parameter patience: A short one for tests in which nothing comes.
  init(
    hasKeys: Bool = true, limit: Int64 = 1 << 32, patience: OpClusterModel.Span = .seconds(10),
    unheardBytes: Int = Limits.unheardBytes
  ) throws {
    keys = hasKeys ? KeyPair.random() : nil
    store = try ContentStore(folder: folder.path + "/store", limit: limit)
    ends = try Ends()
    fetcher = try ContentFetcher(
      into: store, keys: keys, patience: patience, logger: quiet, unheardBytes: unheardBytes
    ) { [ends] in ends.note($0, $1) }
  }

  deinit { fetcher.end() }

  var identity: ContentReader { keys.map { .key($0.publicKey) } ?? .local }

  /// Fetches, and waits for the end.
  func fetch(_ content: StoredContent, from holders: [Holder]) -> FetchFailure? {
    #expect(fetcher.fetch(content, from: holders.map(\.source)))
    return wait(for: content)
  }

  func wait(for content: StoredContent) -> FetchFailure? { ends.wait(for: content.digest) }

  /// The bytes, as others would read them.
  func bytes(of content: StoredContent) throws -> [UInt8] {
    try store.open(content.digest).read(at: 0, most: Int(content.size) + 1)
  }
}

/// The ends that a fetcher told of.
final class Ends: Sendable {
  private let wakeUp: WakeUp
  private let ends = Mutex<[ContentDigest: [FetchFailure?]]>([:])

  init() throws { wakeUp = try WakeUp() }

  func note(_ content: StoredContent, _ failure: FetchFailure?) {
    ends.withLock { $0[content.digest, default: []].append(failure) }
    wakeUp.signal()
  }

  /// The first end that was not waited for; for one thread.
  func wait(for digest: ContentDigest) -> FetchFailure? {
    while true {
      let end = ends.withLock { ends -> FetchFailure?? in
        guard let first = ends[digest]?.first else { return nil }
        ends[digest]?.removeFirst()
        return .some(first)
      }
      if let end { return end }
      wakeUp.wait()
    }
  }
}

let quiet: Logger = {
  var logger = Logger(label: "transfer-tests")
  logger.logLevel = .critical
  return logger
}()
