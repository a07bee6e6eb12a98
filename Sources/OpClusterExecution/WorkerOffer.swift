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
  /// keeps its room, so that less than nothing may be left for a while. Costs the templates.
  public mutating func offer(_ offer: WorkerOffer, at now: Instant) {
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
    disconnected(at: now)
  }
}
