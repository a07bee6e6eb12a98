// What operations themselves say about their life, independent of the daemons: each appends lines
// to a file, which the kernel puts in one order. And gates, by which a test holds them.

import Glibc
import RealCluster
import Synchronization

/// One line of a trace: `what run process fence`.
struct TraceLine: Hashable, Sendable {
  var what: String
  /// Which run, as people count; a start that nobody learned of is counted again.
  var attempt: Int
  var process: pid_t
  /// What tells every start of whatever worker apart (`OP_FENCE`).
  var fence: String

  init?(_ line: Substring) {
    let words = line.split(separator: " ")
    guard words.count == 4, let attempt = Int(words[1]), let process = pid_t(words[2]) else {
      return nil
    }
    what = String(words[0])
    self.attempt = attempt
    self.process = process
    fence = String(words[3])
  }

  /// The complete lines of a file.
  static func all(in path: String) -> [TraceLine] {
    let content = text(of: path)
    return content[..<(content.lastIndex(of: "\n") ?? content.startIndex)]
      .split(separator: "\n").compactMap(TraceLine.init)
  }
}

/// The vocabulary of operations, as a shell's functions.
enum Vocabulary {
  /// `mark x` · `gate x` (begins with `x+`, ends with `x-`) · `note x`.
  static func preamble(trace: String, gates: String) -> String {
    """
    note() { echo "$1 $OP_ATTEMPT $$ $OP_FENCE" >> '\(trace)'; }
    mark() { note "$1"; }
    gate() { note "$1+"; read -r _ < '\(gates)/'"$1"; note "$1-"; }

    """
  }
}

/// A named pipe that operations read from until the test lets them go.
final class Gate: Sendable {
  private let descriptor: Int32

  /// Held open for both directions, so that a reader waits for a line and not for a writer.
  init(_ path: String) throws {
    guard unsafe mkfifo(path, 0o600) == 0 else { throw Trouble("mkfifo \(path): \(errno)") }
    descriptor = unsafe Glibc.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Trouble("open \(path): \(errno)") }
  }

  deinit { close(descriptor) }

  /// Lets everybody pass, those who come later too.
  func open() {
    let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 1_024)
    _ = unsafe Glibc.write(descriptor, lines, lines.count)
  }
}

/// Whether a process exists and is not just waiting to be collected.
func isAlive(_ process: pid_t) -> Bool {
  let stat = text(of: "/proc/\(process)/stat")
  guard let bracket = stat.lastIndex(of: ")") else { return false }
  let state = stat[bracket...].dropFirst(2).first
  return state != "Z" && state != "X"
}
