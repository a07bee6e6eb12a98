// The address of this machine on the way to another one. Blocking where a name is looked up.

import Glibc

package enum OwnAddress {
  /// The number of the interface by which this machine reaches a host, with brackets around a
  /// version 6; nil: it does not reach it. Nothing is sent.
  package static func toward(host: String, port: UInt16) -> String? {
    var wanted = unsafe addrinfo()
    unsafe wanted.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    guard unsafe getaddrinfo(bare, String(port), &wanted, &found) == 0, let first = unsafe found
    else { return nil }
    defer { unsafe freeaddrinfo(first) }
    let family = unsafe first.pointee.ai_family
    let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    // A datagram socket only looks up the route.
    let code = unsafe connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen)
    guard code == 0 else { return nil }
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let isKnown = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe getsockname(descriptor, address, &size) == 0
          && getnameinfo(
            address, size, &text, socklen_t(text.count), nil, 0, Int32(NI_NUMERICHOST)) == 0
      }
    }
    guard isKnown else { return nil }
    let number = String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return family == AF_INET6 ? "[\(number)]" : number
  }
}
