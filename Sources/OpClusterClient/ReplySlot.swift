// Where waiting tasks and the connection's thread meet: filled once by the thread (or by the
// cancellation of a task), read by whoever waits.

import OpClusterModel
import Synchronization

/// A promise of one value of either kind. The first `fill` counts; later ones are dropped.
final class ReplySlot<Value: Sendable>: Sendable {
  typealias Filling = Result<Value, ClientError>

  private enum State {
    case empty(waiting: [CheckedContinuation<Filling, Never>])
    case filled(Filling)
  }
  private let state = Mutex(State.empty(waiting: []))

  /// Whether this was the first filling.
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

  /// Waits for the filling. The cancellation of the task fills the slot, for everybody.
  func value() async throws(ClientError) -> Value {
    let filling = await withTaskCancellationHandler {
      await outcome()
    } onCancel: {
      fill(.failure(ClientError(.cancelled, "the task that waited for the answer was cancelled")))
    }
    return try filling.get()
  }

  /// Waits for the filling, whatever becomes of the task.
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
