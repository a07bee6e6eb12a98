// Values that are too large for a message, in the memory of this process: what the stores of
// workers are for a cluster of machines. Any thread.

import DequeModule
import FoundationEssentials
import OpClusterAttempts
import OpClusterModel
import OpClusterOperations
import Synchronization

/// The values, and which of them may be dropped.
final class LocalValues: Sendable {
  private struct State {
    var values: [ContentDigest: Data] = [:]
    /// Those that no unfinished operation needs, the longest first.
    var released: Deque<ContentDigest> = []
    var releasedBytes = 0
    var lastNumber: UInt64 = 0
  }
  private let state = Mutex(State())
  /// Bytes of released values that are kept all the same, for programs that read outputs late.
  private let limit: Int

  init(limit: Int = Limits.releasedValueBytes) { self.limit = limit }

  /// Keeps a value under a name of its own. Nobody outside of this process hears the name, so that
  /// it need not follow from the bytes.
  func keep(_ bytes: [UInt8]) -> StoredContent {
    state.withLock { state in
      state.lastNumber += 1
      let number = (0..<8).map { UInt8(truncatingIfNeeded: state.lastNumber >> (56 - $0 * 8)) }
      let name = [UInt8](repeating: 0, count: ContentDigest.byteCount - 8) + number
      guard let digest = ContentDigest(bytes: name) else {
        preconditionFailure("a digest has \(ContentDigest.byteCount) bytes")
      }
      state.values[digest] = Data(bytes)
      return StoredContent(digest: digest, size: Int64(bytes.count))
    }
  }

  func find(_ digest: ContentDigest) -> Data? { state.withLock { $0.values[digest] } }

  /// The values as processes of their own use them: through files.
  var forAttempts: AttemptStore {
    let store = AttemptStore(
      keepBytes: { [self] in keep($0) },
      keepFile: { [self] path in keep([UInt8](try Data(contentsOf: URL(filePath: path)))) },
      link: { [self] digest, path in
        guard let value = find(digest) else { throw Dropped() }
        try value.write(to: URL(filePath: path), options: .withoutOverwriting)
      })
    store.mark(told: true)
    return store
  }

  private struct Dropped: Error, CustomStringConvertible {
    let description = "the value has been dropped"
  }

  /// Lets values go when there are more than the limit; returns those that have gone.
  func release(_ digests: [ContentDigest]) -> [ContentDigest] {
    state.withLock { state in
      for digest in digests {
        guard let value = state.values[digest] else { continue }
        state.released.append(digest)
        state.releasedBytes += value.count
      }
      var gone: [ContentDigest] = []
      while state.releasedBytes > limit, let first = state.released.popFirst() {
        state.releasedBytes -= state.values.removeValue(forKey: first)?.count ?? 0
        gone.append(first)
      }
      return gone
    }
  }
}
