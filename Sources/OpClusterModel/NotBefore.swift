// Delayed operations (S150): the wish that nothing of an operation starts before a moment. Said
// with the submission; the scheduler holds the operation and opens the gate by its own clock.

/// Before when an operation does not start.
public enum NotBefore: Hashable, Sendable {
  /// So long after the commit of its submission; at most `Limits.longestDelay`.
  case after(Span)
  /// At this time of the coordinator's wall clock, which is looked at when it commits the
  /// submission: a clock that is set afterwards moves nothing (G31). At once if it has passed.
  case at(WallTime)

  /// From the commit of the submission at a wall time to the moment; 0…`Limits.longestDelay`.
  public func delay(submittedAt wall: WallTime) -> Span {
    let longest = Limits.longestDelay
    switch self {
    case .after(let span): return min(max(span, .zero), longest)
    case .at(let time): return min(max(time - wall, .zero), longest)
    }
  }

  /// Whether it is no further away than `Limits.longestDelay`; a time that has passed is.
  public func isWithinBounds(submittedAt wall: WallTime) -> Bool {
    switch self {
    case .after(let span): return span >= .zero && span <= Limits.longestDelay
    case .at(let time): return time - wall <= Limits.longestDelay
    }
  }

  /// What is left of it for a coordinator that was away and has only the wall clock to go by. Never
  /// more than the whole of it, however the clock was set meanwhile.
  public func rest(submittedAt wall: WallTime, now: WallTime) -> Span {
    let whole = delay(submittedAt: wall)
    return max(.zero, whole - max(.zero, now - wall))
  }

  /// The moment for people, of a submission at a wall time.
  public func moment(submittedAt wall: WallTime) -> WallTime {
    wall + delay(submittedAt: wall)
  }
}
