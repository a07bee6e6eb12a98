// A channel between this process and a child: frames of bytes over a pair of sockets, each with its
// length in front. The near end belongs to the host's loop thread and never blocks it; the far end
// is the child's standard input.

import CProcess
import Glibc

/// The far end of a channel, for a new process. Closed when its last owner releases it: after the
/// start.
public final class FrameChannelEnd: Sendable, Equatable {
  let number: Int32
  init(_ number: Int32) { self.number = number }
  deinit { close(number) }

  public static func == (a: FrameChannelEnd, b: FrameChannelEnd) -> Bool { a === b }
}

/// The near end. Not sendable: it stays on the thread that makes it.
public final class FrameChannel {
  /// The result of a look at the channel.
  public enum Received: Sendable, Equatable {
    case frame([UInt8])
    /// There is no frame at present.
    case nothing
    /// The peer has gone, or sent an invalid frame. No further frame comes.
    case closed
  }

  /// Maximum bytes of one frame: 16 MiB.
  public static let frameLimit = 16 << 20
  /// Bytes of one read from the kernel.
  private static let readSize = 64 << 10

  let descriptor: Descriptor
  private var received: [UInt8] = []
  private var unsent: [UInt8] = []
  private var isClosed = false

  /// Whether data waits for the peer to read.
  public var hasUnsent: Bool { !unsent.isEmpty && !isClosed }

  private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

  /// Makes a channel and the end for the child.
  public static func pair() throws(SpawnError) -> (near: FrameChannel, far: FrameChannelEnd) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw .refused(step: "make a channel", error: errno)
    }
    let near = Descriptor(ends[0])
    let far = FrameChannelEnd(ends[1])
    guard fcntl(near.number, F_SETFL, O_NONBLOCK) == 0 else {
      throw .refused(step: "make a channel", error: errno)
    }
    return (FrameChannel(near), far)
  }

  /// Sends a frame; keeps what the kernel does not take yet for ``flush()``.
  public func send(_ frame: [UInt8]) {
    precondition(frame.count <= Self.frameLimit, "a frame of \(frame.count) bytes")
    guard !isClosed else { return }
    unsent += Frame.header(frame.count)
    unsent += frame
    flush()
  }

  /// Sends the kept bytes.
  public func flush() {
    var sent = 0
    while sent < unsent.count, !isClosed {
      let count = unsafe unsent.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          descriptor.number, bytes.baseAddress! + sent, bytes.count - sent,
          Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { break }
      if count <= 0 { isClosed = true } else { sent += count }
    }
    unsent.removeFirst(sent)
  }

  /// Returns the next frame if it is complete.
  public func receive() -> Received {
    while true {
      if let frame = takeFrame() { return frame }
      var count = 0
      var error: Int32 = 0
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.readSize) { buffer, filled in
        unsafe count = recv(descriptor.number, buffer.baseAddress, Self.readSize, 0)
        error = errno
        filled = max(0, count)
      }
      if count < 0, error == EINTR { continue }
      if count < 0, error == EAGAIN { return .nothing }
      if count <= 0 { return .closed }
      received += piece
    }
  }

  private func takeFrame() -> Received? {
    guard let length = Frame.length(received) else { return nil }
    guard length <= Self.frameLimit else { return .closed }
    guard received.count >= Frame.headerSize + length else { return nil }
    let end = Frame.headerSize + length
    let frame = Array(received[Frame.headerSize..<end])
    received.removeSubrange(..<end)
    return .frame(frame)
  }
}

/// The framing: four bytes of length, the highest first.
enum Frame {
  static let headerSize = 4

  static func header(_ count: Int) -> [UInt8] {
    let length = UInt32(count)
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> UInt32($0)) }
  }

  /// The length in the header; nil if the header is incomplete.
  static func length(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= headerSize else { return nil }
    return bytes[..<headerSize].reduce(0) { $0 << 8 | Int($1) }
  }
}
