// The files of a running process's output streams: enforces their limit, and keeps them open for
// the next process. Belongs to `ProcessHost`, on the loop thread.

import Glibc
import OpClusterSystem

/// An output file that processes can write to.
final class OpenOutput {
  /// The path under which the next process may get it; nil: it may not.
  let path: String?
  /// The length of the file when it was opened.
  let size: Int
  let descriptor: Descriptor
  /// The kernel's time of the last change before any process had the file. nil if that was in the
  /// present tick of its clock, so that a later change could have the same time.
  private let changed: timespec?

  /// Returns nil if it is no regular file.
  init?(_ descriptor: consuming Descriptor, path: String?) {
    let present = FileClock.now()
    guard let information = descriptor.regularFile else { return nil }
    self.path = path
    size = Int(information.st_size)
    let changed = information.st_ctim
    self.changed =
      (changed.tv_sec, changed.tv_nsec) < (present.tv_sec, present.tv_nsec) ? changed : nil
    self.descriptor = descriptor
  }

  /// Resets the flags, which all holders of the file share and a process may have changed.
  func resetFlags() { _ = fcntl(descriptor.number, F_SETFL, O_APPEND) }

  /// Whether the file is still in place and unchanged since it was kept open. The owner of the
  /// folder may remove it between two processes; later output would then be lost.
  var isStillThere: Bool {
    guard let information = descriptor.regularFile else { return false }
    return information.st_nlink > 0 && isUntouched(information)
  }

  /// Whether the file is unchanged since it was opened: not written, renamed, linked or removed.
  func isUntouched(_ information: stat) -> Bool {
    guard let changed else { return false }
    return information.st_size == size && information.st_ctim.tv_sec == changed.tv_sec
      && information.st_ctim.tv_nsec == changed.tv_nsec
  }
}

/// An output stream of a process that goes to a file.
final class OutputStream {
  let isOutput: Bool
  let file: OpenOutput
  private let limit: Int?
  private(set) var wasCut = false
  /// The final bytes of the file; nil if it was removed or is unknown.
  private(set) var finalSize: Int?
  /// Whether the next process may use the file as it is.
  private(set) var isReusable = false

  /// `limit` counts from the present length of the file.
  init(file: OpenOutput, limit: Int?, isOutput: Bool) {
    self.file = file
    self.limit = limit.map { max($0, 0) }
    self.isOutput = isOutput
    file.resetFlags()
  }

  var isLimited: Bool { limit != nil }

  /// Cuts the file if it exceeds its limit. The process continues to write behind the cut, since
  /// the file is open in append mode, and the next check cuts again.
  func enforce() {
    guard limit != nil, let size = file.descriptor.fileSize else { return }
    cut(from: size)
  }

  /// Cuts for the last time and appends the marker, when no process writes any more.
  func finish() {
    guard let information = file.descriptor.regularFile else { return }
    cut(from: Int(information.st_size))
    if wasCut, let limit, ftruncate(file.descriptor.number, file.size + limit) == 0 {
      _ = file.descriptor.write(Array(ProcessHost.cutMarker(limit).utf8))
    }
    isReusable = file.path != nil && file.size == 0 && file.isUntouched(information)
    if information.st_nlink > 0 {
      finalSize = wasCut ? file.descriptor.fileSize : Int(information.st_size)
    }
  }

  private func cut(from size: Int) {
    guard let limit, size - file.size > limit else { return }
    wasCut = ftruncate(file.descriptor.number, file.size + limit) == 0 || wasCut
  }
}
