// Extracts the host of an address. A socket cannot tell an unknown host from a silent one, so the
// host is checked apart (`ThisProcess.problem(ofHost:)`). Pure.

enum HostName {
  /// Returns the host of `tcp://HOST:PORT`; nil for other transports.
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
