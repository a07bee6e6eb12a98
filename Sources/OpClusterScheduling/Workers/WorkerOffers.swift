// The workers by what they offer. A kind of demand that nobody has asked for before is compared
// with those that may serve it, and not with all that there are. Not durable.

import OpClusterModel

struct WorkerOffers: Sendable {
  private enum Offer: Hashable {
    case label(Label)
    /// In any version.
    case type(String)
    /// A named resource, in any amount.
    case resource(String)
  }

  // Looked up, never iterated.
  private var workers: [Offer: Set<UInt32>] = [:]
  private var offers: [UInt32: [Offer]] = [:]

  /// Notes what a worker offers from now on. Costs what it offers, and what it offered before.
  mutating func replaceOffers(
    of worker: UInt32, labels: [Label], types: [OperationType], custom: [Resources.NamedAmount]
  ) {
    forget(worker)
    let own =
      labels.map { Offer.label($0) } + types.map { Offer.type($0.name) }
      + custom.map { Offer.resource($0.name) }
    for offer in own { workers[offer, default: []].insert(worker) }
    offers[worker] = own
  }

  mutating func forget(_ worker: UInt32) {
    for offer in offers.removeValue(forKey: worker) ?? [] {
      workers[offer]?.remove(worker)
      if workers[offer]?.isEmpty ?? false { workers[offer] = nil }
    }
  }

  /// The workers that may serve a kind, at most `most`, ascending; nil if there may be more. Costs
  /// what the kind wants, and the workers.
  func workers(for kind: DemandKind, atMost most: Int) -> [UInt32]? {
    if kind.isInside { return [] }
    // Each of these is to be met, by any of its offers.
    var wants = kind.requirements.map { requirement in
      requirement.values.map { Offer.label(Label(key: requirement.key, value: $0)) }
    }
    wants += kind.types.map { [.type($0.name)] }
    wants += kind.custom.filter { $0.amount > .zero }.map { [.resource($0.name)] }
    var rarest: (offers: [Offer], count: Int)?
    for want in wants {
      let count = want.reduce(0) { $0 + (workers[$1]?.count ?? 0) }
      if rarest.map({ count < $0.count }) ?? true { rarest = (want, count) }
    }
    guard let rarest, rarest.count <= most else { return nil }
    var found: [UInt32] = []
    for offer in rarest.offers { found += workers[offer] ?? [] }
    return found.sortedSet()
  }
}

/// Which workers serve the kind of each slot, or served one that was there before and have not been
/// told that it has gone. A slot that gets another kind concerns only them.
struct KindServers: Sendable {
  private struct Servers {
    /// Workers that have left may be among them.
    var workers: [UInt32] = []
    /// Whether there are others, since they are more than are worth noting.
    var areMore = false
  }

  private var slots: [Servers] = []
  /// More than this part of all workers is not noted: a walk over all then costs at most this many
  /// times what noting them did.
  private static let notedPart = 16
  private static let few = 64

  /// Notes that a worker has begun to serve the kind of a slot.
  ///
  /// - Parameter all: The number of all workers.
  mutating func insertServer(_ worker: UInt32, slot: Int, of all: Int) {
    while slots.count <= slot { slots.append(Servers()) }
    if slots[slot].areMore { return }
    slots[slot].workers.append(worker)
    if slots[slot].workers.count > max(Self.few, all / Self.notedPart) {
      slots[slot] = Servers(areMore: true)
    }
  }

  /// Removes the workers of a slot and returns them, in no order; nil: any may be among them.
  mutating func emptySlot(_ slot: Int) -> [UInt32]? {
    if slot >= slots.count { return [] }
    defer { slots[slot] = Servers() }
    return slots[slot].areMore ? nil : slots[slot].workers
  }
}

extension [UInt32] {
  /// Ascending, each once.
  func sortedSet() -> [UInt32] {
    let sorted = self.sorted()
    return sorted.enumerated().filter { $0 == 0 || sorted[$0 - 1] != $1 }.map(\.element)
  }
}
