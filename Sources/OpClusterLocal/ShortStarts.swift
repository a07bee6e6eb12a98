// Leaves starts to a runner that will be free in some microseconds: with such short operations,
// waking another thread costs more than running them. Any thread.

import DequeModule
import OpClusterModel
import OpClusterSystem
import Synchronization

/// Starts that wait for a runner, while recent operations have been short. A long operation delays
/// nobody: the alarm checks every `patience` whether there is progress.
final class ShortStarts: Sendable {
  private struct State {
    var starts: Deque<AttemptRun> = []
    /// The runners that return for them.
    var runners = 0
  }
  private let state = Mutex(State())
  private let waiting = Atomic<Int>(0)
  /// The number of consecutive short operations.
  private let streak = Atomic<Int>(0)
  /// The number of operations that runners have begun.
  private let begun = Atomic<UInt64>(0)
  private let begunAtLastLook = Atomic<UInt64>(0)

  /// The approximate maximal wait of a start.
  static let patience = Span.milliseconds(1)
  /// The limit of a short operation, in nanoseconds, and how many in a row predict further ones.
  private static let short: Int64 = 10_000
  private static let believable = 16

  var isEmpty: Bool { waiting.load(ordering: .relaxed) == 0 }

  /// Leaves a start to a busy runner; false if there is none, or it may take long.
  func add(_ run: AttemptRun) -> Bool {
    guard streak.load(ordering: .relaxed) >= Self.believable, run.qos == .default else {
      return false
    }
    return state.withLock { state in
      if state.runners == 0 { return false }
      state.starts.append(run)
      waiting.store(state.starts.count, ordering: .relaxed)
      return true
    }
  }

  /// Adds a runner that will return for starts.
  func join() { state.withLock { $0.runners += 1 } }

  /// The next start for a runner that has joined.
  func take() -> AttemptRun? {
    if isEmpty { return nil }
    return state.withLock { take(&$0) }
  }

  /// Removes a runner, unless a start has arrived for it.
  func leave() -> AttemptRun? {
    state.withLock { state in
      if let run = take(&state) { return run }
      state.runners -= 1
      return nil
    }
  }

  /// Removes a runner. Returns the starts that are left without any runner, for the caller to run.
  func abandon() -> [AttemptRun] {
    state.withLock { state in
      state.runners -= 1
      return state.runners == 0 ? takeAll(&state) : []
    }
  }

  private func take(_ state: inout State) -> AttemptRun? {
    let run = state.starts.popFirst()
    waiting.store(state.starts.count, ordering: .relaxed)
    return run
  }

  private func takeAll(_ state: inout State) -> [AttemptRun] {
    waiting.store(0, ordering: .relaxed)
    defer { state.starts = [] }
    return Array(state.starts)
  }

  // MARK: - Who adds

  /// The time of the last addition, and the number of additions in quick succession.
  private let lastAddition = Atomic<Int64>(-burst)
  private let additions = Atomic<Int>(0)
  /// The limit of quick succession, in nanoseconds.
  private static let burst: Int64 = 100_000

  func noteAddition(at now: Int64) {
    let last = lastAddition.exchange(now, ordering: .relaxed)
    if now - last < Self.burst {
      additions.wrappingAdd(1, ordering: .relaxed)
    } else {
      // Restarts the count: a program that waits for each addition must not be delayed.
      additions.store(0, ordering: .relaxed)
    }
  }

  /// Whether a program adds one by one in quick succession, so that another addition is expected.
  func isAdding(at now: Int64) -> Bool {
    additions.load(ordering: .relaxed) >= Self.believable
      && now - lastAddition.load(ordering: .relaxed) < Self.burst
  }

  // MARK: - How long they take

  func begins() { begun.wrappingAdd(1, ordering: .relaxed) }

  /// Notes that an operation ended after this number of nanoseconds.
  func ended(after nanoseconds: Int64) {
    if nanoseconds > Self.short {
      streak.store(0, ordering: .relaxed)
    } else if streak.load(ordering: .relaxed) < Self.believable {
      streak.wrappingAdd(1, ordering: .relaxed)
    }
  }

  /// The check of the alarm: nil if runners have begun something since the last one; else all
  /// waiting starts, for the caller to run.
  func look() -> [AttemptRun]? {
    let now = begun.load(ordering: .relaxed)
    if begunAtLastLook.exchange(now, ordering: .relaxed) != now { return nil }
    streak.store(0, ordering: .relaxed)
    return state.withLock { takeAll(&$0) }
  }
}
