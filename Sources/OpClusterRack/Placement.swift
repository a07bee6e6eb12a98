// An attempt's way to a machine and back. What the relay's line has chosen has room in the sum of
// the machines; where it has room on none of them, it waits here, and the oldest that waits has a
// machine kept for it, so that smaller ones do not take its place for ever.

import DequeModule
import OpClusterExecution
import OpClusterModel

/// An attempt at a machine.
struct Placement: Sendable {
  var machine: UInt32
  var demand: Resources
  /// Two process trees of its operation never run at once (G16).
  var isExclusive: Bool
  /// What is needed to give it to another machine; nil once it has started.
  var unstarted: WaitingAttempt?
}

/// An attempt on its way to a machine.
struct WaitingAttempt: Sendable {
  var launch: Launch
  /// Machines that have given it back: they would take a repetition for an old message.
  var avoided: [UInt32] = []

  init(_ launch: Launch) { self.launch = launch }
}

extension RackCore {
  /// Gives an attempt to a machine with room, or keeps it. Costs the logarithm of the machines.
  mutating func place(
    _ attempt: WaitingAttempt, at now: Instant, into effects: inout [RackEffect]
  ) {
    let demand = template(of: attempt.launch).demand
    if let machine = machines.rooms.find(demand, { attempt.avoided.contains(UInt32($0)) }) {
      return give(attempt, demand, to: UInt32(machine))
    }
    guard mayEverRun(demand, avoiding: attempt.avoided) else {
      return end(
        attempt.launch.attempt, .cannotStart, "no machine of the relay has what it asks for",
        at: now)
    }
    waiting.append(attempt)
  }

  /// Looks again at what waits, after a machine has got room. Looks at a bounded number, so that a
  /// long line costs no more than a short one; those behind are looked at as these leave.
  mutating func placeWaiting(at now: Instant, into effects: inout [RackEffect]) {
    guard hasNewRoom else { return }
    hasNewRoom = false
    var kept: [WaitingAttempt] = []
    var reserved: UInt32?
    while kept.count < Self.waitingLooks, let attempt = waiting.popFirst() {
      if withdrawn.remove(attempt.launch.attempt) != nil { continue }
      let demand = template(of: attempt.launch).demand
      let found = machines.rooms.find(demand) {
        UInt32($0) == reserved || attempt.avoided.contains(UInt32($0))
      }
      if let found {
        give(attempt, demand, to: UInt32(found))
      } else if mayEverRun(demand, avoiding: attempt.avoided) {
        if kept.isEmpty { reserved = largestRoom(for: demand, avoiding: attempt.avoided) }
        kept.append(attempt)
      } else {
        end(
          attempt.launch.attempt, .cannotStart, "no machine of the relay has what it asks for",
          at: now)
      }
    }
    for attempt in kept.reversed() { waiting.prepend(attempt) }
  }

  private static let waitingLooks = 64

  private func template(of launch: Launch) -> TemplateAnnouncement {
    guard let template = templates[Int(launch.template.position)] else {
      preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
    }
    return template.announcement
  }

  /// Whether a machine is large enough. Asked only where none has room. Costs the machines.
  private func mayEverRun(_ demand: Resources, avoiding avoided: [UInt32]) -> Bool {
    machines.all.contains { number in
      !avoided.contains(number) && !machines[number].isLeaving
        && machines[number].capacity.covers(demand)
    }
  }

  /// The machine that is kept for an attempt: the one that is nearest to having room.
  private func largestRoom(for demand: Resources, avoiding avoided: [UInt32]) -> UInt32? {
    machines.all.filter { number in
      machines[number].isOpen && !avoided.contains(number)
        && machines[number].usable.covers(demand)
    }.max { machines[$0].free.cpus < machines[$1].free.cpus }
  }

  private mutating func give(_ attempt: WaitingAttempt, _ demand: Resources, to machine: UInt32) {
    let launch = attempt.launch
    placements[launch.attempt] = Placement(
      machine: machine, demand: demand, isExclusive: template(of: launch).isExclusive,
      unstarted: attempt)
    machines[machine].attempts.insert(launch.attempt)
    machines[machine].free.take(demand)
    machines.renewRoom(of: machine)
    let template = tell(launch.template, to: machine)
    lastPlace += 1
    var dispatch = Dispatch(
      attempt: launch.attempt, template: template, place: lastPlace, argument: launch.argument,
      inputs: launch.inputs)
    dispatch.run = launch.run
    dispatch.queueName = launch.queueName
    machines[machine].orders.dispatches.append(dispatch)
    addressed.insert(machine)
  }

  /// Tells a machine of a template, unless it knows it. Returns its position in its graph.
  private mutating func tell(_ number: TemplateNumber, to machine: UInt32) -> UInt32 {
    guard let template = templates[Int(number.position)] else {
      preconditionFailure("template \(number.position) was forgotten")
    }
    if machines[machine].told[number.position] != template.serial {
      machines[machine].told[number.position] = template.serial
      machines[machine].orders.templates.append(template.announcement)
      toldMachines[template.announcement.graph, default: []].insert(machine)
    }
    return template.announcement.template
  }

  // MARK: - Back

  /// Takes an attempt from its machine, which has its room back.
  mutating func release(_ attempt: AttemptID) -> Placement? {
    guard let placement = placements.removeValue(forKey: attempt) else { return nil }
    if machines.contains(placement.machine) {
      machines[placement.machine].attempts.remove(attempt)
      machines[placement.machine].free.giveBack(placement.demand)
      machines.renewRoom(of: placement.machine)
      hasNewRoom = true
    }
    return placement
  }

  /// An attempt that its machine certainly never started goes to another one.
  mutating func placeElsewhere(
    _ attempt: AttemptID, at now: Instant, into effects: inout [RackEffect]
  ) {
    guard let placement = release(attempt) else { return }
    // It may have been stopped meanwhile; nobody else will answer that.
    guard var again = placement.unstarted, !isStopping(attempt) else {
      return end(attempt, .workerStopped, "its machine gave it back", at: now)
    }
    again.avoided.append(placement.machine)
    place(again, at: now, into: &effects)
  }

  private func isStopping(_ attempt: AttemptID) -> Bool { stopped.contains(attempt) }

  /// Ends an attempt for the coordinator.
  mutating func end(
    _ attempt: AttemptID, _ cause: FailureCause, _ diagnostic: String, at now: Instant
  ) {
    var result = AttemptResult()
    result.cause = cause
    result.diagnostic = diagnostic
    end(attempt, result, at: now)
  }

  mutating func end(_ attempt: AttemptID, _ result: AttemptResult, at now: Instant) {
    stopped.remove(attempt)
    worker.apply(.ended(attempt, result), at: now, into: &decided)
  }

  /// Stops an attempt, wherever it is.
  mutating func stop(_ attempt: AttemptID, grace: Span, at now: Instant) {
    guard let placement = placements[attempt] else {
      // It waits for a machine, and never goes to one.
      if withdrawn.insert(attempt).inserted {
        end(attempt, .workerStopped, "it had not started", at: now)
      }
      return
    }
    stopped.insert(attempt)
    machines[placement.machine].orders.cancels.append(
      CancelOrder(attempt: attempt, grace: grace))
    addressed.insert(placement.machine)
  }
}
