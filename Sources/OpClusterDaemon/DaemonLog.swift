// Where the log of a daemon goes: to standard error, or, where that is the journal of systemd, to
// the journal itself, which keeps its fields apart.

public import Logging
import OpClusterSystem

public enum DaemonLog {
  /// What is wrong with the words of a log's settings.
  public enum Problem: Error, Equatable {
    case level, format

    /// What may be written.
    public var choices: String {
      switch self {
      case .level: "trace, debug, info, notice, warning, error or critical"
      case .format: "text or json"
      }
    }
  }

  /// - Parameters:
  ///   - name: The program.
  ///   - level: The least level that is told.
  ///   - format: `text` or `json`.
  public static func logger(
    _ name: String, level: String, format: String
  ) throws(Problem) -> Logger {
    guard let level = Logger.Level(rawValue: level) else { throw .level }
    guard let format = StandardErrorLog.Format(rawValue: format) else { throw .format }
    // Who asks for JSON reads it as it is.
    if format == .text, OwnProcess.errorIsJournal, let log = JournalLog(name, level: level) {
      return Logger(label: name) { _ in log }
    }
    return Logger(label: name) { _ in StandardErrorLog(format: format, level: level) }
  }
}
