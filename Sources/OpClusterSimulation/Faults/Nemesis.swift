// Carries out the faults of the simulated world, and the moment after which there are no more.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

extension World {
  func happen(_ mishap: Mishap) {
    if isHealed { return }
    faults += 1
    let worker = mishap.subject % workers.count
    switch mishap.fault {
    case .coordinatorCrash: crashCoordinator(mishap, "crashes")
    case .coordinatorPause:
      guard coordinator.isUp else { return }
      coordinator.pausedUntil = now + mishap.length
      note(.pause, 0) { "coordinator pauses until \(self.coordinator.pausedUntil.nanoseconds)" }
    case .diskError: failDisk(mishap)
    case .diskFull:
      note(.disk, 1) { "the disk is full" }
      coordinator.disk.fullUntil = now + mishap.length
    case .bitRot: rot(mishap)
    case .workerDeath: endWorker(worker, "dies", backAfter: mishap.length)
    case .workerPause:
      guard workers[worker].core != nil else { return }
      workers[worker].pausedUntil = now + mishap.length
      note(.pause, UInt64(worker)) { "w\(worker) pauses" }
    case .workerStop:
      note(.pause, UInt64(worker)) { "w\(worker) is asked to stop" }
      workers[worker].returnsAfter = mishap.length
      give(worker, .stop)
    case .namesake: greetAsNamesake(of: worker)
    case .stranger: greetAsStranger(mishap.subject)
    case .cut, .swizzle: cut(worker, mishap)
    case .connectionBreak:
      guard let connection = workers[worker].connection else { return }
      note(.cut, UInt64(connection)) { "the connection of w\(worker) breaks" }
      breakConnection(
        connection, isSilent: mishap.detail == 1, noticedAfter: mishap.length)
    case .snapshot: takeSnapshot()
    case .backup: takeBackup()
    case .restore: restore(mishap)
    }
  }

  private func cut(_ worker: Int, _ mishap: Mishap) {
    guard let connection = workers[worker].connection else { return }
    let until = now + mishap.length
    note(.cut, UInt64(connection), UInt64(mishap.detail)) {
      "w\(worker) is cut, directions \(mishap.detail)"
    }
    if mishap.detail & 1 != 0 {
      connections[connection].cutUntil[Direction.toCoordinator.rawValue] = until
    }
    if mishap.detail & 2 != 0 {
      connections[connection].cutUntil[Direction.fromCoordinator.rawValue] = until
    }
  }

  // MARK: - The disk

  /// Fails with EIO: this life sends and writes nothing more, and ends (G7).
  private func failDisk(_ mishap: Mishap) {
    guard coordinator.isUp else { return }
    if mutant == .retriedSync {
      // The second sync reports success, although the data of the first are lost.
      return coordinator.disk.loseNextSyncSilently()
    }
    crashCoordinator(mishap, "stops: the disk answers EIO")
  }

  /// Flips one bit of the journal while the coordinator is down: the coordinator must refuse to
  /// start and name the record (G6), until the copy is put in place.
  private func rot(_ mishap: Mishap) {
    guard coordinator.isUp, !coordinator.disk.turns.isEmpty else { return }
    crashCoordinator(mishap, "is stopped, and a bit of its journal rots")
    let copy = coordinator.disk
    guard let rotten = coordinator.disk.rot(mishap.detail) else { return }
    do {
      if mutant != .rotIgnored { try coordinator.disk.verify() }
      fail("G6", "turn \(rotten.number) is rotten and was read")
    } catch {
      if error != .damaged(rotten) { fail("G6", "turn \(rotten.number) is rotten, not \(error)") }
    }
    coordinator.disk = copy
  }

  // MARK: - Uninvited

  /// Lets a second process say hello under the same name: it must be refused while the first is
  /// heard, and replace it afterwards. Here it only says hello and leaves.
  private func greetAsNamesake(of worker: Int) {
    var chance = draw(.birth)
    let session = WorkerSession(chance.next())
    deadSessions.insert(session)
    let hello = WorkerHello(
      build: "simulated", name: workers[worker].name, session: session, capacity: .none)
    note(.crash, UInt64(worker), 1) { "a namesake of w\(worker) greets" }
    greet(Wire.encode(.hello(hello)), from: .stranger(worker))
  }

