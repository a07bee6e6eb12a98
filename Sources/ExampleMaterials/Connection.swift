// One TCP connection with blocking calls, and the socket that accepts new ones: the only file that
// uses sockets. Any thread; `shutDown` from another thread ends a waiting call.
// Everything that is unsafe about sockets is in this file; its callers see bytes and errors.

import Glibc
import Synchronization

/// A connected stream socket.
/// `Sendable`, since one thread waits in a call while another shuts it down.
final class Connection: Sendable {
  /// nil once it is closed, so that its number is not used for another file.
  private let descriptor: Mutex<Int32?>
  /// For the calls that wait: they cannot hold the lock meanwhile.
  private let number: Int32

  fileprivate init(_ number: Int32) {
    self.number = number
    descriptor = Mutex(number)
  }

  deinit { close() }

  /// - Throws: `MaterialError` if the host is unknown or does not answer.
  static func open(host: String, port: UInt16) throws(MaterialError) -> Connection {
    // Every address of the host is tried in order; each attempt blocks up to the system's own
    // limit.
    var wanted = unsafe addrinfo()
    unsafe wanted.ai_socktype = streamType
    var found: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, String(port), &wanted, &found) == 0 else {
      throw MaterialError("there is no host '\(host)'")
    }
    defer { unsafe freeaddrinfo(found) }
    var next = unsafe found
    while let address = unsafe next?.pointee {
      unsafe next = address.ai_next
      let number = unsafe socket(address.ai_family, streamType | closing, address.ai_protocol)
      guard number >= 0 else { continue }
      setPatience(of: number)
      if unsafe connect(number, address.ai_addr, address.ai_addrlen) == 0 {
        return Connection(number)
      }
      _ = Glibc.close(number)
    }
    throw MaterialError("nobody answers at \(host):\(port)")
  }

  /// The received bytes, at most 64 KiB; empty at the end, and after a silence of two minutes.
  func receive() -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      let received = unsafe recv(number, buffer.baseAddress, buffer.count, 0)
      count = max(received, 0)
    }
  }

  /// Returns false if the other side has closed the connection.
  /// Blocks until all bytes are handed to the system. `MSG_NOSIGNAL` keeps a cut connection from
  /// ending the process by SIGPIPE.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let sent = unsafe rest.withUnsafeBytes { part in
        unsafe Glibc.send(number, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  /// Ends waiting calls on any thread; a later call ends at once.
  func shutDown() {
    descriptor.withLock { if let number = $0 { _ = shutdown(number, Int32(SHUT_RDWR)) } }
  }

  /// Closes the socket; no call may be in progress.
  /// Runs when nobody holds the connection any more, so no call can be waiting.
  private func close() {
    descriptor.withLock { descriptor in
      if let number = descriptor { _ = Glibc.close(number) }
      descriptor = nil
    }
  }
}

private let streamType = Int32(SOCK_STREAM.rawValue)
private let closing = Int32(SOCK_CLOEXEC.rawValue)

/// Two minutes: a server that says nothing is given up, but one under load is not.
private func setPatience(of number: Int32) {
  var silence = timeval(tv_sec: 120, tv_usec: 0)
  let size = socklen_t(MemoryLayout<timeval>.size)
  unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &silence, size)
}

/// Accepts connections, on loopback and a free port.
final class Listener: Sendable {
  let port: UInt16
  private let number: Int32

  init() throws(MaterialError) {
    number = socket(AF_INET, streamType | closing, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    // 127.0.0.1, so that no other machine can connect.
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = number
    let isOpen = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, size) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &size) == 0
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    guard isOpen else { throw MaterialError("cannot listen on loopback: error \(errno)") }
  }

  deinit { _ = Glibc.close(number) }

  /// nil: it was shut down.
  /// Blocks. A descriptor that is inherited by a child would keep the connection open, hence the
  /// flag.
  func accept() -> Connection? {
    let accepted = Glibc.accept(number, nil, nil)
    guard accepted >= 0 else { return nil }
    _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
    setPatience(of: accepted)
    return Connection(accepted)
  }

  /// Wakes the waiting `accept`, which closing alone would not.
  func shutDown() { _ = shutdown(number, Int32(SHUT_RDWR)) }
}
