// Folders that live as long as a program. Blocking; any thread.

import Glibc

package enum TemporaryFolder {
  /// Makes a folder that nobody else can enter, in a folder; nil: in `$TMPDIR` or `/tmp`.
  package static func make(
    named name: String, in folder: String? = nil
  ) throws(SystemError) -> String {
    let usual = OwnProcess.variable("TMPDIR").flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    let parent = folder ?? usual
    var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let path = buffer.baseAddress, let made = unsafe mkdtemp(path) else { return nil }
      return unsafe String(cString: made)
    }
    guard let made else { throw SystemError(action: "make a folder in \(parent)", code: errno) }
    return made
  }
}
