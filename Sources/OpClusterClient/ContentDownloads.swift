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

  /// - Parameters:
  ///   - keys: Our own, for TCP.
  ///   - parent: Where the folder is; nil: the temporary one.
  init(keys: KeyPair?, in parent: String? = nil) throws(ClientError) {
    do throws(SystemError) {
      folder = try TemporaryFolder.make(
        named: parent == nil ? "opcluster-contents" : ".opcluster-contents", in: parent)
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

  /// The bytes of a content that has been fetched, mapped; nil: it has not.
  func data(of content: StoredContent) throws(ClientError) -> Data? {
    guard store.has(content.digest) else { return nil }
    do {
      // Readable as long as it is mapped, whatever becomes of the file.
      return try Data(
        contentsOf: URL(filePath: store.path(of: content.digest)), options: .alwaysMapped)
    } catch {
      throw Self.error("\(error)")
    }
  }

  func path(of content: StoredContent) -> String? {
    has(content) ? store.path(of: content.digest) : nil
  }

  func has(_ content: StoredContent) -> Bool { store.has(content.digest) }

  /// Makes a fetched content a file of its own, which appears as a whole. Ends when the task is
  /// cancelled.
  func write(
    _ content: StoredContent, to path: String, isExecutable: Bool, replaces: Bool
  ) throws(ClientError) {
    let copy = ContentCopy(
      to: path, mode: isExecutable ? 0o777 : 0o666, obeysMask: true, replaces: replaces, by: folder
    ) { !Task.isCancelled }
    do throws(StoreError) {
      try store.copy(content.digest, to: copy)
    } catch {
      throw Self.error("\(error)")
    }
  }

  /// Fetches a content from those who have it; `data` finds it then.
  ///
  /// - Returns: Why it was not fetched; nil: it was.
  func fetch(
    _ content: StoredContent, from sources: [ContentSource]
  ) async throws(ClientError) -> FetchFailure? {
    let slot = ReplySlot<FetchEnd>()
    waiting.add(slot, for: content.digest)
    guard fetcher.fetch(content, from: sources) else {
      throw ClientError(Refusal(.busy, "too many values are being fetched at once"))
    }
    return try await slot.value().failure
  }
}

/// How a fetch has ended.
struct FetchEnd: Sendable {
  /// nil: the content is here.
  var failure: FetchFailure?
}
