// Operations at a moment and at intervals (S150): each occurrence is a new operation, since one
// runs once (S11), added ahead of its time with a hold that opens by itself. This program makes the
// occurrences: when the gate of one opens it adds the next. Any thread.

import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// Adds an operation now that starts after a delay.
  ///
  /// It is in the queue from now on, held, and is run whatever becomes of this program, except on a
  /// cluster in this process.
  ///
  /// - Throws: What `addOperation` throws.
  @discardableResult
  public func schedule(
    after delay: Duration, _ operation: ClusterOperation
  ) async throws(ClusterError) -> OperationSchedule {
    let schedule = OperationSchedule(queue: self, interval: nil) { operation }
    try await awaited { done in schedule.addNext(after: delay, done) }
    return schedule
  }

  /// Adds an operation at every interval, the first one after a delay.
  ///
  /// Every occurrence is an operation of its own. The one after the present one is always in the
  /// queue, held until its time; moments that pass while this program is stopped are left out. What
  /// takes longer than the interval does not hold up the next: give the queue a limit of 1 if they
  /// may not overlap. The occurrences are made by this program: when it ends, the one that waits in
  /// the queue is run (not on a cluster in this process), and none after it.
  ///
  /// - Parameters:
  ///   - interval: From one moment to the next, by this machine's clock; at least a millisecond.
  ///   - delay: From now to the first one; an interval unless said otherwise.
  ///   - make: Gives a fresh operation for each occurrence, such as `{ template.clone() }`.
  /// - Returns: The handle that cancels future occurrences; dropping it cancels nothing.
  /// - Throws: `badRequest` for an interval that is too short; what `addOperation` throws.
  @discardableResult
  public func schedule(
    every interval: Duration, after delay: Duration? = nil,
    _ make: @escaping @Sendable () -> ClusterOperation
  ) async throws(ClusterError) -> OperationSchedule {
    guard interval >= .milliseconds(1) else {
      throw ClusterError(
        .badRequest, "\(interval) is no interval", hint: "give one of a millisecond or more")
    }
    let schedule = OperationSchedule(queue: self, interval: interval, make)
    try await awaited { done in schedule.addNext(after: delay ?? interval, done) }
    return schedule
  }
}

/// What a queue will run at a moment, or at every interval.
public final class OperationSchedule: Sendable {
  private struct State {
    var isCancelled = false
    var error: ClusterError?
    var occurrences = 0
    /// Added, its gate not yet open.
    var next: ClusterOperation?
    var due: ContinuousClock.Instant?
    var observation: OperationObservation?
    /// On its way to the cluster, which has not answered yet.
    var arriving: ClusterOperation?
    /// Who cancelled while it was; it is cancelled as soon as it has arrived.
    var whenArrived: DoneHandler?
  }
  private let state = Mutex(State())
  private let queue: ClusterOperationQueue
  private let interval: Duration?
  private let make: @Sendable () -> ClusterOperation

  init(
    queue: ClusterOperationQueue, interval: Duration?,
    _ make: @escaping @Sendable () -> ClusterOperation
  ) {
    self.queue = queue
    self.interval = interval
    self.make = make
  }

  /// How many operations have been added, the one that waits for its moment among them.
  public var occurrences: Int { state.withLock { $0.occurrences } }
  /// What waits in the queue for its moment; nil: nothing does.
  public var next: ClusterOperation? { state.withLock { $0.next } }
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// Why no more occurrences are added, though nobody cancelled them; nil: they are.
  public var error: ClusterError? { state.withLock { $0.error } }

  /// Cancels what has not come to its moment yet, and adds nothing more. What has, and may run,
  /// is left alone (S150).
  public func cancel() async throws(ClusterError) {
    let waiting = try await awaited { done in self.giveUp(done) }
    guard let (cluster, id) = waiting?.place else { return }
    // By its state, so that the cluster decides: its moment may have come without word of it here.
    var held = Selection.graph(id.graph)
    held.states = [.held]
    do throws(ClusterError) {
      _ = try await cluster.cancel(.selection(held), reason: Self.reason)
    } catch {
      let hasCome: [ClusterError.Code] = [
        .alreadyFinished, .unknownOperation, .unknownGraph, .expired,
      ]
      if !hasCome.contains(error.code) { throw error }
    }
  }

