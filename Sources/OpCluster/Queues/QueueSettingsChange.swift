// Applies changes to the settings of a queue. Pure.

import OpClusterModel

extension QueueSettings {
  mutating func apply(_ change: QueueChange) {
    if let name = change.newName { self.name = name }
    if let qos = change.qos { self.qos = qos }
    if let isSuspended = change.isSuspended { self.isSuspended = isSuspended }
    if let pool = change.pool { self.pool = pool }
    switch change.limit {
    case .unlimited: maximumConcurrent = nil
    case .atMost(let count): maximumConcurrent = count
    case nil: break
    }
  }
}

extension QueueChange {
  /// The combination of this change and a later one.
  func with(_ other: QueueChange) -> QueueChange {
    QueueChange(
      newName: other.newName ?? newName, qos: other.qos ?? qos, limit: other.limit ?? limit,
      isSuspended: other.isSuspended ?? isSuspended, pool: other.pool ?? pool)
  }
}
