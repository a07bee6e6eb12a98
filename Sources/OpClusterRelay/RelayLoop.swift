// A relay's one thread: waits, takes in, lets the brain decide, sends. Owns both sockets and the
// signals. What it decides is in `RackCore`; the machines' side is in `MachineMessages`.

import Glibc
import Logging
import OpClusterAttempts
import OpClusterCoordinator
import OpClusterExecution
import OpClusterModel
import OpClusterRack
import OpClusterSystem
import OpClusterWire
package import OpClusterWorker
package import OpClusterZeroMQ

/// A relay. `Relay(settings).run(onReady:)` on the main thread is a whole program.
package struct Relay: Sendable {
  private let settings: RelaySettings
  package init(_ settings: RelaySettings) { self.settings = settings }

  /// Serves until told to stop; owns the calling thread meanwhile.
  ///
  /// - Parameter onReady: Gets the address for machines, with the port that was found for port 0.
  package func run(onReady: (Endpoint) -> Void) throws(RelayError) -> WorkerExit {
    let loop = try RelayLoop(settings)
    onReady(loop.port.endpoint)
    return try loop.run()
  }
}

final class RelayLoop {
  let settings: RelaySettings
  var rack: RackCore
  var effects: [RackEffect] = []
  var connection: CoordinatorConnection
  var port: Port
  var access: Access?
  var lastPeer: UInt64 = 0
  /// Messages of machines that were refused or not understood.
  var troubles: UInt64 = 0
  /// When connections were last looked at.
  var lastTended = Instant.distantPast
  /// The moment of this turn.
  var now: Instant

  private var wakeups: RelayWakeups
  private let service: ServiceNotifier?
  private var sleepWatch = SleepWatch()
  private var ending: RelayEnding

  var logger: Logger { settings.logger }

  static let messagesPerTurn = 8
  static let retryPause = OpClusterModel.Span.milliseconds(20)

  init(_ settings: RelaySettings) throws(RelayError) {
    self.settings = settings
    now = Instant(nanoseconds: MonotonicClock.now())
    service = settings.service.flatMap(ServiceNotifier.init)
    ending = RelayEnding(hasLifeline: settings.lifeline != nil)
    connection = CoordinatorConnection(
      to: settings.coordinator, keys: settings.keys, logger: settings.logger, at: now)
    let identity = WorkerHello(
      build: Build.name, name: settings.name,
      session: WorkerSession(UInt64.random(in: 1...UInt64.max)), capacity: .none)
    rack = RackCore(
      identity: identity, jitterSeed: UInt64.random(in: 0...UInt64.max), at: now)
    do throws(SystemError) {
      // Before the first thread.
      wakeups = RelayWakeups(signals: try SignalDescriptor([SIGTERM, SIGINT]))
      // Opens the gate before the address is bound (A6).
      access = try settings.admission.map { keys throws(SystemError) in
        try Access(keys, admitsAll: false)
      }
      port = try Port(settings.machines, keys: access?.serverKeys)
    } catch {
      throw .system(error)
    }
    try proveGate()
    rebuildPoller()
  }

  /// Serves nobody until a random key was refused (G35).
  private func proveGate() throws(RelayError) {
    let problem: String?
    do throws(SystemError) {
      problem = try access?.proof(at: port.endpoint, now)
    } catch {
      throw .system(error)
    }
    if let problem { throw .open(problem) }
  }

  /// Turns until nothing is left to do.
  func run() throws(RelayError) -> WorkerExit {
    service?.ready("looking for \(settings.coordinator)", at: now.nanoseconds)
    while true {
      try wait()
      watchSleep()
      takeSignals()
      takeConnectionEvents()
      takeCoordinatorMessages()
      // Again: a process that was stopped in between must not take old moments for new (G16).
      readClock()
      hearMachines()
      attendToKeys()
      readClock()
      rack.apply(.timePassed, at: now, into: &effects)
      rack.settle(at: now, into: &effects)
      carryOut()
      speak()
      tendMachines()
      tellService()
      if let exit = exit() {
        service?.stopping("leaving")
        return exit
      }
    }
  }

  // MARK: - Waiting

  private func wait() throws(RelayError) {
    var deadlines = [rack.nextDeadline, ending.drainEnd, ending.leaveAt].compactMap { $0 }
    if access != nil { deadlines.append(now + Access.lookPause) }
    if !port.peers.waiting.isEmpty { deadlines.append(now + Self.retryPause) }
    if let feed = service?.nextFeed { deadlines.append(Instant(nanoseconds: feed)) }
    if let item = wakeups.coordinator {
      wakeups.poller.change(
        item, to: connection.unsent == nil ? .readable : [.readable, .writable])
    }
    do throws(SystemError) {
      _ = try wakeups.poller.wait(until: deadlines.min()?.nanoseconds)
    } catch {
      throw .system(error)
    }
    readClock()
  }

  private func readClock() { now = Instant(nanoseconds: MonotonicClock.now()) }

  /// Rebuilds the list of polled items after each change of the socket to the coordinator.
  private func rebuildPoller() {
    wakeups.poller.removeAll()
    wakeups.coordinator = nil
    if connection.socket != nil { wakeups.coordinator = wakeups.poller.add(connection.socket!) }
    port.join(&wakeups.poller)
    wakeups.signal = wakeups.poller.add(descriptor: wakeups.signals.descriptor)
    wakeups.lifeline = nil
    if ending.hasLifeline, let lifeline = settings.lifeline {
      wakeups.lifeline = wakeups.poller.add(descriptor: lifeline)
    }
    if let descriptor = access?.descriptor { _ = wakeups.poller.add(descriptor: descriptor) }
  }

