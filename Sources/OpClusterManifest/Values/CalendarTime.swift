// Parses times in RFC 3339. Pure.
// Made by hand: exact, and without locales or time zones.

import OpClusterModel

/// Years are 0000 to 9999; a leap second does not exist here.
enum CalendarTime {
  /// Parses `2026-11-21T18:00:00Z` or `2026-11-21T18:00:00.5+01:00`. The seconds are optional, and
  /// a blank may stand for the T. Returns nil for any other form, and for a date that does not
  /// exist.
  static func wallTime(_ text: String) -> WallTime? {
    var reader = Reader(rest: Substring(text))
    guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2),
      reader.skip("-"), let day = reader.digits(2), reader.skip("Tt "),
      let hour = reader.digits(2), reader.skip(":"), let minute = reader.digits(2)
    else { return nil }
    var seconds: Int64 = 0
    var thousandths: Int64 = 0
    if reader.skip(":") {
      guard let number = reader.digits(2) else { return nil }
      seconds = number
      if reader.skip(".") {
        guard let fraction = reader.fraction() else { return nil }
        thousandths = fraction
      }
    }
    guard let offset = reader.offset(), reader.rest.isEmpty, (1...12).contains(month),
      day >= 1, day <= days(in: month, of: year), hour < 24, minute < 60, seconds < 60
    else { return nil }
    // Minutes east of UTC are taken off, so the sum is UTC.
    let minutes = (daysSince1970(year, month, day) * 24 + hour) * 60 + minute - offset
    return WallTime(milliseconds: (minutes * 60 + seconds) * 1000 + thousandths)
  }

  /// The month is valid when it is asked for.
  private static func days(in month: Int64, of year: Int64) -> Int64 {
    if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Counts years from 1 March, so that a leap day is the last day of its year.
  /// The constants are those of the proleptic Gregorian calendar: 719,468 days lie between 1 March
  /// of the year 0 and 1970. Exact from that March on.
  private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month <= 2 ? month + 9 : month - 3) + 2) / 5 + day - 1
    return shiftedYear * 365 + shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
      + dayOfYear - 719_468
  }

  /// Consumes the text from the front; nil ends the parsing.
  private struct Reader {
    var rest: Substring

    /// Exactly that many digits, without a sign.
    mutating func digits(_ count: Int) -> Int64? {
      let taken = rest.prefix(count)
      guard taken.utf8.count == count, taken.utf8.allSatisfy(Names.isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return Int64(taken)
    }

    /// Skips one of the characters; false if none is next.
    mutating func skip(_ characters: String) -> Bool {
      guard let next = rest.first, characters.contains(next) else { return false }
      rest = rest.dropFirst()
      return true
    }

    /// Reads a fraction of a second in milliseconds; cuts off further digits.
    mutating func fraction() -> Int64? {
      let taken = rest.prefix { $0.isASCII && $0.isNumber }
      guard !taken.isEmpty else { return nil }
      rest = rest.dropFirst(taken.count)
      return Int64(taken.prefix(3) + String(repeating: "0", count: max(0, 3 - taken.count)))
    }

    /// Reads the minutes east of UTC. Required: a time without an offset could mean any zone.
    mutating func offset() -> Int64? {
      if skip("Zz") { return 0 }
      let isWest = rest.first == "-"
      guard skip("+-"), let hours = digits(2), skip(":"), let minutes = digits(2), hours < 24,
        minutes < 60
      else { return nil }
      return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
  }
}
