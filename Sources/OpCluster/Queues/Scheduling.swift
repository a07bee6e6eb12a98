// Operations at a moment and at intervals (S150): each occurrence is a new operation, since one
// runs only once (S11), added ahead of its time with a hold that opens by itself. This program
// makes the occurrences: when the gate of one opens it adds the next. Any thread.

import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// Adds an operation now that starts after a delay.
  ///
  /// It is in the queue from now on, held, and runs even if this program ends, except on a cluster
  /// in this process.
  ///
  /// - Throws: The errors of `addOperation`.
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
  /// Every occurrence is an operation of its own. The next one is always in the queue, held until
  /// its time; moments that pass while this program is stopped are skipped. An operation longer
  /// than the interval does not delay the next: give the queue a limit of 1 if they must not
  /// overlap. This program makes the occurrences: when it ends, the one in the queue still runs
  /// (not on a cluster in this process), and none after it.
  ///
  /// - Parameters:
  ///   - interval: The time between two moments, by this machine's clock; at least a millisecond.
  ///   - delay: The time until the first one; an interval by default.
  ///   - make: Returns a fresh operation for each occurrence, such as `{ template.clone() }`.
  /// - Returns: The handle that cancels future occurrences; dropping it cancels nothing.
  /// - Throws: `badRequest` for an interval that is too short; the errors of `addOperation`.
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

/// Scheduled operations of a queue, at one moment or at every interval.
public final class OperationSchedule: Sendable {
  private struct State {
    var isCancelled = false
    var error: ClusterError?
    var occurrences = 0
    /// Added, with its gate still closed.
    var next: ClusterOperation?
    var due: ContinuousClock.Instant?
    var observation: OperationObservation?
    /// On its way to the cluster, which has not answered yet.
    var arriving: ClusterOperation?
    /// The handler of a cancellation meanwhile: the operation is cancelled once it has arrived.
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

  /// The number of added operations, including the one that waits for its moment.
  public var occurrences: Int { state.withLock { $0.occurrences } }
  /// The operation that waits in the queue for its moment; nil if there is none.
  public var next: ClusterOperation? { state.withLock { $0.next } }
  public var isCancelled: Bool { state.withLock { $0.isCancelled } }
  /// Why no more occurrences are added without a cancellation; nil if they are.
  public var error: ClusterError? { state.withLock { $0.error } }

  /// Cancels the occurrence that waits for its moment, and adds no more. An occurrence whose moment
  /// has come, and that may run, is not affected (S150).
  public func cancel() async throws(ClusterError) {
    let waiting = try await awaited { done in self.giveUp(done) }
    guard let (cluster, id) = waiting?.place else { return }
    // Selected by its state, so that the cluster decides: the event of its moment may not have
    // arrived.
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

  /// Returns the operation to cancel, once the cluster knows it.
  private func giveUp(
    _ done: @escaping @Sendable (Result<ClusterOperation?, ClusterError>) -> Void
  ) {
    // Released outside of the lock: with it goes what the observer holds.
    var observation: OperationObservation?
    let waiting = state.withLock { state -> ClusterOperation?? in
      state.isCancelled = true
      swap(&observation, &state.observation)
      let next = state.next
      state.next = nil
      guard let next, state.arriving === next else { return .some(next) }
      // A refused operation never arrived, so there is nothing to cancel; `error` reports it.
      state.whenArrived = { result in
        if case .success = result { done(.success(next)) } else { done(.success(nil)) }
      }
      return nil
    }
    if let waiting { done(.success(waiting)) }
  }

  /// Adds the next occurrence. Without a delay its moment is now.
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
      if case .success = result, wait == .zero { self.becameDue(operation) }
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

  /// Observes the operation while it waits.
  private func watch(_ operation: ClusterOperation) {
    let observation = operation.observe { [weak operation] change in
      guard let operation else { return }
      switch change.kind {
      case .isHeld(false), .isFinished: self.becameDue(operation)
      default: break
      }
    }
    state.withLock { state in if state.next === operation { state.observation = observation } }
  }

  /// Handles the opening of its gate, by time, by hand, or by cancellation: the next one follows.
  private func becameDue(_ operation: ClusterOperation) {
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

  /// The moment after one, and the time until then; skips moments that have passed.
  static func next(
    after due: ContinuousClock.Instant, _ interval: Duration, now: ContinuousClock.Instant
  ) -> (ContinuousClock.Instant, Duration) {
    let late = now - due
    let missed = late > .zero ? (late / interval).rounded(.down) : 0
    let next = due.advanced(by: interval * (missed + 1))
    return (next, max(next - now, .milliseconds(1)))
  }
}
