// What a worker is told where: flag, environment, configuration file, in this order (interface.md).
// Read once at the start, on the starting thread.

/// A setting of a worker by the name that its variable (`OPWORKER_CPUS`) and its line in a
/// configuration file (`opworker_cpus: 4`) bear.
public enum WorkerSetting: String, CaseIterable, Sendable {
  case coordinator, name, cpus, memory, gpus, scratch, processes, drain, keys, join
  /// `NAME=N`, several divided by commas.
  case resource
  /// `KEY=VALUE`, several divided by commas.
  case label
  case memoryLimit = "memory_limit"
  case exitWhenUnreachable = "exit_when_unreachable"
  case logLevel = "log_level"
  case logFormat = "log_format"

  public var variable: String { "OPWORKER_\(rawValue.uppercased())" }
  /// The files are shared with the other programs.
  public var key: String { "opworker_\(rawValue)" }
}

/// What the environment and the configuration files say.
public struct WorkerSettings: Sendable {
  private struct File: Sendable {
    var path: String
    var values: [WorkerSetting: String]
  }
  private let files: [File]
  private let variable: @Sendable (String) -> String?

  static let maximumBytes = 65_536

  /// - Parameters:
  ///   - paths: configuration files, the first that says something counts.
  ///   - variable: looks up the environment.
  /// - Throws: `.configuration` when a file has a line for workers that means nothing.
  public init(
    paths: [String] = WorkerSettings.paths,
    variable: @escaping @Sendable (String) -> String? = Terminal.variable
  ) throws(WorkerError) {
    var files: [File] = []
    for path in paths where Folders.size(of: path) != nil {
      guard let bytes = Folders.bytes(of: path, atMost: Self.maximumBytes + 1) else {
        throw WorkerError(
          .configuration, "cannot read '\(path)'; make it a readable file, or remove it")
      }
      guard bytes.count <= Self.maximumBytes else {
        throw WorkerError(
          .configuration,
          "'\(path)' is longer than the \(Self.maximumBytes) bytes of a "
            + "configuration file")
      }
      files.append(
        File(path: path, values: try Self.parse(String(decoding: bytes, as: UTF8.self), path)))
    }
    self.files = files
    self.variable = variable
  }

  /// The user's file before the machine's.
  public static var paths: [String] {
    let home = Terminal.variable("HOME").map { "\($0)/.config" }
    let folder = Terminal.variable("XDG_CONFIG_HOME") ?? home
    return [folder.map { "\($0)/opcluster/config.yaml" }, "/etc/opcluster/config.yaml"]
      .compactMap(\.self)
  }

  /// The flag if it is given, else what the environment says, else the files; nil: nobody.
  public func text(_ setting: WorkerSetting, flag: String? = nil) -> String? {
    if let flag { return flag }
    if let text = variable(setting.variable), !text.isEmpty { return text }
    return files.lazy.compactMap { $0.values[setting] }.first { !$0.isEmpty }
  }

  /// The same for what can be said more than once.
  public func list(_ setting: WorkerSetting, flags: [String] = []) -> [String] {
    if !flags.isEmpty { return flags }
    return (text(setting) ?? "").split(separator: ",").map { String($0).trimmed }
      .filter { !$0.isEmpty }
  }

  /// The lines for workers among those of a configuration file: YAML, but no more of it than
  /// settings need.
  static func parse(
    _ text: String, _ path: String
  ) throws(WorkerError) -> [WorkerSetting: String] {
    var found: [WorkerSetting: String] = [:]
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      // Keys of other programs are theirs to judge.
      guard line.hasPrefix("opworker_") else { continue }
      let content = String(line.firstRange(of: " #").map { line[..<$0.lowerBound] } ?? line).trimmed
      guard let colon = content.firstIndex(of: ":"),
        let setting = WorkerSetting.allCases.first(where: { $0.key == content[..<colon] })
      else {
        let known = WorkerSetting.allCases.map(\.key).joined(separator: ", ")
        throw WorkerError(
          .configuration,
          "'\(path)', line \(number + 1): '\(content)' is no setting; known are \(known)")
      }
      found[setting] = unquoted(String(content[content.index(after: colon)...]).trimmed)
    }
    return found
  }

  private static func unquoted(_ text: String) -> String {
    guard text.utf8.count >= 2, let quote = text.first, quote == "\"" || quote == "'",
      text.last == quote
    else { return text }
    return String(text.dropFirst().dropLast())
  }
}
