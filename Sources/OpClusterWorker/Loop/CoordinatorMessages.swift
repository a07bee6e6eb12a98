// The worker's socket: a fresh one for each conversation (A2); takes frames in and sends one
// message per turn. Loop thread. Messages go to the brain as they are: it knows which conversation
// a message belongs to, and drops the others (G13).

import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterPresentation
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ

extension WorkerLoop {
  /// Drops the present socket and opens another. A failure to open one counts as a lost connection,
  /// so that the brain tries again after its pause.
  func renewSocket() {
    if connection.isUnanswered {
      let does =
        connection.foreignAnswer.isEmpty
        ? "does not answer: a coordinator that is busy or just starting"
        : "sent \(connection.foreignAnswer): no coordinator"
      warnOnce(
        "what listens at \(configuration.coordinator) \(does), or not its address for workers "
          + "('workers=' in its ready line)")
    }
    connection.isUnanswered = false
    connection.foreignAnswer = ""
    connection.socket = nil
    connection.unsent = nil
    connection.chunks = []
    do throws(SystemError) {
      let fresh = try Socket(
        role: .dealer(maximumMessageBytes: Limits.messageBytes), keys: configuration.keys)
      try fresh.connect(configuration.coordinator)
      connection.socket = consume fresh
      connection.openedAt = now
    } catch {
      logger.warning("\(error)")
      apply(.disconnected)
    }
    rebuildPoller()
  }

  /// Handles the events of the connection. Every event except `connected` ends it.
  func takeConnectionEvents() {
    guard let item = wakeups.items.socket,
      wakeups.poller.readiness(of: item).contains(.connectionEvent)
    else {
      return
    }
    while let event = connection.socket?.nextConnectionEvent() {
      connection.isUnanswered = event == .connected
      switch event {
      case .connected:
        connection.hangUps = 0
        logger.debug("connected to \(configuration.coordinator)")
      case .refused:
        connection.hangUps = 0
        logger.debug("nobody listens at \(configuration.coordinator)")
        apply(.disconnected)
      case .handshakeFailed(let failure):
        noteHandshake(failure)
        apply(.disconnected)
      case .disconnected:
        // The trouble of repeated tries has been logged already.
        let level = connection.toldTrouble.isEmpty ? Logger.Level.info : .debug
        logger.log(level: level, "connection to \(configuration.coordinator) lost")
        apply(.disconnected)
      }
    }
  }

  /// Handles a failed handshake. A key that is refused at the start ends the worker with the cause,
  /// since somebody is there to read it. Later the worker retries: its running operations matter
  /// more, and a list of keys can be corrected.
  private func noteHandshake(_ failure: HandshakeFailure) {
    let address = configuration.coordinator
    switch failure {
    case .notAuthorized:
      let refusal = Refusal(
        .forbidden,
        "the coordinator at \(address) does not let in our key: it was never added, or was removed",
        hint: "an administrator invites with 'opcoord key invite --role worker'")
      warnOnce(refusal.message)
      if !connection.hasServed { connection.keyRefusal = refusal }
    case .broken where configuration.keys != nil && now - connection.openedAt < Self.hangUpTime:
      // A coordinator with another key hangs up silently (A6).
      connection.hangUps += 1
      guard connection.hangUps >= Self.hangUpsOfOtherKeys else { return }
      let refusal = Refusal(
        .forbidden,
        "what listens at \(address) hung up during the handshake: it has another key than the "
          + "coordinator that ours is for",
        hint: "check the address, and the line 'server' of the key against 'opcoord key show'")
      warnOnce(refusal.message)
      if !connection.hasServed { connection.keyRefusal = refusal }
    case .foreignServer:
      let refusal = Refusal(
        .forbidden, "the socket at \(address) is not used: \(failure)",
        hint: .text(
          "run the coordinator and its workers as one user, or let them meet over tcp:// with keys")
      )
      warnOnce(refusal.message)
      if !connection.hasServed { connection.keyRefusal = refusal }
    case .broken, .protocolViolation: warnOnce("no handshake with \(address): \(failure)")
    }
  }

  /// Logs a trouble of repeated tries once, until the worker serves again.
  private func warnOnce(_ trouble: String) {
    if trouble != connection.toldTrouble { logger.warning("\(trouble)") }
    connection.toldTrouble = trouble
  }

  /// A handshake without an answer ends after 2 s; a hang-up comes earlier.
  private static let hangUpTime = OpClusterModel.Span.milliseconds(1_500)
  /// A coordinator that is killed at this moment hangs up, too, but not twice.
  private static let hangUpsOfOtherKeys = 2

