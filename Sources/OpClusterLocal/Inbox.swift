// The list of what is to be decided, and who decides: whoever adds to it while nobody is deciding
// becomes the stepper and decides until nothing is left. Any thread.

import OpClusterModel
import Synchronization

typealias Completion = @Sendable (Result<ClientReply, Refusal>) -> Void

/// Something that the brains have to take in.
enum Arrival: Sendable {
  case request(ClientRequest, Completion)
  /// An attempt is over.
  case ended(AttemptID, AttemptResult)
  case progress(AttemptID, fraction: Double, text: String)
  /// A type was registered: the worker's brain has to say so.
  case typesChanged([OperationType])
  /// A deadline has come, or somebody wants the stepping to go on elsewhere.
  case wake
  /// Runs a declared operation by hand (S15); the answer says what to run.
  case start(OperationID, @Sendable (Result<ReadyLaunch?, Refusal>) -> Void)
  /// Somebody waits for the end of what was started by hand.
  case awaitByHand(AttemptID, @Sendable (Result<ReadyLaunch?, Refusal>) -> Void)
  /// Cancel what runs, and tell when it has ended.
  case close(@Sendable () -> Void)
}

/// What waits to be taken in. One at a time is the stepper: it alone touches the brains, calls
/// observers and completions, and starts attempts.
final class Inbox: Sendable {
  private struct State {
    var arrivals: [Arrival] = []
    var isStepping = false
    var isClosed = false
  }
  private let state = Mutex(State())
  private let stepping = Atomic<Bool>(false)

  /// Whether somebody steps, as far as one can tell without asking for the lock.
  var isStepping: Bool { stepping.load(ordering: .relaxed) }

  enum Posting { case mayStep, isStepped, isClosed }

  /// Adds an arrival. `mayStep`: nobody was stepping, and now the caller is the stepper.
  func post(_ arrival: Arrival) -> Posting {
    state.withLock { state in
      if state.isClosed {
        // What runs may still end; nothing new comes in.
        switch arrival {
        case .request, .start: return .isClosed
        case .ended, .progress, .typesChanged, .wake, .awaitByHand, .close: break
        }
      }
      state.arrivals.append(arrival)
      if state.isStepping { return .isStepped }
      state.isStepping = true
      stepping.store(true, ordering: .relaxed)
      return .mayStep
    }
  }

  /// Adds an arrival that the next one is taken in with; the caller sees to it that there is one.
  func add(_ arrival: Arrival) { state.withLock { $0.arrivals.append(arrival) } }

  /// Everything that waits, in order; false: nothing does, and the caller steps no more.
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

  /// From now on requests are turned away.
  func close() { state.withLock { $0.isClosed = true } }
}
