// Log lines for the journal of systemd, with a field for each pair: `journalctl OPCLUSTER_GRAPH=12`
// finds all lines about a graph. Any thread; one datagram a line.

public import Logging
import OpClusterModel
import OpClusterSystem

public struct JournalLog: LogHandler {
  public var metadata: Logger.Metadata = [:]
  public var logLevel: Logger.Level
  private let identifier: String
  private let journal: DatagramSender

  /// Where the journal listens.
  package static let socket = "/run/systemd/journal/socket"

  /// Nil: it cannot be reached.
  package init?(_ identifier: String, level: Logger.Level, socket: String = socket) {
    guard let journal = DatagramSender(socket) else { return nil }
    self.journal = journal
    self.identifier = identifier
    logLevel = level
  }

  /// swift-log demands it; this handler gives metadata no further meaning.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// What the journal does not take goes to standard error, where it would have gone without.
  public func log(event: LogEvent) {
    let pairs = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let line = ("\(event.message)" + pairs.map { " \($0.key)=\($0.value)" }.joined())
      .withoutTerminalOrders()
    var fields = [
      ("MESSAGE", line), ("PRIORITY", "\(Self.priority(of: event.level))"),
      ("SYSLOG_IDENTIFIER", identifier),
    ]
    fields += pairs.map { (Self.name(of: $0.key), "\($0.value)") }
    if journal.send(Self.entry(fields)) { return }
    StandardStream.error.write("\(event.level) \(line)")
  }

  /// One entry of the journal's own protocol. A value with line ends says its length before.
  static func entry(_ fields: [(name: String, value: String)]) -> [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in fields {
      let value = Array(value.utf8)
      bytes += Array(name.utf8)
      if value.contains(0x0a) {
        bytes.append(0x0a)
        let count = UInt64(value.count)
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
          bytes.append(UInt8(truncatingIfNeeded: count >> shift))
        }
      } else {
        bytes.append(UInt8(ascii: "="))
      }
      bytes += value
      bytes.append(0x0a)
    }
    return bytes
  }

  /// `OPCLUSTER_GRAPH`: capitals, digits and `_`, at most 64 of them.
  static func name(of key: String) -> String {
    let name = "OPCLUSTER_"
      + key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
    return String(name.prefix(64))
  }

  /// The numbers of syslog.
  private static func priority(of level: Logger.Level) -> Int {
    switch level {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}
