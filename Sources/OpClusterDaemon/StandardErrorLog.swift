// Log lines to standard error, for people or for programs. Any thread; one write a line.
// Coordinator and workers use it. A line has the level as a word, so it can be searched without
// colours.

public import Logging
import OpClusterSystem

/// Writes `TIME LEVEL MESSAGE key=value…`, or one JSON object a line.
/// Pairs are sorted by key, so that equal messages give equal lines.
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

  /// swift-log demands it; this handler gives metadata no further meaning.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Metadata of the event replace those of the logger. An unfinished write is not repeated: a log
  /// must not hold up its program.
  public func log(event: LogEvent) {
    let pairs = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let time = UTCTime(milliseconds: WallClock.now()).text
    switch format {
    case .text:
      let tail = pairs.map { " \($0.key)=\($0.value)" }.joined()
      StandardStream.error.write("\(time) \(event.level) \(event.message)\(tail)")
    case .json:
      let fields = [("time", time), ("level", "\(event.level)"), ("message", "\(event.message)")]
      let all = fields + pairs.map { ($0.key, "\($0.value)") }
      let body = all.map { "\(Self.quote($0.0)):\(Self.quote($0.1))" }
      StandardStream.error.write("{\(body.joined(separator: ","))}")
    }
  }

  /// A text as a JSON string.
  /// Escapes what JSON demands. Characters that could steer a terminal are replaced when the line
  /// is written.
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
