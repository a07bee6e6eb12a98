// The queue of arrivals, which also elects the stepper: a thread that adds an arrival while nobody
// steps becomes the stepper, until nothing is left. Any thread.

import OpClusterModel
import Synchronization

typealias Completion = @Sendable (Result<ClientReply, Refusal>) -> Void

/// An input for the scheduler or the execution core.
enum Arrival: Sendable {
  case request(ClientRequest, Completion)
  /// An attempt has ended.
  case ended(AttemptID, AttemptResult)
  /// Values have been dropped.
  case valuesGone([ContentDigest])
  case progress(AttemptID, fraction: Double, text: String)
  /// A type was registered: the worker must announce it.
  case typesChanged
  /// A deadline has come, or stepping must continue on another thread.
  case wake
  /// Runs a declared operation by hand (S15).
  case start(OperationID, HandStart.Handler)
  /// Waits for the end of an operation started by hand.
  case awaitByHand(AttemptID, HandStart.Handler)
  /// Cancels running operations, and reports when they have ended.
  case close(@Sendable () -> Void)
}

/// The waiting arrivals. At most one thread is the stepper: only it uses the brains, calls
/// observers and completions, and starts attempts.
final class Inbox: Sendable {
  private struct State {
    var arrivals: [Arrival] = []
    var isStepping = false
    var isClosed = false
  }
  private let state = Mutex(State())
  private let stepping = Atomic<Bool>(false)

  /// Whether a thread steps; read without the lock, so it may be outdated.
  var isStepping: Bool { stepping.load(ordering: .relaxed) }

  enum Posting { case mayStep, isStepped, isClosed }

  /// Adds an arrival. `mayStep`: nobody was stepping, and the caller is now the stepper.
  func post(_ arrival: Arrival) -> Posting {
    state.withLock { state in
      if state.isClosed {
        // Running attempts may still end; new requests are rejected.
        switch arrival {
        case .request, .start: return .isClosed
        case .ended, .valuesGone, .progress, .typesChanged, .wake, .awaitByHand, .close: break
        }
      }
      state.arrivals.append(arrival)
      if state.isStepping { return .isStepped }
      state.isStepping = true
      stepping.store(true, ordering: .relaxed)
      return .mayStep
    }
  }

  /// Adds an arrival to be handled with the next one; the caller ensures that one follows.
  func add(_ arrival: Arrival) { state.withLock { $0.arrivals.append(arrival) } }

  /// All arrivals, in order; false: there is none, and the caller is no longer the stepper.
  func take(into batch: inout [Arrival]) -> Bool {
    batch.removeAll(keepingCapacity: true)
    return state.withLock { state in
      if state.arrivals.isEmpty {
        state.isStepping = false
        stepping.store(false, ordering: .relaxed)
        return false
      }
      swap(&batch, &state.arrivals)
      return true
    }
  }

  /// Rejects requests from now on.
  func close() { state.withLock { $0.isClosed = true } }
}
