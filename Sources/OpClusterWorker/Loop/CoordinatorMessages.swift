// What the worker hears from the coordinator and says to it: takes messages in and sends one per
// turn. Loop thread. Messages go to the brain as they are: it knows which conversation a message
// belongs to, and drops the others (G13). The socket is in `CoordinatorConnection`.

import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel
import OpClusterOperations
import OpClusterSystem
import OpClusterWire
import OpClusterZeroMQ

extension WorkerLoop {
  /// Drops the present socket and opens another. A failure to open one counts as a lost connection,
  /// so that the brain tries again after its pause.
  func renewSocket() {
    if !connection.renew(at: now) { apply(.disconnected) }
    rebuildPoller()
  }

  func takeConnectionEvents() {
    guard let item = wakeups.items.socket,
      wakeups.poller.readiness(of: item).contains(.connectionEvent)
    else {
      return
    }
    if !connection.takeEvents(at: now) { apply(.disconnected) }
  }

  /// Takes a bounded number of messages; further ones keep the socket readable.
  func takeFrames() {
    guard let item = wakeups.items.socket, wakeups.poller.readiness(of: item).contains(.readable)
    else { return }
    for _ in 0..<Limits.framesPerTurn {
      do throws(BrokenConnection) {
        guard let message = try connection.receive() else { return }
        take(message)
      } catch {
        apply(.disconnected)
      }
    }
  }

  private func take(_ message: CoordinatorMessage) {
    switch message {
    case .refused(let refusal):
      connection.noteRefusal(refusal, isTalking: core.conversation != nil)
    case .logRequest(let request): connection.logs.note(request)
    case .welcome(let welcome) where !welcome.clientEndpoint.isEmpty:
      attempts.home = .endpoint(
        ClientAddress.reachable(welcome.clientEndpoint, beside: configuration.coordinator))
    case .welcome, .orders: break
    }
    apply(.message(message))
    noteConversation()
  }

  /// Reads the pieces of logs that were asked for, some in each turn.
  private func answerLogQuestions() {
    for request in connection.logs.takeQuestions() {
      connection.logs.add(
        LogAnswers.answer(
          request, attempts.log(request.attempt, request.stream),
          isRunning: attempts.isRunning(request.attempt)))
    }
  }

  /// Prints one line for people at the first welcome.
  private func noteConversation() {
    if connection.noteConversation(core.conversation != nil, at: now) { configuration.announce() }
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
    noteConversation()
    guard reports.maySpeak(canWait: core.reportsCanWait(at: now), at: now) else { return }
    guard isSent(connection.sendKept()) else { return }
    for _ in 0..<Self.messagesPerTurn {
      guard let message = core.takeMessage(at: now) else { break }
      guard isSent(connection.send(Wire.encode(message))) else { return }
    }
    answerLogQuestions()
    _ = isSent(connection.sendChunks())
  }

  /// Whether there may be more; a lost connection is the brain's affair.
  private func isSent(_ sending: CoordinatorConnection.Sending) -> Bool {
    if sending == .lost { apply(.disconnected) }
    return sending == .sent
  }
}
