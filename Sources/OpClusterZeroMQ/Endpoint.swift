// Where a socket binds or connects, as a checked value. Commands and bodies make one from a flag or
// a configuration line; nothing but an `Endpoint` ever reaches libzmq. Pure, usable on any thread.

/// An address that libzmq may be given: loopback TCP, a socket file, or a name in the process.
///
/// libzmq would accept more (PGM, NORM, UDP, wildcard interfaces); everything else is refused here
/// (A22). TCP is loopback only, because peers are not yet told apart by keys.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
  /// How bytes travel.
  public enum Transport: String, Hashable, Sendable {
    /// TCP over 127.0.0.0/8 or ::1.
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
  /// Whether the TCP host is an IPv6 address.
  let isIPv6: Bool

  public var description: String { address }

  /// Reads `tcp://127.0.0.1:7700`, `tcp://[::1]:7700`, `tcp://localhost:*`, `ipc:///path` or
  /// `inproc://name`; throws what is wrong with anything else.
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
    guard let port = portText == "*" ? 0 : Endpoint.decimal(portText, as: UInt16.self) else {
      throw .invalidPort(String(portText))
    }
    let host = String(text[..<colon])
    guard !host.isEmpty else { throw .noHost(text) }
    guard let loopback = Endpoint.loopback(host) else { throw .notLoopback(host: host) }
    transport = .tcp
    address = "tcp://\(loopback):\(port)"
    self.port = port
    path = nil
    isIPv6 = loopback.hasPrefix("[")
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
    isIPv6 = false
  }

  private init(name: String) throws(EndpointError) {
    guard (1...Endpoint.maximumNameBytes).contains(name.utf8.count) else {
      throw .invalidName(bytes: name.utf8.count, limit: Endpoint.maximumNameBytes)
    }
    transport = .inproc
    address = "inproc://\(name)"
    port = nil
    path = nil
    isIPv6 = false
  }

  /// The numeric spelling of a loopback host, or nil if the host is not surely loopback.
  private static func loopback(_ host: String) -> String? {
    switch host {
    // As a number, because libzmq does not resolve names when binding.
    case "localhost": return "127.0.0.1"
    case "[::1]", "[0:0:0:0:0:0:0:1]": return "[::1]"
    default:
      let parts = host.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0] == "127" else { return nil }
      return parts.allSatisfy { decimal($0, as: UInt8.self) != nil } ? host : nil
    }
  }

  /// A plain decimal number: no sign, no leading zero (which some parsers read as octal).
  private static func decimal<Number: FixedWidthInteger>(
    _ text: Substring, as type: Number.Type
  ) -> Number? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    guard text == "0" || !text.hasPrefix("0") else { return nil }
    return Number(text)
  }
}
