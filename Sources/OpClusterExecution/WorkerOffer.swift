// What a worker offers. It changes while the worker serves only if that is a relay: machines come
// to it and leave it.

public import OpClusterModel

/// What a worker says of itself in its hello.
public struct WorkerOffer: Hashable, Sendable {
  public var capacity: Resources
  /// `WorkerHello.largest`
  public var largest: Resources?
  public var labels: [Label]
  public var types: [OperationType]

  public init(
    capacity: Resources = .none, largest: Resources? = nil, labels: [Label] = [],
    types: [OperationType] = []
  ) {
    self.capacity = capacity
    self.largest = largest
    self.labels = labels
    self.types = types
  }
}

extension ExecutionCore {
  /// Offers something else from now on; the coordinator learns of it by another hello. What runs
  /// keeps its room, so that less than nothing may be left for a while. What has not begun is given
  /// back if it has become too large, or if a label or a type is gone that it may have been given
  /// for. Costs the templates and the attempts.
  public mutating func offer(
    _ offer: WorkerOffer, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    let isPoorer =
      !identity.labels.allSatisfy { offer.labels.contains($0) }
      || !identity.types.allSatisfy { offer.types.contains($0) }
    var taken = identity.capacity
    taken.take(available)
    available = offer.capacity
    available.take(taken)
    identity.capacity = offer.capacity
    identity.largest = offer.largest
    identity.labels = offer.labels
    identity.types = offer.types
    for at in templates.indices {
      let demand = queue.classes[Int(templates[at].demandClass)].demand
      templates[at].isPossible = identity.isLargeEnough(for: demand)
    }
    for slot in attempts.used where attempts[slot].state.isAssigned {
      guard isPoorer || !templates[Int(attempts[slot].template.position)].isPossible else {
        continue
      }
      change(slot, .recall, at: now, into: &effects)
    }
    disconnected(at: now)
  }
}
