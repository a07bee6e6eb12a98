// A small web server for the download examples and their tests: files from memory, on loopback,
// some of which get stuck. Threads of its own; ends with `stop`.
// A client that breaks off and a server that stops are both part of the examples, so both ends may
// cut a connection at any time.

import Dispatch
import Glibc
import Synchronization

/// Serves the given files until it is stopped.
/// Answers one request per connection, and only GET. Nothing is read from the disk.
public final class WebServer: Sendable {
  private let files: [String: [UInt8]]
  private let stuck: Set<String>
  private let listener: Listener
  /// Everything that several threads change.
  private let state = Mutex(State())

  private struct State {
    /// By identity, so that `stop` can cut those that are under way.
    var connections: [ObjectIdentifier: Connection] = [:]
    /// Requests being answered now; `most` is how many there ever were.
    var underWay = 0
    var most = 0
    var isStopped = false
  }

  /// - Parameters:
  ///   - files: By path, such as `/a.txt`.
  ///   - stuck: Paths of which only half is sent.
  public init(_ files: [String: [UInt8]], stuck: Set<String> = []) throws {
    self.files = files
    self.stuck = stuck
    listener = try Listener()
    let listener = self.listener
    // A thread waits for connections, and each connection has one of the pool. `self` is weak, or
    // the waiting thread would keep the server for ever.
    DispatchQueue(label: "example.web-server").async { [weak self] in
      while let connection = listener.accept() {
        DispatchQueue.global().async { [weak self] in self?.serve(connection) }
      }
    }
  }

  deinit { stop() }

  /// Always by number: a name could be resolved to another address.
  public func address(of path: String) -> String { "http://127.0.0.1:\(listener.port)\(path)" }

  /// The maximal number of simultaneous requests.
  /// Shows that a queue's limit held: `atOnce` downloads and no more.
  public var mostAtOnce: Int { state.withLock { $0.most } }

  /// Cuts all connections and accepts no more.
  /// Threads that wait for a client end at once. May be called again.
  public func stop() {
    listener.shutDown()
    let connections = state.withLock { state in
      state.isStopped = true
      return Array(state.connections.values)
    }
    for connection in connections { connection.shutDown() }
  }

  /// Ends with the connection closed, whatever the request was.
  private func serve(_ connection: Connection) {
    // Registered first and asked then, so that `stop` either sees the connection or is seen.
    let isStopped = state.withLock { state in
      state.connections[ObjectIdentifier(connection)] = connection
      return state.isStopped
    }
    defer { state.withLock { $0.connections[ObjectIdentifier(connection)] = nil } }
    if isStopped { return }
    let request = String(decoding: connection.receive(), as: UTF8.self).split(separator: " ")
    guard request.count > 2, request[0] == "GET" else { return }
    answer(String(request[1]), connection)
  }

  /// A path that is not there is answered, and does not count as under way.
  private func answer(_ path: String, _ connection: Connection) {
    guard let file = files[path] else {
      connection.send(Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8))
      return
    }
    state.withLock { state in
      state.underWay += 1
      state.most = max(state.most, state.underWay)
    }
    connection.send(Array("HTTP/1.1 200 OK\r\nContent-Length: \(file.count)\r\n\r\n".utf8))
    let half = file.count / 2
    connection.send(Array(file[..<half]))
    if stuck.contains(path) {
      // Until the other side gives up, or this one is stopped.
      _ = connection.receive()
      return state.withLock { $0.underWay -= 1 }
    }
    // A delay, so that downloads overlap.
    usleep(20_000)
    // Before the last byte: a client that has it may already request the next file.
    state.withLock { $0.underWay -= 1 }
    connection.send(Array(file[half...]))
  }
}
