// Formats moments for programs (RFC 3339, UTC) and for people (the caller's zone).
// Times of the cluster are the coordinator's wall clock, or a worker's; nothing is decided by them
// (G31).

public import OpClusterModel

/// The parts of a moment in the proleptic Gregorian calendar.
/// Valid for all 64-bit milliseconds: sums saturate.
struct CivilTime {
  var year: Int64
  var month: Int64
  var day: Int64
  var secondOfDay: Int64
  var millisecond: Int64

  init(_ time: WallTime, secondsEastOfUTC: Int = 0) {
    let milliseconds = time.milliseconds.saturatingAdd(
      Int64(secondsEastOfUTC).saturatingMultiply(1000))
    let perDay: Int64 = 86_400_000
    // The remainder is made positive, so that times before 1970 count up as well.
    let rest = ((milliseconds % perDay) + perDay) % perDay
    let days = (milliseconds - rest) / perDay
    secondOfDay = rest / 1000
    millisecond = rest % 1000
    // Counts days in eras of 400 years from 1 March, so that a leap day is the last day of its
    // year.
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Years before 1000 have fewer digits.
  var date: String { "\(year)-\(twoDigits(month))-\(twoDigits(day))" }
  var clock: String {
    let minute = twoDigits(secondOfDay / 60 % 60)
    return "\(twoDigits(secondOfDay / 3600)):\(minute):\(twoDigits(secondOfDay % 60))"
  }
}

/// Formats `2026-11-21T01:40:48.123Z`.
public func rfc3339(_ time: WallTime) -> String {
  let civil = CivilTime(time)
  let thousandths = String(String(1000 + civil.millisecond).dropFirst())
  return "\(civil.date)T\(civil.clock).\(thousandths)Z"
}

extension Style {
  /// Formats `01:40:48` for today, `2026-11-20 23:59:00` for other days, `-` if unknown.
  public func shownTime(_ time: WallTime) -> String {
    guard time != .unknown else { return "-" }
    let civil = CivilTime(time, secondsEastOfUTC: secondsEastOfUTC)
    let today = CivilTime(now, secondsEastOfUTC: secondsEastOfUTC)
    return civil.date == today.date ? civil.clock : civil.date + " " + civil.clock
  }

  /// Formats `3m 10s ago`, `-` if unknown.
  /// A time in the future, by a clock that differs, is shown as now.
  func shownAge(_ time: WallTime) -> String {
    guard time != .unknown, now != .unknown else { return "-" }
    let age = now - time
    return age < .seconds(1) ? "now" : shownDuration(age) + " ago"
  }
}
