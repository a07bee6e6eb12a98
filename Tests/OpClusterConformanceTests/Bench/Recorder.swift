// What is told of operations, as a case compares it: attached before they are added, so that
// nothing is missed.

import OpCluster
import Synchronization

/// Everything that was told of one operation.
final class Recorder: Sendable {
  private let kept = Mutex<[OperationChange]>([])
  private let observation = Mutex<OperationObservation?>(nil)

  init(_ operation: ClusterOperation) {
    let observation = operation.observe { [weak self] change in
      self?.kept.withLock { $0.append(change) }
    }
    self.observation.withLock { $0 = observation }
  }

  var changes: [OperationChange] { kept.withLock { $0 } }
  var kinds: [OperationChange.Kind] { changes.map(\.kind) }

  /// In words: `ready true`, `executing true`, `finished succeeded`, `cancelled`, `attempt 1`,
  /// `completed`; other kinds are left out.
  var life: [String] { kinds.compactMap(\.word) }
  /// `life` without what concerns attempts and completion.
  var flags: [String] {
    life.filter { !$0.hasPrefix("attempt") && $0 != "completed" }
  }

  /// Where a kind of change stands in the log; nil: it was not told.
  func commit(_ word: String) -> UInt64? { changes.first { $0.kind.word == word }?.commit }

  /// Returns when the last change was told.
  func completed() async throws {
    try await soon("the completion is told") { self.kinds.contains(.completed) }
  }
}

extension OperationChange.Kind {
  /// nil: no part of a life.
  var word: String? {
    switch self {
    case .isReady(let value): "ready \(value)"
    case .isExecuting(let value): "executing \(value)"
    case .isFinished(let outcome): "finished \(outcome)"
    case .isCancelled: "cancelled"
    case .attemptStarted(let run): "attempt \(run)"
    case .completed: "completed"
    case .isHeld, .queuePriority, .dependencies, .attemptEnded: nil
    }
  }
}
