// Log lines to standard error, for people or for programs. Any thread; one write per line.

public import Logging
import OpClusterZeroMQ

/// Writes `TIME LEVEL MESSAGE key=value…`, or one JSON object a line.
public struct StandardErrorLog: LogHandler {
  public enum Format: String, Sendable, CaseIterable {
    case text, json
  }
  public var metadata: Logger.Metadata = [:]
  public var logLevel: Logger.Level
  private let format: Format

  public init(format: Format, level: Logger.Level) {
    self.format = format
    logLevel = level
  }

  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  public func log(event: LogEvent) {
    let pairs = metadata.merging(event.metadata ?? [:]) { $1 }
      .sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
    let time = Self.time(WallClock.now())
    var line: String
    switch format {
    case .text:
      line = "\(time) \(event.level) \(event.message)"
      for (key, value) in pairs { line += " \(key)=\(value)" }
    case .json:
      line = "{\"time\":\"\(time)\",\"level\":\"\(event.level)\""
      for (key, value) in [("message", "\(event.message)")] + pairs {
        line += ",\(Self.quote(key)):\(Self.quote(value))"
      }
      line += "}"
    }
    Terminal.write(line, to: .error)
  }

  private static func quote(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 32:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// RFC 3339 in UTC, to the millisecond.
  static func time(_ milliseconds: Int64) -> String {
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let seconds = milliseconds / 1_000
    let (days, rest) = (seconds / 86_400, seconds % 86_400)
    let (year, month, day) = date(days)
    return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(digits(rest / 3_600, 2)):"
      + "\(digits(rest / 60 % 60, 2)):\(digits(rest % 60, 2)).\(digits(milliseconds % 1_000, 3))Z"
  }

  /// Year, month and day of a number of days after 1 January 1970. Years begin in March here, so
  /// that the leap day is the last of its year.
  private static func date(_ days: Int64) -> (Int64, Int64, Int64) {
    // 719,468 days lie between 1 March of the year 0 and 1 January 1970; 146,097 are 400 years.
    let shifted = days + 719_468
    let (era, ofEra) = (shifted / 146_097, shifted % 146_097)
    let yearOfEra = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * marchMonth + 2) / 5 + 1
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}
