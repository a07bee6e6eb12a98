// The most memory that a group ever had, as its cgroup counts it: what is known of small operations
// where the kernel's figure for a process is no smaller than the worker's own. Loop thread.

import Glibc

extension ProcessGroup {
  /// Begins to count anew for the group's next user. Kernels that cannot (version 2 before 6.12) go
  /// on from what the users before had.
  func beginPeak() {
    switch peakFile {
    case .some(let file): peakBefore = file.write(Array("0\n".utf8)) ? 0 : Self.number(file) ?? .max
    case nil: break
    }
  }

  /// All processes of its present user together, with what they keep in memory of files; nil where
  /// nobody counts, or an earlier user had more.
  var peak: UInt64? {
    switch peakFile {
    case .some(let file):
      guard let peak = Self.number(file), peak > peakBefore else { return nil }
      return peak
    case nil: return nil
    }
  }

  private static func number(_ file: borrowing Descriptor) -> UInt64? {
    var text = Substring(String(decoding: file.read(upTo: 32) ?? [], as: UTF8.self))
    while text.last?.isWhitespace == true { text.removeLast() }
    return UInt64(text)
  }

  /// Of version 2.
  static func openPeak(in folder: borrowing Descriptor) -> Descriptor? {
    if let file = folder.open("memory.peak", O_RDWR) { return file }
    return folder.open("memory.peak", O_RDONLY)
  }

  /// Of version 1, where that bounds memory; a process without a limit does not enter it.
  static func openPeak(in legacy: [LegacyGroup]) -> Descriptor? {
    guard let group = legacy.first(where: { $0.controllers.contains(.memory) }) else { return nil }
    return group.folder.open("memory.max_usage_in_bytes", O_RDWR)
  }
}
