// What happens to a dealer's connection, as libzmq tells through a pair of sockets inside the
// process. Read on the dealer's thread; the poller says when there is something to read.

import CZeroMQ
import Glibc
import OpClusterSystem
import Synchronization

/// A turn in the life of a dealer's connection.
///
/// Of a connection over `inproc`, `connected` is told as soon as the dealer connects, and nothing
/// else: libzmq watches none of those. That such a peer has ended shows in its silence, by which
/// every peer is judged anyway (A11).
///
/// Everything but `connected` is an end: the owner drops the socket and opens a fresh one later
/// (A19). Several ends of one connection may be told, e.g. a failed handshake and a disconnect.
public enum ConnectionEvent: Hashable, Sendable {
  /// The handshake is done; messages can flow.
  case connected
  /// Nobody listens there, or the network says so.
  case refused
  /// The other side is there, but speaks another protocol, hung up, or did not let us in.
  case handshakeFailed(HandshakeFailure)
  /// The connection has ended, by the other side or by the network.
  case disconnected
}

/// Why a handshake failed.
public enum HandshakeFailure: Hashable, Sendable {
  /// The connection broke or the time was up; carries libzmq's `errno`.
  case broken(code: Int32)
  /// The other side does not speak our protocol; carries libzmq's code.
  case protocolViolation(code: Int32)
  /// The other side does not know us; carries its status, 400 as a rule.
  case notAuthorized(status: Int32)
  /// A socket file is served by another user than it may be.
  case foreignServer(user: UInt32)
}

extension HandshakeFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .broken(let code): unsafe String(cString: zmq_strerror(code))
    case .protocolViolation: "what listens there does not speak ZeroMQ's protocol"
    case .notAuthorized: "our key is not let in"
    case .foreignServer(let user):
      "it is served by a process of user \(user), who could read everything that is sent there"
    }
  }
}

extension Socket {
  /// The next event of this dealer's connection, or nil if nothing has happened since.
  public func nextConnectionEvent() -> ConnectionEvent? {
    if handle.untoldEvents.isEmpty { takeConnectionEvents() }
    return handle.untoldEvents.isEmpty ? nil : handle.untoldEvents.removeFirst()
  }

  /// Reads what libzmq tells: a handful for each connection, which is not renewed.
  private func takeConnectionEvents() {
    guard let events = handle.events, !role.isRouter else { return }
    var frame = zmq_msg_t()
    unsafe zmq_msg_init(&frame)
    defer { unsafe zmq_msg_close(&frame) }
    let raw = unsafe events.checked()
    while unsafe Socket.nextFrame(&frame, from: raw) == 0 {
      let event = unsafe event(in: Socket.content(&frame))
      // The second frame, the address, is known to the owner.
      while unsafe zmq_msg_more(&frame) != 0, unsafe Socket.nextFrame(&frame, from: raw) == 0 {}
      if let event { handle.untoldEvents.append(event) }
    }
  }

  /// Reads the frame that libzmq writes: a 16-bit event and a 32-bit value, native order, packed.
  private func event(in content: UnsafeRawBufferPointer) -> ConnectionEvent? {
    guard content.count == 6 else { return nil }
    let number = Int32(unsafe content.loadUnaligned(as: UInt16.self))
    let value = unsafe content.loadUnaligned(fromByteOffset: 2, as: Int32.self)
    switch number {
    case ZMQ_EVENT_CONNECTED: return lookAtServer(descriptor: value)
    // Whoever was not known before the handshake is not afterwards; it came to an end meanwhile.
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      return handle.awaitedServers == nil ? .connected : .disconnected
    case ZMQ_EVENT_CLOSED: return .refused
    case ZMQ_EVENT_DISCONNECTED: return .disconnected
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: return .handshakeFailed(.broken(code: value))
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      return .handshakeFailed(.protocolViolation(code: value))
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: return .handshakeFailed(.notAuthorized(status: value))
    default: return nil
    }
  }
}

extension Socket {
  /// Whether the kernel has not yet said who is at the other end of a dealer's connection.
  var isServerUnknown: Bool {
    guard handle.awaitedServers != nil else { return false }
    takeConnectionEvents()
    return handle.awaitedServers != nil
  }

  /// Over `ipc`: nil when whoever listens there may.
  private func lookAtServer(descriptor: Int32) -> ConnectionEvent? {
    guard let servers = handle.awaitedServers else { return nil }
    switch servers.verdict(on: descriptor) {
    case .known:
      handle.awaitedServers = nil
      return nil
    case .stranger(let user): return .handshakeFailed(.foreignServer(user: user))
    case .gone: return nil
    }
  }
}

extension SocketHandle {
  /// Numbers the inproc endpoints of connection events; each is used once.
  private static let count = Atomic<UInt64>(0)

  static let toldEvents =
    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED
    | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL
    | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH

  /// Opens the reading end of a socket's connection events, before that socket connects.
  ///
  /// A connection has a handful of events and is not renewed, so nothing piles up unread.
  convenience init(
    monitoring socket: SocketHandle, events: Int32 = SocketHandle.toldEvents,
    settings: [(option: SocketOption, value: Int)] = [(.linger, 0)]
  ) throws(SystemError) {
    let number = SocketHandle.count.wrappingAdd(1, ordering: .relaxed).newValue
    let address = "inproc://connection-events-\(number)"
    let watched = unsafe socket.checked()
    guard unsafe zmq_socket_monitor(watched, address, events) == 0 else {
      throw .last("watch the connection of a socket")
    }
    do throws(SystemError) {
      try self.init(type: ZMQ_PAIR, settings: settings)
    } catch {
      unsafe zmq_socket_monitor(watched, nil, 0)
      throw error
    }
    guard unsafe zmq_connect(checked(), address) == 0 else {
      let error = SystemError.last("watch the connection of a socket")
      unsafe zmq_socket_monitor(watched, nil, 0)
      close()
      throw error
    }
  }
}
