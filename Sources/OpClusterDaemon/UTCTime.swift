// Moments as people and programs read them in logs and lists. A pure value.
// Logs use it, whose lines are compared between machines; pages for people use `Times.swift` of
// OpClusterPresentation.

public import OpClusterModel

/// A moment as RFC 3339 writes it, in UTC, to the millisecond.
/// Milliseconds since 1970, also before it. Years beyond 9999 get more digits.
public struct UTCTime {
  let milliseconds: Int64

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public init(_ time: WallTime) { milliseconds = time.milliseconds }

  /// Always 24 characters for years up to 9999, so that lines stand below each other.
  public var text: String {
    let days = (milliseconds >= 0 ? milliseconds : milliseconds - 86_399_999) / 86_400_000
    let inDay = milliseconds - days * 86_400_000
    let (year, month, day) = Self.date(ofDay: days)
    let clock = [inDay / 3_600_000, inDay / 60_000 % 60, inDay / 1_000 % 60]
      .map { Self.digits($0, 2) }.joined(separator: ":")
    return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))T\(clock)."
      + "\(Self.digits(inDay % 1_000, 3))Z"
  }

  /// Year, month and day of a number of days since 1970, by counting.
  /// O(years since 1970), which is cheap enough for a line of a log.
  private static func date(ofDay number: Int64) -> (Int64, Int64, Int64) {
    func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    var rest = number
    var year: Int64 = 1970
    while rest < 0 {
      year -= 1
      rest += isLeap(year) ? 366 : 365
    }
    while rest >= (isLeap(year) ? 366 : 365) {
      rest -= isLeap(year) ? 366 : 365
      year += 1
    }
    var month: Int64 = 1
    for days in [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as [Int64] {
      if rest < days { break }
      rest -= days
      month += 1
    }
    return (year, month, rest + 1)
  }

  /// Fills with zeros; a longer number is kept whole.
  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
