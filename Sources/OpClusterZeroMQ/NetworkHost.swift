// The host part of a TCP address: a number of either kind, or a name to be looked up. Pure but for
// the C library's reading of IPv6.

import Glibc

/// A host as libzmq may be given it.
struct NetworkHost: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case version4
    /// In brackets.
    case version6
    /// Looked up by libzmq at each attempt to connect, as IPv4.
    case name
  }

  let kind: Kind
  /// In the one spelling that libzmq gets.
  let text: String

  static let loopback4 = NetworkHost(kind: .version4, text: "127.0.0.1")
  static let loopback6 = NetworkHost(kind: .version6, text: "[::1]")

  /// The longest name, and the longest part of one, in bytes (RFC 1035).
  static let maximumNameBytes = 253
  static let maximumPartBytes = 63

  private init(kind: Kind, text: String) {
    self.kind = kind
    self.text = text
  }

  /// nil for what is neither a number nor a name, such as `eth0;127.0.0.1` or `256.1.1.1`.
  init?(_ text: String) {
    switch text {
    case "*": self.init(kind: .version4, text: "0.0.0.0")
    // As a number, because libzmq does not resolve names when binding.
    case "localhost": self = .loopback4
    case _ where text.hasPrefix("["):
      guard let spelling = NetworkHost.version6(text) else { return nil }
      self.init(kind: .version6, text: spelling)
    case _ where text.utf8.allSatisfy({ NetworkHost.isDigit($0) || $0 == 0x2E }):
      guard NetworkHost.isVersion4(text) else { return nil }
      self.init(kind: .version4, text: text)
    default:
      guard NetworkHost.isName(text) else { return nil }
      self.init(kind: .name, text: text)
    }
  }

  var isWildcard: Bool { text == "0.0.0.0" || text == "[::]" }

  /// Whether it is surely this machine itself.
  var isLoopback: Bool {
    kind == .version4 && text.hasPrefix("127.") || self == NetworkHost.loopback6
  }

  private static func isVersion4(_ text: String) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { decimal($0, as: UInt8.self) != nil }
  }

  /// The shortest spelling of an address in brackets; no zones (`%eth0`), which only hold here.
  private static func version6(_ text: String) -> String? {
    guard text.hasSuffix("]"), text.utf8.count <= 48 else { return nil }
    var address = in6_addr()
    guard unsafe inet_pton(AF_INET6, String(text.dropFirst().dropLast()), &address) == 1 else {
      return nil
    }
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard unsafe inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else {
      return nil
    }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return "[\(String(decoding: bytes, as: UTF8.self))]"
  }

  private static func isName(_ text: String) -> Bool {
    guard (1...maximumNameBytes).contains(text.utf8.count) else { return false }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard let last = parts.last, !last.utf8.allSatisfy(isDigit) else { return false }
    return parts.allSatisfy { part in
      (1...maximumPartBytes).contains(part.utf8.count) && part.first != "-" && part.last != "-"
        && part.utf8.allSatisfy { isDigit($0) || isLetter($0) || $0 == 0x2D || $0 == 0x5F }
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

  /// A plain decimal number: no sign, no leading zero (which some parsers read as octal).
  static func decimal<Number: FixedWidthInteger>(
    _ text: Substring, as type: Number.Type
  ) -> Number? {
    guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
    guard text == "0" || !text.hasPrefix("0") else { return nil }
    return Number(text)
  }
}
