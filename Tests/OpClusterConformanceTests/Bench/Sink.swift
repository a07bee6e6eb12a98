// Where the operations of one case write their trace and wait at their gates: a unix socket that
// one thread serves. The order in which lines arrive is the trace; an operation goes on when its
// line is in it. `SinkConversation` of ConformanceOperations is the other end.

import Dispatch
import FoundationEssentials
import Glibc
import OpClusterModel
import RealCluster
import Synchronization

/// One line of a trace.
struct Line: Hashable, Sendable, CustomStringConvertible {
  var text: String
  var operation: OperationID
  /// Which run of the operation wrote it, from 1.
  var run: UInt32
  /// The worker's process.
  var process: pid_t
  var description: String { run == 1 ? text : "\(text)@\(run)" }
}

/// The sink of one case.
final class Sink: Sendable {
  /// The socket's path: the argument `sink` of every operation.
  let path: String
  private let folder: String
  private let listener: Int32

  private struct State {
    var lines: [Line] = []
    var openGates: Set<String> = []
    /// Whether gates that nobody has named are open, too: the case is over.
    var isEverythingOpen = false
    /// Connections that wait, by gate.
    var waiting: [String: [Int32]] = [:]
    var waiters: [UInt64: Waiter] = [:]
    var lastWaiter: UInt64 = 0
  }
  private struct Waiter {
    var predicate: @Sendable ([Line]) -> Bool
    var continuation: CheckedContinuation<Bool, Never>
  }
  private let state = Mutex(State())

  init() throws {
    folder = "/tmp/ocs-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    path = "\(folder)/sink"
    guard unsafe mkdir(folder, 0o700) == 0 else { throw Trouble("mkdir \(folder): \(errno)") }
    let type = Int32(SOCK_STREAM.rawValue) | Int32(bitPattern: SOCK_CLOEXEC.rawValue)
    listener = socket(AF_UNIX, type, 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let result = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0, listen(listener, 1_000) == 0 else { throw Trouble("bind: \(errno)") }
    DispatchQueue(label: "sink").async { self.serve() }
  }

  // MARK: - For the case

  /// Everything written so far, in order.
  var lines: [Line] { state.withLock { $0.lines } }
  /// The texts of the lines.
  var trace: [String] { lines.map(\.text) }

  /// Lets everybody pass this gate, those who come later too.
  func open(_ gates: String...) {
    for gate in gates {
      state.withLock { state in
        state.openGates.insert(gate)
        for descriptor in state.waiting.removeValue(forKey: gate) ?? [] {
          answer(descriptor, "open")
        }
      }
    }
  }

  /// Returns when all of these texts are in the trace.
  func waitFor(_ texts: String..., within limit: Duration = patience) async throws {
    try await waitUntil("\(texts) are traced", within: limit) { lines in
      Set(texts).isSubset(of: lines.map(\.text))
    }
  }

  /// Returns when the trace is as it should be; is asked again with each new line.
  func waitUntil(
    _ what: String, within limit: Duration = patience,
    _ predicate: @escaping @Sendable ([Line]) -> Bool
  ) async throws {
    let isMet = await withCheckedContinuation { continuation in
      let number = state.withLock { state -> UInt64? in
        if predicate(state.lines) { return nil }
        state.lastWaiter += 1
        state.waiters[state.lastWaiter] = Waiter(predicate: predicate, continuation: continuation)
        return state.lastWaiter
      }
      guard let number else { return continuation.resume(returning: true) }
      DispatchQueue.global().asyncAfter(deadline: .now() + limit.seconds) {
        let late = self.state.withLock { $0.waiters.removeValue(forKey: number) }
        late?.continuation.resume(returning: false)
      }
    }
    guard isMet else { throw Trouble("not within \(limit): \(what); the trace is \(lines)") }
  }

  /// Opens every gate and ends. Who still writes gets an error.
  func close() {
    openAll()
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Opens every gate, named or not.
  func openAll() {
    state.withLock { state in
      state.isEverythingOpen = true
      for descriptor in state.waiting.values.joined() { answer(descriptor, "open") }
      state.waiting = [:]
    }
  }

  // MARK: - The serving thread

  private func serve() {
    var buffers: [Int32: [UInt8]] = [:]
    defer {
      for descriptor in buffers.keys { Glibc.close(descriptor) }
      Glibc.close(listener)
      try? FileManager.default.removeItem(atPath: folder)
    }
    while true {
      var polled = [listener] + buffers.keys
      var entries = polled.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard unsafe poll(&entries, nfds_t(entries.count), -1) >= 0 || errno == EINTR else { return }
      polled = entries.filter { $0.revents != 0 }.map(\.fd)
      for descriptor in polled where descriptor != listener {
        read(descriptor, &buffers)
      }
      guard polled.contains(listener) else { continue }
      let new = accept(listener, nil, nil)
      // The listener was shut down: the case is over.
      guard new >= 0 else { return }
      buffers[new] = []
    }
  }

  private func read(_ descriptor: Int32, _ buffers: inout [Int32: [UInt8]]) {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else {
      buffers[descriptor] = nil
      state.withLock { state in
        for gate in Array(state.waiting.keys) {
          state.waiting[gate]?.removeAll { $0 == descriptor }
        }
        Glibc.close(descriptor)
      }
      return
    }
    var text = (buffers[descriptor] ?? []) + bytes[..<count]
    while let end = text.firstIndex(of: UInt8(ascii: "\n")) {
      take(String(decoding: text[..<end], as: UTF8.self), from: descriptor)
      text.removeSubrange(...end)
    }
    buffers[descriptor] = text
  }

  /// `say GRAPH INDEX RUN PROCESS TEXT`, or `wait GATE`.
  private func take(_ message: String, from descriptor: Int32) {
    let words = message.split(separator: " ", maxSplits: 5).map(String.init)
    if words.first == "wait", words.count == 2 {
      state.withLock { state in
        if state.isEverythingOpen || state.openGates.contains(words[1]) {
          answer(descriptor, "open")
        } else {
          state.waiting[words[1], default: []].append(descriptor)
        }
      }
    } else if words.count == 6, let graph = UInt32(words[1]), let index = UInt32(words[2]),
      let run = UInt32(words[3]), let process = pid_t(words[4])
    {
      let id = OperationID(graph: GraphID(graph), index: index)
      add(Line(text: words[5], operation: id, run: run, process: process))
      answer(descriptor, "ok")
    } else {
      answer(descriptor, "what?")
    }
  }

  private func add(_ line: Line) {
    let met = state.withLock { state -> [Waiter] in
      state.lines.append(line)
      let numbers = state.waiters.filter { $0.value.predicate(state.lines) }.map(\.key)
      return numbers.compactMap { state.waiters.removeValue(forKey: $0) }
    }
    for waiter in met { waiter.continuation.resume(returning: true) }
  }

  private func answer(_ descriptor: Int32, _ word: String) {
    let bytes = Array("\(word)\n".utf8)
    // Whoever has gone needs no answer.
    _ = unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }
}

extension Duration {
  fileprivate var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
