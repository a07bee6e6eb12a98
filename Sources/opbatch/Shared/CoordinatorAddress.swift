// Which coordinator a command speaks to, and who said so: flag, environment, configuration file,
// the cluster of `up`. Reads small files; any thread.

import OpClusterClient

/// A coordinator that somebody named.
struct CoordinatorAddress: Equatable, Sendable {
  var text: String
  var origin: Origin

  enum Origin: Equatable, Sendable {
    case flag
    case environment
    case file(String)
    case up

    /// For `config show --origin` and for messages.
    var text: String {
      switch self {
      case .flag: "--coordinator"
      case .environment: CoordinatorAddress.variable
      case .file(let path): path
      case .up: "opbatch up"
      }
    }
  }

  static let variable = "OPBATCH_COORDINATOR"

  /// The one to use; nil when nobody named one and none was started.
  static func resolve(_ options: GlobalOptions) throws(Failure) -> CoordinatorAddress? {
    if let text = options.coordinator { return CoordinatorAddress(text: text, origin: .flag) }
    if let text = ThisProcess.variable(variable) {
      return CoordinatorAddress(text: text, origin: .environment)
    }
    for path in configurationFiles {
      guard let settings = try ConfigurationFile.read(path) else { continue }
      if let text = settings["coordinator"] {
        return CoordinatorAddress(text: text, origin: .file(path))
      }
    }
    return BackgroundCluster.running().map { CoordinatorAddress(text: $0.address, origin: .up) }
  }

  /// The user's file before the machine's.
  static var configurationFiles: [String] {
    let home = ThisProcess.variable("HOME").map { "\($0)/.config" }
    let folder = ThisProcess.variable("XDG_CONFIG_HOME") ?? home
    return [folder.map { "\($0)/opcluster/config.yaml" }, "/etc/opcluster/config.yaml"]
      .compactMap(\.self)
  }
}

/// A configuration file: lines of `key: value`, comments, empty lines. YAML, but no more of it than
/// settings need.
enum ConfigurationFile {
  /// Keys that mean something; another one is a mistake that would go unnoticed.
  static let keys = ["coordinator"]
  static let maximumBytes = 65_536

  /// nil when there is no such file.
  static func read(_ path: String) throws(Failure) -> [String: String]? {
    switch Descriptor.contents(of: path, limit: maximumBytes) {
    case .failure(let failure):
      guard !failure.isAbsence else { return nil }
      throw Failure(
        .badConfiguration, code: "bad_configuration", "cannot read \(path): \(failure.text)")
    case .success(let bytes): return try parse(String(decoding: bytes, as: UTF8.self), path)
    }
  }

  static func parse(_ text: String, _ path: String) throws(Failure) -> [String: String] {
    var settings: [String: String] = [:]
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      let content = withoutComment(line)
      guard !content.isEmpty, content != "---" else { continue }
      guard let colon = content.firstIndex(of: ":") else {
        throw wrong("a line without 'key: value'", path, number + 1, "write 'coordinator: ADDRESS'")
      }
      let key = String(content[..<colon])
      // The daemons keep their settings in the same file.
      if key.hasPrefix("opcoord_") || key.hasPrefix("opworker_") { continue }
      guard keys.contains(key) else {
        throw wrong(
          "unknown key '\(key)'", path, number + 1, "known keys: \(keys.joined(separator: ", "))")
      }
      settings[key] = unquoted(content[content.index(after: colon)...])
    }
    return settings
  }

  private static func wrong(
    _ what: String, _ path: String, _ line: Int, _ hint: String
  ) -> Failure {
    Failure(
      .badConfiguration, code: "bad_configuration", "\(what) in \(path), line \(line)", hint: hint)
  }

  /// Without blanks at both ends and what follows a `#` after a blank.
  private static func withoutComment(_ line: Substring) -> Substring {
    var content = line
    if content.first == "#" { return "" }
    if let comment = content.firstRange(of: " #") { content = content[..<comment.lowerBound] }
    return trimmed(content)
  }

  private static func unquoted(_ value: Substring) -> String {
    let value = trimmed(value)
    for quote in ["\"", "'"] where value.count >= 2 && value.hasPrefix(quote) {
      if value.hasSuffix(quote) { return String(value.dropFirst().dropLast()) }
    }
    return String(value)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.last?.isWhitespace == true { text.removeLast() }
    return text.drop { $0.isWhitespace }
  }
}
