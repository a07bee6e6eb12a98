// Splits orders that are too large for one message into several, in order: a turn's orders may
// carry inputs and commands of any size (G27). Used at the end of a turn.

extension WorkerOrders {
  /// The orders themselves if they fit into one message; else several parts, to be numbered by the
  /// caller. Only the last part acknowledges and forgets, since earlier parts may refer to that.
  package func parts(atMost bytes: Int = Limits.orderBytesPerMessage) -> [WorkerOrders] {
    if isSmall(bytes) { return [self] }
    var parts = OrderParts(of: self, atMost: bytes)
    // First: the dispatches behind them need what they say.
    for content in holders { parts.add(content.weight) { $0.holders.append(content) } }
    for grant in grants { parts.add(Self.contentWeight) { $0.grants.append(grant) } }
    for digest in released { parts.add(Self.contentWeight) { $0.released.append(digest) } }
    for digest in retained { parts.add(Self.contentWeight) { $0.retained.append(digest) } }
    for content in copies { parts.add(Self.contentWeight) { $0.copies.append(content) } }
    for delivery in deliveries {
      parts.add(delivery.weight) { $0.deliveries.append(delivery) }
    }
    for digest in unobtainable { parts.add(Self.contentWeight) { $0.unobtainable.append(digest) } }
    for key in revoked { parts.add(Self.contentWeight) { $0.revoked.append(key) } }
    for template in templates { parts.add(template.weight) { $0.templates.append(template) } }
    for dispatch in dispatches { parts.add(dispatch.weight) { $0.dispatches.append(dispatch) } }
    for recall in recalls { parts.add(Self.entryWeight) { $0.recalls.append(recall) } }
    for cancel in cancels { parts.add(Self.entryWeight) { $0.cancels.append(cancel) } }
    for attempt in stale { parts.add(Self.entryWeight) { $0.stale.append(attempt) } }
    for graph in forgottenGraphs {
      parts.add(Self.entryWeight) { $0.forgottenGraphs.append(graph) }
    }
    return parts.allParts(acknowledged: acknowledged, drain: drain)
  }

  /// The maximal weight of a single attempt number.
  fileprivate static let entryWeight = 32
  /// The maximal weight of a digest or a key with a position.
  fileprivate static let contentWeight = 48

  private func isSmall(_ bytes: Int) -> Bool {
    let entries =
      dispatches.count + recalls.count + cancels.count + stale.count + forgottenGraphs.count
    let contents =
      holders.count + grants.count + released.count + retained.count + revoked.count
      + copies.count + deliveries.count + unobtainable.count
    if contents > Limits.entriesPerMessage { return false }
    if entries > Limits.entriesPerMessage { return false }
    var weight = (entries - dispatches.count) * Self.entryWeight
    weight += (contents - holders.count - deliveries.count) * Self.contentWeight
    for template in templates { weight += template.weight }
    for dispatch in dispatches { weight += dispatch.weight }
    for content in holders { weight += content.weight }
    for delivery in deliveries { weight += delivery.weight }
    return weight <= bytes
  }
}

/// The finished parts, and the one being filled.
private struct OrderParts {
  private let most: Int
  private let empty: WorkerOrders
  private var parts: [WorkerOrders] = []
  private var current: WorkerOrders
  private var weight = 0
  private var entries = 0

  init(of whole: WorkerOrders, atMost bytes: Int) {
    most = bytes
    empty = WorkerOrders(conversation: whole.conversation, number: 0, acknowledged: 0)
    current = empty
  }

  mutating func add(_ more: Int, _ append: (inout WorkerOrders) -> Void) {
    if entries > 0, weight + more > most || entries >= Limits.entriesPerMessage {
      parts.append(current)
      current = empty
      weight = 0
      entries = 0
    }
    append(&current)
    weight += more
    entries += 1
  }

  func allParts(acknowledged: UInt64, drain: Bool) -> [WorkerOrders] {
    var last = current
    last.acknowledged = acknowledged
    last.drain = drain
    return parts + [last]
  }
}

// The approximate maximal weight of an element in a message, in bytes.

extension TemplateAnnouncement {
  fileprivate var weight: Int {
    512 + payload.count + graphName.utf8.count + name.utf8.count + queueName.utf8.count
      + indexRuns.count * 16 + demand.custom.count * 160
      + inputFiles.reduce(0) {
        $0 + 16 + $1.operation.utf8.count + $1.file.utf8.count + $1.folder.utf8.count
      }
      + secrets.reduce(0) { $0 + 8 + $1.utf8.count }
  }
}

extension ContentHolders {
  fileprivate var weight: Int { sources.reduce(48) { $0 + $1.weight } }
}

extension ContentDelivery {
  fileprivate var weight: Int { 64 + to.weight }
}

extension ContentSource {
  fileprivate var weight: Int { 64 + endpoint.utf8.count + key.count }
}

extension Dispatch {
  fileprivate var weight: Int {
    var weight = 64 + argument.count + awaits.count * 16 + (queueName?.utf8.count ?? 0)
    for input in inputs { weight += 48 + input.name.utf8.count + (input.output?.count ?? 0) }
    return weight
  }
}
