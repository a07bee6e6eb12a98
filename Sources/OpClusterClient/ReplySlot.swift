// Passes one value from the connection's thread to waiting tasks. The thread, or a task's
// cancellation, fills it once.

import OpClusterModel
import Synchronization

/// A promise of one value or error. The first `fill` counts; later ones are dropped.
final class ReplySlot<Value: Sendable>: Sendable {
  typealias Filling = Result<Value, ClientError>

  private enum State {
    case empty(waiting: [CheckedContinuation<Filling, Never>])
    case filled(Filling)
  }
  private let state = Mutex(State.empty(waiting: []))

  /// Fills the slot; returns whether this was the first filling.
  @discardableResult
  func fill(_ filling: Filling) -> Bool {
    let waiting = state.withLock { state -> [CheckedContinuation<Filling, Never>]? in
      guard case .empty(let waiting) = state else { return nil }
      state = .filled(filling)
      return waiting
    }
    guard let waiting else { return false }
    for continuation in waiting { continuation.resume(returning: filling) }
    return true
  }

  /// Waits for the filling. Cancelling the task fills the slot for every reader.
  func value() async throws(ClientError) -> Value {
    let filling = await withTaskCancellationHandler {
      await outcome()
    } onCancel: {
      fill(.failure(ClientError(.cancelled, "the task that waited for the answer was cancelled")))
    }
    return try filling.get()
  }

  /// Waits for the filling, also in a cancelled task.
  func outcome() async -> Filling {
    await withCheckedContinuation { continuation in
      let filling = state.withLock { state -> Filling? in
        switch state {
        case .empty(let waiting):
          state = .empty(waiting: waiting + [continuation])
          return nil
        case .filled(let filling): return filling
        }
      }
      if let filling { continuation.resume(returning: filling) }
    }
  }
}
