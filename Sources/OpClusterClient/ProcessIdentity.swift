// Identifies a process that may be no child of ours, so that a signal never hits another process
// that got its number later. File system and signals; any thread.

import FoundationEssentials
import Glibc

/// A process by its number and its start time.
struct ProcessIdentity: Hashable, Sendable {
  var number: Int32
  /// The start time in clock ticks since boot, from the kernel.
  var startTicks: UInt64

  init(number: Int32, startTicks: UInt64) {
    self.number = number
    self.startTicks = startTicks
  }

  /// The running process with this number; nil if there is none or it has ended.
  init?(running number: Int32) {
    guard number > 1, let content = FileManager.default.contents(atPath: "/proc/\(number)/stat")
    else { return nil }
    // The second field is the name in parentheses and may hold anything; the others are plain.
    let text = String(decoding: content, as: UTF8.self)
    guard let bracket = text.lastIndex(of: ")") else { return nil }
    let fields = text[bracket...].dropFirst(2).split(separator: " ")
    guard fields.count > 19, fields[0] != "Z", fields[0] != "X", let ticks = UInt64(fields[19])
    else { return nil }
    self.init(number: number, startTicks: ticks)
  }

  var isRunning: Bool { ProcessIdentity(running: number) == self }

  /// Whether the process is this program, run by us. The check is needed even for our own record:
  /// the number may have been reused, and the machine restarted.
  func runs(_ program: String) -> Bool {
    let isIt = Self.user(of: number) == geteuid() && Self.program(of: number) == program
    // The process may have been replaced during the look.
    return isIt && isRunning
  }

  /// The process's user, if real and effective user agree; nil if they differ or are unknown.
  private static func user(of number: Int32) -> UInt32? {
    let content = FileManager.default.contents(atPath: "/proc/\(number)/status") ?? Data()
    let lines = String(decoding: content, as: UTF8.self).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix("Uid:") }) else { return nil }
    let users = line.dropFirst(4).split(separator: "\t").prefix(2).map { UInt32($0) }
    return users.count == 2 && users[0] == users[1] ? users[0] : nil
  }

  /// The name of the process's program file. Our daemons hide that file from their own user; for
  /// them the name in the command line.
  private static func program(of number: Int32) -> String? {
    let files = FileManager.default
    let path: String
    if let file = try? files.destinationOfSymbolicLink(atPath: "/proc/\(number)/exe") {
      // An upgrade may have removed the file.
      let gone = " (deleted)"
      path = file.hasSuffix(gone) ? String(file.dropLast(gone.count)) : file
    } else {
      let words = files.contents(atPath: "/proc/\(number)/cmdline") ?? Data()
      path = String(decoding: words.prefix { $0 != 0 }, as: UTF8.self)
    }
    return path.split(separator: "/").last.map(String.init)
  }

  func signal(_ signal: Int32) { if isRunning { kill(number, signal) } }

  /// Sends TERM, and KILL after `grace`. Returns whether the process has ended.
  func end(grace: Duration) async -> Bool {
    signal(SIGTERM)
    if await hasEnded(within: grace) { return true }
    signal(SIGKILL)
    return await hasEnded(within: .seconds(10))
  }

  private func hasEnded(within time: Duration) async -> Bool {
    let deadline = ContinuousClock().now + time
    while isRunning {
      guard ContinuousClock().now < deadline else { return false }
      await Task.detached { try? await Task.sleep(for: .milliseconds(20)) }.value
    }
    return true
  }
}
