// Delayed operations (S150): no operation of a template starts before a moment. Part of the
// submission; the scheduler holds the operation and opens the gate by its own clock.

/// The earliest start of an operation.
public enum NotBefore: Hashable, Sendable {
  /// This long after the commit of the submission; at most `Limits.longestDelay`.
  case after(Span)
  /// At this time of the coordinator's wall clock. The coordinator reads the clock once, at the
  /// commit: setting the clock later has no effect (G31). At once if the time has passed.
  case at(WallTime)

  /// The delay after a commit at a wall time; 0…`Limits.longestDelay`.
  public func delay(submittedAt wall: WallTime) -> Span {
    let longest = Limits.longestDelay
    switch self {
    case .after(let span): return min(max(span, .zero), longest)
    case .at(let time): return min(max(time - wall, .zero), longest)
    }
  }

  /// Whether the moment is at most `Limits.longestDelay` away; a past time is.
  public func isWithinBounds(submittedAt wall: WallTime) -> Bool {
    switch self {
    case .after(let span): return span >= .zero && span <= Limits.longestDelay
    case .at(let time): return time - wall <= Limits.longestDelay
    }
  }

  /// The remaining delay after a restart, by the wall clock; at most the whole delay.
  public func rest(submittedAt wall: WallTime, now: WallTime) -> Span {
    let whole = delay(submittedAt: wall)
    return max(.zero, whole - max(.zero, now - wall))
  }

  /// The moment for people, given the wall time of the submission.
  public func moment(submittedAt wall: WallTime) -> WallTime {
    wall + delay(submittedAt: wall)
  }
}
