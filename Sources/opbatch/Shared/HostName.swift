// The host that an address names: a name that nobody can look up looks, to a socket, like a host
// that is silent (`ThisProcess.problem(ofHost:)`). Pure.

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
}
