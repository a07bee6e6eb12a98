// Observation in place of KVO (S104, S105, S116, S117): callbacks and asynchronous sequences, in
// the order of the coordinator's log, without gaps across reconnects.

import Dispatch
import OpClusterModel
import Synchronization

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
    let (stream, changes) = ChangeStream<OperationChange>.make(endsWith: { $0.kind == .completed })
    let gate = ObservationGate(changes.take)
    // In one step: an observer is not called for what was told before it was there.
    let (isCompleted, observer, lossHandler) = life.withLock { life in
      (
        life.isCompleted, life.observers.add(gate.pass),
        life.lossHandlers.add { [weak self] in self?.end(changes, $0) }
      )
    }
    changes.whenUnread { [weak self] in
      gate.close()
      self?.life.withLock { life in
        life.observers.remove(observer)
        life.lossHandlers.remove(lossHandler)
      }
    }
    if isCompleted { changes.end(nil) } else if let loss { end(changes, loss) }
    return stream
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
    record.look {}
    let (stream, changes) = ChangeStream<OperationQueueChange>.make(endsWith: { _ in false })
    let gate = ObservationGate(changes.take)
    let observers = cluster.observers
    let (observer, lossHandler) = record.state.withLock { life in
      (
        life.observers.add(gate.pass),
        life.lossHandlers.add { loss in observers.async { changes.end(loss) } }
      )
    }
    changes.whenUnread { [weak record] in
      gate.close()
      record?.state.withLock { life in
        life.observers.remove(observer)
        life.lossHandlers.remove(lossHandler)
      }
    }
    if let loss { observers.async { changes.end(loss) } }
    return stream
  }
}

/// Lets calls of an observer begin until it is closed: a call may have been on its way then. A
/// closed one has let go of the handler.
private final class ObservationGate<News: Sendable>: Sendable {
  /// A type of its own: a bare function in a lock is wrapped again by each access.
  private struct Handler {
    var call: (@Sendable (News) -> Void)?
  }
  private let handler: Mutex<Handler>

  init(_ handler: @escaping @Sendable (News) -> Void) {
    self.handler = Mutex(Handler(call: handler))
  }

  @Sendable func pass(_ news: News) {
    let call = handler.withLock { $0.call }
    call?(news)
  }

  func close() {
    // Released outside of the lock: it may own whoever closes the gate.
    _ = handler.withLock { handler in
      defer { handler.call = nil }
      return handler
    }
  }
}

/// The notifications of an observer as a sequence. It does not hold the sequence itself, so that
/// the end of its reader is noticed.
private final class ChangeStream<Change: Sendable>: Sendable {
  private let continuation: AsyncThrowingStream<Change, any Error>.Continuation
  private let isLast: @Sendable (Change) -> Bool

  private init(
    _ continuation: AsyncThrowingStream<Change, any Error>.Continuation,
    _ isLast: @escaping @Sendable (Change) -> Bool
  ) {
    self.continuation = continuation
    self.isLast = isLast
  }

  static func make(
    endsWith isLast: @escaping @Sendable (Change) -> Bool
  ) -> (AsyncThrowingStream<Change, any Error>, ChangeStream) {
    let (stream, continuation) = AsyncThrowingStream<Change, any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(changesKept))
    return (stream, ChangeStream(continuation, isLast))
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
