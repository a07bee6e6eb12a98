// Converts one turn's orders for one worker ⇄ `WorkerOrders`.

import OpClusterModel

extension WorkerOrders: WireConvertible {
  var proto: ProtoWorkerOrders {
    var proto = ProtoWorkerOrders()
    proto.conversation = conversation.proto
    proto.number = number
    proto.acknowledged = acknowledged
    proto.heard = heard
    proto.commit = commit.number
    if isHeartbeat { return proto }
    proto.templates = templates.map(\.proto)
    if !dispatches.isEmpty { proto.dispatches = ProtoDispatches(dispatches) }
    if !recalls.isEmpty { proto.recalls = ProtoAttempts(recalls) }
    proto.setCancels(cancels)
    if !stale.isEmpty { proto.stale = ProtoAttempts(stale) }
    proto.forgottenGraphs = forgottenGraphs.map(\.number)
    proto.drain = drain
    return proto
  }

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
  }
}

extension ProtoWorkerOrders {
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
