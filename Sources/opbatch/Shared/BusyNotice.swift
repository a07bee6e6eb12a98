// Says that the coordinator is too busy for a request: what, why, and when it is asked again. One
// line at first, and another one now and then while that lasts. Any thread.

import OpClusterModel
import OpClusterPresentation
import Synchronization

final class BusyNotice: Sendable {
  /// Between two lines.
  private static let pause = Duration.seconds(5)
  private let last = Mutex<ContinuousClock.Instant?>(nil)
  private let say: @Sendable (String) -> Void

  init(_ say: @escaping @Sendable (String) -> Void) { self.say = say }

  func tell(_ refusal: Refusal, pause: Span, at now: ContinuousClock.Instant = .now) {
    let isDue = last.withLock { last in
      if let last, last.duration(to: now) < Self.pause { return false }
      last = now
      return true
    }
    if isDue { say(Self.line(refusal, pause)) }
  }

  static func line(_ refusal: Refusal, _ pause: Span) -> String {
    "waiting: the coordinator is busy: \(safe(refusal.message)); asking again in "
      + "\(tenths(pause)) s"
  }

  /// `0.4`, never less than a tenth.
  private static func tenths(_ span: Span) -> String {
    let tenths = max(1, (span + .milliseconds(50)).wholeMilliseconds / 100)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
