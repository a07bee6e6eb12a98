// Work that blocks, in order, on a few threads that live as long as there is some. Any thread.

import DequeModule
import OpClusterSystem
import Synchronization

/// Does the same to each item, in the order in which they come.
final class WorkThreads<Item: Sendable>: Sendable {
  private let name: String
  private let maximum: Int
  private let body: @Sendable (Item) -> Void
  private let state = Mutex<(waiting: Deque<Item>, threads: Int)>((Deque(), 0))

  /// - Parameters:
  ///   - name: The name of the threads, at most 15 bytes.
  ///   - maximum: Threads at once, at least 1.
  init(
    named name: String, atMost maximum: Int, _ body: @escaping @Sendable (Item) -> Void
  ) {
    self.name = name
    self.maximum = maximum
    self.body = body
  }

  /// Does it on one of the threads; here, if the machine allows no first one.
  func add(_ item: Item) {
    let needsThread = state.withLock { state in
      state.waiting.append(item)
      guard state.threads < maximum else { return false }
      state.threads += 1
      return true
    }
    guard needsThread else { return }
    do throws(SystemError) {
      _ = try startThread(name: name, takesSignals: false) { [self] in work() }
    } catch {
      // Others that run take it; only the first one is done without.
      let hasOthers = state.withLock { state in
        if state.threads == 1 { return false }
        state.threads -= 1
        return true
      }
      if !hasOthers { work() }
    }
  }

  private func work() { while let item = next() { body(item) } }

  private func next() -> Item? {
    state.withLock { state in
      let item = state.waiting.popFirst()
      if item == nil { state.threads -= 1 }
      return item
    }
  }
}
