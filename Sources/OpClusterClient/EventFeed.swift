// Passes the batches of one subscription from the connection's thread to the task that reads them.
// Counts the events read, so that the thread can grant more to the coordinator.

import OpClusterModel
import Synchronization

/// The undelivered batches of one subscription. Bounded by the subscription's credit.
final class EventFeed: EventSink {
  private struct State {
    var batches: [EventBatch] = []
    var queuedEvents = 0
    /// The waiting readers, as a rule one.
    var waiting: [ReplySlot<EventBatch?>] = []
    /// Set if nothing follows the batches: the end of the stream, or an error.
    var ending: Result<Void, ClientError>?
    var consumedEvents: UInt32 = 0
    var isAbandoned = false
  }
  private let state = Mutex(State())
  /// Maximum number of queued events; the coordinator is at fault if there are more.
  private let capacity: Int
  /// Makes the connection's thread look at this feed.
  private let wake: @Sendable () -> Void

  init(credit: UInt32, wake: @escaping @Sendable () -> Void) {
    capacity = Int(credit) + Limits.entriesPerMessage
    self.wake = wake
  }

  // For the connection's thread

  func deliver(_ batch: EventBatch) -> Bool {
    while true {
      switch place(batch) {
      case .refused: return false
      case .queued: return true
      case .given(let reader):
        // A reader whose task was cancelled takes nothing.
        guard reader.fill(.success(batch)) else { continue }
        state.withLock { $0.consumedEvents += UInt32(batch.eventCount) }
        wake()
        return true
      }
    }
  }

  /// Where a delivered batch goes.
  private enum Place {
    case given(ReplySlot<EventBatch?>)
    case queued
    case refused
  }

  /// Finds a reader or queues the batch, in one step: a reader that began to wait in between would
  /// wait for ever.
  private func place(_ batch: EventBatch) -> Place {
    let count = batch.eventCount
    return state.withLock { state in
      // Queued batches go first; then no reader waits.
      if state.batches.isEmpty, !state.waiting.isEmpty {
        return .given(state.waiting.removeFirst())
      }
      guard state.queuedEvents + count <= capacity, state.ending == nil else { return .refused }
      state.batches.append(batch)
      state.queuedEvents += count
      return .queued
    }
  }

  func end(_ ending: Result<Void, ClientError>) {
    let readers = state.withLock { state -> [ReplySlot<EventBatch?>] in
      if state.ending == nil { state.ending = ending }
      defer { state.waiting = [] }
      return state.waiting
    }
    for reader in readers { reader.fill(ending.map { nil }) }
  }

  func takeConsumed(atLeast count: UInt32) -> UInt32 {
    state.withLock { state in
      guard state.consumedEvents >= count else { return 0 }
      defer { state.consumedEvents = 0 }
      return state.consumedEvents
    }
  }

  func startAnew() -> Int {
    state.withLock { state in
      state.consumedEvents = 0
      return state.queuedEvents
    }
  }

  var isPatient: Bool { false }

  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  // For the reader's task

  /// Returns the next batch; nil at the end, or if the task is cancelled.
  func next() async throws(ClientError) -> EventBatch? {
    let slot = ReplySlot<EventBatch?>()
    let taken = state.withLock { state -> ReplySlot<EventBatch?>.Filling? in
      if !state.batches.isEmpty {
        let batch = state.batches.removeFirst()
        let count = batch.eventCount
        state.queuedEvents -= count
        state.consumedEvents += UInt32(count)
        return .success(batch)
      }
      if let ending = state.ending {
        // The error is returned once; then the stream has ended.
        state.ending = .success(())
        return ending.map { nil }
      }
      state.waiting.append(slot)
      return nil
    }
    if let taken {
      wake()
      return try taken.get()
    }
    do throws(ClientError) {
      return try await slot.value()
    } catch  where error.kind == .cancelled {
      state.withLock { $0.waiting.removeAll { $0 === slot } }
      return nil
    }
  }

  fileprivate func abandon() {
    state.withLock { $0.isAbandoned = true }
    wake()
  }
}

/// Held by the stream alone: releasing the stream ends the subscription.
final class EventReader: Sendable {
  private let feed: EventFeed
  init(_ feed: EventFeed) { self.feed = feed }
  deinit { feed.abandon() }
  func next() async throws(ClientError) -> EventBatch? { try await feed.next() }
}
