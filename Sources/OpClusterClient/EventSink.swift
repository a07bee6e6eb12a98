// The receiver of a subscription's batches: a task that reads them (EventFeed) or a handler
// (EventHandler). Called by the connection's thread; released from any thread.

import OpClusterModel
import Synchronization

/// The client's end of a subscription. The connection's thread calls everything except
/// `isAbandoned`.
protocol EventSink: AnyObject, Sendable {
  /// Delivers a batch. False means no room: the batch violates the credit.
  func deliver(_ batch: EventBatch) -> Bool
  /// Ends the subscription; no batch follows.
  func end(_ ending: Result<Void, ClientError>)
  /// Returns the events read since the last call once there are at least `count`; 0 before.
  func takeConsumed(atLeast count: UInt32) -> UInt32
  /// Begins again with new credit, which includes the events read. Returns the number of events
  /// that are delivered and unread.
  func startAnew() -> Int
  /// Whether the reader is gone.
  var isAbandoned: Bool { get }
  /// Whether the subscription survives any absence of the coordinator, instead of failing after a
  /// while.
  var isPatient: Bool { get }
}

/// Hands batches to a handler as they come.
final class EventHandler: EventSink {
  private struct Handlers {
    var events: @Sendable (EventBatch) -> Void
    var ended: @Sendable (ClientError) -> Void
  }
  /// nil after the end, so that captured values are released.
  private let handlers: Mutex<Handlers?>
  private let consumed = Atomic<UInt32>(0)
  private let abandoned = Atomic(false)
  /// Makes the connection's thread look at this sink.
  private let wake: @Sendable () -> Void

  init(
    events: @escaping @Sendable (EventBatch) -> Void,
    ended: @escaping @Sendable (ClientError) -> Void, wake: @escaping @Sendable () -> Void
  ) {
    handlers = Mutex(Handlers(events: events, ended: ended))
    self.wake = wake
  }

  func deliver(_ batch: EventBatch) -> Bool {
    // Call the handler outside of the lock: it may cancel.
    let handler = handlers.withLock { $0?.events }
    handler?(batch)
    consumed.wrappingAdd(UInt32(batch.eventCount), ordering: .relaxed)
    return true
  }

  func end(_ ending: Result<Void, ClientError>) {
    let handler = handlers.withLock { handlers in
      defer { handlers = nil }
      return handlers?.ended
    }
    if case .failure(let error) = ending { handler?(error) }
  }

  func takeConsumed(atLeast count: UInt32) -> UInt32 {
    let events = consumed.load(ordering: .relaxed)
    guard events >= count else { return 0 }
    consumed.store(0, ordering: .relaxed)
    return events
  }

  func startAnew() -> Int {
    consumed.store(0, ordering: .relaxed)
    return 0
  }

  var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

  /// Waiting programs survive any absence (S141).
  var isPatient: Bool { true }

  func abandon() {
    handlers.withLock { $0 = nil }
    abandoned.store(true, ordering: .releasing)
    wake()
  }
}

/// A subscription that hands its events to a handler. Cancelling or releasing it ends the
/// subscription.
public final class Observation: Sendable {
  private let handler: EventHandler

  init(_ handler: EventHandler) { self.handler = handler }

  deinit { handler.abandon() }

  /// Ends the subscription. No handler call begins afterwards; a running one continues.
  public func cancel() { handler.abandon() }
}
