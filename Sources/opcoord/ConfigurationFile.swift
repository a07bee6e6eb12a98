// Configuration files: lines of `opcoord_KEY: value` among those of the other programs. YAML, but
// no more of it than settings need.

import OpClusterCoordinator

/// What is wrong with the configuration, for people; exit 78.
struct ConfigurationProblem: Error {
  var text: String
}

enum ConfigurationFile {
  static let maximumBytes = 65_536

  /// The user's file before the machine's.
  static var paths: [String] {
    let home = Kernel.variable("HOME").map { "\($0)/.config" }
    let folder = Kernel.variable("XDG_CONFIG_HOME") ?? home
    return [folder.map { "\($0)/opcluster/config.yaml" }, "/etc/opcluster/config.yaml"]
      .compactMap(\.self)
  }

  /// nil when there is no such file.
  static func read(_ path: String) throws(ConfigurationProblem) -> [Setting: String]? {
    guard let bytes = Kernel.contents(of: path, limit: maximumBytes) else { return nil }
    return try parse(String(decoding: bytes, as: UTF8.self), path)
  }

  static func parse(
    _ text: String, _ path: String
  ) throws(ConfigurationProblem) -> [Setting: String] {
    var found: [Setting: String] = [:]
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (number, line) in lines.enumerated() {
      let content = withoutComment(line)
      // Keys of other programs are theirs to judge.
      guard content.hasPrefix("opcoord_") else { continue }
      guard let colon = content.firstIndex(of: ":"),
        let setting = Setting.allCases.first(where: { $0.key == content[..<colon] })
      else {
        let known = Setting.allCases.map(\.key).joined(separator: ", ")
        throw ConfigurationProblem(
          text: "\(path), line \(number + 1): '\(content)' is no setting; known are \(known)")
      }
      found[setting] = unquoted(trimmed(content[content.index(after: colon)...]))
    }
    return found
  }

  /// Without blanks at both ends and what follows a `#`.
  private static func withoutComment(_ line: Substring) -> Substring {
    if line.first == "#" { return "" }
    let end = line.firstRange(of: " #")?.lowerBound ?? line.endIndex
    return trimmed(line[..<end])
  }

  private static func unquoted(_ text: Substring) -> String {
    guard text.count >= 2, let quote = text.first, quote == "\"" || quote == "'",
      text.last == quote
    else { return String(text) }
    return String(text.dropFirst().dropLast())
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
