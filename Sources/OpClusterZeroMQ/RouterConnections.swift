// A router's connections: how many there are, whose the last message was, and an end for single
// ones and for those beyond a bound. libzmq accepts whoever comes, and at the limit of descriptors
// it turns in circles (A7): here the newest are cut before that. Read on the router's thread,
// whenever the poller tells of connection events.

import CZeroMQ
import Glibc
public import OpClusterSystem

extension Socket {
  /// Begins to count; before the router binds. From then on `countConnections` has to be called
  /// whenever the poller tells of this socket.
  ///
  /// - Throws: what libzmq answered.
  public func watchConnections() throws(SystemError) {
    precondition(role.isRouter, "a dealer has one connection, and events of its own")
    handle.events = try SocketHandle(
      monitoring: handle, events: SocketHandle.countedEvents,
      settings: [(.linger, 0), (.receiveHighWaterMark, ConnectionCensus.unreadEvents)])
  }

  /// Takes in what has happened since the last call, and cuts the newest connections beyond `most`,
  /// and of one host those beyond `silent` that have said nothing yet.
  public func countConnections(most: Int, silentPerHost: Int = .max) -> ConnectionCensus {
    guard let events = handle.events, role.isRouter else { return ConnectionCensus() }
    var frame = zmq_msg_t()
    unsafe zmq_msg_init(&frame)
    defer { unsafe zmq_msg_close(&frame) }
    let raw = unsafe events.checked()
    var excess: [Int32] = []
    var taken = 0
    while taken < SocketHandle.eventsPerCount, unsafe Frame.next(&frame, from: raw) == 0 {
      taken += 1
      let content = unsafe Frame.content(&frame)
      if content.count == 6 {
        let number = Int32(unsafe content.loadUnaligned(as: UInt16.self))
        let value = unsafe content.loadUnaligned(fromByteOffset: 2, as: Int32.self)
        note(number, value, most: most, silentPerHost, &excess)
      }
      while unsafe zmq_msg_more(&frame) != 0, unsafe Frame.next(&frame, from: raw) == 0 {}
    }
    // Otherwise some of those that were heard may be of connections that are still to be told.
    if taken < SocketHandle.eventsPerCount { handle.silence.heardLately.removeAll() }
    // libzmq sees the end of the connection and closes the descriptor, which stays its own.
    for descriptor in excess { shutdown(descriptor, Int32(SHUT_RDWR)) }
    return handle.census
  }

  private func note(
    _ event: Int32, _ value: Int32, most: Int, _ silentPerHost: Int, _ excess: inout [Int32]
  ) {
    switch event {
    case ZMQ_EVENT_ACCEPTED:
      handle.census.open += 1
      // It may have been heard already: events are read after messages.
      handle.heardBytes[value] = handle.heardBytes[value] ?? 0
      let isCrowded = handle.silence.begin(value, at: MonotonicClock.now(), most: silentPerHost)
      if handle.census.open > most {
        handle.census.refused += 1
        excess.append(value)
      } else if isCrowded {
        handle.census.silent += 1
        excess.append(value)
      }
    case ZMQ_EVENT_DISCONNECTED:
      handle.census.open = max(0, handle.census.open - 1)
      handle.heardBytes[value] = nil
      handle.silence.end(value)
      // Gone by itself: the number may be somebody else's by now.
      excess.removeAll { $0 == value }
    default: break
    }
  }

  /// Cuts the connections that have said nothing since this moment of the `MonotonicClock`.
  public func cutSilent(since moment: Int64) {
    for descriptor in handle.silence.takeOlder(than: moment) {
      handle.census.silent += 1
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Of the connection over which the last message was received; nil over `inproc`, and where the
  /// connection has ended already.
  public func lastOrigin() -> ConnectionOrigin? {
    ConnectionOrigin(descriptor: handle.lastDescriptor)
  }

  /// Ends a connection; what was said last may be lost with it.
  public func cut(_ origin: ConnectionOrigin) { origin.end() }
}

extension SocketHandle {
  /// Not those of failed accepts: where descriptors are short, they come without end.
  static let countedEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED
  /// Events taken in at once, so that a flood of connections does not keep the router's thread.
  static let eventsPerCount = 4_096

  /// Remembers over which connection a payload frame came.
  func noteDescriptor(of frame: inout zmq_msg_t) {
    lastDescriptor = unsafe zmq_msg_get(&frame, ZMQ_SRCFD)
  }
}
