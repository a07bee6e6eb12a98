// The settings of a coordinator and their sources: flag, environment, configuration file, default.
// One table of names; `config show` and `serve` read the same values. A new setting is a flag, a
// case of `Setting`, its built-in value and its line in `SettingValues`; the compiler asks for all
// but the flag's entry in `flags`.

import ArgumentParser
import OpClusterCoordinator
import OpClusterFolders
import OpClusterKeys
import OpClusterModel
import OpClusterSystem

/// The flags that several commands share. All flags are texts: `Configuration` compares texts from
/// four sources and has one place that understands them.
struct ServiceOptions: ParsableArguments {
  @Option(help: "Where clients connect to, tcp:// or ipc://. [OPCOORD_CLIENT]")
  var client: String?
  @Option(help: "Where workers connect to, tcp:// or ipc://. [OPCOORD_WORKER]")
  var worker: String?
  @Option(help: "Folder of the journal. [OPCOORD_STATE]")
  var state: String?
  @Option(help: "Folder of the keys, for TCP. [OPCOORD_KEYS]")
  var keys: String?
  @Option(help: "Where figures for Prometheus are served, HOST:PORT. [OPCOORD_METRICS]")
  var metrics: String?
  @Option(help: "Each side speaks at least this often, in seconds. [OPCOORD_HEARTBEAT]")
  var heartbeat: String?
  @Option(help: "A worker silent for so long gets no new work, in seconds. [OPCOORD_SUSPECT]")
  var suspect: String?
  @Option(help: "A worker silent for so long is lost, in seconds. [OPCOORD_LOST]")
  var lost: String?
  @Option(help: "Patience for known workers after a start, in seconds. [OPCOORD_RESYNC]")
  var resync: String?
  @Option(help: "From asking an operation to stop to KILL, in seconds. [OPCOORD_GRACE]")
  var grace: String?
  @Option(help: "How long workers go on without a coordinator, in seconds. [OPCOORD_ORPHAN]")
  var orphan: String?
  @Option(
    help:
      "An exclusive operation is killed so long after the last contact; 0: none. [OPCOORD_FENCE]")
  var fence: String?
  @Option(help: "Turns after which a snapshot is taken. [OPCOORD_SNAPSHOT_TURNS]")
  var snapshotTurns: String?
  @Option(help: "Journal bytes after which a snapshot is taken. [OPCOORD_SNAPSHOT_BYTES]")
  var snapshotBytes: String?
  @Option(help: "Bytes of the event log that are kept. [OPCOORD_EVENT_BYTES]")
  var eventBytes: String?
  @Option(help: "Submissions are refused below so many free bytes. [OPCOORD_DISK_RESERVE]")
  var diskReserve: String?
  @Option(help: "Requests a second that one client may make. [OPCOORD_REQUESTS_PER_SECOND]")
  var requestsPerSecond: String?
  @Option(help: "Bytes of them a second. [OPCOORD_REQUEST_BYTES_PER_SECOND]")
  var requestBytesPerSecond: String?
  @Option(help: "Operations of one client that have not ended. [OPCOORD_PENDING_OPERATIONS]")
  var pendingOperations: String?
  @Option(help: "Connections that one client may have. [OPCOORD_CONNECTIONS]")
  var connections: String?
  @Option(help: "Whose graphs a submitter may change, own or all. [OPCOORD_STEERING]")
  var steering: String?
  @Option(help: "trace, debug, info, notice, warning, error or critical. [OPCOORD_LOG_LEVEL]")
  var logLevel: String?
  @Option(help: "text or json. [OPCOORD_LOG_FORMAT]")
  var logFormat: String?

  /// The flags that were given, by the names of their settings.
  var flags: [Setting: String] {
    let all: [(Setting, String?)] = [
      (.client, client), (.worker, worker), (.state, state), (.keys, keys),
      (.metrics, metrics),
      (.heartbeat, heartbeat),
      (.suspect, suspect), (.lost, lost), (.resync, resync), (.grace, grace), (.orphan, orphan),
      (.fence, fence),
      (.snapshotTurns, snapshotTurns), (.snapshotBytes, snapshotBytes),
      (.eventBytes, eventBytes), (.diskReserve, diskReserve),
      (.requestsPerSecond, requestsPerSecond), (.requestBytesPerSecond, requestBytesPerSecond),
      (.pendingOperations, pendingOperations), (.connections, connections),
      (.steering, steering), (.logLevel, logLevel), (.logFormat, logFormat),
    ]
    return Dictionary(
      uniqueKeysWithValues: all.compactMap { name, text in text.map { (name, $0) } })
  }
}

