// Where the batches of a subscription go: to a task that reads them (EventFeed) or straight to a
// handler (EventHandler). Called by the connection's thread; let go of from any.

import OpClusterModel
import Synchronization

/// The end of a subscription that is not the coordinator's. All but `isAbandoned` is called by the
/// connection's thread.
protocol EventSink: AnyObject, Sendable {
  /// Whether there was room; a batch without room is a violation of the credit.
  func deliver(_ batch: EventBatch) -> Bool
  /// Nothing follows.
  func end(_ ending: Result<Void, ClientError>)
  /// Events read since the last call with `atLeast` of them; 0 until there are so many.
  func takeConsumed(atLeast count: UInt32) -> UInt32
  /// The subscription begins again with new credit: what was read is granted by that. Returns
  /// the events that are delivered and not read.
  func startAnew() -> Int
  /// Nobody will read any more.
  var isAbandoned: Bool { get }
  /// Whether it goes on for as long as it takes when the coordinator is away, rather than being
  /// told after a while.
  var isPatient: Bool { get }
}

/// Hands batches to a handler as they come.
final class EventHandler: EventSink {
  private struct Handlers {
    var events: @Sendable (EventBatch) -> Void
    var ended: @Sendable (ClientError) -> Void
  }
  /// nil once nothing is to be handed over any more, so that what they hold is let go of.
  private let handlers: Mutex<Handlers?>
  private let consumed = Atomic<UInt32>(0)
  private let abandoned = Atomic(false)
  /// Makes the connection's thread look at this.
  private let wake: @Sendable () -> Void

  init(
    events: @escaping @Sendable (EventBatch) -> Void,
    ended: @escaping @Sendable (ClientError) -> Void, wake: @escaping @Sendable () -> Void
  ) {
    handlers = Mutex(Handlers(events: events, ended: ended))
    self.wake = wake
  }

  func deliver(_ batch: EventBatch) -> Bool {
    // Called outside of the lock: the handler may cancel.
    let handler = handlers.withLock { $0?.events }
    handler?(batch)
    consumed.wrappingAdd(UInt32(batch.events.count), ordering: .relaxed)
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

  /// Waits of programs outlast any absence (S141).
  var isPatient: Bool { true }

  func abandon() {
    handlers.withLock { $0 = nil }
    abandoned.store(true, ordering: .releasing)
    wake()
  }
}

/// A subscription whose events go to a handler; it ends when this is cancelled or let go of.
public final class Observation: Sendable {
  private let handler: EventHandler

  init(_ handler: EventHandler) { self.handler = handler }

  deinit { handler.abandon() }

  /// Ends the subscription. No handler is called afterwards, but one that is running goes on.
  public func cancel() { handler.abandon() }
}