  /// Takes a bounded number of frames; further ones keep the socket readable.
  func takeFrames() {
    guard let item = wakeups.items.socket, wakeups.poller.readiness(of: item).contains(.readable)
    else { return }
    for _ in 0..<Limits.framesPerTurn {
      guard let result = connection.socket?.receive() else { return }
      switch result {
      case .nothing: return
      case .message(let bytes, _): take(bytes)
      case .malformed: breakOff("a message that is not one frame")
      case .failed(let error): breakOff("\(error)")
      }
    }
  }

  private func take(_ bytes: [UInt8]) {
    do throws(WireError) {
      let message = try Wire.decodeCoordinatorMessage(bytes)
      if case .refused(let refusal) = message { noteRefusal(refusal) }
      if case .logRequest(let request) = message { answer(request) }
      if case .welcome(let welcome) = message, !welcome.clientEndpoint.isEmpty {
        attempts.home = .endpoint(
          ClientAddress.reachable(welcome.clientEndpoint, beside: configuration.coordinator))
      }
      apply(.message(message))
      noteConversation()
    } catch {
      breakOff("a message that cannot be read: \(error)")
    }
  }

  /// Logs that the coordinator does not accept this worker now; the wait would be invisible
  /// otherwise.
  private func noteRefusal(_ refusal: Refusal) {
    connection.isUnanswered = false
    let words = refusal.forShell
    switch refusal.code {
    case .busy where core.conversation == nil, .limitExceeded where core.conversation == nil:
      warnOnce("the coordinator does not take this worker yet: \(words)")
    // Other refusals end the worker or restart the session, and are logged there.
    default: break
    }
  }

  /// Begins anew after a protocol error.
  private func breakOff(_ cause: String) {
    // Before the first answer the peer may be anybody: log the cause once, at the next try.
    if connection.isUnanswered {
      connection.foreignAnswer = cause
    } else {
      logger.warning("the coordinator sent \(cause)")
    }
    apply(.disconnected)
  }

  private func answer(_ request: LogRequest) {
    guard connection.chunks.count < Self.chunksWaiting else { return }
    connection.chunks.append(
      LogAnswers.answer(
        request, attempts.log(request.attempt, request.stream),
        isRunning: attempts.isRunning(request.attempt)))
  }

  /// Prints one line for people at the first welcome, and logs every change.
  private func noteConversation() {
    let isTalking = core.conversation != nil
    if isTalking { connection.isUnanswered = false }
    if isTalking, !connection.wasTalking {
      logger.info("serving \(configuration.coordinator)")
      if !connection.hasServed { configuration.announce() }
      connection.hasServed = true
      connection.toldTrouble = ""
    }
    connection.wasTalking = isTalking
  }

  /// Feeds the watchdog at the end of a turn: only a whole turn may do so.
  func tellService() {
    guard let service else { return }
    service.feed(at: now.nanoseconds)
    let place =
      core.conversation == nil
      ? "looking for \(configuration.coordinator)" : "serving \(configuration.coordinator)"
    service.status(ending.drainEnd == nil ? place : "draining, \(place)")
  }

  /// Sends as much as the socket takes.
  func speak() {
    if core.conversation != nil {
      connection.aloneSince = now
    } else {
      connection.wasTalking = false
    }
    reports.speakAt = nil
    let interval =
      reports.endedSince < Self.smallReport ? Self.smallReportInterval : Self.reportInterval
    if core.hasMore, core.conversation != nil, now - reports.lastSpoken < interval {
      reports.speakAt = reports.lastSpoken + interval
      return
    }
    reports.lastSpoken = now
    reports.endedSince = 0
    if let bytes = connection.unsent {
      connection.unsent = nil
      guard send(bytes) else { return }
    }
    for _ in 0..<Self.messagesPerTurn {
      guard let message = core.takeMessage(at: now) else { break }
      guard send(Wire.encode(message)) else { return }
    }
    while let chunk = connection.chunks.first {
      connection.chunks.removeFirst()
      guard send(Wire.encode(.logChunk(chunk))) else { return }
    }
  }

  /// Sends bytes; false: the socket takes no more now.
  private func send(_ bytes: [UInt8]) -> Bool {
    guard let result = connection.socket?.send(bytes) else { return false }
    switch result {
    case .sent: return true
    case .wouldBlock:
      connection.unsent = bytes
      return false
    case .unreachable, .failed:
      apply(.disconnected)
      return false
    }
  }
}