  /// Uses an unknown protocol version, and must be told so (G32).
  private func greetAsStranger(_ number: Int) {
    var hello = WorkerHello(
      versions: ProtocolVersions(lowest: 90, highest: 99), build: "other", name: "stranger",
      session: WorkerSession(UInt64(number)), capacity: .none)
    if number % 2 == 0 { hello.versions = ProtocolVersions(lowest: 0, highest: 0) }
    note(.crash, 0, 2) { "a stranger greets" }
    greet(Wire.encode(.hello(hello)), from: .stranger(-1))
  }

  private func greet(_ bytes: [UInt8], from owner: Connection.Owner) {
    send(bytes, over: open(owner), .toCoordinator)
  }

  /// Checks the answer to a stranger.
  func takeAsStranger(_ bytes: [UInt8], _ worker: Int) {
    guard worker < 0 else { return }
    do {
      guard case .refused(let refusal) = try Wire.decodeCoordinatorMessage(bytes),
        refusal.code == .versionMismatch
      else { return fail("G32", "a stranger is not told that its version is another") }
    } catch {
      fail("wire", "an answer does not decode: \(error)")
    }
  }

  /// Heals the world: from now on the network, the disk and the machines work.
  func heal() {
    isHealed = true
    healedAt = now
    note(.heal, 0) { "everything heals" }
    plan.stopFaults()
    coordinator.pausedUntil = .zero
    if coordinator.isUp { planCoordinatorTurn(at: now) } else { startCoordinator() }
    for at in workers.indices {
      workers[at].pausedUntil = .zero
      if workers[at].core == nil { startWorker(at) } else { planWorkerTurn(at, now) }
    }
    for at in connections.indices { connections[at].cutUntil = [.zero, .zero] }
    coordinator.disk.fullUntil = .zero
    agenda.plan(.tidyUp, at: now + .seconds(1))
  }

  // MARK: - The end

  /// Whether everything has ended, and no message is pending.
  var isQuiet: Bool {
    guard isHealed, coordinator.isUp, coordinator.disk.isIdle, coordinator.withheld.isEmpty,
      !ledger.hasLiveGraphs, asksLeft == 0
    else { return false }
    for client in clients where !client.pending.isEmpty || client.submissionsLeft > 0 {
      return false
    }
    return workers.allSatisfy { worker in
      guard let core = worker.core, worker.inbox.isEmpty else { return false }
      let counts = core.counts
      return core.conversation != nil && counts.held == 0 && counts.running == 0
        && counts.unacknowledged == 0
    }
  }

  func stuck() {
    var left: [String] = []
    for graph in ledger.liveGraphs.prefix(3) {
      guard let entry = ledger.graphs[Int(graph.number)] else { continue }
      for (index, operation) in entry.operations.enumerated() where operation.outcome == nil {
        left.append(
          "\(graph.number)/#\(index) attempt \(operation.attempt) worker \(operation.worker)")
      }
    }
    left += explanations
    for client in clients {
      left += client.pending.map { "request \($0.id.number): \($0.request)" }
    }
    for worker in workers {
      left.append("\(worker.name): \(worker.core.map { "\($0.counts)" } ?? "down")")
    }
    fail("I5", "not everything ends: \(left.prefix(12).joined(separator: "; "))")
  }

  /// The coordinator's own explanation of unfinished work (asked of a copy).
  private var explanations: [String] {
    var (probe, turn) = (coordinator.scheduler, SchedulingTurn())
    turn.begin(at: now, wall: wall)
    let request = ClientRequest.explain(Selection(graphs: .active))
    probe.handle(.client(PeerID(0), RequestID(0), request), into: &turn)
    guard case .toClient(_, _, .explanations(let lines, _)) = turn.afterDurable.last else {
      return []
    }
    for line in lines { trace("explained: \(line.shown) \(line.state) \(line.lines.map(\.text))") }
    return lines.prefix(4).map { "\($0.shown): \($0.lines.first?.text ?? "")" }
  }

  /// The final checks.
  func expectQuiet() {
    if let broken = coordinator.scheduler.brokenInvariant() { return fail("scheduler", broken) }
    expectSameAsShadow("in the end")
    expectKeysKept()
    for key in keys where ledger.graphByKey[key] != acknowledged[key]?.graph {
      fail("I1", "key \(key.text) is gone")
    }
    for number in ledger.graphs.indices {
      guard let graph = ledger.graphs[number] else { continue }
      for (index, operation) in graph.operations.enumerated() {
        if operation.outcome == nil { fail("I5", "\(number)/#\(index) has not ended") }
        if !operation.wasCompleted { fail("S109", "\(number)/#\(index) has no completion") }
      }
    }
    takeProblems()
  }
}
