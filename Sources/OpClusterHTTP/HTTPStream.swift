// The body of an answer that has no end yet: bytes go in on any thread, libmicrohttpd's thread
// takes them out. While there are none, the connection is suspended and costs nothing.

import CHTTP
import Synchronization

public final class HTTPStream: Sendable {
  private struct State {
    var waiting: [UInt8] = []
    /// Those of `waiting` that were taken.
    var taken = 0
    var isEnded = false
    var isClosed = false
    /// The connection that takes bytes, as a number since a pointer is not Sendable; 0: none yet.
    var connection: UInt = 0
    var isSuspended = false
  }
  private let state = Mutex(State())
  /// Called once, on any thread, when nothing can be sent any more.
  private let onClose: @Sendable () -> Void

  /// More is not kept for somebody who does not read.
  public static let mostWaiting = 4 << 20

  public init(onClose: @escaping @Sendable () -> Void = {}) { self.onClose = onClose }

  /// Sends further bytes.
  ///
  /// - Returns: false if nobody reads any more, or so slowly that too much waits: it is ended then.
  public func send(_ bytes: some Sequence<UInt8>) -> Bool {
    state.withLock { state in
      guard !state.isEnded, !state.isClosed else { return false }
      guard state.waiting.count - state.taken < Self.mostWaiting else {
        state.isEnded = true
        Self.wake(&state)
        return false
      }
      if state.taken > 0 {
        state.waiting.removeFirst(state.taken)
        state.taken = 0
      }
      state.waiting += bytes
      Self.wake(&state)
      return true
    }
  }

  /// What was sent before still arrives.
  public func end() {
    state.withLock { state in
      state.isEnded = true
      Self.wake(&state)
    }
  }

  // MARK: - On libmicrohttpd's thread

  func attach(_ connection: OpaquePointer?) {
    state.withLock { $0.connection = UInt(bitPattern: connection) }
  }

  /// The connection has ended; it must not be named again.
  func close() {
    let isFirst = state.withLock { state in
      defer {
        state.isClosed = true
        state.connection = 0
        state.isSuspended = false
        state.waiting = []
        state.taken = 0
      }
      return !state.isClosed
    }
    if isFirst { onClose() }
  }

  /// Returns how many bytes it wrote; 0: the connection is suspended; nil: this is the end.
  func take(into buffer: UnsafeMutablePointer<CChar>, atMost room: Int) -> Int? {
    state.withLock { state in
      let count = min(room, state.waiting.count - state.taken)
      if count > 0 {
        let part = state.waiting[state.taken..<state.taken + count]
        unsafe UnsafeMutableRawPointer(buffer).copyMemory(
          from: Array(part), byteCount: count)
        state.taken += count
        return count
      }
      if state.isEnded { return nil }
      // Under the lock, so that whoever sends something now finds a suspended one.
      if let connection = unsafe OpaquePointer(bitPattern: state.connection) {
        unsafe MHD_suspend_connection(connection)
        state.isSuspended = true
      }
      return 0
    }
  }

  private static func wake(_ state: inout State) {
    guard state.isSuspended, let connection = unsafe OpaquePointer(bitPattern: state.connection)
    else { return }
    state.isSuspended = false
    unsafe MHD_resume_connection(connection)
  }
}
