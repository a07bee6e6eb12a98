// How many bytes a store may send now, if its network is limited. Time is an argument.

import OpClusterModel
import OpClusterSystem
import Synchronization

/// The allowance of a store for all that it sends: to those who read from it, and to other stores.
/// Any thread. Whoever waits for it looks again when it opens, since another may have taken it.
package final class SharedSendAllowance: Sendable {
  private let allowance: Mutex<SendAllowance>

  /// - Parameter bytesPerSecond: nil: as many as there are.
  package init(bytesPerSecond: Int64? = nil) {
    let now = Instant(nanoseconds: MonotonicClock.now())
    allowance = Mutex(SendAllowance(rate: bytesPerSecond, at: now))
  }

  /// How many transfers can each have a piece of so many bytes within some time; at least one.
  func mostTransfers(of bytes: Int, within time: Span) -> Int {
    guard let rate = allowance.withLock({ $0.rate }) else { return .max }
    return max(1, Int(saturating: Double(rate) * time.seconds / Double(bytes)))
  }

  func isOpen(at now: Instant) -> Bool {
    allowance.withLock {
      $0.pass(now)
      return $0.isOpen
    }
  }
  func take(_ count: Int) { allowance.withLock { $0.take(count) } }
  func opens(after now: Instant) -> Instant { allowance.withLock { $0.opens(after: now) } }
}

/// An allowance that grows with time, up to what one second brings.
struct SendAllowance: Sendable {
  /// Bytes for each second; nil: as many as there are.
  let rate: Int64?
  private var bytes: Double
  private var countedAt: Instant

  init(rate: Int64?, at now: Instant) {
    self.rate = rate
    bytes = Double(rate ?? 0)
    countedAt = now
  }

  /// Lets time pass.
  mutating func pass(_ now: Instant) {
    guard let rate else { return }
    let seconds = max(0, (now - countedAt).seconds)
    countedAt = max(countedAt, now)
    bytes = min(bytes + seconds * Double(rate), Double(rate))
  }

  /// Whether something may be sent: also a piece that is larger than what is left, which is then
  /// owed.
  var isOpen: Bool { rate == nil || bytes > 0 }

  mutating func take(_ count: Int) { if rate != nil { bytes -= Double(count) } }

  /// When it opens again; at most a second from now, since a slow one is looked at again then.
  func opens(after now: Instant) -> Instant {
    guard let rate, bytes <= 0 else { return now }
    let seconds = min(-bytes / Double(max(rate, 1)), 1)
    return now + Span.milliseconds(Int64(saturating: (seconds * 1_000).rounded(.up)) + 1)
  }
}
