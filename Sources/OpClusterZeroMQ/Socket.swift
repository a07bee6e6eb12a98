// The socket that bodies hold: opened, bound or connected, and closed by the thread that owns it.
// Sending and receiving are in SocketMessages.swift, connection events in ConnectionEvent.swift.

import CZeroMQ
import Glibc
public import OpClusterSystem
import Synchronization

/// A ROUTER or DEALER socket. Neither copyable nor Sendable: the thread that opens a socket keeps
/// it (A13), which is also checked on every call; its end closes it.
///
/// Nothing here blocks. No socket reconnects by itself: when a dealer's connection has ended, its
/// owner drops the socket and opens a fresh one, with its own back-off and deadline (A6, A19).
public struct Socket: ~Copyable {
  /// Messages queued per peer and direction unless told otherwise; credit keeps below it.
  public static let defaultHighWaterMark = 256
  /// The range of high-water marks; 0 would mean without limit.
  public static let highWaterMarks = 1...1_000_000
  /// How long a closed socket may go on sending, in milliseconds; more than 0 only in commands
  /// that end right after their last message (A15).
  public static let lingers = 0...2_000
  /// The range of the largest message, in bytes.
  public static let messageSizes = 1...(1 << 30)

  public let role: SocketRole
  private let keys: SocketKeys?
  let handle: SocketHandle

  /// Opens a socket with every setting fixed (ZeroMQ.md); the only way to get one.
  ///
  /// - Parameters:
  ///   - role: Router or dealer, and the largest message it accepts.
  ///   - keys: Who it is over TCP; without keys it cannot bind or connect there (G35).
  ///   - highWaterMark: Messages queued per peer in each direction, within `highWaterMarks`.
  ///   - lingerMilliseconds: Time for unsent messages after the end, within `lingers`.
  /// - Throws: `EINVAL` for a value out of range, else what libzmq answered, e.g. `EMFILE`.
  public init(
    role: SocketRole, keys: SocketKeys? = nil,
    highWaterMark: Int = Socket.defaultHighWaterMark, lingerMilliseconds: Int = 0
  ) throws(SystemError) {
    guard
      Socket.messageSizes.contains(role.maximumMessageBytes),
      Socket.highWaterMarks.contains(highWaterMark), Socket.lingers.contains(lingerMilliseconds)
    else {
      throw SystemError(
        action: "open socket", code: EINVAL,
        advice: "message size must be in \(Socket.messageSizes), high-water mark in "
          + "\(Socket.highWaterMarks), linger in \(Socket.lingers)")
    }
    let settings = role.settings(
      highWaterMark: highWaterMark, lingerMilliseconds: lingerMilliseconds)
    let handle = try SocketHandle(type: role.type, settings: settings)
    if !role.isRouter {
      do throws(SystemError) {
        handle.events = try SocketHandle(monitoring: handle)
      } catch {
        handle.close()
        throw error
      }
    }
    self.role = role
    self.keys = keys
    self.handle = handle
  }

  deinit { handle.close() }

  /// The value that libzmq has for a setting; for tests and diagnosis.
  ///
  /// - Throws: `EINVAL` if the option is not readable.
  public func option(_ option: SocketOption) throws(SystemError) -> Int {
    try handle.value(of: option)
  }

  /// Listens at an endpoint and returns the real one, with the port that was found for port 0.
  ///
  /// A socket file gets mode 0700 and takes the place of a stale one, never of a living one; it
  /// goes with the socket.
  ///
  /// - Throws: `EADDRINUSE` if somebody listens there, `ENOENT` if the folder of a socket file
  ///   does not exist, `EACCES` for TCP without keys, or what else libzmq answered.
  public func bind(_ endpoint: Endpoint) throws(SystemError) -> Endpoint {
    let raw = unsafe handle.checked()
    let action = "bind \(endpoint)"
    guard endpoint.isNumeric else {
      throw SystemError(
        action: action, code: EINVAL,
        advice: "write an address of this machine as a number, or * for all of them")
    }
    try prepare(for: endpoint, action: action)
    var code: Int32 = 0
    if let path = endpoint.path {
      try LocalSocketFile.checkFree(path: path, action: action)
      code = LocalSocketFile.withPrivateMode {
        unsafe zmq_bind(raw, endpoint.address) == 0 ? 0 : zmq_errno()
      }
      if code == 0, let file = LocalSocketFile(madeAt: path) { handle.files.append(file) }
    } else if unsafe zmq_bind(raw, endpoint.address) != 0 {
      code = zmq_errno()
    }
    guard code == 0 else { throw SystemError(action: action, code: code) }
    return try boundEndpoint(action: action)
  }

  /// Begins to connect; the outcome arrives as a `ConnectionEvent`.
  ///
  /// A socket file says nothing of who listens behind it: nothing is sent to and nothing taken from
  /// anybody before the kernel has named one of `servers` (G39).
  ///
  /// A name in the process should be bound before: a connection that comes first waits inside
  /// libzmq for somebody to bind, for as long as the process lives.
  ///
  /// - Parameter servers: The users who may serve a socket file.
  /// - Throws: `EINVAL` for port 0 and wildcards, `EACCES` for TCP without keys, else what libzmq
  ///   answered.
  public func connect(
    _ endpoint: Endpoint, servedBy servers: LocalServers = .ourselvesAndRoot
  ) throws(SystemError) {
    let raw = unsafe handle.checked()
    let action = "connect to \(endpoint)"
    guard endpoint.port != 0, !endpoint.isWildcard else {
      throw SystemError(
        action: action, code: EINVAL, advice: "name the host and the port of the server")
    }
    try prepare(for: endpoint, action: action)
    // Before anything can happen.
    if endpoint.transport == .ipc { handle.awaitedServers = servers }
    guard unsafe zmq_connect(raw, endpoint.address) == 0 else { throw .last(action) }
    // There is no handshake and libzmq tells nothing: messages can flow now.
    if endpoint.transport == .inproc { handle.untoldEvents.append(.connected) }
  }

  /// Over TCP there is no way without keys.
  private func prepare(for endpoint: Endpoint, action: String) throws(SystemError) {
    try handle.set(.ipv6, to: endpoint.isIPv6 ? 1 : 0)
    guard endpoint.transport == .tcp else { return }
    guard let keys, keys.isServer == role.isRouter else {
      throw SystemError(
        action: action, code: EACCES, advice: "over TCP peers know each other by keys; give some")
    }
    try handle.use(keys, maximumMessageBytes: role.maximumMessageBytes)
  }

  private func boundEndpoint(action: String) throws(SystemError) -> Endpoint {
    let raw = unsafe handle.checked()
    var text = [UInt8](repeating: 0, count: Endpoint.maximumTextBytes + 1)
    var size = text.count
    guard unsafe zmq_getsockopt(raw, ZMQ_LAST_ENDPOINT, &text, &size) == 0 else {
      throw .last(action)
    }
    // The size counts the closing zero.
    let address = String(decoding: text.prefix(max(0, size - 1)), as: UTF8.self)
    do {
      return try Endpoint(address)
    } catch {
      throw SystemError(action: action, code: EINVAL, advice: error.description)
    }
  }
}
