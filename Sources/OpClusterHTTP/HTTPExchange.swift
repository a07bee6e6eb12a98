// One request and its answer, which may come later and from any thread. Until then the connection
// is suspended.

import CHTTP
import Synchronization

public final class HTTPExchange: Sendable {
  private enum Stage {
    /// Its head is known; bytes of its body may come.
    case arriving(HTTPRequest)
    /// The handler has it.
    case asked
    /// The connection, as a number since a pointer is not Sendable, waits for the answer.
    case suspended(UInt)
    case answered(HTTPResponse)
    /// Its stream may still have bytes to come.
    case sent(HTTPStream?)
    case ended
  }
  private let stage: Mutex<Stage>
  private let mostBytes: Int

  init(_ request: HTTPRequest, mostBytes: Int) {
    stage = Mutex(.arriving(request))
    self.mostBytes = mostBytes
  }

  /// Answers the request; only the first answer counts.
  public func answer(_ response: HTTPResponse) {
    let isTaken = stage.withLock { stage in
      switch stage {
      case .arriving, .asked: stage = .answered(response)
      case .suspended(let number):
        stage = .answered(response)
        // Under the lock: the connection cannot end meanwhile.
        if let connection = unsafe OpaquePointer(bitPattern: number) {
          unsafe MHD_resume_connection(connection)
        }
      case .answered, .sent, .ended: return false
      }
      return true
    }
    // Nobody will read it.
    if !isTaken, case .stream(let stream) = response.body { stream.close() }
  }

  /// Ends what is still awaited or streamed, before the server stops.
  func giveUp() {
    answer(HTTPResponse(503, headers: [], .bytes(Array("the server is stopping\n".utf8))))
    let stream: HTTPStream? = stage.withLock { stage in
      switch stage {
      case .sent(let stream): return stream
      case .answered(let response):
        guard case .stream(let stream) = response.body else { return nil }
        return stream
      case .arriving, .asked, .suspended, .ended: return nil
      }
    }
    stream?.end()
  }

  // MARK: - On libmicrohttpd's thread

  /// Takes a piece of the body; what is too much is answered with 413.
  func arrive(_ piece: UnsafeBufferPointer<CChar>) {
    stage.withLock { stage in
      guard case .arriving(var request) = stage else { return }
      guard piece.count <= mostBytes - request.body.count else {
        stage = .answered(
          HTTPResponse(413, headers: [], .bytes(Array("the request is too large\n".utf8))))
        return
      }
      unsafe request.body += piece.map { UInt8(bitPattern: $0) }
      stage = .arriving(request)
    }
  }

  /// Returns the request when all of it is there, for the handler; nil: it has it.
  func complete() -> HTTPRequest? {
    stage.withLock { stage in
      guard case .arriving(let request) = stage else { return nil }
      stage = .asked
      return request
    }
  }

  /// Sends the answer, or suspends the connection until there is one.
  func proceed(_ connection: OpaquePointer?) -> MHD_Result {
    stage.withLock { stage in
      switch stage {
      case .arriving, .suspended, .ended: return .YES
      case .asked:
        unsafe MHD_suspend_connection(connection)
        stage = .suspended(UInt(bitPattern: connection))
        return .YES
      case .sent: return .NO
      case .answered(let response):
        guard let made = unsafe Self.make(response, connection) else { return .NO }
        defer { unsafe MHD_destroy_response(made) }
        for (name, value) in response.headers {
          _ = unsafe MHD_add_response_header(made, name, value)
        }
        if case .stream(let stream) = response.body {
          stage = .sent(stream)
        } else {
          stage = .sent(nil)
        }
        return unsafe MHD_queue_response(connection, UInt32(clamping: response.status), made)
      }
    }
  }

  private static func make(
    _ response: HTTPResponse, _ connection: OpaquePointer?
  ) -> OpaquePointer? {
    switch response.body {
    case .bytes(var bytes):
      return unsafe bytes.withUnsafeMutableBytes {
        unsafe MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
      }
    case .stream(let stream):
      unsafe stream.attach(connection)
      // The response keeps it until libmicrohttpd frees the response.
      let context = unsafe Unmanaged.passRetained(stream).toOpaque()
      let unknown = UInt64.max
      return unsafe MHD_create_response_from_callback(
        unknown, 64 << 10,
        { context, _, buffer, room in
          guard let context = unsafe context, let buffer = unsafe buffer else { return -1 }
          let stream = unsafe Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
          return unsafe stream.take(into: buffer, atMost: room) ?? -1
        }, context,
        { context in
          guard let context = unsafe context else { return }
          let stream = unsafe Unmanaged<HTTPStream>.fromOpaque(context)
          unsafe stream.takeUnretainedValue().close()
          unsafe stream.release()
        })
    }
  }

  /// The connection has ended, or waits for its next request.
  func end() {
    let stream: HTTPStream? = stage.withLock { stage in
      defer { stage = .ended }
      if case .sent(let stream) = stage { return stream }
      return nil
    }
    stream?.close()
  }
}
