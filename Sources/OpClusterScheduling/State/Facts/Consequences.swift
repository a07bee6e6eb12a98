// The consequences of a fact beyond the state: `apply` collects them, `commit` carries them out.

import OpClusterModel

/// The pause between two attempts.
struct Backoff: Comparable, Sendable {
  var until: Instant
  var operation: OperationID
  var attempt: UInt32
  static func < (a: Self, b: Self) -> Bool {
    (a.until, a.operation) < (b.until, b.operation)
  }
}

/// The consequences that `apply` collects and leaves to the scheduler.
struct Consequences: Sendable {
  /// Attempts that began, or left their worker.
  var letGo: [(worker: UInt32, operation: OperationID, hasLeft: Bool)] = []
  var backoffs: [Backoff] = []

  var isEmpty: Bool { letGo.isEmpty && backoffs.isEmpty }
}
