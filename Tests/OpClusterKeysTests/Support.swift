// What the tests of this target share: a folder that vanishes.

import FoundationEssentials
import Glibc

/// A folder for one test, removed with it.
final class TestFolder {
  let path: String

  init() throws {
    path = "/tmp/keys-test-\(String(UInt64.random(in: 0...(.max)), radix: 36))"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  func mode(of name: String) -> mode_t {
    var found = stat()
    guard unsafe stat("\(path)/\(name)", &found) == 0 else { return 0 }
    return found.st_mode & 0o7777
  }
}
