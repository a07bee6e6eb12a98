// The address at which operations of this worker reach the coordinator as clients. Pure; any
// thread.

package import OpClusterZeroMQ

package enum ClientAddress {
  /// Completes the address that the coordinator gave. A coordinator that serves clients at all
  /// interfaces gives no host; its host is then the one where this worker found it.
  package static func reachable(_ told: String, beside coordinator: Endpoint) -> String {
    let scheme = "tcp://"
    guard told.hasPrefix(scheme), let colon = told.lastIndex(of: ":") else { return told }
    let host = told[told.index(told.startIndex, offsetBy: scheme.utf8.count)..<colon]
    guard ["*", "0.0.0.0", "[::]", "[::0]", "[0:0:0:0:0:0:0:0]"].contains(host) else { return told }
    return "\(scheme)\(self.host(of: coordinator))\(told[colon...])"
  }

  /// A coordinator without TCP is on this machine.
  private static func host(of coordinator: Endpoint) -> Substring {
    let address = coordinator.address
    guard coordinator.transport == .tcp, let colon = address.lastIndex(of: ":"),
      let slashes = address.firstRange(of: "://"), slashes.upperBound <= colon
    else { return "127.0.0.1" }
    return address[slashes.upperBound..<colon]
  }
}
