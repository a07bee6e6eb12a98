// When a worker's body sends what its core has to tell. News that nobody waits for are collected,
// so that both sides save most messages of short operations. A value; the time comes as argument.

package import OpClusterModel

/// The pace of reports. The body asks `maySpeak` before it sends, and again at `speakAt`.
package struct ReportPace: Sendable {
  /// The minimum times between reports while they can wait.
  package struct Intervals: Sendable {
    package static let standard = Intervals(
      many: .milliseconds(2), few: .milliseconds(5))
    /// The time where at least `manyEnds` attempts have ended since the last report.
    package var many: OpClusterModel.Span
    /// The same while there is little to report. Operations then take so long that each would cost
    /// the coordinator a turn of its own.
    package var few: OpClusterModel.Span

    package init(many: OpClusterModel.Span, few: OpClusterModel.Span) {
      self.many = many
      self.few = few
    }
  }
  /// Ends from which on there is much to report.
  private static let manyEnds = 16

  /// The moment at which collected news are sent; nil if none wait.
  package private(set) var speakAt: Instant?
  private let intervals: Intervals
  /// The moment of the last report.
  package private(set) var lastSpoken: Instant
  /// Attempts that have ended since the last report.
  private var endedSince = 0

  /// - Parameter now: Nothing is told before the first interval from here on, if it can wait.
  package init(_ intervals: Intervals = .standard, at now: Instant) {
    self.intervals = intervals
    lastSpoken = now
  }

  package mutating func noteEnd() { endedSince += 1 }

  /// Whether the body sends now what there is to tell. If not, `speakAt` tells when.
  ///
  /// - Parameter canWait: Nobody waits for the news (`ExecutionCore.reportsCanWait`).
  package mutating func maySpeak(canWait: Bool, at now: Instant) -> Bool {
    let interval = endedSince < Self.manyEnds ? intervals.few : intervals.many
    if canWait, now - lastSpoken < interval {
      speakAt = lastSpoken + interval
      return false
    }
    speakAt = nil
    lastSpoken = now
    endedSince = 0
    return true
  }
}
