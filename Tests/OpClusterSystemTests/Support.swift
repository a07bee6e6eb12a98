// What the tests of this target share.

import Glibc
import OpClusterSystem

/// The longest that any test waits for something that should come at once.
let patience: Int64 = 240_000_000_000

/// Thrown when something did not happen within `patience`.
struct Impatience: Error {
  let awaited: String
}

/// Looks again and again, a few milliseconds apart, until the condition holds.
func eventually(_ awaited: String, _ condition: () throws -> Bool) throws {
  let deadline = MonotonicClock.now() + patience
  var poller = Poller()
  while try !condition() {
    guard MonotonicClock.now() < deadline else { throw Impatience(awaited: awaited) }
    _ = try poller.wait(until: MonotonicClock.now() + 2_000_000)
  }
}

/// Runs a test in a folder of its own, whose files are removed after it.
func withFolder(_ body: (String) throws -> Void) throws {
  var template = Array("\(OwnProcess.filledVariable("TMPDIR") ?? "/tmp")/system-XXXXXX".utf8CString)
  guard unsafe mkdtemp(&template) != nil else { throw Impatience(awaited: "a folder") }
  let folder = String(
    decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  defer { _ = unsafe rmdir(folder) }
  try body(folder)
}
