// An answer that all viewers share, and when it may be asked for again. Pure.

/// The newest answer to a question whose cost grows with the cluster.
///
/// Asking takes at most one in ``costFactor`` parts of the time, whatever the question costs. A
/// question that failed has cost as much as one that was answered: it is not asked again earlier.
struct SharedAnswer<Answer: Sendable> {
  /// So much longer than the question took, the answer counts.
  static var costFactor: Int { 20 }

  private let leastAge: Duration
  private var newest: Result<Answer, any Error>?
  private var due: ContinuousClock.Instant?

  /// - Parameter leastAge: An answer counts for at least this time.
  init(leastAge: Duration) { self.leastAge = leastAge }

  /// The answer, or the failure, that still counts; nil: ask.
  func current(at now: ContinuousClock.Instant) -> Result<Answer, any Error>? {
    guard let due, now < due else { return nil }
    return newest
  }

  /// Takes the answer to a question, and the times at which it was asked and answered.
  mutating func take(
    _ answer: Result<Answer, any Error>, asked: ContinuousClock.Instant,
    answered: ContinuousClock.Instant
  ) {
    newest = answer
    due = answered + max(leastAge, (answered - asked) * Self.costFactor)
  }
}
