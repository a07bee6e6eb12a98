// Datagrams to the socket of another program on this machine, such as a service manager or the
// journal. Never waits. Any thread.

import Glibc

package final class DatagramSender: Sendable {
  private let descriptor: Int32
  private let address: [UInt8]

  /// Nil where the address means nothing, or no descriptor is left.
  /// - Parameter socket: A path, or `@` and the name of an abstract socket.
  package init?(_ socket: String) {
    guard let address = Self.address(socket) else { return nil }
    let type = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    descriptor = Glibc.socket(AF_UNIX, Int32(type), 0)
    self.address = address
    guard descriptor >= 0 else { return nil }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// False: it was not taken, since nobody is there, or nobody reads, or it is too large.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    let count = unsafe bytes.withUnsafeBytes { bytes in
      unsafe address.withUnsafeBytes { address in
        unsafe sendto(
          descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL),
          address.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
      }
    }
    return count == bytes.count
  }

  /// The bytes of a `sockaddr_un`. An abstract name has a zero for its `@` and no zero at its end.
  private static func address(_ socket: String) -> [UInt8]? {
    var path = Array(socket.utf8)
    let isAbstract = path.first == 0x40
    guard isAbstract || path.first == 0x2f, path.count > 1, !path.contains(0),
      path.count <= MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
    else { return nil }
    if isAbstract { path[0] = 0 } else { path.append(0) }
    let family = sa_family_t(AF_UNIX)
    return unsafe withUnsafeBytes(of: family) { unsafe Array($0) } + path
  }
}
