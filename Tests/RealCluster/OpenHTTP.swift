// An exchange over HTTP whose answer comes bit by bit: a stream that somebody follows.

import Glibc
import OpClusterSystem
import Synchronization

public final class OpenHTTP: Sendable {
  private let descriptor: Int32
  private let state = Mutex<(bytes: [UInt8], hasEnded: Bool)>(([], false))

  /// Sends bytes to a port of 127.0.0.1, and reads what comes when it is looked at.
  public init(_ bytes: String, to port: UInt16) throws {
    descriptor = try PlainHTTP.connected(to: port)
    let sent = Array(bytes.utf8)
    _ = unsafe Glibc.send(descriptor, sent, sent.count, Int32(MSG_NOSIGNAL))
  }

  deinit { close(descriptor) }

  /// What has come so far.
  public var text: String {
    state.withLock { state in
      read(&state)
      return String(decoding: state.bytes, as: UTF8.self)
    }
  }

  /// Whether the other side has closed.
  public var hasEnded: Bool {
    state.withLock { state in
      read(&state)
      return state.hasEnded
    }
  }

  private func read(_ state: inout (bytes: [UInt8], hasEnded: Bool)) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while !state.hasEnded {
      let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count > 0 {
        state.bytes += buffer[..<count]
      } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
        state.hasEnded = true
      } else {
        return
      }
    }
  }
}
