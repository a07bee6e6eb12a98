// Whether the host that an address names is known: a name that nobody can look up looks, to a
// socket, like a host that is silent. Asked after a connection has failed; it may take seconds.

import Glibc

enum HostName {
  /// The host of `tcp://HOST:PORT`; nil for other transports.
  static func of(_ address: String) -> String? {
    let prefix = "tcp://"
    guard address.hasPrefix(prefix) else { return nil }
    let rest = address.dropFirst(prefix.count)
    guard let colon = rest.lastIndex(of: ":") else { return nil }
    var host = rest[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty || host == "*" ? nil : String(host)
  }

  /// Why a host cannot be looked up; nil: it can.
  static func problem(of host: String) -> String? {
    var found: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, nil, &found)
    guard code != 0 else {
      unsafe freeaddrinfo(found)
      return nil
    }
    return unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}
