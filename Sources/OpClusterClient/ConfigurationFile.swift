// The configuration file of clients: where it is, what may be in it. Reads small files; any thread.

import FoundationEssentials

/// A configuration file: lines of `key: value`, comments, empty lines. YAML, but no more of it than
/// settings need.
enum ConfigurationFile {
  /// Keys that mean something; another one is a mistake that would go unnoticed.
  static let keys = ["coordinator", "keys"]
  static let maximumBytes = 65_536

  /// The user's file before the machine's.
  static var paths: [String] {
    let home = ClusterFolder.variable("HOME").map { "\($0)/.config" }
    let folder = ClusterFolder.variable("XDG_CONFIG_HOME") ?? home
    return [folder.map { "\($0)/opcluster/config.yaml" }, "/etc/opcluster/config.yaml"]
      .compactMap(\.self)
  }

  /// nil when there is no such file.
  static func read(_ path: String) throws(ClientError) -> [String: String]? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let content = FileManager.default.contents(atPath: path) else {
      throw ClientError(
        .badConfiguration, "cannot read \(path)", hint: "make it readable, or remove it")
    }
    guard content.count <= maximumBytes else {
      throw ClientError(
        .badConfiguration, "\(path) has more than the \(maximumBytes) bytes of a configuration file"
      )
    }
    return try parse(String(decoding: content, as: UTF8.self), path)
  }

  static func parse(_ text: String, _ path: String) throws(ClientError) -> [String: String] {
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
  ) -> ClientError {
    ClientError(.badConfiguration, "\(what) in \(path), line \(line)", hint: hint)
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
