// What can be wrong with an address that a person wrote. Pure values.

/// Why a text is not an `Endpoint`, with what to write instead.
public enum EndpointError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The whole text is longer than any address can be.
  case tooLong(bytes: Int, limit: Int)
  /// There is no `scheme://` in front.
  case noScheme(String)
  /// libzmq knows more schemes than we accept (A22).
  case unsupportedScheme(String)
  /// The address holds a control character.
  case controlCharacter
  /// `tcp://` without a host.
  case noHost(String)
  /// `tcp://` without a port.
  case noPort(String)
  /// The port is not a number from 0 to 65535 and not `*`.
  case invalidPort(String)
  /// The TCP host is neither a number nor a name.
  case invalidHost(String)
  /// The path of `ipc://` does not start with `/`, or names a folder.
  case pathNotAbsolute(String)
  /// The kernel's limit on socket paths.
  case pathTooLong(bytes: Int, limit: Int)
  /// The name of `inproc://` is empty or too long.
  case invalidName(bytes: Int, limit: Int)

  public var description: String {
    switch self {
    case .tooLong(let bytes, let limit):
      "the address is \(bytes) bytes long, more than \(limit); shorten it"
    case .noScheme(let text):
      "'\(text)' has no scheme; write tcp://127.0.0.1:PORT or ipc:///PATH"
    case .unsupportedScheme(let scheme):
      "scheme '\(scheme)' is not supported; use tcp:// or ipc://"
    case .controlCharacter:
      "the address holds a control character; remove it"
    case .noHost(let text):
      "'\(text)' has no host; write 127.0.0.1:PORT"
    case .noPort(let text):
      "'\(text)' has no port; write HOST:PORT, or HOST:* for any free port"
    case .invalidPort(let text):
      "'\(text)' is not a port; write a number from 1 to 65535, or * for any free port"
    case .invalidHost(let host):
      "'\(host)' is not a host; write a name, 192.0.2.1, [2001:db8::1], or * to serve at all "
        + "addresses of this machine"
    case .pathNotAbsolute(let path):
      "'\(path)' is not the absolute path of a socket file; write ipc:///FOLDER/NAME"
    case .pathTooLong(let bytes, let limit):
      "the path of the socket is \(bytes) bytes long and the kernel allows \(limit); "
        + "choose a shorter folder"
    case .invalidName(let bytes, let limit):
      "an inproc name has 1 to \(limit) bytes, not \(bytes)"
    }
  }
}
