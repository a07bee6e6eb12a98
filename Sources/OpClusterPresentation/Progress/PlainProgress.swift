// Progress of `watch` and `wait` without a terminal: one line per tenth, every 30 seconds, and at
// the end.
// Without a terminal a line cannot be repainted, so each one must be worth keeping.

public import OpClusterModel

/// Decides when a line is due.
/// One per followed graph.
public struct PlainProgress: Sendable {
  /// The longest time without a line.
  public static let silence = Span.seconds(30)
  /// Tenths of the operations that have ended, 0 to 10.
  private var lastTenth: UInt64 = 0
  private var lastLine: Instant?
  private var hasEnded = false
  public init() {}

  /// Returns the line that is due now; nil if none. `now` is monotonic time, for the silence.
  /// At most one line per call. The first call always has one.
  public mutating func line(_ progress: GraphProgress, at now: Instant, _ style: Style) -> String? {
    guard !hasEnded else { return nil }
    let tenth =
      progress.total == 0 ? 0 : UInt64(progress.finished) * 10 / UInt64(progress.total)
    let isSilent = lastLine.map { now - $0 >= PlainProgress.silence } ?? true
    hasEnded = progress.outcome != nil
    guard isSilent || tenth > lastTenth || hasEnded else { return nil }
    lastTenth = tenth
    lastLine = now
    return text(progress, style)
  }

  /// Outcomes other than success are told as soon as there are any.
  private func text(_ progress: GraphProgress, _ style: Style) -> String {
    var parts = ["\(shownCount(progress.finished)) of \(shownCount(progress.total)) done"]
    if progress.executing > 0 { parts.append("\(shownCount(progress.executing)) executing") }
    for outcome in [Outcome.failed, .timedOut, .lost, .cancelled, .skipped] {
      let count = progress.count(outcome)
      if count > 0 { parts.append("\(shownCount(count)) \(StateWord(outcome).rawValue)") }
    }
    parts.append(progress.elapsed(style.now))
    let name = "\(progress.graph.number) \(safe(progress.name)): "
    return StyledLine([
      .init(name, .strong), .init(progress.state.rawValue, progress.state.tone),
      .init(", " + parts.joined(separator: ", ")),
    ]).text(style)
  }
}
