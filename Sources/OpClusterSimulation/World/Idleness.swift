// A busy loop of an actor, which shows in turns without anything to do (G30).

import OpClusterModel

/// Counts idle turns: many in a second are a busy loop (G30).
struct Idleness {
  private var since = Instant.zero
  private var count = 0

  /// Whether there is a busy loop.
  mutating func add(isIdle: Bool, at now: Instant) -> Bool {
    if !isIdle || now - since > .seconds(1) {
      since = now
      count = 0
    }
    count += 1
    return count > 200
  }
}
