// Prints pieces of logs: unchanged into a pipe, made safe on a terminal, line by line with a prefix
// if there are several operations.

import OpClusterModel
import OpClusterPresentation

/// For one task at a time.
final class LogPrinter {
  private let console: Console
  private let isPrefixed: Bool
  /// The stderr of operations goes to our stderr.
  private let isSplit: Bool
  /// Unfinished lines by operation and stream.
  private var open: [Key: [UInt8]] = [:]

  private struct Key: Hashable {
    var path: String
    var stream: LogStream
  }
  /// An unfinished line is printed in pieces of this many bytes.
  private static let longestLine = 64 * 1024

  init(_ console: Console, isPrefixed: Bool, isSplit: Bool) {
    self.console = console
    self.isPrefixed = isPrefixed
    self.isSplit = isSplit
  }

  /// Whole lines are printed at once, so that lines of two operations never mix. Without a prefix
  /// and into a pipe the bytes go through as they are, lines or not.
  func show(_ bytes: [UInt8], of path: String, _ stream: LogStream) throws {
    let toError = isSplit && stream == .standardError
    let isTerminal = toError ? console.errorIsTerminal : console.outputIsTerminal
    guard isPrefixed || isTerminal else {
      try write(bytes, toError: toError)
      return
    }
    let key = Key(path: path, stream: stream)
    var pending = open.removeValue(forKey: key) ?? []
    pending += bytes
    guard let end = pending.lastIndex(of: 0x0a) else {
      open[key] = pending
      if pending.count >= Self.longestLine { try flush(key) }
      return
    }
    if end + 1 < pending.count { open[key] = Array(pending[(end + 1)...]) }
    try write(dressed(pending[...end], path, isTerminal: isTerminal), toError: toError)
  }

  /// Prints unfinished lines.
  func flush() throws {
    for key in open.keys.sorted(by: {
      ($0.path, $0.stream.rawValue) < ($1.path, $1.stream.rawValue)
    }) {
      try flush(key)
    }
  }

  /// Prints a remark between the lines.
  func say(_ text: String) { console.say(text) }

  /// An unfinished line with a prefix gets a line end, or the next prefix would stand behind it.
  private func flush(_ key: Key) throws {
    guard let bytes = open.removeValue(forKey: key), !bytes.isEmpty else { return }
    let toError = isSplit && key.stream == .standardError
    let isTerminal = toError ? console.errorIsTerminal : console.outputIsTerminal
    var text = dressed(bytes[...], key.path, isTerminal: isTerminal)
    if isPrefixed { text.append(0x0a) }
    try write(text, toError: toError)
  }

  /// Puts the prefix before each line. Log bytes are made safe on a terminal only (G38).
  private func dressed(_ lines: ArraySlice<UInt8>, _ path: String, isTerminal: Bool) -> [UInt8] {
    guard isPrefixed else { return Array(safeLog(lines).utf8) }
    let style = console.outputStyle
    let name = safe(path)
    let prefix = Array((isTerminal ? style.paint(name, .faint) : name).utf8) + Array(" | ".utf8)
    var result: [UInt8] = []
    for line in lines.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast(
      lines.last == 0x0a ? 1 : 0)
    {
      result += prefix
      if isTerminal { result += Array(safeLog(line).utf8) } else { result += line }
      if lines.last == 0x0a || line.endIndex != lines.endIndex { result.append(0x0a) }
    }
    return result
  }

  /// A lost stderr ends nothing; a lost stdout does.
  private func write(_ bytes: [UInt8], toError: Bool) throws {
    if toError { console.say(bytes: bytes) } else { try console.write(bytes: bytes) }
  }
}
