// Time values. Brains never read a clock; their bodies pass time in.
//
// Moments and lengths come from clocks, messages, manifests and programs. Each type clamps to its
// bounds, so that no sum can overflow (G33). Use the operators below, never the numbers inside;
// `TidyTests` checks this.

/// A moment of one machine's monotonic clock, in nanoseconds. Comparable only with moments of the
/// same machine (S1). At most ±`Limits.furthestInstantNanoseconds`.
public struct Instant: Hashable, Comparable, Sendable {
  public let nanoseconds: Int64
  public init(nanoseconds: Int64) {
    let furthest = Limits.furthestInstantNanoseconds
    self.nanoseconds = min(max(nanoseconds, -furthest), furthest)
  }
  public static let zero = Instant(nanoseconds: 0)
  /// The moments before and after every moment of a clock.
  public static let distantPast = Instant(nanoseconds: .min)
  public static let distantFuture = Instant(nanoseconds: .max)
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  public static func + (a: Self, b: Span) -> Self {
    Instant(nanoseconds: a.nanoseconds + b.nanoseconds)
  }
  public static func - (a: Self, b: Span) -> Self {
    Instant(nanoseconds: a.nanoseconds - b.nanoseconds)
  }
  public static func - (a: Self, b: Self) -> Span {
    // Twice the furthest moment exceeds the largest number by one.
    Span(nanoseconds: a.nanoseconds.saturatingSubtract(b.nanoseconds))
  }
}

/// A length of time in nanoseconds, at most ±`Limits.longestSpanNanoseconds`.
public struct Span: Hashable, Comparable, Sendable {
  public let nanoseconds: Int64
  public init(nanoseconds: Int64) {
    let longest = Limits.longestSpanNanoseconds
    self.nanoseconds = min(max(nanoseconds, -longest), longest)
  }
  /// Converts a `Duration`; cuts off fractions of a nanosecond.
  public init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .seconds(seconds) + Span(nanoseconds: attoseconds / 1_000_000_000)
  }
  public static func milliseconds(_ count: Int64) -> Span {
    Span(nanoseconds: count.saturatingMultiply(1_000_000))
  }
  public static func seconds(_ count: Int64) -> Span {
    Span(nanoseconds: count.saturatingMultiply(1_000_000_000))
  }
  /// Converts a decimal number of seconds; NaN becomes zero.
  public static func fractionalSeconds(_ count: Double) -> Span {
    Span(nanoseconds: Int64(saturating: (count * 1e9).rounded()))
  }
  public static let zero = Span(nanoseconds: 0)
  /// As good as for ever.
  public static let longest = Span(nanoseconds: .max)
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  public static func + (a: Self, b: Self) -> Self {
    Span(nanoseconds: a.nanoseconds + b.nanoseconds)
  }
  public static func - (a: Self, b: Self) -> Self {
    Span(nanoseconds: a.nanoseconds - b.nanoseconds)
  }
  public static func * (span: Self, factor: Int64) -> Self {
    Span(nanoseconds: span.nanoseconds.saturatingMultiply(factor))
  }
  /// Multiplies by a factor; NaN gives zero.
  public func scaled(by factor: Double) -> Span {
    Span(nanoseconds: Int64(saturating: Double(nanoseconds) * factor))
  }
  /// - Parameter divisor: Above zero.
  public static func / (span: Self, divisor: Int64) -> Self {
    Span(nanoseconds: span.nanoseconds / divisor)
  }
  public var seconds: Double { Double(nanoseconds) / 1e9 }
  /// Towards zero.
  public var wholeSeconds: Int64 { nanoseconds / 1_000_000_000 }
  public var wholeMilliseconds: Int64 { nanoseconds / 1_000_000 }
  public var secondsRoundedUp: Int64 { wholeSeconds + (nanoseconds % 1_000_000_000 > 0 ? 1 : 0) }
}

/// Wall-clock time: milliseconds since 1970, UTC. For people, and for times that outlive a start of
/// the coordinator: the lifetimes of keys and invitations, and `not_before` (G31). From 1970 to
/// `Limits.latestWallMilliseconds`, so that every value has a date.
public struct WallTime: Hashable, Comparable, Sendable {
  public let milliseconds: Int64
  public init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, 0), Limits.latestWallMilliseconds)
  }
  public static let unknown = WallTime(milliseconds: 0)
  public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
  public static func + (a: Self, b: Span) -> Self {
    WallTime(milliseconds: a.milliseconds + b.wholeMilliseconds)
  }
  public static func - (a: Self, b: Span) -> Self {
    WallTime(milliseconds: a.milliseconds - b.wholeMilliseconds)
  }
  public static func - (a: Self, b: Self) -> Span {
    .milliseconds(a.milliseconds - b.milliseconds)
  }
}