/// A setting, by its name in files and in `config show`. The order is that of `config show`.
enum Setting: String, CaseIterable {
  case client, worker, state, keys, metrics, heartbeat, suspect, lost, resync, grace, orphan, fence
  case snapshotTurns = "snapshot_turns"
  case snapshotBytes = "snapshot_bytes"
  case eventBytes = "event_bytes"
  case diskReserve = "disk_reserve"
  case requestsPerSecond = "requests_per_second"
  case requestBytesPerSecond = "request_bytes_per_second"
  case pendingOperations = "pending_operations"
  case connections
  case steering
  case logLevel = "log_level"
  case logFormat = "log_format"

  /// `OPCOORD_LOG_LEVEL`
  var variable: String { "OPCOORD_\(rawValue.uppercased())" }
  /// `opcoord_log_level`: with a prefix, since the files are shared with the other programs.
  /// `ConfigurationFile` refuses a key with this prefix that is no setting: it would be a typing
  /// error that nobody notices.
  var key: String { "opcoord_\(rawValue)" }
  /// The flag on the command line. ArgumentParser makes the same words of the names of
  /// `ServiceOptions`; a problem names the flag also where the value came from a file.
  var flag: String { "--" + rawValue.map { $0 == "_" ? "-" : String($0) }.joined() }
}

/// A problem of the configuration, for people; exit 78. The text begins with the flag's name, and
/// needs no further words.
struct ConfigurationProblem: Error {
  var text: String
}

/// The settings in force with their sources. The order of the sources is fixed: the nearer to the
/// command line, the stronger. An empty variable counts as not set.
struct Configuration {
  struct Value {
    var text: String
    var origin: String
  }
  private(set) var values: [Setting: Value] = [:]

  /// - Throws: The problem of a configuration file.
  /// Reads every file once. A text is not understood here; `settings()` does that.
  init(flags: [Setting: String]) throws(ConfigurationProblem) {
    let files = try Self.files()
    for setting in Setting.allCases {
      if let text = flags[setting] {
        values[setting] = Value(text: text, origin: "flag")
      } else if let text = OwnProcess.filledVariable(setting.variable) {
        values[setting] = Value(text: text, origin: "environment")
      } else if let file = files.first(where: { $0.settings[setting.key] != nil }) {
        values[setting] = Value(text: file.settings[setting.key] ?? "", origin: file.path)
      } else {
        values[setting] = Value(text: Self.builtIn(setting), origin: "built in")
      }
    }
    // Shown as it will be used: `config show` must not promise a fence that is not in force.
    if values[.fence]?.origin == "built in", !timesLeaveRoomForFence {
      values[.fence]?.text = "0"
    }
  }

  /// The files that exist, the strongest first. An unknown key of ours in one is an error; keys of
  /// the other programs are left alone.
  private static func files() throws(ConfigurationProblem) -> [(
    path: String, settings: [String: String]
  )] {
    var files: [(path: String, settings: [String: String])] = []
    do throws(ConfigurationError) {
      for path in ConfigurationFile.paths {
        let settings = try ConfigurationFile.read(path, keys: Setting.allCases.map(\.key))
        if let settings { files.append((path, settings)) }
      }
    } catch {
      throw ConfigurationProblem(text: error.description)
    }
    return files
  }

  /// Whether an exclusive operation can be dead in time with the built-in fence. Without an
  /// explicit fence, a short LOST means that no exclusive operations are accepted (G16).
  private var timesLeaveRoomForFence: Bool {
    var timing = Timing()
    guard let lost = try? span(.lost), let resync = try? span(.resync) else { return true }
    timing.lost = lost
    timing.resync = resync
    return timing.fencesInTime
  }

  /// Never missing after `init`.
  subscript(setting: Setting) -> String { values[setting]?.text ?? "" }

  /// As text, so that it is shown and understood as any other value. The addresses are of this
  /// machine alone: to serve others is a decision.
  private static func builtIn(_ setting: Setting) -> String {
    let times = CoordinatorTimes()
    let quotas = Quotas()
    switch setting {
    case .client: return "tcp://127.0.0.1:7420"
    case .worker: return "tcp://127.0.0.1:7421"
    case .state: return CoordinatorRecord.defaultFolder
    case .keys: return KeyFolder.standard.path
    case .metrics: return ""
    case .heartbeat: return times.heartbeat
    case .suspect: return times.suspect
    case .lost: return times.lost
    case .resync: return times.resync
    case .grace: return times.grace
    case .orphan: return times.orphan
    case .fence: return times.fence
    case .snapshotTurns: return times.snapshotTurns
    case .snapshotBytes: return times.snapshotBytes
    case .eventBytes: return times.eventBytes
    case .diskReserve: return times.diskReserve
    case .requestsPerSecond: return "\(quotas.requestsPerSecond)"
    case .requestBytesPerSecond: return "\(quotas.requestBytesPerSecond)"
    case .pendingOperations: return "\(quotas.pendingOperations)"
    case .connections: return "\(quotas.connections)"
    case .steering: return Steering.own.rawValue
    case .logLevel: return "info"
    case .logFormat: return "text"
    }
  }

}
