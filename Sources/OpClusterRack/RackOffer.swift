// What the machines have together. The coordinator learns of a change by another hello of the
// relay, so that changes are collected for a moment: a rack that comes up says hello a few times,
// not once for each machine.

import DequeModule
import OpClusterExecution
import OpClusterModel

/// The moment at which the coordinator learns what the machines have now.
struct Offering: Sendable {
  /// nil: it knows.
  private(set) var due: Instant?
  /// What it was told.
  private(set) var offered = WorkerOffer()
  /// Something has ended at a machine that leaves, which offers no more than what runs there.
  var leaves = false

  static let pause = Span.milliseconds(500)

  mutating func change(at now: Instant) {
    if due == nil { due = now + Self.pause }
  }

  /// Notes what the coordinator is told now; false if that is what it knows.
  mutating func note(_ offer: WorkerOffer) -> Bool {
    due = nil
    defer { offered = offer }
    return offer != offered
  }
}

extension WorkerOffer {
  /// Labels and types are those that every machine has: an operation may go to any of them.
  init(of machines: [Machine]) {
    self.init()
    guard let first = machines.first else { return }
    let names = Set(machines.flatMap { $0.capacity.custom.map(\.name) })
    capacity.custom = names.sorted().map { Resources.NamedAmount(name: $0, amount: .zero) }
    let staying = machines.filter { !$0.isLeaving }
    var most = capacity
    for machine in machines {
      // One that leaves offers what runs there, so that this is not taken from the others.
      capacity.add(machine.isLeaving ? machine.taken : machine.usable)
    }
    for machine in staying { most.raise(to: machine.usable) }
    largest = most
    let common = staying.isEmpty ? machines : staying
    labels = first.labels.filter { label in common.allSatisfy { $0.labels.contains(label) } }
    types = first.types.filter { type in common.allSatisfy { $0.types.contains(type) } }
  }
}

extension Resources {
  /// Adds what a machine has. Machines say it themselves, so a sum has the bound of an amount.
  fileprivate mutating func add(_ other: Resources) {
    cpus = Self.sum(cpus, other.cpus)
    gpus = Self.sum(gpus, other.gpus)
    memoryBytes = Self.sum(memoryBytes, other.memoryBytes)
    for at in custom.indices {
      custom[at].amount = Self.sum(custom[at].amount, other.amount(named: custom[at].name))
    }
  }

  fileprivate mutating func raise(to other: Resources) {
    cpus = max(cpus, other.cpus)
    gpus = max(gpus, other.gpus)
    memoryBytes = max(memoryBytes, other.memoryBytes)
    for at in custom.indices {
      custom[at].amount = max(custom[at].amount, other.amount(named: custom[at].name))
    }
  }

  private static func sum(_ one: ResourceAmount, _ other: ResourceAmount) -> ResourceAmount {
    ResourceAmount(tenThousandths: sum(one.tenThousandths, other.tenThousandths))
  }

  private static func sum(_ one: Int64, _ other: Int64) -> Int64 {
    let (sum, overflow) = one.addingReportingOverflow(other)
    return overflow ? Limits.resourceAmount : min(sum, Limits.resourceAmount)
  }
}

extension RackCore {
  /// Costs the machines, their labels and the attempts, at most twice a second while machines come
  /// and go.
  mutating func renewOfferIfDue(at now: Instant) {
    if offering.leaves {
      offering.leaves = false
      offering.change(at: now)
    }
    guard let due = offering.due, now >= due, !worker.isStopping else { return }
    let offer = WorkerOffer(of: machines.all.map { machines[$0] })
    let before = offering.offered
    // What waits for a machine that does not come back is given back.
    hasNewRoom = true
    guard offering.note(offer) else { return openMachines() }
    worker.offer(offer, at: now, into: &decided)
    if !before.labels.allSatisfy({ offer.labels.contains($0) })
      || !before.types.allSatisfy({ offer.types.contains($0) })
    {
      giveBackWaiting(at: now)
    }
    openMachines()
  }

  /// A machine that lacks a label or a type of the offer before may have what comes from now on.
  private mutating func openMachines() {
    for machine in machines.all where !machines[machine].isAdmitted {
      machines[machine].isAdmitted = machines[machine].has(offering.offered)
      machines.renewRoom(of: machine)
    }
  }

  /// What waits was chosen for what the rack had before.
  private mutating func giveBackWaiting(at now: Instant) {
    while let attempt = waiting.popFirst() {
      guard withdrawn.remove(attempt.launch.attempt) == nil else { continue }
      end(attempt.launch.attempt, .workerStopped, "the rack lacks a label or a type", at: now)
    }
    kept = nil
  }
}
