// The stepper: takes arrivals, runs rounds, and carries out their results outside of the lock. On
// any thread that found nobody stepping.

import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import Synchronization

extension LocalCluster {
  /// Adds an arrival, and steps if nobody does; false if the cluster is closed.
  @discardableResult
  func post(_ arrival: Arrival) -> Bool {
    switch inbox.post(arrival) {
    case .isClosed: return false
    case .isStepped: return true
    case .mayStep:
      _ = step(as: .passerBy)
      return true
    }
  }

  /// The kind of thread that steps.
  enum Stepper {
    /// A thread with other tasks: it steps for others only for a limited time.
    case passerBy
    /// A task that ran an operation and may run the next.
    case runner(QualityOfService)
    /// The alarm's thread, which has nothing else to do.
    case alarm
  }

  /// The time, in nanoseconds, for which a passer-by steps for others.
  static let patience: Int64 = 1_000_000

  /// Steps until nothing is left, or a passer-by has done its share. Returns the attempt that a
  /// runner should run next, if any.
  func step(as stepper: Stepper) -> AttemptRun? {
    var (arrivals, output) = scratch.take()
    defer { scratch.giveBack(&arrivals, &output) }
    var inHand: AttemptRun?
    let began = MonotonicClock.now()
    var now = began
    while inbox.take(into: &arrivals) {
      // A decided start must not wait for the next round.
      if let launch = inHand { run(launch) }
      inHand = nil
      // Read by the one who steps: of two threads that register types, the later message may be of
      // the earlier one.
      let types = arrivals.announceTypes ? announcedTypes : nil
      brains.withLock { brains in
        if let types { brains.newTypes = types }
        swap(&brains.output, &output)
        brains.output.clear()
        brains.round(
          arrivals, at: Instant(nanoseconds: now), wall: WallTime(milliseconds: WallClock.now()))
        swap(&brains.output, &output)
      }
      inHand = carryOut(output, as: stepper)
      now = MonotonicClock.now()
      if case .passerBy = stepper, now - began > LocalCluster.patience, alarm.takeOver(self) {
        return nil
      }
    }
    return inHand
  }

  /// Carries out the results of a round. Attempts start after observers were told of them and of
  /// all earlier events: inside an operation its own object executes, and its dependencies have
  /// finished (S9, S106, S114). Stops are sent before their requests are answered.
  private func carryOut(_ output: Brains.Output, as stepper: Stepper) -> AttemptRun? {
    if let deadline = output.deadline { alarm.set(deadline) }
    if !output.events.isEmpty { tell(output.events) }
    let starting = output.startingAndStopping
    for deed in output.deeds { stop(deed) { !starting.contains($0) } }
    for (completion, result) in output.answers { completion(result) }
    for call in output.calls { call() }
    values.retain(output.retained)
    if !output.released.isEmpty {
      let gone = values.release(output.released)
      if !gone.isEmpty { inbox.add(.valuesGone(gone)) }
    }
    if !output.usedClosures.isEmpty {
      registry.withLock { $0 }.remove(closures: output.usedClosures)
    }
    var inHand: AttemptRun?
    for deed in output.deeds {
      switch deed {
      case .launch(let launch):
        guard let ready = prepare(launch) else { continue }
        if inHand == nil, case .runner(let qos) = stepper, qos == ready.qos, !ready.isOnMain {
          inHand = ready
        } else {
          run(ready)
        }
      case .handOver(let launch, let handler):
        // Prepared here: a stop that is decided before its thread goes on must find it.
        handler(.success(prepare(launch).map { .here($0) } ?? .elsewhere(launch.attempt)))
      case .stop, .kill: stop(deed) { starting.contains($0) }
      }
    }
    return inHand
  }

  private func stop(_ deed: Brains.Deed, where isMeant: (AttemptID) -> Bool) {
    switch deed {
    case .launch, .handOver: break
    case .stop(let attempt):
      if isMeant(attempt), !running.stop(attempt) { executors.stop(attempt) }
    case .kill(let attempt):
      if isMeant(attempt), !running.stop(attempt) { executors.kill(attempt) }
    }
  }
}

extension [Arrival] {
  /// Whether types were registered. Visits each arrival of the round.
  fileprivate var announceTypes: Bool {
    contains { if case .typesChanged = $0 { true } else { false } }
  }
}

/// Buffers of the stepper, kept to reuse their memory.
final class StepperScratch: Sendable {
  private struct State {
    var arrivals: [Arrival] = []
    var output = Brains.Output()
  }
  private let state = Mutex(State())
  /// Larger buffers are freed.
  private static let kept = 4_096

  func take() -> ([Arrival], Brains.Output) {
    var taken = State()
    state.withLock { swap(&$0, &taken) }
    return (taken.arrivals, taken.output)
  }

  func giveBack(_ arrivals: inout [Arrival], _ output: inout Brains.Output) {
    guard arrivals.count <= Self.kept, output.events.count <= Self.kept else { return }
    var own = State()
    swap(&own.arrivals, &arrivals)
    swap(&own.output, &output)
    own.arrivals.removeAll(keepingCapacity: true)
    own.output.clear()
    state.withLock { swap(&$0, &own) }
  }
}
