// Names a process that may be somebody else's child, so that a signal never hits another one that
// got its number later. File system and signals; any thread.

import FoundationEssentials
import Glibc

/// A process by its number and the moment of its start.
struct ProcessIdentity: Hashable, Sendable {
  var number: Int32
  /// Clock ticks since the machine started, as the kernel tells.
  var startTicks: UInt64

  init(number: Int32, startTicks: UInt64) {
    self.number = number
    self.startTicks = startTicks
  }

  /// The process that has this number now; nil if there is none or it has ended.
  init?(running number: Int32) {
    guard number > 1, let content = FileManager.default.contents(atPath: "/proc/\(number)/stat")
    else { return nil }
    // The second field is the name in brackets and may hold anything; the others are plain.
    let text = String(decoding: content, as: UTF8.self)
    guard let bracket = text.lastIndex(of: ")") else { return nil }
    let fields = text[bracket...].dropFirst(2).split(separator: " ")
    guard fields.count > 19, fields[0] != "Z", fields[0] != "X", let ticks = UInt64(fields[19])
    else { return nil }
    self.init(number: number, startTicks: ticks)
  }

  var isRunning: Bool { ProcessIdentity(running: number) == self }

  func signal(_ signal: Int32) { if isRunning { kill(number, signal) } }

  /// Asks it to stop, kills it after `grace`; whether it has ended.
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
