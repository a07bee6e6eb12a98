// Brings values that lie in the stores of workers to this program: into files of a folder of its
// own, which are mapped where they are read. Any thread.

import FoundationEssentials
import Glibc
import Logging
import OpClusterModel
import OpClusterStore
import OpClusterSystem
import OpClusterTransfer
import OpClusterZeroMQ
import Synchronization

/// The contents that a connection has brought here.
final class ContentDownloads: Sendable {
  private let folder: String
  private let store: ContentStore
  private let fetcher: ContentFetcher
  private let waiting: Waiting

  private struct FetchEnd {
    var failure: FetchFailure?
  }

  /// Where a content is; nil: no connected worker has it.
  typealias Locate = (ContentDigest) async throws(ClientError) -> [ContentSource]?

  /// Those who wait for a content.
  private final class Waiting: Sendable {
    private let slots = Mutex<[ContentDigest: [ReplySlot<FetchEnd>]]>([:])

    func add(_ slot: ReplySlot<FetchEnd>, for digest: ContentDigest) {
      slots.withLock { $0[digest, default: []].append(slot) }
    }

    func end(_ digest: ContentDigest, _ failure: FetchFailure?) {
      let ended = slots.withLock { $0.removeValue(forKey: digest) ?? [] }
      for slot in ended { slot.fill(.success(FetchEnd(failure: failure))) }
    }
  }

  /// - Parameter keys: Our own, for TCP.
  init(keys: KeyPair?) throws(ClientError) {
    do throws(SystemError) {
      folder = try TemporaryFolder.make(named: "opcluster-contents")
    } catch {
      throw Self.error(error.description)
    }
    let waiting = Waiting()
    self.waiting = waiting
    let logger = Logger(label: "opcluster.contents") { _ in SwiftLogNoOpLogHandler() }
    do throws(StoreError) {
      store = try ContentStore(folder: "\(folder)/store", limit: .max / 4)
    } catch {
      throw Self.error(error.description)
    }
    do throws(SystemError) {
      fetcher = try ContentFetcher(into: store, keys: keys, logger: logger) { content, failure in
        waiting.end(content.digest, failure)
      }
    } catch {
      throw Self.error(error.description)
    }
  }

  deinit {
    fetcher.end()
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func error(_ what: String) -> ClientError {
    ClientError(.unreachable, "values cannot be fetched: \(what)")
  }

  func data(
    of content: StoredContent, locating locate: Locate
  ) async throws(ClientError) -> Data {
    if !store.has(content.digest) { try await fetch(content, locate) }
    do {
      // Readable as long as it is mapped, whatever becomes of the file.
      return try Data(
        contentsOf: URL(filePath: store.path(of: content.digest)), options: .alwaysMapped)
    } catch {
      throw Self.error("\(error)")
    }
  }

  private func fetch(
    _ content: StoredContent, _ locate: Locate
  ) async throws(ClientError) {
    guard let sources = try await locate(content.digest) else {
      throw ClientError(
        Refusal(
          .expired, "no connected worker has the value of \(content.size) bytes any more",
          hint: "wait until its worker is back, or run the operation again"))
    }
    let slot = ReplySlot<FetchEnd>()
    waiting.add(slot, for: content.digest)
    guard fetcher.fetch(content, from: sources) else {
      throw ClientError(Refusal(.busy, "too many values are being fetched at once"))
    }
    if let failure = try await slot.value().failure {
      throw ClientError(
        .unreachable, "the value of \(content.size) bytes was not fetched: \(failure)",
        hint: "look at the network between here and the workers")
    }
  }
}
