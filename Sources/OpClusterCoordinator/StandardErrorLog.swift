// Log lines to standard error, for people or for programs. Any thread; one write a line.

public import Logging
public import OpClusterModel
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
    let pairs = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let time = UTCTime(milliseconds: WallClock.now()).text
    switch format {
    case .text:
      let tail = pairs.map { " \($0.key)=\($0.value)" }.joined()
      Kernel.write("\(time) \(event.level) \(event.message)\(tail)", to: .error)
    case .json:
      let fields = [("time", time), ("level", "\(event.level)"), ("message", "\(event.message)")]
      let all = fields + pairs.map { ($0.key, "\($0.value)") }
      let body = all.map { "\(Self.quote($0.0)):\(Self.quote($0.1))" }
      Kernel.write("{\(body.joined(separator: ","))}", to: .error)
    }
  }

  /// A text as a JSON string.
  public static func quote(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 32:
        let digits = String(scalar.value, radix: 16)
        result += "\\u00" + (digits.utf8.count < 2 ? "0" : "") + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// A moment as RFC 3339 writes it, in UTC, to the millisecond.
public struct UTCTime {
  let milliseconds: Int64

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public init(_ time: WallTime) { milliseconds = time.milliseconds }

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

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
