// After the turmoil: everything is healed, users let everything run, and everything must end (I5).
// Part of the world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// Heals the world: from now on the network, the disk and the machines work. Nothing that was
  /// under way is taken back: messages that are late come late, and syncs end when they were to.
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

  /// Acts as users would in the end: lets everything run. Repeated until nothing is left.
  func tidyUp() {
    guard violation == nil, !isQuiet else { return }
    agenda.plan(.tidyUp, at: now + .seconds(7))
    guard clients[0].pending.isEmpty else { return }
    for (number, queue) in ledger.queues.sorted(by: { $0.key < $1.key }) {
      let isOpen = !queue.settings.isSuspended && queue.settings.maximumConcurrent == nil
      guard !isOpen, ledger.queueByName[queue.settings.name] == number else { continue }
      ask(
        .changeQueue(queue.settings.name, QueueChange(limit: .unlimited, isSuspended: false)), 0)
    }
    for graph in ledger.liveGraphs {
      guard let entry = ledger.graphs[Int(graph.number)] else { continue }
      if entry.isSuspended { ask(.suspendGraphs(.graph(graph), false), 0) }
      if entry.operations.contains(where: { $0.isHeld && $0.outcome == nil }) {
        ask(.hold(.selection(.graph(graph)), false), 0)
      }
      if entry.submission.isDeclaredOnly { enqueueOrCancel(graph, entry) }
    }
    for at in clients.indices where clients[at].submissionsLeft > 0 { submitSomething(at) }
  }

  /// Declared operations would keep their graph for ever. After thirty seconds what is left is
  /// cancelled instead: it may wait for something that cannot come.
  private func enqueueOrCancel(_ graph: GraphID, _ entry: ShadowLedger.GraphEntry) {
    var selection = Selection.graph(graph)
    selection.states = [.declared]
    if now > healedAt + .seconds(30) {
      ask(.cancel(.selection(selection), reason: "nobody wants it", grace: nil), 0)
    } else {
      for index in entry.operations.indices where entry.operations[index].outcome == nil {
        ask(.enqueue([OperationID(graph: graph, index: UInt32(index))], queue: "default"), 0)
      }
    }
  }

  // MARK: - The end

  /// Whether everything has ended, and no message is pending. Asked after every step once the world
  /// is healed; costs clients and workers.
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
      return core.conversation != nil && counts.assigned == 0 && counts.running == 0
        && counts.unacknowledged == 0
    }
  }

  /// Names what is left, with the coordinator's own reasons, so that a failing seed can be read
  /// without a trace.
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
