// Starts that are left to a runner which will be done in some microseconds: where operations are
// that short, waking another thread for the next one costs more than both. Any thread.

import DequeModule
import OpClusterModel
import OpClusterZeroMQ
import Synchronization

/// Starts that wait for a runner, while operations have been short lately. An operation that turns
/// out to be long holds up nobody: the alarm looks every `patience` whether anything has moved.
final class ShortStarts: Sendable {
  private struct State {
    var starts: Deque<AttemptRun> = []
    /// Runners that come back for them.
    var runners = 0
  }
  private let state = Mutex(State())
  private let waiting = Atomic<Int>(0)
  /// Short operations in a row.
  private let streak = Atomic<Int>(0)
  /// Operations that runners have begun.
  private let begun = Atomic<UInt64>(0)
  private let begunAtLastLook = Atomic<UInt64>(0)

  /// So long a start waits at most, about.
  static let patience = Span.milliseconds(1)
  /// What is called short, and how many in a row tell that the next ones are.
  private static let short: Int64 = 10_000
  private static let believable = 16

  var isEmpty: Bool { waiting.load(ordering: .relaxed) == 0 }

  /// Leaves a start to a runner that is busy; false: there is none, or it may take long.
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

  /// A runner begins to come back for starts.
  func join() { state.withLock { $0.runners += 1 } }

  /// The next one for a runner that has joined.
  func take() -> AttemptRun? {
    if isEmpty { return nil }
    return state.withLock { take(&$0) }
  }

  /// The runner ends, unless one has come for it.
  func leave() -> AttemptRun? {
    state.withLock { state in
      if let run = take(&state) { return run }
      state.runners -= 1
      return nil
    }
  }

  /// The runner ends. What is left without any runner is the caller's to run.
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

  /// When something was added last, and how many times in a row that was soon after the last one.
  private let lastAddition = Atomic<Int64>(-burst)
  private let additions = Atomic<Int>(0)
  /// What is called soon.
  private static let burst: Int64 = 100_000

  func noteAddition(at now: Int64) {
    let last = lastAddition.exchange(now, ordering: .relaxed)
    if now - last < Self.burst {
      additions.wrappingAdd(1, ordering: .relaxed)
    } else {
      // A program that waits for what it adds is not kept waiting: it begins anew each time.
      additions.store(0, ordering: .relaxed)
    }
  }

  /// Whether a program adds one by one, in quick succession, so that another addition is expected.
  func isAdding(at now: Int64) -> Bool {
    additions.load(ordering: .relaxed) >= Self.believable
      && now - lastAddition.load(ordering: .relaxed) < Self.burst
  }

  // MARK: - How long they take

  func begins() { begun.wrappingAdd(1, ordering: .relaxed) }

  /// A runner has seen an operation end after so many nanoseconds.
  func ended(after nanoseconds: Int64) {
    if nanoseconds > Self.short {
      streak.store(0, ordering: .relaxed)
    } else if streak.load(ordering: .relaxed) < Self.believable {
      streak.wrappingAdd(1, ordering: .relaxed)
    }
  }

  /// The alarm's look: nil where runners have begun something since the last one; else whatever
  /// waits, which is the caller's to run.
  func look() -> [AttemptRun]? {
    let now = begun.load(ordering: .relaxed)
    if begunAtLastLook.exchange(now, ordering: .relaxed) != now { return nil }
    streak.store(0, ordering: .relaxed)
    return state.withLock { takeAll(&$0) }
  }
}
