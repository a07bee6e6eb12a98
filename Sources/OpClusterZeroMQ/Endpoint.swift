// Where a socket binds or connects, as a checked value. Commands and bodies make one from a flag or
// a configuration line; nothing but an `Endpoint` ever reaches libzmq. Pure, usable on any thread.

/// An address that libzmq may be given: TCP, a socket file, or a name in the process.
///
/// libzmq would accept more (PGM, NORM, UDP, names of interfaces); everything else is refused here
/// (A22).
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
  /// How bytes travel.
  public enum Transport: String, Hashable, Sendable {
    /// TCP; peers know each other by keys.
    case tcp
    /// A socket file of this machine.
    case ipc
    /// Between the threads of one process; its connections tell that they began, not that they end.
    case inproc
  }

  /// The longest address text that is looked at, in bytes.
  public static let maximumTextBytes = 512
  /// The longest path of a socket file, in bytes: `sockaddr_un` has 108 with the closing zero.
  public static let maximumPathBytes = 107
  /// The longest name of an `inproc` endpoint, in bytes.
  public static let maximumNameBytes = 200

  public let transport: Transport
  /// The address in the one spelling that libzmq gets.
  public let address: String
  /// The TCP port; 0 asks for any free one when binding. Nil for other transports.
  public let port: UInt16?
  /// The absolute path of the socket file. Nil for other transports.
  public let path: String?
  /// The TCP host. Nil for other transports.
  let host: NetworkHost?
  /// Whether the TCP host is an IPv6 address; names are looked up as IPv4.
  var isIPv6: Bool { host?.kind == .version6 }
  /// Whether it can be bound: a host that is a name is for connecting only.
  public var isNumeric: Bool { host?.kind != .name }
  /// Whether it stands for all interfaces of this machine.
  public var isWildcard: Bool { host?.isWildcard ?? false }
  /// Whether only this machine can get there.
  public var isLoopback: Bool { host?.isLoopback ?? true }

  public var description: String { address }

  /// Reads `tcp://127.0.0.1:7700`, `tcp://[::1]:7700`, `tcp://host.example:7700`, `tcp://*:7700`,
  /// `tcp://localhost:*`, `ipc:///path` or `inproc://name`; throws what is wrong with others.
  public init(_ text: String) throws(EndpointError) {
    guard text.utf8.count <= Endpoint.maximumTextBytes else {
      throw .tooLong(bytes: text.utf8.count, limit: Endpoint.maximumTextBytes)
    }
    guard let separator = text.firstRange(of: "://") else { throw .noScheme(text) }
    let rest = String(text[separator.upperBound...])
    guard rest.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .controlCharacter }
    switch text[..<separator.lowerBound] {
    case "tcp": try self.init(hostAndPort: rest)
    case "ipc": try self.init(path: rest)
    case "inproc": try self.init(name: rest)
    case let scheme: throw .unsupportedScheme(String(scheme))
    }
  }

  private init(hostAndPort text: String) throws(EndpointError) {
    guard let colon = text.lastIndex(of: ":") else { throw .noPort(text) }
    let portText = text[text.index(after: colon)...]
    guard let port = portText == "*" ? 0 : NetworkHost.decimal(portText, as: UInt16.self) else {
      throw .invalidPort(String(portText))
    }
    let hostText = String(text[..<colon])
    guard !hostText.isEmpty else { throw .noHost(text) }
    guard let host = NetworkHost(hostText) else { throw .invalidHost(hostText) }
    self.init(host: host, port: port)
  }

  private init(host: NetworkHost, port: UInt16) {
    transport = .tcp
    address = "tcp://\(host.text):\(port)"
    self.port = port
    path = nil
    self.host = host
  }

  /// The address by which this machine reaches itself, where it is bound to all interfaces.
  public var seenFromHere: Endpoint {
    guard let host, let port, host.isWildcard else { return self }
    return Endpoint(host: isIPv6 ? .loopback6 : .loopback4, port: port)
  }

  private init(path: String) throws(EndpointError) {
    // Neither a relative path (depends on the current folder) nor `@name` (has no permissions).
    guard path.hasPrefix("/"), !path.hasSuffix("/") else { throw .pathNotAbsolute(path) }
    guard path.utf8.count <= Endpoint.maximumPathBytes else {
      throw .pathTooLong(bytes: path.utf8.count, limit: Endpoint.maximumPathBytes)
    }
    transport = .ipc
    address = "ipc://\(path)"
    port = nil
    self.path = path
    host = nil
  }

  private init(name: String) throws(EndpointError) {
    guard (1...Endpoint.maximumNameBytes).contains(name.utf8.count) else {
      throw .invalidName(bytes: name.utf8.count, limit: Endpoint.maximumNameBytes)
    }
    transport = .inproc
    address = "inproc://\(name)"
    port = nil
    path = nil
    host = nil
  }
}
