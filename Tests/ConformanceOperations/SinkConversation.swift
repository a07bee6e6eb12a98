// What a running operation of a conformance case tells its test, and what it waits for: a
// connection to the test's own sink, a unix socket. Any thread; one conversation belongs to one
// attempt.

import Dispatch
import Glibc
import OpClusterModel
import OpClusterOperations

/// The sink is gone, or answered something that it should not: the case is over.
struct SinkTrouble: Error, CustomStringConvertible {
  var description: String
}

/// A connection from one attempt to the sink of its test.
final class SinkConversation: Sendable {
  private let descriptor: Int32
  /// What every line of this attempt says of it.
  private let who: String

  /// - Parameter path: the sink's socket, at most 107 bytes.
  init(_ path: String, _ context: OperationContext) throws {
    let id = context.operation
    who = "\(id.graph.number) \(id.index) \(context.run) \(getpid())"
    let type = Int32(SOCK_STREAM.rawValue) | Int32(bitPattern: SOCK_CLOEXEC.rawValue)
    descriptor = socket(AF_UNIX, type, 0)
    guard descriptor >= 0 else { throw SinkTrouble(description: "socket: \(errno)") }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let size = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count < size else { throw SinkTrouble(description: "\(path) is too long") }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let result = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw SinkTrouble(description: "connect to \(path): \(errno)") }
  }

  deinit { close(descriptor) }

  /// Puts a line into the trace; when this has returned it is there.
  func say(_ text: String) throws {
    try send("say \(who) \(text)\n")
    let answer = try receive()
    guard answer == "ok" else { throw SinkTrouble(description: "the sink said '\(answer)'") }
  }

  /// Calls `done` when the gate is open (nil), or the sink has gone or `giveUp` was called. A
  /// thread of its own waits, not one of those that operations share.
  func whenOpen(_ gate: String, _ done: @escaping @Sendable ((any Error)?) -> Void) throws {
    try send("wait \(gate)\n")
    DispatchQueue(label: "gate").async {
      do {
        let answer = try self.receive()
        done(answer == "open" ? nil : SinkTrouble(description: "the sink said '\(answer)'"))
      } catch {
        done(error)
      }
    }
  }

  /// Returns when the gate is open.
  func pass(_ gate: String) async throws {
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      do {
        try whenOpen(gate) { error in
          if let error { continuation.resume(throwing: error) } else { continuation.resume() }
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Ends every wait of this conversation.
  func giveUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private func send(_ line: String) throws {
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(
          descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SinkTrouble(description: "the sink is gone: \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  /// One short line; answers come one at a time.
  private func receive() throws -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while line.count < 100 {
      let count = unsafe recv(descriptor, &byte, 1, 0)
      if count < 0, errno == EINTR { continue }
      guard count == 1 else { throw SinkTrouble(description: "the sink is gone") }
      if byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }
}
