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
  /// Sessions of machines that have given it back: they would take a repetition for an old message.
  var avoided: [WorkerSession] = []

  init(_ launch: Launch) { self.launch = launch }
}

extension RackCore {
  /// Gives an attempt to a machine with room, or keeps it. Costs the logarithm of the machines.
  mutating func place(
    _ attempt: WaitingAttempt, at now: Instant, into effects: inout [RackEffect]
  ) {
    let demand = template(of: attempt.launch).demand
    if let machine = room(for: attempt, demand) { return give(attempt, demand, to: machine) }
    if mayWait(demand) {
      if waiting.isEmpty { kept = largestRoom(for: demand) }
      waiting.append(attempt)
    } else {
      refuse(attempt.launch.attempt, at: now)
    }
  }

  /// A machine with room now, which is not kept for another attempt.
  private mutating func room(for attempt: WaitingAttempt, _ demand: Resources) -> UInt32? {
    let (table, kept) = (machines, kept)
    return machines.rooms.find(demand) { number in
      UInt32(number) == kept || attempt.avoided.contains(table[UInt32(number)].session)
    }.map { UInt32($0) }
  }

  /// Gives back what no machine can run. What it has run for nobody counts for nothing; what may
  /// run only once ends, since the coordinator was told that it runs.
  private mutating func refuse(_ attempt: AttemptID, at now: Instant) {
    end(attempt, .workerStopped, "the relay has no machine left for it", at: now)
  }

  /// Looks again at what waits, after a machine has got room. Looks at a bounded number, so that a
  /// long line costs no more than a short one; those behind are looked at as these leave.
  mutating func placeWaiting(at now: Instant, into effects: inout [RackEffect]) {
    hasNewRoom = false
    kept = nil
    var again: [WaitingAttempt] = []
    while again.count < Self.waitingLooks, let attempt = waiting.popFirst() {
      if withdrawn.remove(attempt.launch.attempt) != nil { continue }
      let demand = template(of: attempt.launch).demand
      if let machine = room(for: attempt, demand) {
        give(attempt, demand, to: machine)
      } else if mayWait(demand) {
        if again.isEmpty { kept = largestRoom(for: demand) }
        again.append(attempt)
      } else {
        refuse(attempt.launch.attempt, at: now)
      }
    }
    for attempt in again.reversed() { waiting.prepend(attempt) }
  }

  private static let waitingLooks = 64

  private func template(of launch: Launch) -> TemplateAnnouncement {
    guard let template = templates[Int(launch.template.position)] else {
      preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
    }
    return template.announcement
  }

  /// Whether a machine is large enough, or may be by the time that the coordinator knows which
  /// machines there are. Asked only where none has room. Costs the machines.
  private func mayWait(_ demand: Resources) -> Bool {
    if offering.due != nil || worker.conversation == nil { return true }
    return machines.all.contains { number in
      !machines[number].isLeaving && machines[number].capacity.covers(demand)
    }
  }

  /// The machine that is kept for an attempt: the one that lacks the fewest kinds of resources, and
  /// among those the one with the most free cpus. Costs the machines.
  private func largestRoom(for demand: Resources) -> UInt32? {
    func rank(_ number: UInt32) -> (Int, ResourceAmount) {
      let free = machines[number].free
      let enough = [
        free.cpus >= demand.cpus, free.memoryBytes >= demand.memoryBytes, free.gpus >= demand.gpus,
      ]
      return (enough.count { $0 }, free.cpus)
    }
    return machines.all.filter { machines[$0].isOpen && machines[$0].usable.covers(demand) }
      .max { rank($0) < rank($1) }
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
      if machines[placement.machine].isLeaving { offering.leaves = true }
    }
    return placement
  }

  /// An attempt that its machine certainly never started goes to another one, or to the same if it
  /// has not seen it.
  mutating func placeAgain(
    _ attempt: AttemptID, wasSeen: Bool, at now: Instant, into effects: inout [RackEffect]
  ) {
    guard let placement = release(attempt) else { return }
    // It may have been stopped meanwhile; nobody else will answer that.
    guard var again = placement.unstarted, !isStopping(attempt) else {
      return end(attempt, .workerStopped, "its machine gave it back", at: now)
    }
    if wasSeen { again.avoided.append(machines[placement.machine].session) }
    place(again, at: now, into: &effects)
  }

  private func isStopping(_ attempt: AttemptID) -> Bool { stopped[attempt] != nil }

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
    stopped[attempt] = nil
    worker.apply(.ended(attempt, result), at: now, into: &decided)
  }

  /// Sweeps a line that consists mostly of attempts that were withdrawn.
  private mutating func sweepWaiting() {
    guard withdrawn.count > Self.waitingLooks + waiting.count / 2 else { return }
    waiting.removeAll { withdrawn.contains($0.launch.attempt) }
    withdrawn.removeAll(keepingCapacity: true)
  }

  /// Stops an attempt, wherever it is.
  mutating func stop(_ attempt: AttemptID, grace: Span, at now: Instant) {
    guard let placement = placements[attempt] else {
      // It waits for a machine, and never goes to one.
      guard withdrawn.insert(attempt).inserted else { return }
      // Those behind it may have had to wait for it.
      hasNewRoom = true
      sweepWaiting()
      return end(attempt, .workerStopped, "it had not started", at: now)
    }
    stopped[attempt] = grace
    machines[placement.machine].orders.cancels.append(
      CancelOrder(attempt: attempt, grace: grace))
    addressed.insert(placement.machine)
  }
}
