// Sending and receiving: every message is one frame of payload. Called on the socket's thread, many
// thousand times a second; one copy each way.

import CZeroMQ
import Glibc
public import OpClusterSystem

/// What became of a message that was to be sent. `sent` says that libzmq has it, not that it
/// arrived: messages vanish with their connection (A9), so protocols acknowledge.
public enum SendResult: Hashable, Sendable {
  case sent
  /// The peer's queue is full, or the dealer is not connected yet. Nothing was sent (A3, A20).
  case wouldBlock
  /// The router has no such connection (any more).
  case unreachable
  /// An empty message (`EINVAL`), or what libzmq answered.
  case failed(SystemError)
}

/// Who sent a message to a router.
public struct Sender: Hashable, Sendable {
  /// Where an answer goes to.
  public let connection: RoutingID
  /// Which key it has proved to have; nil over `ipc` and `inproc`, where nobody is asked. Never nil
  /// over TCP. It says who was let in, not who would be now: keys are removed meanwhile (A21).
  public let key: PublicKey?

  public init(connection: RoutingID, key: PublicKey? = nil) {
    self.connection = connection
    self.key = key
  }
}

/// What a socket had to offer.
public enum ReceiveResult: Hashable, Sendable {
  /// A message; a router says from whom.
  case message([UInt8], from: Sender?)
  /// Nothing is there now.
  case nothing
  /// A message that was empty, had more than one frame, or came over TCP from nobody who is known
  /// (A5); it is gone. The sender is nil on a dealer, and on a router if it is nobody who is known,
  /// or chose its own name, which is against the rules too (A2).
  case malformed(from: Sender?)
  case failed(SystemError)
}

extension Socket {
  /// Sends to the router that this dealer is connected to.
  public func send(_ bytes: [UInt8]) -> SendResult { send(bytes.span) }

  /// Sends to one connection of this router.
  public func send(_ bytes: [UInt8], to peer: RoutingID) -> SendResult {
    send(bytes.span, to: peer)
  }

  /// Sends to the router that this dealer is connected to.
  public func send(_ bytes: Span<UInt8>) -> SendResult {
    precondition(!role.isRouter, "a router must say to whom it sends")
    // As if not connected: whoever is there may be a stranger.
    if isServerUnknown { return bytes.isEmpty ? .failed(Self.emptyPayload) : .wouldBlock }
    return unsafe sendPayload(bytes, to: handle.checked())
  }

  /// Sends to one connection of this router.
  public func send(_ bytes: Span<UInt8>, to peer: RoutingID) -> SendResult {
    precondition(role.isRouter, "a dealer has only one peer")
    // Before the first frame: a router that got only that would wait for the second.
    guard !bytes.isEmpty else { return .failed(Socket.emptyPayload) }
    let raw = unsafe handle.checked()
    var word = peer.frameWord
    let code = unsafe Frame.transmit(
      &word, RoutingID.frameBytes, to: raw, flags: ZMQ_DONTWAIT | ZMQ_SNDMORE)
    guard code == 0 else { return Socket.sendResult(code) }
    return unsafe sendPayload(bytes, to: raw)
  }

  /// Takes one message if there is one. Call until `nothing`, or the poller returns at once.
  public func receive() -> ReceiveResult {
    let raw = unsafe handle.checked()
    if isServerUnknown { return .nothing }
    var frame = zmq_msg_t()
    unsafe zmq_msg_init(&frame)
    defer { unsafe zmq_msg_close(&frame) }
    let code = unsafe Frame.next(&frame, from: raw)
    guard code == 0 else {
      return code == EAGAIN ? .nothing : .failed(SystemError(action: "receive", code: code))
    }
    guard role.isRouter else { return unsafe takePayload(&frame, from: raw, sender: nil) }
    let sender = unsafe RoutingID(frame: Frame.content(&frame))
    guard unsafe zmq_msg_more(&frame) != 0 else {
      return .malformed(from: handle.needsIdentity ? nil : sender.map { Sender(connection: $0) })
    }
    let next = unsafe Frame.next(&frame, from: raw)
    guard next == 0 else { return .failed(SystemError(action: "receive", code: next)) }
    return unsafe takePayload(&frame, from: raw, sender: sender)
  }

  /// Turns the payload frame into a result, after dropping frames that should not follow it.
  private func takePayload(
    _ frame: inout zmq_msg_t, from raw: UnsafeMutableRawPointer, sender: RoutingID?
  ) -> ReceiveResult {
    var isWhole = unsafe zmq_msg_size(&frame) > 0
    // From this frame only: the one before has it sometimes (A5).
    let key = handle.needsIdentity ? Socket.key(of: &frame) : nil
    var known = sender.map { Sender(connection: $0, key: key) }
    if handle.needsIdentity, key == nil { known = nil }
    if role.isRouter, known == nil { isWhole = false }
    let isCounted = role.isRouter && handle.events != nil
    if isCounted { handle.noteDescriptor(of: &frame) }
    var bytes = unsafe zmq_msg_size(&frame)
    // Each frame takes the place of the one before: memory for one at a time.
    while unsafe zmq_msg_more(&frame) != 0 {
      isWhole = false
      let code = unsafe Frame.next(&frame, from: raw)
      guard code == 0 else { return .failed(SystemError(action: "receive", code: code)) }
      bytes += unsafe zmq_msg_size(&frame)
    }
    if isCounted { handle.noteHeard(bytes) } else { handle.noteHeardOfServer(bytes) }
    guard isWhole else { return .malformed(from: known) }
    return .message(unsafe [UInt8](Frame.content(&frame)), from: known)
  }

  private func sendPayload(
    _ bytes: Span<UInt8>, to raw: UnsafeMutableRawPointer
  ) -> SendResult {
    guard !bytes.isEmpty else { return .failed(Socket.emptyPayload) }
    return unsafe bytes.withUnsafeBufferPointer { buffer in
      Socket.sendResult(
        unsafe Frame.transmit(buffer.baseAddress!, buffer.count, to: raw, flags: ZMQ_DONTWAIT))
    }
  }

  private static var emptyPayload: SystemError {
    SystemError(action: "send", code: EINVAL, advice: "a message has at least one byte")
  }

  private static func sendResult(_ code: Int32) -> SendResult {
    switch code {
    case 0: .sent
    case EAGAIN: .wouldBlock
    case EHOSTUNREACH: .unreachable
    default: .failed(SystemError(action: "send", code: code))
    }
  }

  /// The key that the gate admitted for the connection of a frame.
  private static func key(of frame: inout zmq_msg_t) -> PublicKey? {
    guard let text = unsafe zmq_msg_gets(&frame, "User-Id") else { return nil }
    let spelling = unsafe UnsafeRawBufferPointer(start: text, count: strlen(text))
    return unsafe PublicKey(spelling: spelling)
  }
}
