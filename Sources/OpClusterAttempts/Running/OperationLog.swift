// The output of `context.logger` in registered operations: goes to the worker's log by the worker's
// settings, and to the operation's own log for its submitter. Any thread.

import Logging
import OpClusterDaemon
import OpClusterModel
import OpClusterProcesses
import OpClusterSystem

/// One line of an operation's own log: `TIME LEVEL MESSAGE key=value…`.
enum OperationLogLine {
  /// Metadata that every reader of this log knows.
  private static let known: Set<String> = ["graph", "operation", "run"]

  static func text(
    _ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata
  ) -> String {
    let pairs = metadata.filter { !known.contains($0.key) }.sorted { $0.key < $1.key }
    let tail = pairs.map { " \($0.key)=\($0.value)" }.joined()
    return "\(UTCTime(WallTime(milliseconds: WallClock.now())).text) \(level) \(message)\(tail)"
  }
}

/// Writes to the stderr of an attempt that runs in this process.
struct OperationLog: LogHandler {
  /// The worker's logger.
  private var base: Logger
  /// Opened for each line: few attempts log, and thousands may run at once.
  private let path: String
  /// The minimum level of the operation's own log; a level set by the operation takes precedence.
  private var ownLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level {
    didSet { ownLevel = logLevel }
  }

  /// - Parameter path: The final file of the attempt's stderr; its folder need not exist.
  init(_ base: Logger, path: String) {
    self.base = base
    self.path = path
    logLevel = min(base.logLevel, ownLevel)
  }

  /// The same number of bytes as a command may write to a stream.
  static let most = Int64(CommandSpecification(form: .arguments([])).maximumOutputBytes)

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { $1 }
    base.log(
      level: event.level, event.message, metadata: all, source: event.source, file: event.file,
      function: event.function, line: event.line)
    guard event.level >= ownLevel else { return }
    append(OperationLogLine.text(event.level, event.message, all))
  }

  /// Ignores errors: the line is in the worker's log, too.
  private func append(_ line: String) {
    if let slash = path.lastIndex(of: "/") { try? Folders.make(String(path[..<slash])) }
    let size = Folders.size(of: path) ?? 0
    guard size < Self.most else { return }
    let text = line.withoutTerminalOrders() + "\n"
    let fits = size + Int64(text.utf8.count) <= Self.most
    Folders.append(fits ? text : ProcessHost.cutMarker(Int(clamping: Self.most)), to: path)
  }
}
