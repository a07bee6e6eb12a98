// The line of additions whose dependencies the cluster does not know yet. Two of them could each
// hold what the other waits for; so one at a time collects what it needs, and only then holds it.
// Any thread.

import Dispatch
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

    mutating func next() -> Turn? {
      if isOccupied || first == waiting.count { return nil }
      isOccupied = true
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

  /// Calls `turn` once all earlier ones have left; within this call if there are none.
  func enter(_ turn: @escaping Turn) {
    state.withLock { $0.waiting.append(turn) }
    callNext()
  }

  /// Goes on with a turn elsewhere: an answer has come on a thread that has other things to do, and
  /// a long line must not need a deep stack.
  static func goOn(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }

  private func callNext() {
    guard let turn = state.withLock({ $0.next() }) else { return }
    turn {
      let hasNext = self.state.withLock { state in
        state.isOccupied = false
        return state.first < state.waiting.count
      }
      if hasNext { Self.goOn { self.callNext() } }
    }
  }
}
