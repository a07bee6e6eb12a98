// Whole reads and writes of descriptors, which system calls do in pieces. Blocking; any thread.

import Glibc

/// A descriptor that somebody else opens and closes.
package struct FileDescriptor: Sendable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }

  /// Writes everything; returns the error that prevented it, or nil.
  ///
  /// - Parameter waits: Waits where nothing can be written now: another program may share the open
  ///   file and have made it non-blocking.
  package func writeAll(_ bytes: [UInt8], waits: Bool = false) -> ErrorNumber? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count == 0 {
        return ErrorNumber(EIO)
      } else if errno == EAGAIN, waits {
        var item = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
        _ = unsafe poll(&item, 1, 1_000)
      } else if errno != EINTR {
        return .last
      }
    }
    return nil
  }

  /// Writes once, so that what several threads write does not mix; as much as fits.
  package func writeOnce(_ bytes: [UInt8]) {
    _ = unsafe bytes.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
  }

  /// Reads what is there, after a wait for the first byte; nothing at the end.
  package func readOnce(limit: Int) throws(ErrorNumber) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: max(limit, 1))
    while true {
      let count = unsafe read(number, &buffer, buffer.count)
      if count >= 0 {
        buffer.removeSubrange(count...)
        return buffer
      }
      if errno == EAGAIN {
        // Another program shares the open file and has made it non-blocking.
        var item = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&item, 1, 1_000)
      } else if errno != EINTR {
        throw .last
      }
    }
  }

  /// Reads to the end; `EFBIG` beyond `limit` bytes.
  package func readAll(limit: Int) throws(ErrorNumber) -> [UInt8] {
    let content = try readBeyond(limit: limit)
    guard content.count <= limit else { throw ErrorNumber(EFBIG) }
    return content
  }

  /// Reads to the end, or until there are more than `limit` bytes.
  private func readBeyond(limit: Int) throws(ErrorNumber) -> [UInt8] {
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: min(max(limit, 1), 65_536))
    while content.count <= limit {
      let count = unsafe read(number, &buffer, buffer.count)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw .last
      }
      content.append(contentsOf: buffer.prefix(count))
    }
    return content
  }

  /// Reads the first line, or everything without a line end; at most `limit` bytes and one more.
  package func readLine(limit: Int) throws(ErrorNumber) -> [UInt8] {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while line.count <= limit {
      let count = unsafe read(number, &byte, 1)
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw .last }
      if count == 0 || byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return line
  }

  /// Takes what the descriptor offers and says whether its other end is closed.
  package var hasEnded: Bool {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe read(number, &buffer, buffer.count)
    return count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)
  }

  /// The text of a file that the kernel makes, of a longer one about the first MiB; nil: there is
  /// none.
  package static func text(ofKernelFile path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let bytes = try? FileDescriptor(descriptor).readBeyond(limit: 1 << 20)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
