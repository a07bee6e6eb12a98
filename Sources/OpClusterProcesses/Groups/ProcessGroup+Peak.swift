// The peak memory of a group as its cgroup counts it. Used for small operations, for which the
// kernel's figure of a process only shows the worker's own peak. Loop thread.

import Glibc

extension ProcessGroup {
  /// Restarts the count for the group's next user. Kernels that cannot (version 2 before 6.12)
  /// continue from the peak of the earlier users.
  func beginPeak() {
    switch peakFile {
    case .some(let file): peakBefore = file.write(Array("0\n".utf8)) ? 0 : Self.number(file) ?? .max
    case nil: break
    }
  }

  /// The peak of all processes of the present user together, including their file cache; nil if
  /// nothing counts it, or an earlier user had more.
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

  /// Opens the peak file of version 2.
  static func openPeak(in folder: borrowing Descriptor) -> Descriptor? {
    if let file = folder.open("memory.peak", O_RDWR) { return file }
    return folder.open("memory.peak", O_RDONLY)
  }

  /// Opens the peak file of version 1 if that limits memory. A process without a limit does not
  /// enter that hierarchy.
  static func openPeak(in legacy: [LegacyGroup]) -> Descriptor? {
    guard let group = legacy.first(where: { $0.controllers.contains(.memory) }) else { return nil }
    return group.folder.open("memory.max_usage_in_bytes", O_RDWR)
  }
}