  private static let reason = "its schedule was cancelled"

  /// Tells what is to be cancelled, once the cluster knows it.
  private func giveUp(
    _ done: @escaping @Sendable (Result<ClusterOperation?, ClusterError>) -> Void
  ) {
    let waiting = state.withLock { state -> ClusterOperation?? in
      state.isCancelled = true
      let next = state.next
      state.next = nil
      guard let next, state.arriving === next else { return .some(next) }
      // What was refused has not come, and there is nothing to cancel; `error` tells of it.
      state.whenArrived = { result in
        if case .success = result { done(.success(next)) } else { done(.success(nil)) }
      }
      return nil
    }
    if let waiting { done(.success(waiting)) }
  }

  /// Adds the next occurrence. One without a delay comes to its moment at once.
  func addNext(after delay: Duration, _ done: @escaping DoneHandler) {
    if isCancelled { return done(.success(())) }
    let operation = make()
    let wait = max(delay, .zero)
    operation.notBefore = wait > .zero ? .delay(wait) : nil
    let isWanted = state.withLock { state in
      if state.isCancelled { return false }
      state.due = (state.due ?? .now.advanced(by: wait))
      state.next = operation
      state.arriving = operation
      state.occurrences += 1
      return true
    }
    guard isWanted else { return done(.success(())) }
    watch(operation)
    queue.record.adding([operation], asBarrier: false) { result in
      if case .failure(let error) = result { self.end(operation, error) }
      done(result)
      self.arrived(operation, result)
      if case .success = result, wait == .zero { self.cameToItsMoment(operation) }
    }
  }

  private func arrived(_ operation: ClusterOperation, _ result: Result<Void, ClusterError>) {
    let told = state.withLock { state -> DoneHandler? in
      guard state.arriving === operation else { return nil }
      state.arriving = nil
      defer { state.whenArrived = nil }
      return state.whenArrived
    }
    told?(result)
  }

  /// The observation lives as long as the operation waits.
  private func watch(_ operation: ClusterOperation) {
    let observation = operation.observe { [weak operation] change in
      guard let operation else { return }
      switch change.kind {
      case .isHeld(false), .isFinished: self.cameToItsMoment(operation)
      default: break
      }
    }
    state.withLock { state in if state.next === operation { state.observation = observation } }
  }

  /// Its gate has opened: by time, by hand, or because it was cancelled. The next one follows.
  private func cameToItsMoment(_ operation: ClusterOperation) {
    let wait = state.withLock { state -> Duration? in
      guard state.next === operation else { return nil }
      state.next = nil
      state.observation = nil
      guard let interval, let due = state.due, !state.isCancelled else { return nil }
      let (next, wait) = Self.next(after: due, interval, now: .now)
      state.due = next
      return wait
    }
    guard let wait else { return }
    addNext(after: wait) { result in
      if case .failure(let error) = result {
        self.queue.cluster.report(error, of: "a schedule of queue '\(self.queue.name)'")
      }
    }
  }

  private func end(_ operation: ClusterOperation, _ error: ClusterError) {
    state.withLock { state in
      guard state.next === operation else { return }
      state.next = nil
      state.observation = nil
      state.error = error
      state.occurrences -= 1
    }
  }

  /// The moment after one, and how long it is until then; moments that have passed are left out.
  static func next(
    after due: ContinuousClock.Instant, _ interval: Duration, now: ContinuousClock.Instant
  ) -> (ContinuousClock.Instant, Duration) {
    let late = now - due
    let missed = late > .zero ? (late / interval).rounded(.down) : 0
    let next = due.advanced(by: interval * (missed + 1))
    return (next, max(next - now, .milliseconds(1)))
  }
}
