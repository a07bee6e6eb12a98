// A relay for one connection over TCP that takes no more from one side after so many bytes: what
// libzmq on both sides holds for a message that is on its way never ends for the other side. It may
// let others before it wait in silence, as a machine does that has no time for them.

import Glibc
import OpClusterSystem
package import OpClusterZeroMQ

package enum StoppingRelay {
  /// Starts one that ends when either side does. When the server was stopped, there is a second
  /// connection, which is passed on as it is.
  ///
  /// - Parameters:
  ///   - bytes: What it hands on to the server, which is on this machine, before it stops.
  ///   - answerBytes: What it hands on to the client, before it stops.
  ///   - silent: How many connections before that one are accepted, and told nothing until the
  ///     client ends them.
  /// - Returns: Where a client may connect.
  package static func start(
    to server: Endpoint, stoppingAfter bytes: Int = .max, answersAfter answerBytes: Int = .max,
    silent: Int = 0
  ) throws -> Endpoint {
    let port = UInt16(server.address.split(separator: ":").last ?? "") ?? 0
    let listener = try socket()
    var name = loopback(0)
    var size = nameBytes
    _ = unsafe withAddress(&name) { address in
      unsafe (bind(listener, address, size), listen(listener, 1))
    }
    _ = unsafe withAddress(&name) { unsafe getsockname(listener, $0, &size) }
    let outgoing = try [socket(), socket()]
    _ = try startThread(name: "relay") {
      for _ in 0..<silent { waitForEnd(accept(listener, nil, nil)) }
      for server in outgoing.prefix(answerBytes == .max ? 1 : 2) {
        let client = accept(listener, nil, nil)
        var target = loopback(port)
        _ = unsafe withAddress(&target) { unsafe connect(server, $0, nameBytes) }
        let isFirst = server == outgoing[0]
        pass(client, server, isFirst ? bytes : .max, isFirst ? answerBytes : .max)
        close(client)
      }
      for descriptor in [listener] + outgoing { close(descriptor) }
    }
    return try Endpoint("tcp://127.0.0.1:\(UInt16(bigEndian: name.sin_port))")
  }

  private static func waitForEnd(_ client: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1_024)
    while unsafe read(client, &buffer, buffer.count) > 0 {}
    close(client)
  }

  private static func pass(
    _ client: Int32, _ server: Int32, _ bytes: Int, _ answerBytes: Int
  ) {
    var (left, answersLeft) = (bytes, answerBytes)
    while true {
      var watched = [
        pollfd(fd: client, events: left > 0 ? Int16(POLLIN) : 0, revents: 0),
        pollfd(fd: server, events: answersLeft > 0 ? Int16(POLLIN) : 0, revents: 0),
      ]
      _ = unsafe poll(&watched, 2, -1)
      if watched[0].revents != 0 {
        guard let count = move(from: client, to: server, most: left) else { return }
        left -= count
      }
      if watched[1].revents != 0 {
        guard let count = move(from: server, to: client, most: answersLeft) else { return }
        answersLeft -= count
      }
    }
  }

  /// How much; nil: one of them has ended.
  private static func move(from source: Int32, to target: Int32, most: Int) -> Int? {
    var buffer = [UInt8](repeating: 0, count: min(most, 64 << 10))
    let count = unsafe read(source, &buffer, buffer.count)
    guard count > 0 else { return nil }
    var rest = buffer[..<count]
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes {
        unsafe send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard written > 0 else { return nil }
      rest = rest.dropFirst(written)
    }
    return count
  }

  private static func socket() throws -> Int32 {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(action: "make a socket", code: errno) }
    return descriptor
  }

  private static let nameBytes = socklen_t(MemoryLayout<sockaddr_in>.size)

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return name
  }

  private static func withAddress<Result>(
    _ name: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    unsafe withUnsafeMutablePointer(to: &name) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0) }
    }
  }
}
