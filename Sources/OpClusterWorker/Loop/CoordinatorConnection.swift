// The connection to the coordinator, of a worker or of a relay: a fresh socket for each
// conversation (A2), and the troubles with it, each told once. It knows sockets and words; what a
// lost connection means is decided by the brain that owns the conversation.

package import Logging
package import OpClusterModel
import OpClusterPresentation
import OpClusterSystem
import OpClusterWire
package import OpClusterZeroMQ

package struct CoordinatorConnection: ~Copyable {
  package let address: Endpoint
  private let keys: SocketKeys?
  private let logger: Logger
  package var socket: Socket?
  private var openedAt: Instant
  /// A message that the socket did not take yet.
  package private(set) var unsent: [UInt8]?
  /// Pieces of logs to send, behind everything else. Bounded: further requests get no answer.
  package var logs = LogPieces()
  /// The begin of the time without a coordinator.
  package var aloneSince: Instant
  /// Connected, but without a proper answer to our hello.
  private var isUnanswered = false
  /// The improper answer.
  private var foreignAnswer = ""
  /// Consecutive handshakes that the peer broke off.
  private var hangUps = 0
  /// The reason why trying is useless, before anything was ever served.
  package private(set) var keyRefusal: Refusal?
  /// The last logged trouble of repeated tries.
  private var toldTrouble = ""
  private var isTalking = false
  private var hasServed = false

  package init(
    to address: Endpoint, keys: SocketKeys?, logger: Logger, at now: Instant
  ) {
    self.address = address
    self.keys = keys
    self.logger = logger
    openedAt = now
    aloneSince = now
  }

  /// Drops the present socket and opens another; false: there is none, which counts as a lost
  /// connection, so that the brain tries again after its pause.
  package mutating func renew(at now: Instant) -> Bool {
    if isUnanswered {
      let does =
        foreignAnswer.isEmpty
        ? "does not answer: a coordinator that is busy or just starting"
        : "sent \(foreignAnswer): no coordinator"
      warnOnce(
        "what listens at \(address) \(does), or not its address for workers "
          + "('workers=' in its ready line)")
    } else if toldTrouble.isEmpty, !isTalking, now - aloneSince >= Self.silence {
      warnOnce(
        "nothing is heard from \(address): its machine may be down, its name unknown here, or a "
          + "firewall between; it is tried again, and --coordinator names another")
    }
    isUnanswered = false
    foreignAnswer = ""
    socket = nil
    unsent = nil
    logs = LogPieces()
    do throws(SystemError) {
      let fresh = try Socket(
        role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: keys)
      try fresh.connect(address)
      socket = consume fresh
      openedAt = now
      return true
    } catch {
      logger.warning("\(error)")
      return false
    }
  }

  // MARK: - Events

  /// Handles the events of the connection; false: it has ended. Every event except `connected`
  /// ends it.
  package mutating func takeEvents(at now: Instant) -> Bool {
    var isOpen = true
    while let event = socket?.nextConnectionEvent() {
      isUnanswered = event == .connected
      if event != .connected { isOpen = false }
      switch event {
      case .connected:
        hangUps = 0
        logger.debug("connected to \(address)")
      case .refused:
        hangUps = 0
        // Whoever has just started it wants to know; later it is a coordinator that restarts.
        if hasServed {
          logger.debug("nobody listens at \(address)")
        } else {
          warnOnce(
            "nobody listens at \(address); it is tried again, and --coordinator names another")
        }
      case .handshakeFailed(let failure): noteHandshake(failure, at: now)
      case .disconnected:
        // The trouble of repeated tries has been logged already.
        let level = toldTrouble.isEmpty ? Logger.Level.info : .debug
        logger.log(level: level, "connection to \(address) lost")
      }
    }
    return isOpen
  }

  /// Handles a failed handshake. A key that is refused at the start ends the program with the
  /// cause, since somebody is there to read it. Later it retries: running operations matter more,
  /// and a list of keys can be corrected.
  private mutating func noteHandshake(_ failure: HandshakeFailure, at now: Instant) {
    switch failure {
    case .notAuthorized:
      give(
        Refusal(
          .forbidden,
          "the coordinator at \(address) does not let in our key: it was never added, or was "
            + "removed",
          hint: "an administrator invites with 'opcoord key invite --role worker'"))
    case .broken where keys != nil && now - openedAt < Self.hangUpTime:
      // A coordinator with another key hangs up silently (A6).
      hangUps += 1
      guard hangUps >= Self.hangUpsOfOtherKeys else { return }
      give(
        Refusal(
          .forbidden,
          "what listens at \(address) hung up during the handshake: it has another key than the "
            + "coordinator that ours is for",
          hint: "check the address, and the line 'server' of the key against 'opcoord key show'"))
    case .foreignServer:
      give(
        Refusal(
          .forbidden, "the socket at \(address) is not used: \(failure)",
          hint: .text(
            "run the coordinator and its workers as one user, or let them meet over tcp:// with "
              + "keys")))
    case .broken, .protocolViolation: warnOnce("no handshake with \(address): \(failure)")
    }
  }

  private mutating func give(_ refusal: Refusal) {
    warnOnce(refusal.message)
    if !hasServed { keyRefusal = refusal }
  }

  /// Logs a trouble of repeated tries once, until something is served again.
  private mutating func warnOnce(_ trouble: String) {
    if trouble != toldTrouble { logger.warning("\(trouble)") }
    toldTrouble = trouble
  }

  /// After so long without a word somebody wants to know; a coordinator that restarts is back.
  private static let silence = OpClusterModel.Span.seconds(10)
  /// A handshake without an answer ends after 2 s; a hang-up comes earlier.
  private static let hangUpTime = OpClusterModel.Span.milliseconds(1_500)
  /// A coordinator that is killed at this moment hangs up, too, but not twice.
  private static let hangUpsOfOtherKeys = 2

  // MARK: - In

  /// The next message; nil: there is none now.
  ///
  /// - Throws: `BrokenConnection` after a protocol error: the conversation begins anew.
  package mutating func receive() throws(BrokenConnection) -> CoordinatorMessage? {
    guard let result = socket?.receive() else { return nil }
    switch result {
    case .nothing: return nil
    case .message(let bytes, _):
      do throws(WireError) {
        return try Wire.decodeCoordinatorMessage(bytes)
      } catch {
        throw broken("a message that cannot be read: \(error)")
      }
    case .malformed: throw broken("a message that is not one frame")
    case .failed(let error): throw broken("\(error)")
    }
  }

  private mutating func broken(_ cause: String) -> BrokenConnection {
    // Before the first answer the peer may be anybody: log the cause once, at the next try.
    if isUnanswered {
      foreignAnswer = cause
    } else {
      logger.warning("the coordinator sent \(cause)")
    }
    return BrokenConnection()
  }

  /// Logs that the coordinator does not accept us now; the wait would be invisible otherwise.
  package mutating func noteRefusal(_ refusal: Refusal, isTalking: Bool) {
    isUnanswered = false
    switch refusal.code {
    case .busy where !isTalking, .limitExceeded where !isTalking:
      warnOnce("the coordinator does not take this worker yet: \(refusal.forShell)")
    // Other refusals end the program or restart the session, and are logged there.
    default: break
    }
  }

  /// Notes whether there is a conversation; true at the first one, to be announced to people.
  package mutating func noteConversation(_ isTalking: Bool, at now: Instant) -> Bool {
    if isTalking {
      isUnanswered = false
      aloneSince = now
    }
    defer { self.isTalking = isTalking }
    guard isTalking, !self.isTalking else { return false }
    logger.info("serving \(address)")
    toldTrouble = ""
    defer { hasServed = true }
    return !hasServed
  }

  // MARK: - Out

  /// Sends bytes, or keeps them where the socket takes no more now.
  package mutating func send(_ bytes: [UInt8]) -> Sending {
    guard let result = socket?.send(bytes) else { return .kept }
    switch result {
    case .sent: return .sent
    case .wouldBlock:
      unsent = bytes
      return .kept
    case .unreachable, .failed: return .lost
    }
  }

  /// Sends what was kept, first of all.
  package mutating func sendKept() -> Sending {
    guard let bytes = unsent else { return .sent }
    unsent = nil
    return send(bytes)
  }

  /// Sends pieces of logs, behind everything else.
  package mutating func sendChunks() -> Sending {
    while let chunk = logs.next() {
      let sending = send(Wire.encode(.logChunk(chunk)))
      guard sending == .sent else { return sending }
    }
    return .sent
  }

  package enum Sending {
    case sent
    case kept
    /// The connection has ended.
    case lost
  }
}

/// The peer broke the protocol.
package struct BrokenConnection: Error {
  package init() {}
}
