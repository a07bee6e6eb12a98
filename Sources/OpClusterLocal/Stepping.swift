// The stepper: takes arrivals, turns the brains, and does outside of their lock what they decided.
// On whatever thread found nobody stepping.

import OpClusterModel
import OpClusterOperations
import OpClusterZeroMQ
import Synchronization

extension LocalCluster {
  /// Adds an arrival, and steps if nobody does; false: the cluster is closed.
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

  /// Who steps.
  enum Stepper {
    /// A thread with other things to do: it does not step for others for long.
    case passerBy
    /// A task that ran an operation and may run the next.
    case runner(QualityOfService)
    /// The alarm's thread, which has nothing else to do.
    case alarm
  }

  /// How long a thread that only came to ask for something works for others.
  static let patience: Int64 = 1_000_000

  /// Turns until nothing is left, or a passer-by has done enough. Returns what a runner should run
  /// next, if anything.
  func step(as stepper: Stepper) -> AttemptRun? {
    var (arrivals, output) = scratch.take()
    defer { scratch.giveBack(&arrivals, &output) }
    var inHand: AttemptRun?
    let began = MonotonicClock.now()
    var now = began
    while inbox.take(into: &arrivals) {
      // Nothing that is to run waits for the brains.
      if let launch = inHand { run(launch) }
      inHand = nil
      brains.withLock { brains in
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

  /// Does what a round decided. What starts, starts after everybody was told of it and of what was
  /// before it: inside an operation its own object executes, and what it depended on has finished
  /// (S9, S106, S114). What is asked to stop is asked before whoever wanted it has an answer.
  private func carryOut(_ output: Brains.Output, as stepper: Stepper) -> AttemptRun? {
    if let deadline = output.deadline { alarm.set(deadline) }
    if !output.events.isEmpty { tell(output.events) }
    let starting = output.startingAndStopping
    for deed in output.deeds { stop(deed) { !starting.contains($0) } }
    for (completion, result) in output.answers { completion(result) }
    for call in output.calls { call() }
    if !output.usedClosures.isEmpty {
      registry.withLock { $0 }.remove(closures: output.usedClosures)
    }
    var inHand: AttemptRun?
    for deed in output.deeds {
      guard case .launch(let launch) = deed else {
        stop(deed) { starting.contains($0) }
        continue
      }
      guard let ready = prepare(launch) else { continue }
      if inHand == nil, case .runner(let qos) = stepper, qos == ready.qos, !ready.isOnMain {
        inHand = ready
      } else {
        run(ready)
      }
    }
    return inHand
  }

  private func stop(_ deed: Brains.Deed, where isMeant: (AttemptID) -> Bool) {
    switch deed {
    case .launch: break
    case .stop(let attempt):
      if isMeant(attempt), !running.stop(attempt) { lanes.stop(attempt) }
    case .kill(let attempt):
      if isMeant(attempt), !running.stop(attempt) { lanes.kill(attempt) }
    }
  }
}

/// Buffers of the stepper that keep their room from step to step.
final class StepperScratch: Sendable {
  private struct State {
    var arrivals: [Arrival] = []
    var output = Brains.Output()
  }
  private let state = Mutex(State())
  /// Buffers that grew beyond this are let go.
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
