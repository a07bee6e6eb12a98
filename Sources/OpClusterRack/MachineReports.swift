// Reports of machines. What has ended goes to the face to the coordinator, which reports it there.

import OpClusterExecution
import OpClusterModel

extension RackCore {
  /// Takes one report. Its number must follow the last one; a gap means that a message was lost,
  /// and the machine begins a new conversation. Costs the entries.
  mutating func take(
    _ report: WorkerReport, from machine: UInt32, _ peer: PeerID, at now: Instant,
    into effects: inout [RackEffect]
  ) {
    guard report.conversation == machines[machine].conversation else { return }
    guard report.number == machines[machine].reportTaken + 1 else {
      if report.number <= machines[machine].reportTaken { return }
      return refuse(
        peer,
        Refusal(
          .busy,
          "report \(report.number) came after \(machines[machine].reportTaken): begin anew"),
        into: &effects)
    }
    machines[machine].reportTaken = report.number
    machines[machine].note(report: report.number, at: now)
    noteUnkillable(report, at: machine, now)
    if report.isLeaving { letLeave(machine, at: now) }
    for entry in report.entries { take(entry, from: machine, at: now, into: &effects) }
    carryOut(at: now, into: &effects)
  }

  private mutating func take(
    _ entry: WorkerReport.Entry, from machine: UInt32, at now: Instant,
    into effects: inout [RackEffect]
  ) {
    let attempt = entry.attempt
    if case .cancelTaken = entry { return }
    guard placements[attempt]?.machine == machine else {
      machines[machine].orders.stale.append(attempt)
      addressed.insert(machine)
      return
    }
    switch entry {
    case .started, .alreadyStarted:
      // Its inputs are not needed again.
      placements[attempt]?.unstarted = nil
    case .finished(_, let result):
      _ = release(attempt)
      logs.note(attempt, at: machines[machine].session)
      end(attempt, result, at: now)
    case .recalled: placeAgain(attempt, wasSeen: true, at: now, into: &effects)
    case .progress(_, let fraction, let text):
      worker.apply(.progress(attempt, fraction: fraction, text: text), at: now, into: &decided)
    case .cancelTaken: break
    }
  }

  /// What hangs there in the kernel takes room that nobody gets.
  private mutating func noteUnkillable(
    _ report: WorkerReport, at machine: UInt32, _ now: Instant
  ) {
    let withheld = machines[machine].part(report.unkillableDemand)
    guard withheld != machines[machine].withheld else { return }
    machines[machine].free.giveBack(machines[machine].withheld)
    machines[machine].withheld = withheld
    machines[machine].free.take(withheld)
    machines.renewRoom(of: machine)
    hasNewRoom = true
    offering.change(at: now)
  }

  /// Takes back what a machine that leaves has not begun: it begins nothing more.
  private mutating func letLeave(_ machine: UInt32, at now: Instant) {
    guard !machines[machine].isLeaving else { return }
    machines[machine].isLeaving = true
    machines.renewRoom(of: machine)
    hasNewRoom = true
    offering.change(at: now)
    for attempt in machines[machine].attempts.sorted()
    where placements[attempt]?.unstarted != nil {
      machines[machine].orders.recalls.append(attempt)
      addressed.insert(machine)
    }
  }
}

extension Machine {
  /// Moments closer than this are not distinguished, so that the list stays short.
  private static let reportInterval = Span.milliseconds(20)
  /// While the coordinator is away nothing is acknowledged.
  private static let reportsNoted = 4_096

  /// As much of an amount as the machine has.
  fileprivate func part(_ demand: Resources) -> Resources {
    Resources(
      cpus: min(demand.cpus, capacity.cpus),
      memoryBytes: min(demand.memoryBytes, capacity.memoryBytes),
      gpus: min(demand.gpus, capacity.gpus),
      custom: demand.custom.map {
        Resources.NamedAmount(
          name: $0.name, amount: min($0.amount, capacity.amount(named: $0.name)))
      })
  }

  /// Notes when a report came.
  fileprivate mutating func note(report number: UInt64, at now: Instant) {
    // The next one that is noted covers those between.
    if let last = reports.last, now - last.at < Self.reportInterval { return }
    // What is acknowledged later covers it.
    if reports.count >= Self.reportsNoted { reports.removeFirst() }
    reports.append((number, now))
  }
}
