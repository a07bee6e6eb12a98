// When turns become durable: one commit at a time, and turns that close meanwhile share the next.

import OpClusterModel

struct ModelDisk: Sendable {
  let commit: Span
  /// The end of the commit that runs, and of the one that follows it.
  private var runningEnd = Instant.zero
  private var nextEnd: Instant?

  init(commit: Span) { self.commit = commit }

  /// The moment at which all that was decided so far is durable.
  var durableAt: Instant { nextEnd ?? runningEnd }

  /// The moment at which a turn that closes now is durable. Moments never go back.
  mutating func append(at now: Instant) -> Instant {
    if let next = nextEnd, now >= runningEnd {
      runningEnd = next
      nextEnd = nil
    }
    if now >= runningEnd {
      runningEnd = now + commit
      return runningEnd
    }
    nextEnd = runningEnd + commit
    return runningEnd + commit
  }
}
