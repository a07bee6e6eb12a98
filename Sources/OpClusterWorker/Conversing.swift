// The worker's socket: a fresh one for each conversation (A2), frames in, one message per turn out.
// Loop thread.

import Logging
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import OpClusterZeroMQ

extension WorkerLoop {
  /// Throws the present socket away and opens another.
  func renewSocket() {
    socket = nil
    unsent = nil
    chunks = []
    do throws(SocketError) {
      let fresh = try Socket(role: .dealer(maximumMessageBytes: Limits.messageBytes))
      try fresh.connect(configuration.coordinator)
      socket = consume fresh
    } catch {
      logger.warning("\(error)")
      apply(.disconnected)
    }
    rebuildPoller()
  }

  /// What happens to the connection itself. Everything but `connected` is its end.
  func takeConnectionEvents() {
    guard let item = items.socket, poller.readiness(of: item).contains(.connectionEvent) else {
      return
    }
    while let event = socket?.nextConnectionEvent() {
      switch event {
      case .connected: logger.debug("connected to \(configuration.coordinator)")
      case .refused:
        logger.debug("nobody listens at \(configuration.coordinator)")
        apply(.disconnected)
      case .handshakeFailed(let failure):
        logger.warning("no handshake with \(configuration.coordinator): \(failure)")
        apply(.disconnected)
      case .disconnected:
        logger.info("connection to \(configuration.coordinator) lost")
        apply(.disconnected)
      }
    }
  }

  /// A bounded number of frames; what is left keeps the socket readable.
  func takeFrames() {
    guard let item = items.socket, poller.readiness(of: item).contains(.readable) else { return }
    for _ in 0..<Limits.framesPerTurn {
      guard let result = socket?.receive() else { return }
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

  /// The peers do not understand each other: begin anew.
  private func breakOff(_ cause: String) {
    logger.warning("the coordinator sent \(cause)")
    apply(.disconnected)
  }

  private func answer(_ request: LogRequest) {
    guard chunks.count < Self.chunksWaiting else { return }
    chunks.append(
      LogFiles.answer(
        request, attempts.log(request.attempt, request.stream),
        isRunning: attempts.isRunning(request.attempt)))
  }

  /// One line for people at the first welcome, log lines at every change.
  private func noteConversation() {
    let isTalking = core.conversation != nil
    if isTalking, !wasTalking {
      logger.info("serving \(configuration.coordinator)")
      if !hasServed { configuration.announce() }
      hasServed = true
    }
    wasTalking = isTalking
  }

  /// At the end of a turn, so that nothing but a whole turn feeds the watchdog.
  func tellService() {
    guard let service else { return }
    service.feed(at: now.nanoseconds)
    let place =
      core.conversation == nil
      ? "looking for \(configuration.coordinator)" : "serving \(configuration.coordinator)"
    service.status(drainEnd == nil ? place : "draining, \(place)")
  }

  /// Sends what the socket takes.
  func speak() {
    if core.conversation != nil {
      aloneSince = now
    } else {
      wasTalking = false
    }
    speakAt = nil
    let interval = endedSince < Self.smallReport ? Self.smallReportInterval : Self.reportInterval
    if core.hasMore, core.conversation != nil, now - lastSpoken < interval {
      speakAt = lastSpoken + interval
      return
    }
    lastSpoken = now
    endedSince = 0
    if let bytes = unsent {
      unsent = nil
      guard send(bytes) else { return }
    }
    for _ in 0..<Self.messagesPerTurn {
      guard let message = core.takeMessage(at: now) else { break }
      guard send(Wire.encode(message)) else { return }
    }
    while let chunk = chunks.first {
      chunks.removeFirst()
      guard send(Wire.encode(.logChunk(chunk))) else { return }
    }
  }

  /// false: the socket takes no more now.
  private func send(_ bytes: [UInt8]) -> Bool {
    guard let result = socket?.send(bytes) else { return false }
    switch result {
    case .sent: return true
    case .wouldBlock:
      unsent = bytes
      return false
    case .unreachable, .failed:
      apply(.disconnected)
      return false
    }
  }
}
