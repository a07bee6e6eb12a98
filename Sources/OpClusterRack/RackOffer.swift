// What the machines have together. The coordinator learns of a change by another hello of the
// relay, so that changes are collected for a moment: a rack that comes up says hello a few times,
// not once for each machine.

import OpClusterExecution
import OpClusterModel

/// The moment at which the coordinator learns what the machines have now.
struct Offering: Sendable {
  /// nil: it knows.
  private(set) var due: Instant?
  private var offered: WorkerOffer?
  /// Every named resource that a machine ever had, so that what is taken of it stays counted.
  private var names: Set<String> = []

  static let pause = Span.milliseconds(500)

  mutating func change(at now: Instant) {
    if due == nil { due = now + Self.pause }
  }

  /// The offer, if it is another than the one before.
  mutating func take(_ machines: MachineTable) -> WorkerOffer? {
    due = nil
    let offer = Self.sum(of: machines, &names)
    guard offer != offered else { return nil }
    offered = offer
    return offer
  }

  /// Labels and types are those that every machine has: an operation may go to any of them.
  private static func sum(of machines: MachineTable, _ names: inout Set<String>) -> WorkerOffer {
    let all = machines.all.map { machines[$0] }.filter { !$0.isLeaving }
    for machine in all { names.formUnion(machine.capacity.custom.map(\.name)) }
    var offer = WorkerOffer()
    offer.capacity.custom = names.sorted().map {
      Resources.NamedAmount(name: $0, amount: .zero)
    }
    guard let first = all.first else { return offer }
    var largest = offer.capacity
    for machine in all {
      let usable = machine.usable
      offer.capacity.giveBack(usable)
      largest.cpus = max(largest.cpus, usable.cpus)
      largest.memoryBytes = max(largest.memoryBytes, usable.memoryBytes)
      largest.gpus = max(largest.gpus, usable.gpus)
      for at in largest.custom.indices {
        largest.custom[at].amount = max(
          largest.custom[at].amount, usable.amount(named: largest.custom[at].name))
      }
    }
    offer.largest = largest
    offer.labels = first.labels.filter { label in all.allSatisfy { $0.labels.contains(label) } }
    offer.types = first.types.filter { type in all.allSatisfy { $0.types.contains(type) } }
    return offer
  }
}

extension RackCore {
  /// Costs the machines and their labels, at most twice a second while machines come and go.
  mutating func renewOfferIfDue(at now: Instant) {
    guard let due = offering.due, now >= due, let offer = offering.take(machines) else { return }
    worker.offer(offer, at: now)
  }
}
