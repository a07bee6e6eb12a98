// Removes large folders one by one on a thread that exists only meanwhile, so that the loop does
// not wait. Called from the loop thread.

import Logging
import OpClusterSystem
import Synchronization

/// The folders to remove, and the thread that removes them.
final class FolderSweeper: Sendable {
  private struct State {
    var waiting: [String] = []
    var isRunning = false
  }
  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  /// Removes the folder at some time. The caller must not reuse its name.
  func remove(_ path: String) {
    let isFirst = state.withLock { state in
      state.waiting.append(path)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard isFirst else { return }
    do throws(SystemError) {
      _ = try startThread(name: "sweeper") { [self] in sweep() }
    } catch {
      // Without a thread the folder stays until the next start of the worker, or the next call.
      state.withLock { $0.isRunning = false }
      logger.error("'\(path)' is not removed yet: \(error)")
    }
  }

  /// Whether no folder waits for removal.
  var isIdle: Bool { state.withLock { !$0.isRunning } }

  private func sweep() {
    while let path = next() {
      if Folders.removeTree(path) { continue }
      logger.error("\(Folders.problem("cannot remove '\(path)'"))")
    }
  }

  private func next() -> String? {
    state.withLock { state in
      guard let path = state.waiting.popLast() else {
        state.isRunning = false
        return nil
      }
      return path
    }
  }
}
