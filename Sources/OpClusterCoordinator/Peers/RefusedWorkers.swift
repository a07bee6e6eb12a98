// Which refusals of workers the log has been told: a worker that may not come in tries again every
// few seconds, and somebody has to learn why without reading it a thousand times. Pure; on the
// loop's thread.

import OpClusterModel

/// The words of refusals, and when they were told last.
struct RefusedWorkers {
  private var told: [String: Instant] = [:]
  /// The same is told again after this.
  private static let pause = Span.seconds(600)

  /// Whether the log is to be told now.
  mutating func isNews(_ words: String, at now: Instant) -> Bool {
    if let last = told[words], now - last < Self.pause { return false }
    if told.count >= Limits.refusedWorkersTold {
      told = told.filter { now - $0.value < Self.pause }
    }
    // A flood of names is not worth a line each.
    guard told.count < Limits.refusedWorkersTold else { return false }
    told[words] = now
    return true
  }
}
