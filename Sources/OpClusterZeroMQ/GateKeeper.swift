// The one answerer of libzmq's questions about new connections (ZAP, ZeroMQ RFC 27), on a thread of
// its own for the whole process: it asks the gate of the domain. If it is gone, nobody is let in.

import CZeroMQ
import OpClusterSystem
import Synchronization

final class GateKeeper: Sendable {
  static let shared = GateKeeper()
  /// Where libzmq asks; the name is part of the protocol.
  private static let address = "inproc://zeromq.zap.01"

  private struct WeakGate { weak var gate: Gate? }
  private struct State {
    var gates: [String: WeakGate] = [:]
    var isServing = false
  }
  private let state = Mutex(State())
  private let beat = Atomic<Int64>(0)

  /// When its thread was last seen alive, by the `MonotonicClock`; 0 before the first gate.
  var lastBeat: Int64 { beat.load(ordering: .relaxed) }

  /// It wakes up so often if nobody asks, to say that it is there.
  static let beatPause: Int64 = 1_000_000_000

  /// Adds a gate; its domain is free again when the gate is let go of.
  func register(_ gate: Gate) throws(SystemError) {
    // One at a time: the second one must not return before the keeper serves.
    try state.withLock { state throws(SystemError) in
      guard state.gates[gate.domain]?.gate == nil else {
        throw SystemError(
          action: "open the gate '\(gate.domain)'", code: EADDRINUSE,
          advice: "another server of this process has it; choose another domain")
      }
      if !state.isServing {
        try start()
        state.isServing = true
      }
      state.gates = state.gates.filter { $0.value.gate != nil }
      state.gates[gate.domain] = WeakGate(gate: gate)
    }
  }

  private func gate(of domain: String) -> Gate? { state.withLock { $0.gates[domain]?.gate } }

  /// Starts the thread and waits until it is bound: before that, nobody may bind (A6).
  private func start() throws(SystemError) {
    let bound = try Mailbox<SystemError?>(capacity: 1)
    _ = try startThread(name: "opcluster-gate") {
      let socket: SocketHandle
      do throws(SystemError) {
        socket = try Self.open()
      } catch {
        _ = bound.post(error)
        return
      }
      _ = bound.post(nil)
      self.serve(socket)
      socket.close()
    }
    var poller = Poller()
    _ = poller.add(descriptor: bound.descriptor)
    _ = try poller.wait(until: nil)
    var answers: [SystemError?] = []
    bound.takeAll(into: &answers)
    if let error = answers.compactMap(\.self).first { throw error }
  }

  private static func open() throws(SystemError) -> SocketHandle {
    let socket = try SocketHandle(type: ZMQ_ROUTER, settings: [(.linger, 0)])
    guard unsafe zmq_bind(socket.checked(), address) == 0 else {
      let error = SystemError.last("serve the gate")
      socket.close()
      throw error
    }
    return socket
  }

  // MARK: - On its thread

  private func serve(_ socket: SocketHandle) {
    var poller = SocketPoller()
    _ = poller.add(socket, for: .readable)
    beat.store(MonotonicClock.now(), ordering: .relaxed)
    while (try? poller.wait(until: MonotonicClock.now() + Self.beatPause)) != nil {
      beat.store(MonotonicClock.now(), ordering: .relaxed)
      while let frames = Self.receive(from: socket) {
        guard let question = GateQuestion(frames) else { continue }
        let verdict = gate(of: question.domain)?.verdict(
          on: question.key, from: question.address, at: MonotonicClock.now())
        if let verdict { Self.send(question.answer(isAdmitted: verdict), on: socket) }
      }
    }
  }

  /// The frames of one message; nil when there is none. Only libzmq itself writes here.
  private static func receive(from socket: SocketHandle) -> [[UInt8]]? {
    let raw = unsafe socket.checked()
    var frame = zmq_msg_t()
    unsafe zmq_msg_init(&frame)
    defer { unsafe zmq_msg_close(&frame) }
    var frames: [[UInt8]] = []
    repeat {
      guard unsafe Frame.next(&frame, from: raw) == 0 else { return nil }
      if frames.count <= GateQuestion.frameCount {
        frames.append(unsafe [UInt8](Frame.content(&frame)))
      }
    } while unsafe zmq_msg_more(&frame) != 0
    return frames
  }

  private static func send(_ frames: [[UInt8]], on socket: SocketHandle) {
    let raw = unsafe socket.checked()
    for (index, frame) in frames.enumerated() {
      let more = index + 1 < frames.count ? ZMQ_SNDMORE : 0
      // A connection that has gone meanwhile needs no answer.
      guard unsafe Frame.transmit(frame, frame.count, to: raw, flags: ZMQ_DONTWAIT | more) == 0
      else { return }
    }
  }
}

/// libzmq's question about a connection, and the answer in its form. Pure.
struct GateQuestion {
  /// Frames of a question about a key, with the two in front by which the answer finds back.
  static let frameCount = 9

  private let envelope: [[UInt8]]
  private let request: [UInt8]
  let domain: String
  let address: String
  /// nil: the peer has shown none, because it speaks another mechanism.
  let key: PublicKey?

  /// nil: not a question of the version that is spoken here.
  init?(_ frames: [[UInt8]]) {
    guard frames.count >= 8, frames.count <= Self.frameCount, frames[1].isEmpty,
      frames[2].elementsEqual("1.0".utf8)
    else { return nil }
    envelope = Array(frames[..<2])
    request = frames[3]
    domain = String(decoding: frames[4], as: UTF8.self)
    address = String(decoding: frames[5].prefix(256), as: UTF8.self)
    let isCurve = frames[7].elementsEqual("CURVE".utf8)
    key = isCurve && frames.count == Self.frameCount ? PublicKey(bytes: frames[8]) : nil
  }

  /// 200 with the key as User-Id, or 400: on anything else libzmq tries again for ever (A6).
  func answer(isAdmitted: Bool) -> [[UInt8]] {
    let user = isAdmitted ? key?.text : nil
    let status = user == nil ? "400" : "200"
    let text = user == nil ? "not admitted" : "OK"
    return envelope + [Array("1.0".utf8), request]
      + [status, text, user ?? "", ""].map { Array($0.utf8) }
  }
}
