// Threads for tasks that may block: up to a number of them, so that they hold up nobody but each
// other. Swift's own threads are as few as the processors, and whoever blocks one takes it from the
// whole program. Beside it the main thread, for tasks that want that one. Any thread.

import Dispatch
import Synchronization

/// Jobs in order; what has gone is cleared out when it is the half.
private struct JobLine: Sendable {
  private var jobs: [UnownedJob] = []
  private var first = 0
  var isEmpty: Bool { first == jobs.count }
  mutating func append(_ job: UnownedJob) { jobs.append(job) }

  mutating func popFirst() -> UnownedJob? {
    if isEmpty { return nil }
    defer {
      first += 1
      if first * 2 > jobs.count {
        jobs.removeFirst(first)
        first = 0
      }
    }
    return jobs[first]
  }
}

/// Starts a thread for a job where none is idle and there are fewer than slots. An idle one ends
/// after a while.
public final class OperationThreads: TaskExecutor {
  private struct State {
    var jobs = JobLine()
    var threads = 0
    /// Threads that wait and have not been called.
    var idle = 0
  }
  private let state = Mutex(State())
  private let bell = DispatchSemaphore(value: 0)
  private let most: Int
  private static let idleSeconds = 5

  public init(most: Int) { self.most = most }

  public func enqueue(_ job: consuming ExecutorJob) {
    enum Step { case none, ring, start }
    let job = UnownedJob(job)
    let step = state.withLock { state -> Step in
      state.jobs.append(job)
      if state.idle > 0 {
        state.idle -= 1
        return .ring
      }
      guard state.threads < most else { return .none }
      state.threads += 1
      return .start
    }
    switch step {
    case .none: break
    case .ring: bell.signal()
    case .start: start()
    }
  }

  private func start() {
    do throws(SystemError) {
      _ = try startThread(name: "operation", stackSize: 8 << 20) { [self] in work() }
    } catch {
      // The machine has no room for another one. Those that run take the job; where there is none,
      // one of the program's does.
      let isAlone = state.withLock { state in
        state.threads -= 1
        return state.threads == 0
      }
      if isAlone { DispatchQueue.global().async { [self] in runWhatWaits() } }
    }
  }

  private func work() {
    while true {
      runWhatWaits()
      let mayWait = state.withLock { state in
        if !state.jobs.isEmpty { return false }
        state.idle += 1
        return true
      }
      guard mayWait, bell.wait(timeout: .now() + .seconds(Self.idleSeconds)) == .timedOut else {
        continue
      }
      let ends = state.withLock { state in
        // All who wait have been called by now: so has this one.
        if state.idle == 0 { return false }
        state.idle -= 1
        state.threads -= 1
        return true
      }
      if ends { return }
      bell.wait()
    }
  }

  private func runWhatWaits() {
    while let job = state.withLock({ $0.jobs.popFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// The program's main thread, which must be let go of now and then: by `await`, or
/// `dispatchMain()`.
public final class MainThread: TaskExecutor {
  public static let shared = MainThread()

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    DispatchQueue.main.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
