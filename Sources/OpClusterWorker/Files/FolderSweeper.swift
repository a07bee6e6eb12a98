// Removes folders that hold so much that the loop must not wait for it, one after the other, on a
// thread that exists only meanwhile. Told from the loop thread.

import Logging
import OpClusterZeroMQ
import Synchronization

/// What is to be removed, and the thread that does it.
final class FolderSweeper: Sendable {
  private struct State {
    var waiting: [String] = []
    var isRunning = false
  }
  private let state = Mutex(State())
  private let logger: Logger

  init(logger: Logger) { self.logger = logger }

  /// Removes the folder at some time. Nobody may use its name again.
  func remove(_ path: String) {
    let isFirst = state.withLock { state in
      state.waiting.append(path)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard isFirst else { return }
    do throws(SocketError) {
      _ = try startThread(name: "sweeper") { [self] in sweep() }
    } catch {
      // Without a thread it stays for the next start of the worker, or for the next try.
      state.withLock { $0.isRunning = false }
      logger.error("'\(path)' is not removed yet: \(error)")
    }
  }

  /// Whether nothing waits to be removed.
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