  // MARK: - In

  func apply(_ event: RackEvent) { rack.apply(event, at: now, into: &effects) }

  /// What was heard before a sleep of the machine proves nothing about now (G16).
  private func watchSleep() {
    guard sleepWatch.noticeSleep() else { return }
    logger.warning("this machine has slept; the coordinator may have given up this relay")
    apply(.coordinator(.slept))
  }

  /// The first signal asks everything to stop, the second kills it. With a time for draining, one
  /// more comes first.
  private func takeSignals() {
    if let item = wakeups.signal, wakeups.poller.readiness(of: item).contains(.readable) {
      while let signal = wakeups.signals.next() {
        logger.notice("signal \(signal.number)")
        if let time = settings.drainTime, ending.drainEnd == nil, ending.stops == 0 {
          ending.drainEnd = now + time
          apply(.coordinator(.leave))
        } else {
          stop()
        }
      }
    }
    if let item = wakeups.lifeline, !wakeups.poller.readiness(of: item).isEmpty {
      logger.notice("the program that started this relay has ended")
      ending.hasLifeline = false
      rebuildPoller()
      stop()
    }
    if let end = ending.drainEnd, now >= end, ending.stops == 0 { stop() }
  }

  private func stop() {
    ending.drainEnd = nil
    ending.stops += 1
    apply(.coordinator(ending.stops == 1 ? .stop : .stopNow))
  }

  private func takeConnectionEvents() {
    guard let item = wakeups.coordinator,
      wakeups.poller.readiness(of: item).contains(.connectionEvent)
    else {
      return
    }
    if !connection.takeEvents(at: now) { apply(.coordinator(.disconnected)) }
  }

  private func takeCoordinatorMessages() {
    guard let item = wakeups.coordinator, wakeups.poller.readiness(of: item).contains(.readable)
    else { return }
    for _ in 0..<Limits.framesPerTurn {
      do throws(BrokenConnection) {
        guard let message = try connection.receive() else { return }
        take(message)
      } catch {
        apply(.coordinator(.disconnected))
      }
    }
  }

  private func take(_ message: CoordinatorMessage) {
    var message = message
    switch message {
    case .refused(let refusal):
      connection.noteRefusal(refusal, isTalking: rack.worker.conversation != nil)
    case .welcome(var welcome) where !welcome.clientEndpoint.isEmpty:
      // Machines know the relay's address and not the coordinator's.
      welcome.clientEndpoint = ClientAddress.reachable(
        welcome.clientEndpoint, beside: settings.coordinator)
      message = .welcome(welcome)
    case .welcome, .orders, .logRequest: break
    }
    apply(.coordinator(.message(message)))
    noteConversation()
  }

  private func noteConversation() {
    let isTalking = rack.worker.conversation != nil
    if connection.noteConversation(isTalking, at: now) {
      logger.notice("serving \(settings.coordinator) with \(rack.machineCount) machines")
    }
  }

  // MARK: - Out

  /// Carries the decisions out; they may append further ones meanwhile.
  private func carryOut() {
    var next = 0
    while next < effects.count {
      let effect = effects[next]
      next += 1
      switch effect {
      case .renewConversation:
        if !connection.renew(at: now) { apply(.coordinator(.disconnected)) }
        rebuildPoller()
      case .learn(let number, let announcement): learn(number, announcement)
      case .toMachine(let peer, let message): send(message, to: peer)
      case .closeMachine(let peer): port.peers.remove(peer)
      case .toCoordinator(let chunk): connection.logs.add(chunk)
      }
    }
    effects.removeAll(keepingCapacity: true)
  }

  /// The relay counts the grace of a stop, and the machine the time of a run.
  private func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    guard let grace = PreparedTemplate(announcement).grace else { return }
    apply(.coordinator(.prepared(number, TemplateLimits(grace: grace))))
  }

  /// Sends as much as the socket takes.
  private func speak() {
    noteConversation()
    guard isSent(connection.sendKept()) else { return }
    for _ in 0..<Self.messagesPerTurn {
      guard let message = rack.takeMessage(at: now) else { break }
      guard isSent(connection.send(Wire.encode(message))) else { return }
    }
    _ = isSent(connection.sendChunks())
  }

  private func isSent(_ sending: CoordinatorConnection.Sending) -> Bool {
    if sending == .lost { apply(.coordinator(.disconnected)) }
    return sending == .sent
  }

  private func tellService() {
    guard let service else { return }
    service.feed(at: now.nanoseconds)
    let place =
      rack.worker.conversation == nil
      ? "looking for \(settings.coordinator)" : "serving \(settings.coordinator)"
    service.status("\(place), \(rack.machineCount) machines")
  }

  /// The reason of the end, once there is one.
  private func exit() -> WorkerExit? {
    if let refusal = connection.keyRefusal { return .refused(refusal) }
    guard let reason = rack.worker.exit else { return nil }
    // libzmq needs a moment to send the goodbye.
    let hasSpoken = connection.unsent == nil || rack.worker.conversation == nil
    if hasSpoken, ending.leaveAt == nil { ending.leaveAt = now + .milliseconds(100) }
    guard let leaveAt = ending.leaveAt, now >= leaveAt else { return nil }
    switch reason {
    case .stopped: return ending.stops > 1 ? .killed : .stopped
    case .drained: return .drained
    case .refused(let refusal): return .refused(refusal)
    }
  }
}
