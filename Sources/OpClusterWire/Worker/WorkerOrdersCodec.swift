// Converts one turn's orders for one worker ⇄ `WorkerOrders`.
// Orders are numbered, and a worker that misses a number says hello anew: nothing in them has to be
// repeated by itself (G34).

import OpClusterModel

/// Orders leave after the commit that decided them (G3). A heartbeat holds acknowledgements alone,
/// and may overtake orders that wait for the disk.
extension WorkerOrders: WireConvertible {
  var proto: ProtoWorkerOrders {
    var proto = ProtoWorkerOrders()
    proto.conversation = conversation.proto
    proto.number = number
    proto.acknowledged = acknowledged
    proto.heard = heard
    proto.commit = commit.number
    // The rest would be empty; a heartbeat goes to every worker every second.
    if isHeartbeat { return proto }
    proto.templates = templates.map(\.proto)
    if !dispatches.isEmpty { proto.dispatches = ProtoDispatches(dispatches) }
    if !recalls.isEmpty { proto.recalls = ProtoAttempts(recalls) }
    proto.setCancels(cancels)
    if !stale.isEmpty { proto.stale = ProtoAttempts(stale) }
    proto.forgottenGraphs = forgottenGraphs.map(\.number)
    proto.drain = drain
    setContents(of: &proto)
    return proto
  }

  /// Each list has the limit of a message's entries; the coordinator splits what is longer over
  /// several messages.
  init(proto: ProtoWorkerOrders) throws(WireError) {
    let limit = Limits.entriesPerMessage
    self.init(
      conversation: try Conversation(proto: proto.conversation), number: proto.number,
      acknowledged: proto.acknowledged)
    heard = proto.heard
    commit = CommitIndex(proto.commit)
    templates = try list(proto.templates, limit, "orders.templates")
    dispatches = try proto.dispatches.words(limit)
    recalls = try proto.recalls.words(limit, "orders.recalls")
    cancels = try proto.cancelWords(limit)
    stale = try proto.stale.words(limit, "orders.stale")
    let forgotten = proto.forgottenGraphs
    try checkCount(forgotten.count, limit, "orders.forgotten_graphs")
    forgottenGraphs = forgotten.map { GraphID($0) }
    drain = proto.drain
    try readContents(of: proto, limit)
  }
}

/// Most cancellations have the grace of their command; only another one is sent.
extension ProtoWorkerOrders {
  /// Positions of graces count over the cancellations of this message.
  fileprivate mutating func setCancels(_ orders: [CancelOrder]) {
    if orders.isEmpty { return }
    cancels = ProtoAttempts(orders.map(\.attempt))
    var positions = SparsePositions()
    for (at, order) in orders.enumerated() {
      if let grace = order.grace {
        positions.append(at)
        cancelGraceNanoseconds.append(grace.nanoseconds)
      }
    }
    cancelGraceAt = positions.differences
  }

  /// Negative graces are refused; with 0, KILL follows at once.
  fileprivate func cancelWords(_ limit: Int) throws(WireError) -> [CancelOrder] {
    var orders = try cancels.words(limit, "orders.cancels").map { CancelOrder(attempt: $0) }
    let graces = cancelGraceNanoseconds
    let positions = try SparsePositions.read(
      cancelGraceAt, below: orders.count, entries: graces.count, "orders.cancel_grace")
    for (at, grace) in zip(positions, graces) {
      orders[at].grace = try span(grace, "orders.cancel_grace")
    }
    return orders
  }
}
