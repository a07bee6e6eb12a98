// The host of an address, and whether it can be looked up. A socket cannot tell an unknown host
// from a silent one, so the host is checked apart.

import Glibc

package enum HostName {
  /// Returns the host of `tcp://HOST:PORT`; nil for other transports.
  package static func of(_ address: String) -> String? {
    let prefix = "tcp://"
    guard address.hasPrefix(prefix) else { return nil }
    let rest = address.dropFirst(prefix.count)
    guard let colon = rest.lastIndex(of: ":") else { return nil }
    var host = rest[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty || host == "*" ? nil : String(host)
  }

  /// Returns why a host cannot be looked up; nil if it can. May take seconds.
  package static func problem(of host: String) -> String? {
    var found: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, nil, &found)
    guard code != 0 else {
      unsafe freeaddrinfo(found)
      return nil
    }
    guard let text = unsafe gai_strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
  }
}
