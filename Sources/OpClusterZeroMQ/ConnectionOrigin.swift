// The other end of a router's connection, as the kernel tells it, and an end for that connection:
// libzmq 4.3.4 has no way to part from one peer (A21). On the router's thread.

import Glibc

/// Which connection it is, and whose; the same for as long as the connection lasts.
public struct ConnectionOrigin: Hashable, Sendable {
  /// Its number in this process, which is somebody else's when the connection has ended.
  private let descriptor: Int32
  /// Over `ipc`: the process at the other end.
  public let process: Int32?
  /// Over TCP: the address and the port of the other end.
  private let address: [UInt8]

  init?(descriptor: Int32) {
    self.descriptor = descriptor
    var name = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = unsafe withUnsafeMutablePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getpeername(descriptor, $0, &size)
      }
    }
    guard descriptor >= 0, code == 0 else { return nil }
    guard name.ss_family == sa_family_t(AF_UNIX) else {
      process = nil
      address = unsafe withUnsafeBytes(of: &name) { unsafe Array($0.prefix(Int(size))) }
      return
    }
    guard let credentials = Self.credentials(descriptor) else { return nil }
    process = credentials[0]
    address = []
  }

  /// A `ucred`, which Glibc does not show: process, user, group.
  private static func credentials(_ descriptor: Int32) -> [Int32]? {
    var credentials: [Int32] = [0, 0, 0]
    var size = socklen_t(credentials.count * MemoryLayout<Int32>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 else {
      return nil
    }
    return credentials
  }

  /// The user at the other end of a connection over `ipc`; nil when there is none any more.
  static func peerUser(of descriptor: Int32) -> UInt32? {
    guard descriptor >= 0 else { return nil }
    return credentials(descriptor).map { UInt32(bitPattern: $0[1]) }
  }

  /// Over TCP: the other end's address as the gate is told it, without the port.
  public var networkAddress: String? {
    guard process == nil else { return nil }
    var text = [CChar](repeating: 0, count: 64)
    let code = unsafe address.withUnsafeBytes { bytes in
      guard let name = bytes.baseAddress else { return Int32(EAI_NONAME) }
      return unsafe getnameinfo(
        name.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count), &text,
        socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    }
    guard code == 0 else { return nil }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Whether the descriptor still belongs to the same connection.
  private var isStillThere: Bool { ConnectionOrigin(descriptor: descriptor) == self }

  /// Ends the connection, if it is still there. libzmq sees the end and closes the descriptor,
  /// which stays its own.
  func end() {
    if isStillThere { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }
}
