// The settings of a worker and their sources: flag, environment, configuration file, in this order.
// Read once at the start, on the starting thread.
// A value is a text, whatever it means; the reader of a setting parses it. An empty variable counts
// as missing, so that a unit file may clear one.

public import OpClusterKeys
public import OpClusterSystem
import OpClusterWorker

/// A setting of a worker, by the name in its variable (`OPWORKER_CPUS`) and in a configuration file
/// (`opworker_cpus: 4`).
public enum WorkerSetting: String, CaseIterable, Sendable {
  case coordinator, name, cpus, memory, gpus, scratch, processes, drain, keys, join
  /// `NAME=N`, several separated by commas.
  case resource
  /// `KEY=VALUE`, several separated by commas.
  case label
  case logSpace = "log_space"
  case logAge = "log_age"
  case store
  case storeAddress = "store_address"
  case uploadLimit = "upload_limit"
  case metrics
  case memoryLimit = "memory_limit"
  /// A file with the value of `join`.
  case joinFile = "join_file"
  case exitWhenUnreachable = "exit_when_unreachable"
  case exitWhenIdle = "exit_when_idle"
  case runAs = "run_as"
  case logLevel = "log_level"
  case logFormat = "log_format"

  public var variable: String { "OPWORKER_\(rawValue.uppercased())" }
  /// With a prefix, since the files are shared with the other programs.
  public var key: String { "opworker_\(rawValue)" }
}

/// The settings of the environment and the configuration files.
public struct WorkerSettings: Sendable {
  private struct File: Sendable {
    var path: String
    var values: [String: String]
  }
  private let files: [File]
  private let variable: @Sendable (String) -> String?

  /// - Parameters:
  ///   - paths: Configuration files; the first one with a value counts.
  ///   - variable: Looks up the environment.
  public init(
    paths: [String] = ConfigurationFile.paths,
    variable: @escaping @Sendable (String) -> String? = OwnProcess.variable
  ) throws(ConfigurationError) {
    var files: [File] = []
    for path in paths {
      let values = try ConfigurationFile.read(path, keys: WorkerSetting.allCases.map(\.key))
      if let values { files.append(File(path: path, values: values)) }
    }
    self.files = files
    self.variable = variable
  }

  /// The flag if it is given, else the environment, else the files; nil if there is no value.
  public func text(_ setting: WorkerSetting, flag: String? = nil) -> String? {
    if let flag { return flag }
    if let text = variable(setting.variable), !text.isEmpty { return text }
    return files.lazy.compactMap { $0.values[setting.key] }.first { !$0.isEmpty }
  }

  /// The values of a setting that may be given more than once.
  public func list(_ setting: WorkerSetting, flags: [String] = []) -> [String] {
    if !flags.isEmpty { return flags }
    return (text(setting) ?? "").split(separator: ",").map(Self.trimmed)
      .filter { !$0.isEmpty }
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
