// Observation in place of KVO (S104, S105, S116, S117): callbacks and asynchronous sequences, in
// the order of the coordinator's log, without gaps across reconnects.

import Dispatch
import OpClusterModel
import Synchronization

/// One change of a queue (S105).
public struct OperationQueueChange: Hashable, Sendable {
  /// The position in the coordinator's single ordered log (S1).
  public var commit: UInt64
  public var kind: Kind

  public enum Kind: Hashable, Sendable {
    /// The value of `operations` has changed.
    case operations
    case operationCount(Int)
    case maxConcurrentOperationCount(Int)
    case isSuspended(Bool)
    case name(String)
    case pool([LabelRequirement])
  }
}

/// A registered observer; releasing it ends the observation.
public final class OperationObservation: Sendable {
  private let cancellation: @Sendable () -> Void
  init(_ cancellation: @escaping @Sendable () -> Void) { self.cancellation = cancellation }
  deinit { cancellation() }
  /// Ends the observation: no call begins afterwards.
  public func invalidate() { cancellation() }
}

/// The limit of unread changes of one sequence; beyond it the sequence ends with an error rather
/// than with a gap.
private let changesKept = 65_536

extension ClusterOperation {
  /// Calls `handler` for every later change, one at a time, in order. It may call back into this
  /// API and may wait (S117).
  public func observe(
    _ handler: @escaping @Sendable (OperationChange) -> Void
  ) -> OperationObservation {
    let gate = ObservationGate(handler)
    let number = life.withLock { $0.observers.add(gate.pass) }
    return OperationObservation { [weak self] in
      gate.close()
      self?.life.withLock { $0.observers.remove(number) }
    }
  }

  /// Every later change; ends after `completed`.
  ///
  /// The sequence numbers of its elements are gapless (S106). Ends at once if everything has been
  /// told. A reader that leaves 65,536 changes unread gets the error `evicted`, and one whose
  /// operation nothing more is told of `connectionLost` (S141).
  public var changes: AsyncThrowingStream<OperationChange, any Error> {
    let changes = ChangeStream<OperationChange>(endsWith: { $0.kind == .completed })
    let observation = observe(changes.take)
    let (isCompleted, number) = life.withLock { life in
      (life.isCompleted, life.lossHandlers.add { [weak self] in self?.end(changes, $0) })
    }
    changes.whenUnread { [weak self] in
      observation.invalidate()
      self?.life.withLock { $0.lossHandlers.remove(number) }
    }
    // An observer is not called for what was told before it was there.
    if isCompleted { changes.end(nil) } else if let loss { end(changes, loss) }
    return changes.stream
  }

  /// Ends a sequence behind the changes that observers are still to be called with.
  private func end(_ changes: ChangeStream<OperationChange>, _ loss: ClusterError) {
    guard let cluster = life.withLock({ $0.cluster }) else { return changes.end(loss) }
    cluster.observers.async { changes.end(loss) }
  }
}

extension ClusterOperationQueue {
  /// Calls `handler` for every later change, one at a time, in order.
  public func observe(
    _ handler: @escaping @Sendable (OperationQueueChange) -> Void
  ) -> OperationObservation {
    record.look {}
    let gate = ObservationGate(handler)
    let number = record.state.withLock { $0.observers.add(gate.pass) }
    return OperationObservation { [weak record] in
      gate.close()
      record?.state.withLock { $0.observers.remove(number) }
    }
  }

  /// Every later change, until the reader releases the sequence, or nothing more is told
  /// (`connectionLost`, S141).
  public var changes: AsyncThrowingStream<OperationQueueChange, any Error> {
    let changes = ChangeStream<OperationQueueChange>(endsWith: { _ in false })
    let observation = observe(changes.take)
    let observers = cluster.observers
    let number = record.state.withLock { life in
      life.lossHandlers.add { loss in observers.async { changes.end(loss) } }
    }
    changes.whenUnread { [weak record] in
      observation.invalidate()
      record?.state.withLock { $0.lossHandlers.remove(number) }
    }
    if let loss { observers.async { changes.end(loss) } }
    return changes.stream
  }
}

/// Lets calls of an observer begin until it is closed: a call may have been on its way then.
private final class ObservationGate<News: Sendable>: Sendable {
  private let handler: @Sendable (News) -> Void
  private let isClosed = Atomic(false)

  init(_ handler: @escaping @Sendable (News) -> Void) { self.handler = handler }

  @Sendable func pass(_ news: News) {
    if !isClosed.load(ordering: .acquiring) { handler(news) }
  }

  func close() { isClosed.store(true, ordering: .releasing) }
}

/// The notifications of an observer as a sequence.
private final class ChangeStream<Change: Sendable>: Sendable {
  let stream: AsyncThrowingStream<Change, any Error>
  private let continuation: AsyncThrowingStream<Change, any Error>.Continuation
  private let isLast: @Sendable (Change) -> Bool

  init(endsWith isLast: @escaping @Sendable (Change) -> Bool) {
    (stream, continuation) = AsyncThrowingStream<Change, any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(changesKept))
    self.isLast = isLast
  }

  @Sendable func take(_ change: Change) {
    if case .dropped = continuation.yield(change) {
      end(
        ClusterError(
          .evicted, "more than \(changesKept) changes were not read",
          hint: "read the sequence, or observe with a callback"))
    }
    if isLast(change) { end(nil) }
  }

  func end(_ error: ClusterError?) { continuation.finish(throwing: error) }

  /// Calls `handler` when the sequence has ended, or its reader has released it.
  func whenUnread(_ handler: @escaping @Sendable () -> Void) {
    continuation.onTermination = { _ in handler() }
  }
}
