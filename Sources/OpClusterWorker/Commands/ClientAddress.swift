// Where operations of this worker reach the coordinator as its clients do. Pure; any thread.

import OpClusterZeroMQ

enum ClientAddress {
  /// What the coordinator told, made reachable: one that serves clients at all of its interfaces
  /// tells no host, so that it is where we found it ourselves.
  static func reachable(_ told: String, beside coordinator: Endpoint) -> String {
    let scheme = "tcp://"
    guard told.hasPrefix(scheme), let colon = told.lastIndex(of: ":") else { return told }
    let host = told[told.index(told.startIndex, offsetBy: scheme.utf8.count)..<colon]
    guard ["*", "0.0.0.0", "[::]", "[::0]", "[0:0:0:0:0:0:0:0]"].contains(host) else { return told }
    return "\(scheme)\(self.host(of: coordinator))\(told[colon...])"
  }

  /// A coordinator that is reached without TCP is on this machine.
  private static func host(of coordinator: Endpoint) -> Substring {
    let address = coordinator.address
    guard coordinator.transport == .tcp, let colon = address.lastIndex(of: ":"),
      let slashes = address.firstRange(of: "://"), slashes.upperBound <= colon
    else { return "127.0.0.1" }
    return address[slashes.upperBound..<colon]
  }
}
