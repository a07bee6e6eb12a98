// What goes wrong in the simulated world, and the moment from which nothing does.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  func planFault(_ fault: Fault) {
    guard !isHealed, let mean = plan.meanBetween[fault.rawValue] else { return }
    agenda.plan(.fault(fault), at: now + chance.wait(mean: mean))
  }

  func happen(_ fault: Fault) {
    if isHealed { return }
    planFault(fault)
    faults[fault.rawValue] += 1
    let worker = chance.below(workers.count)
    switch fault {
    case .coordinatorCrash: crashCoordinator()
    case .coordinatorPause:
      guard coordinator.isUp else { return }
      coordinator.pausedUntil = now + chance.milliseconds(10, 20_000)
      note(.pause, 0) { "coordinator pauses until \(self.coordinator.pausedUntil.nanoseconds)" }
    case .workerDeath: endWorker(worker, "dies")
    case .workerPause:
      guard workers[worker].core != nil else { return }
      workers[worker].pausedUntil = now + chance.milliseconds(10, 25_000)
      note(.pause, UInt64(worker)) { "w\(worker) pauses" }
    case .workerStop:
      note(.pause, UInt64(worker)) { "w\(worker) is asked to stop" }
      give(worker, .stop)
    case .cut: cut(worker)
    case .connectionBreak:
      guard let connection = workers[worker].connection else { return }
      note(.cut, UInt64(connection)) { "the connection of w\(worker) breaks" }
      breakConnection(connection)
    case .snapshot: takeSnapshot()
    }
  }

  private func cut(_ worker: Int) {
    guard let connection = workers[worker].connection else { return }
    let until = now + chance.milliseconds(50, 25_000)
    let which = chance.below(3)
    note(.cut, UInt64(connection), UInt64(which)) { "w\(worker) is cut, kind \(which)" }
    if which != 0 { connections[connection].cutUntil[Direction.toCoordinator.rawValue] = until }
    if which != 1 { connections[connection].cutUntil[Direction.fromCoordinator.rawValue] = until }
  }

  /// From now on everything works: the network, the disk, the machines.
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
    agenda.plan(.tidyUp, at: now + .seconds(1))
  }

  // MARK: - The end

  /// Everything has ended, and nobody has anything left to say.
  var isQuiet: Bool {
    guard isHealed, coordinator.isUp, coordinator.disk.isIdle, coordinator.withheld.isEmpty,
      !book.hasLiveGraphs
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
    for graph in book.liveGraphs.prefix(3) {
      guard let entry = book.graphs[Int(graph.number)] else { continue }
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

  /// What the coordinator itself says about what is left (asked of a copy).
  private var explanations: [String] {
    var (probe, turn) = (coordinator.scheduler, Turn())
    turn.begin(at: now, wall: wall)
    let request = ClientRequest.explain(Selection(graphs: .active))
    probe.handle(.client(PeerID(0), RequestID(0), request), into: &turn)
    guard case .toClient(_, _, .explanations(let lines, _)) = turn.afterDurable.last else {
      return []
    }
    for line in lines { trace("explained: \(line.shown) \(line.state) \(line.lines)") }
    return lines.prefix(4).map { "\($0.shown): \($0.lines.first ?? "")" }
  }

  /// The last look at everything.
  func expectQuiet() {
    if let broken = coordinator.scheduler.brokenInvariant() { return fail("scheduler", broken) }
    expectSameAsShadow("in the end")
    expectKeysKept()
    for key in keys where book.graphByKey[key] != acknowledged[key]?.graph {
      fail("I1", "key \(key.text) is gone")
    }
    for number in book.graphs.indices {
      guard let graph = book.graphs[number] else { continue }
      for (index, operation) in graph.operations.enumerated() {
        if operation.outcome == nil { fail("I5", "\(number)/#\(index) has not ended") }
        if !operation.wasCompleted { fail("S109", "\(number)/#\(index) has no completion") }
      }
    }
    takeProblems()
  }
}
