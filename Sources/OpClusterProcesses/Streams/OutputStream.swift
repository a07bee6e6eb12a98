// The files of a running process's output streams: how they are kept within their limit, and kept
// open for the next process. Belongs to `ProcessHost`, on the loop thread.

import Glibc

/// An output file that is open for processes to write to.
final class OpenOutput {
  /// Under which it is offered to the next process; nil: it is not.
  let path: String?
  /// The length at which it was opened.
  let size: Int
  let descriptor: Descriptor
  /// When the file was changed last, by the kernel's account, before any process had it; nil if
  /// that was in the present tick of its clock, so that later changes might bear the same stamp.
  private let changed: timespec?

  /// Nil if it is no regular file.
  init?(_ descriptor: consuming Descriptor, path: String?) {
    var present = timespec()
    unsafe clock_gettime(CLOCK_REALTIME_COARSE, &present)
    guard let information = descriptor.regularFile else { return nil }
    self.path = path
    size = Int(information.st_size)
    let changed = information.st_ctim
    self.changed =
      (changed.tv_sec, changed.tv_nsec) < (present.tv_sec, present.tv_nsec) ? changed : nil
    self.descriptor = descriptor
  }

  /// Undoes what a process may do to the flags that all who have the file share.
  func resetFlags() { _ = fcntl(descriptor.number, F_SETFL, O_APPEND) }

  /// Whether nobody has removed the file, or written to it, since it was kept open: whoever owns
  /// the folder may tidy it up between two processes, and what is written then is in no file.
  var isStillThere: Bool {
    guard let information = descriptor.regularFile else { return false }
    return information.st_nlink > 0 && isUntouched(information)
  }

  /// Whether the file is as it was when it was opened: not written, renamed, linked or removed.
  func isUntouched(_ information: stat) -> Bool {
    guard let changed else { return false }
    return information.st_size == size && information.st_ctim.tv_sec == changed.tv_sec
      && information.st_ctim.tv_nsec == changed.tv_nsec
  }
}

/// One output stream of a process that goes to a file.
final class OutputStream {
  let isOutput: Bool
  let file: OpenOutput
  private let limit: Int?
  private(set) var wasCut = false
  /// Bytes in the file in the end; nil if it was removed or cannot be told.
  private(set) var finalSize: Int?
  /// In the end: whether the next process may have the file as it is.
  private(set) var isReusable = false

  /// `limit` counts from the present length of the file.
  init(file: OpenOutput, limit: Int?, isOutput: Bool) {
    self.file = file
    self.limit = limit.map { max($0, 0) }
    self.isOutput = isOutput
    file.resetFlags()
  }

  var isLimited: Bool { limit != nil }

  /// Cuts the file if it has outgrown its limit. The process goes on writing behind the cut,
  /// since the file is open in append mode, and is cut again.
  func enforce() {
    guard limit != nil, let size = file.descriptor.fileSize else { return }
    cut(from: size)
  }

  /// Cuts for the last time and leaves the marker, once nobody writes any more.
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
