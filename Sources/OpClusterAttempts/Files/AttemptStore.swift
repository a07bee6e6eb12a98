// The worker's store as attempts use it: values that are too large for a message go in, and come
// out as files. What it does to the disk is the worker's.

package import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import Synchronization

/// Any thread. Its closures block.
package final class AttemptStore: Sendable {
  /// Keeps bytes.
  private let keepBytes: @Sendable ([UInt8]) throws -> StoredContent
  /// Keeps the bytes of a file.
  private let keepFile: @Sendable (String) throws -> StoredContent
  /// Makes a content readable at a path where nothing is.
  private let link: @Sendable (ContentDigest, String) throws -> Void
  /// Whether the coordinator tells others where contents are.
  private let isTold = Atomic<Bool>(false)

  package init(
    keepBytes: @escaping @Sendable ([UInt8]) throws -> StoredContent,
    keepFile: @escaping @Sendable (String) throws -> StoredContent,
    link: @escaping @Sendable (ContentDigest, String) throws -> Void
  ) {
    self.keepBytes = keepBytes
    self.keepFile = keepFile
    self.link = link
  }

  package func mark(told isTold: Bool) { self.isTold.store(isTold, ordering: .relaxed) }
  package var mayKeep: Bool { isTold.load(ordering: .relaxed) }

  /// The result with a large value in the store, and what was kept.
  func fitting(_ result: AttemptResult) -> (AttemptResult, [StoredContent]) {
    guard mayKeep else { return result.fittingMessages(keep: nil) }
    return result.fittingMessages(keep: keepBytes)
  }

  /// The result of a child that left a large value in a file. The file is removed.
  func fitting(
    _ result: AttemptResult, valueAt path: String
  ) -> (AttemptResult, [StoredContent]) {
    defer { Folders.removeFile(path) }
    return result.namingKept { try keepFile(path) }
  }

  /// Makes the contents of inputs readable in a folder, under their digests.
  func layOut(_ contents: [StoredContent], in folder: String) throws(AttemptProblem) {
    do {
      try Folders.makeEmpty(folder)
      // Operations of other accounts read them, and change nothing.
      try Folders.letPass(folder)
      for content in contents { try link(content.digest, "\(folder)/\(content.digest)") }
    } catch {
      Folders.removeTree(folder)
      throw AttemptProblem(cause: .cannotStart, message: "an input is not readable here: \(error)")
    }
  }
}

/// Keeps the values of children on a thread of its own: a file of any size has to be read.
final class ValueKeeper: Sendable {
  private struct Work: Sendable {
    var part: Part
    var result: AttemptResult
    var path: String
  }

  private let store: AttemptStore
  /// The ends, as those of tasks.
  private let ends: Mailbox<TaskNews>
  private let state = Mutex<(waiting: [Work], isRunning: Bool)>(([], false))

  init(_ store: AttemptStore, ends: Mailbox<TaskNews>) {
    self.store = store
    self.ends = ends
  }

  /// Keeps the value that a child has left at a path; its end follows.
  func keep(_ part: Part, _ result: AttemptResult, valueAt path: String) {
    let isFirst = state.withLock { state in
      state.waiting.append(Work(part: part, result: result, path: path))
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard isFirst else { return }
    do throws(SystemError) {
      _ = try startThread(name: "keeper", takesSignals: false) { [self] in work() }
    } catch {
      work()
    }
  }

  private func work() {
    while let work = next() {
      let (result, kept) = store.fitting(work.result, valueAt: work.path)
      _ = ends.post(.ended(work.part, result, kept))
    }
  }

  private func next() -> Work? {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.isRunning = false
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
