// What happens to a dealer's connection, as libzmq tells, and who is at its other end. Read on the
// dealer's thread; the poller says when there is something to read.

import CZeroMQ
import Glibc

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
    while unsafe Frame.next(&frame, from: raw) == 0 {
      let event = unsafe event(in: Frame.content(&frame))
      // The second frame, the address, is known to the owner.
      while unsafe zmq_msg_more(&frame) != 0, unsafe Frame.next(&frame, from: raw) == 0 {}
      if let event { handle.untoldEvents.append(event) }
    }
  }

  /// Reads the frame that libzmq writes: a 16-bit event and a 32-bit value, native order, packed.
  private func event(in content: UnsafeRawBufferPointer) -> ConnectionEvent? {
    guard content.count == 6 else { return nil }
    let number = Int32(unsafe content.loadUnaligned(as: UInt16.self))
    let value = unsafe content.loadUnaligned(fromByteOffset: 2, as: Int32.self)
    switch number {
    case ZMQ_EVENT_CONNECTED:
      handle.serverDescriptor = value
      return lookAtServer(descriptor: value)
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
