// The configuration files, shared by the three programs: their paths, their syntax, and their error
// messages. The only parser; each program names its own keys. Reads small files; any thread.

import OpClusterFolders
import OpClusterModel

/// An error in a configuration file; every program ends with 78.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem, with the file, and the line if there is one.
  public var message: String
  /// The remedy.
  public var hint: String

  public init(_ message: String, hint: String) {
    self.message = message
    self.hint = hint
  }

  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
  /// The status of the process (Operating.md, exit codes).
  public var status: Int32 { 78 }
}

/// Lines of `key: value`, comments and empty lines: the subset of YAML that settings need.
public enum ConfigurationFile {
  /// The limit of bytes of one file.
  public static let maximumBytes = 65_536
  /// The keys of clients, the only ones without a program's name as prefix.
  public static let clientKeys = ["coordinator", "keys"]
  /// The prefixes of the daemons' keys. Each daemon checks its own: its release may know more.
  private static let daemons = ["opcoord_", "opworker_"]

  /// The user's file precedes the machine's.
  public static var paths: [String] {
    ["\(UserFolders.configuration)/opcluster/config.yaml", "/etc/opcluster/config.yaml"]
  }

  /// The settings in the file at `path`, by their keys; nil if there is no such file.
  ///
  /// - Parameter keys: The keys of the calling program; those of other programs are skipped.
  public static func read(
    _ path: String, keys: [String]
  ) throws(ConfigurationError) -> [String: String]? {
    let bytes: [UInt8]?
    do throws(FolderError) {
      bytes = try OwnFiles.contents(ofTrusted: path, limit: maximumBytes)
    } catch {
      throw unusable(path, error)
    }
    return try bytes.map { bytes throws(ConfigurationError) in
      try parse(String(decoding: bytes, as: UTF8.self), path, keys: keys)
    }
  }

  /// Describes an unusable file. A file counts only if nobody except this user and root can change
  /// it, since it determines all addresses and paths.
  private static func unusable(_ path: String, _ error: FolderError) -> ConfigurationError {
    switch error.kind {
    case .exposed:
      ConfigurationError(
        "the configuration \(path) is not used: \(error.message)", hint: error.hint)
    case .tooLong:
      ConfigurationError(
        "\(path) has more than the \(maximumBytes) bytes of a configuration file",
        hint: "remove what is no setting")
    case .machine:
      ConfigurationError(
        "cannot read \(path): \(error.message)", hint: "make it a readable file, or remove it")
    }
  }

  /// The settings in a file's text.
  public static func parse(
    _ text: String, _ path: String, keys: [String]
  ) throws(ConfigurationError) -> [String: String] {
    var settings: [String: String] = [:]
    var lines: [String: Int] = [:]
    for (at, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let content = withoutComment(line)
      guard !content.isEmpty, content != "---" else { continue }
      let place = "\(path), line \(at + 1)"
      guard let colon = content.firstIndex(of: ":") else {
        throw ConfigurationError(
          "\(place): '\(content.prefix(80))' is no 'key: value'",
          hint: "write a colon behind the key, or '#' before what is no setting")
      }
      let key = String(trimmed(content[..<colon]))
      guard try isOurs(key, keys, place) else { continue }
      if let earlier = lines[key] {
        throw ConfigurationError(
          "\(place): '\(key)' is said in line \(earlier) already", hint: "keep one of them")
      }
      lines[key] = at + 1
      settings[key] = try value(content[content.index(after: colon)...], of: key, place)
    }
    return settings
  }

  /// Whether the key is one of `keys`; false for a key of another program. Throws for an unknown
  /// key, which would otherwise go unnoticed.
  private static func isOurs(
    _ key: String, _ keys: [String], _ place: String
  ) throws(ConfigurationError) -> Bool {
    if keys.contains(key) { return true }
    let daemon = daemons.first { key.hasPrefix($0) }
    if let daemon, !keys.contains(where: { $0.hasPrefix(daemon) }) { return false }
    if clientKeys.contains(key) { return false }
    let known = keys + (keys == clientKeys ? [] : clientKeys)
    // The most frequent error is a missing prefix of the program.
    let near =
      known.first { $0.hasSuffix("_\(key)") } ?? NearNames.nearest(to: key, among: known)
    throw ConfigurationError(
      "\(place): there is no setting '\(key.prefix(80))'",
      hint: near.map { "did you mean '\($0)'?" } ?? "known: \(known.joined(separator: ", "))")
  }

  private static func value(
    _ text: Substring, of key: String, _ place: String
  ) throws(ConfigurationError) -> String {
    let text = trimmed(text)
    guard let quote = text.first, quote == "\"" || quote == "'" else { return String(text) }
    guard text.count >= 2, text.last == quote else {
      throw ConfigurationError(
        "\(place): the value of '\(key)' begins with \(quote) and does not end with it",
        hint: "write \(quote) at both ends or at none")
    }
    return String(text.dropFirst().dropLast())
  }

  /// The line without surrounding blanks, and without a comment (`#` after a blank, not in quotes).
  private static func withoutComment(_ line: Substring) -> Substring {
    var quote: Character?
    var before: Character = " "
    for at in line.indices {
      let letter = line[at]
      if let open = quote {
        if letter == open { quote = nil }
      } else if letter == "#", before.isWhitespace {
        return trimmed(line[..<at])
      } else if letter == "\"" || letter == "'", before.isWhitespace || before == ":" {
        quote = letter
      }
      before = letter
    }
    return trimmed(line)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
