// The reading end of a socket's connection events, which libzmq tells through a pair of sockets
// inside the process. On the socket's thread.

import CZeroMQ
import OpClusterSystem
import Synchronization

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
