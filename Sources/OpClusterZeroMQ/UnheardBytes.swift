// What the connections of a router have sent and nobody can hear. libzmq bounds its queues in whole
// messages only: one that never ends grows in its memory without anybody being told (A4). What the
// kernel has taken in for a connection, less what has been heard of it, shows who does that. The
// router's thread.

import CZeroMQ
import Glibc

/// A connection over TCP that has sent much more than has been heard of it.
public struct UnheardConnection: Hashable, Sendable {
  public let origin: ConnectionOrigin
  /// By the kernel's count, with what encryption adds.
  public let bytes: UInt64
}

extension Socket {
  /// The connections of which more than `limit` bytes have not been heard, in no order. One system
  /// call for each connection that was counted; those over `ipc`, whose other end is this user, are
  /// not known to the kernel in this way and are left out.
  public func unheard(beyond limit: UInt64) -> [UnheardConnection] {
    handle.heardBytes.compactMap { descriptor, heard in
      guard let received = ReceivedBytes.count(by: descriptor) else { return nil }
      // What was heard is counted too high rather than too low; no credit is kept for later.
      handle.heardBytes[descriptor] = min(heard, received)
      guard received > heard, received - heard > limit,
        let origin = ConnectionOrigin(descriptor: descriptor)
      else { return nil }
      return UnheardConnection(origin: origin, bytes: received - heard)
    }
  }
}

extension Socket {
  /// What a dealer's server has sent that was not heard, by the kernel's count. One system call;
  /// nil over `ipc`, and where there is no connection.
  public func unheardOfServer() -> UInt64? {
    guard handle.serverDescriptor >= 0,
      let received = ReceivedBytes.count(by: handle.serverDescriptor)
    else { return nil }
    // What was heard is counted too high rather than too low; no credit is kept for later.
    handle.heardOfServer = min(handle.heardOfServer, received)
    return received - handle.heardOfServer
  }
}

extension SocketHandle {
  /// Counts a message, of all of its frames, to the dealer's one connection.
  func noteHeardOfServer(_ bytes: Int) {
    heardOfServer += UInt64(bytes) + Self.bytesAroundMessage
  }

  /// More than a message has around its bytes, encrypted and with its parts.
  private static let bytesAroundMessage: UInt64 = 128

  /// Counts a message, of all of its frames, to the connection it came over.
  func noteHeard(_ bytes: Int) {
    guard lastDescriptor >= 0 else { return }
    silence.heard(lastDescriptor)
    heardBytes[lastDescriptor, default: 0] += UInt64(bytes) + Self.bytesAroundMessage
  }
}

private enum ReceivedBytes {
  /// What a TCP connection has received since it began; nil: it is none (any more).
  static func count(by descriptor: Int32) -> UInt64? {
    // `struct tcp_info` of linux/tcp.h, of which the C library shows the older part only.
    let offset = 128
    var information = [UInt64](repeating: 0, count: offset / 8 + 1)
    var size = socklen_t(information.count * 8)
    guard
      unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &information, &size) == 0,
      Int(size) >= offset + 8
    else { return nil }
    return information[offset / 8]
  }
}
