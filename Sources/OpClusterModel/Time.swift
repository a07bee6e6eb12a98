// Time as an argument: brains never read a clock; bodies pass these in.

/// A moment of the monotonic clock of one machine, in nanoseconds. Comparable only with moments
/// of the same machine (S1).
public struct Instant: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  public static let zero = Instant(nanoseconds: 0)
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  public static func + (a: Self, b: Span) -> Self {
    Instant(nanoseconds: a.nanoseconds &+ b.nanoseconds)
  }
  public static func - (a: Self, b: Self) -> Span {
    Span(nanoseconds: a.nanoseconds &- b.nanoseconds)
  }
}

/// A length of time in nanoseconds.
public struct Span: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
  public static func milliseconds(_ count: Int64) -> Span {
    Span(nanoseconds: count.multipliedReportingOverflow(by: 1_000_000).partialValue)
  }
  public static func seconds(_ count: Int64) -> Span { .milliseconds(count * 1000) }
  public static let zero = Span(nanoseconds: 0)
  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  public static func + (a: Self, b: Self) -> Self {
    Span(nanoseconds: a.nanoseconds &+ b.nanoseconds)
  }
  public static func - (a: Self, b: Self) -> Self {
    Span(nanoseconds: a.nanoseconds &- b.nanoseconds)
  }
  public var seconds: Double { Double(nanoseconds) / 1e9 }
}

/// Wall-clock time for people: milliseconds since 1970, UTC. Nothing is ever decided by it (G31).
public struct WallTime: Hashable, Comparable, Sendable {
  public var milliseconds: Int64
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }
  public static let unknown = WallTime(milliseconds: 0)
  public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
}
