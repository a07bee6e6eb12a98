// The line of additions whose dependencies the cluster does not know yet. Two of them could each
// hold what the other waits for; so one at a time collects what it needs, and only then holds it.
// Any thread.

import Synchronization

final class AdditionLine: Sendable {
  /// Ends the turn of an addition; called once, on any thread.
  typealias Leave = @Sendable () -> Void
  typealias Turn = @Sendable (@escaping Leave) -> Void

  private struct State {
    var waiting: [Turn] = []
    /// The first of the waiting ones.
    var first = 0
    var isOccupied = false
    /// Whether a thread calls turns: the next one is its task, so that a long line needs no deep
    /// stack.
    var isCalling = false

    mutating func next() -> Turn? {
      if isOccupied || isCalling || first == waiting.count { return nil }
      isOccupied = true
      isCalling = true
      let turn = waiting[first]
      first += 1
      // Those that had their turn are let go of, at a constant cost for each.
      if first * 2 >= waiting.count {
        waiting.removeFirst(first)
        first = 0
      }
      return turn
    }
  }
  private let state = Mutex(State())

  /// Calls `turn` once all earlier ones have left; possibly within this call.
  func enter(_ turn: @escaping Turn) {
    state.withLock { $0.waiting.append(turn) }
    callNext()
  }

  private func callNext() {
    while let turn = state.withLock({ $0.next() }) {
      turn { self.leave() }
      state.withLock { $0.isCalling = false }
    }
  }

  private func leave() {
    state.withLock { $0.isOccupied = false }
    callNext()
  }
}
