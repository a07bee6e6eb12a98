// Says that the coordinator is too busy for a request or waits for its disk: what, why, and when
// the request is repeated. One line at first, and another one every few seconds. Any thread.

import OpClusterModel
import OpClusterPresentation
import Synchronization

final class BusyNotice: Sendable {
  /// The time between two lines.
  private static let pause = Duration.seconds(5)
  private let last = Mutex<ContinuousClock.Instant?>(nil)
  private let say: @Sendable (String) -> Void

  init(_ say: @escaping @Sendable (String) -> Void) { self.say = say }

  /// The connection repeats the request by itself after `pause`; this only says so.
  func tell(_ refusal: Refusal, pause: Span, at now: ContinuousClock.Instant = .now) {
    if isDue(now) { say(Self.line(refusal, pause)) }
  }

  /// Nothing is repeated here: the answer is decided and waits for the journal (G3).
  func tell(diskWait: Span, at now: ContinuousClock.Instant = .now) {
    if isDue(now) { say(Self.line(diskWait: diskWait)) }
  }

  /// Both kinds share the time: a coordinator that is busy mostly waits for its disk as well.
  private func isDue(_ now: ContinuousClock.Instant) -> Bool {
    last.withLock { last in
      if let last, last.duration(to: now) < Self.pause { return false }
      last = now
      return true
    }
  }

  static func line(diskWait: Span) -> String {
    "waiting: the coordinator has waited for its disk for \(tenths(diskWait)) s; the answer comes "
      + "when the disk has confirmed what it depends on"
  }

  static func line(_ refusal: Refusal, _ pause: Span) -> String {
    "waiting: the coordinator is busy: \(safe(refusal.message)); asking again in "
      + "\(tenths(pause)) s"
  }

  /// Formats `0.4`; at least a tenth.
  private static func tenths(_ span: Span) -> String {
    let tenths = max(1, (span + .milliseconds(50)).wholeMilliseconds / 100)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
