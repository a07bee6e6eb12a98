// Limits the log of refused workers: a refused worker tries again every few seconds, and the
// operator needs the reason only once in a while. Pure; on the loop's thread.

import OpClusterModel

/// The texts of refusals, and when they were last logged.
struct RefusedWorkers {
  private var told: [String: Instant] = [:]
  /// The pause before the same text is logged again.
  private static let pause = Span.seconds(600)

  /// Notes the text; returns whether to log it now.
  mutating func noteRefusal(_ words: String, at now: Instant) -> Bool {
    if let last = told[words], now - last < Self.pause { return false }
    if told.count >= Limits.refusedWorkersTold {
      told = told.filter { now - $0.value < Self.pause }
    }
    // Limits the log lines of a flood of names.
    guard told.count < Limits.refusedWorkersTold else { return false }
    told[words] = now
    return true
  }
}
