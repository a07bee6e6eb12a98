// Owns one raw libzmq socket: opens it, sets its options, closes it once. Used by `Socket`, its
// connection events and the poller, always on the thread that opened it.

import CZeroMQ
import Glibc
import OpClusterSystem

/// One raw socket and the thread it belongs to.
///
/// A class, so that a poller that still lists a closed socket sees that it is closed instead of
/// touching freed memory. Only its `Socket` closes it.
@safe
final class SocketHandle {
  private var raw: UnsafeMutableRawPointer?
  private let owner = pthread_self()
  /// Becomes readable when the socket's state may have changed; edge-triggered (A13).
  private(set) var descriptor: Int32 = -1
  /// The other end of the socket's connection events; of dealers, and of routers that count.
  var events: SocketHandle?
  /// What a router that counts its connections has seen.
  var census = ConnectionCensus()
  /// Of a router that counts: the connection of the last message; -1 for none.
  var lastDescriptor: Int32 = -1
  /// The same router's connections that have said nothing yet.
  var silence = SilentConnections()
  /// Of a dealer's connection; -1: there was none yet.
  var serverDescriptor: Int32 = -1
  /// The bytes of messages that came over it.
  var heardOfServer: UInt64 = 0
  /// The same router's connections, and how much has been heard of each.
  var heardBytes: [Int32: UInt64] = [:]
  /// What has happened to a dealer's connection and its owner does not know yet.
  var untoldEvents: [ConnectionEvent] = []
  /// Who may be at the other end of a dealer's connection over `ipc`, until the kernel has said
  /// that it is one of them; nil where nothing is awaited any more.
  var awaitedServers: LocalServers?
  /// Whoever speaks to it must have shown a key: a message without one is dropped (A5).
  var needsIdentity = false
  /// The files of the `ipc://` endpoints it is bound to.
  var files: [LocalSocketFile] = []

  /// Opens a socket of a libzmq type with its settings: the one place where sockets come from.
  init(
    type: Int32, settings: [(option: SocketOption, value: Int)]
  ) throws(SystemError) {
    // libzmq numbers a router's connections from `rand()`, which it does not seed, and aborts when
    // a peer has named itself like the next number: make that number impossible to guess.
    if type == ZMQ_ROUTER { srand(UInt32.random(in: .min ... .max)) }
    guard let raw = unsafe zmq_socket(Context.shared.raw, type) else { throw .last("open socket") }
    unsafe self.raw = raw
    do throws(SystemError) {
      for setting in settings { try set(setting.option, to: setting.value) }
      var size = MemoryLayout<Int32>.size
      guard unsafe zmq_getsockopt(raw, ZMQ_FD, &descriptor, &size) == 0 else {
        throw .last("read the descriptor of a socket")
      }
    } catch {
      close()
      throw error
    }
  }

  /// Whether `close` has not been called yet.
  var isOpen: Bool { unsafe raw != nil }

  /// The raw socket, after checking the one rule that libzmq has (A13).
  func checked() -> UnsafeMutableRawPointer {
    precondition(
      pthread_self() == owner, "a socket was used on another thread than the one that opened it")
    guard let raw = unsafe raw else { preconditionFailure("a socket was used after its end") }
    return unsafe raw
  }

  /// Closes the socket; libzmq sends what is left for as long as linger says. Safe to call again.
  func close() {
    guard isOpen else { return }
    let open = unsafe checked()
    if let events {
      // The reading end must outlive the writing end: libzmq writes events blocking.
      unsafe zmq_socket_monitor(open, nil, 0)
      events.close()
    }
    // While the socket still listens, so that no new server has made its own file yet.
    for file in files { file.remove() }
    unsafe raw = nil
    unsafe zmq_close(open)
  }

  func set(_ option: SocketOption, to value: Int) throws(SystemError) {
    let raw = unsafe checked()
    let result: Int32
    if option.isWide {
      var wide = Int64(value)
      result = unsafe zmq_setsockopt(raw, option.number, &wide, MemoryLayout<Int64>.size)
    } else {
      var narrow = Int32(clamping: value)
      result = unsafe zmq_setsockopt(raw, option.number, &narrow, MemoryLayout<Int32>.size)
    }
    guard result == 0 else { throw .last("set \(option) to \(value)") }
  }

  func value(of option: SocketOption) throws(SystemError) -> Int {
    let raw = unsafe checked()
    var wide: Int64 = 0
    var narrow: Int32 = 0
    var size = option.isWide ? MemoryLayout<Int64>.size : MemoryLayout<Int32>.size
    let result =
      option.isWide
      ? unsafe zmq_getsockopt(raw, option.number, &wide, &size)
      : unsafe zmq_getsockopt(raw, option.number, &narrow, &size)
    guard result == 0 else { throw .last("read \(option)") }
    return option.isWide ? Int(wide) : Int(narrow)
  }

  /// What the socket is ready for now, as `ZMQ_POLLIN` and `ZMQ_POLLOUT`. Also rearms `descriptor`.
  func pendingEvents() throws(SystemError) -> Int32 {
    let raw = unsafe checked()
    var events: Int32 = 0
    var size = MemoryLayout<Int32>.size
    while unsafe zmq_getsockopt(raw, ZMQ_EVENTS, &events, &size) != 0 {
      guard zmq_errno() == EINTR else { throw .last("read the events of a socket") }
    }
    return events
  }
}
