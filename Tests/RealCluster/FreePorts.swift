// Ports of the loopback interface on which nobody listens.

import Glibc

package enum FreePorts {
  /// Ports of this machine that nobody listens at now.
  package static func find(_ count: Int) throws -> [UInt16] {
    let sockets = (0..<count).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
    defer { sockets.forEach { close($0) } }
    return try sockets.map { file in
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(file, $0, size) == 0 ? getsockname(file, $0, &size) : -1
        }
      }
      guard code == 0 else { throw Trouble("no free port: \(errno)") }
      return UInt16(bigEndian: address.sin_port)
    }
  }
}
