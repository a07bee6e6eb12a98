// Observation in place of KVO (S104, S105, S116, S117): callbacks and asynchronous sequences, in
// the order of the coordinator's log, without gaps across reconnects.

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
    let number = life.withLock { $0.observers.add(handler) }
    return OperationObservation { [weak self] in
      self?.life.withLock { $0.observers.remove(number) }
    }
  }

  /// Every later change; ends after `completed`.
  ///
  /// The sequence numbers of its elements are gapless (S106). A reader that leaves 65,536 changes
  /// unread gets the error `evicted`.
  public var changes: AsyncThrowingStream<OperationChange, any Error> {
    stream(endsWith: { $0.kind == .completed }, observe)
  }
}

extension ClusterOperationQueue {
  /// Calls `handler` for every later change, one at a time, in order.
  public func observe(
    _ handler: @escaping @Sendable (OperationQueueChange) -> Void
  ) -> OperationObservation {
    record.look {}
    let number = record.state.withLock { $0.observers.add(handler) }
    return OperationObservation { [weak record] in
      record?.state.withLock { $0.observers.remove(number) }
    }
  }

  /// Every later change, until the reader releases the sequence.
  public var changes: AsyncThrowingStream<OperationQueueChange, any Error> {
    stream(endsWith: { _ in false }, observe)
  }
}

/// The notifications of an observer as a sequence.
private func stream<Change: Sendable>(
  endsWith isLast: @escaping @Sendable (Change) -> Bool,
  _ observe: (@escaping @Sendable (Change) -> Void) -> OperationObservation
) -> AsyncThrowingStream<Change, any Error> {
  let (stream, continuation) = AsyncThrowingStream<Change, any Error>.makeStream(
    bufferingPolicy: .bufferingOldest(changesKept))
  let observation = observe { change in
    if case .dropped = continuation.yield(change) {
      continuation.finish(
        throwing: ClusterError(
          .evicted, "more than \(changesKept) changes were not read",
          hint: "read the sequence, or observe with a callback"))
    }
    if isLast(change) { continuation.finish() }
  }
  continuation.onTermination = { _ in observation.invalidate() }
  return stream
}
