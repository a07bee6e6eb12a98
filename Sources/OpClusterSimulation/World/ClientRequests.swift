// The clients' other requests in the simulated world: everything that users do to a running
// cluster. All draws come from the client's own generator, so that a request more or less of one
// client disturbs no other. The targets are taken from the oracle's ledger, which knows only what
// is durable: some exist no more when the request arrives, as with real users. Answers are checked
// in `ClientShell`.

import OpClusterModel

extension World {
  /// One change. nil: nothing is there yet that it could be about. The numbers are weights out of
  /// 20; a change of them changes the meaning of every seed.
  func steeringRequest(_ at: Int) -> ClientRequest? {
    switch clients[at].chance.below(20) {
    case 0, 1, 2:
      return someTarget(at).map { .cancel($0, reason: "enough", grace: someGrace(at)) }
    case 3: return .cancelQueue(someQueue(at), reason: "empty it")
    case 4:
      return someGraph(at).map { .suspendGraphs(.graph($0), clients[at].chance.percent(55)) }
    case 5: return .createQueue(someSettings(at))
    case 6, 7: return .changeQueue(someQueue(at), someChange(at))
    case 8: return .removeQueue(someQueue(at))
    case 9, 10:
      guard let from = someOperation(at), let to = someOperation(at) else { return nil }
      return .addDependency(from: from, to: to, clients[at].chance.pick(EdgePolicy.allCases))
    case 11: return edgeToRemove(at)
    case 12:
      return someTarget(at).map { .setPriority($0, clients[at].chance.pick(Priority.allCases)) }
    case 13, 14:
      return someTarget(at).map { .hold($0, clients[at].chance.percent(50)) }
    case 15, 16, 17:
      return someTarget(at).map { .setQueue($0, queue: someKnownQueue(at)) }
    case 18:
      return someBlockOperation(at).map { .addBlocks($0, [UInt8(clients[at].chance.below(100))]) }
    default:
      if clients[at].chance.percent(30) {
        return .drainWorker(workers[clients[at].chance.below(workers.count)].name)
      }
      return enqueueing(at)
    }
  }

  /// Questions are asked so that answers are checked against the ledger, and so that they stand
  /// between changes.
  func readingRequest(_ at: Int) -> ClientRequest {
    switch clients[at].chance.below(5) {
    case 0: .graphs(Selection(graphs: .all), after: nil, limit: 50)
    case 1: .queues()
    case 2: .ping
    case 3: .explain(Selection(graphs: .active))
    default: .operations(someSelection(at) ?? Selection(graphs: .all), after: nil, limit: 200)
    }
  }

  /// nil leaves the grace to the operation; 0 is an immediate kill.
  private func someGrace(_ at: Int) -> Span? {
    clients[at].chance.percent(50) ? clients[at].chance.milliseconds(0, 2_000) : nil
  }

  private func someGraph(_ at: Int) -> GraphID? {
    let live = ledger.liveGraphs
    return live.isEmpty ? nil : clients[at].chance.pick(live)
  }

  /// Any operation of a living graph, of whatever client. `graphs` is indexed by number.
  func someOperation(_ at: Int) -> OperationID? {
    guard let graph = someGraph(at), let entry = ledger.graphs[Int(graph.number)],
      !entry.operations.isEmpty
    else { return nil }
    let index = clients[at].chance.below(entry.operations.count)
    return OperationID(graph: graph, index: UInt32(index))
  }

  /// A whole graph in some cases, else one template of it.
  private func someSelection(_ at: Int) -> Selection? {
    guard let id = someOperation(at) else { return nil }
    var selection = Selection.graph(id.graph)
    if clients[at].chance.percent(85) { selection.operation = ledger.template(of: id)?.name }
    return selection
  }

  /// Each form that a target has: an explicit set, in which one may be named twice, dependents, a
  /// pattern, a selection.
  private func someTarget(_ at: Int) -> OperationTarget? {
    switch clients[at].chance.below(6) {
    case 0, 1:
      let ids = (0..<clients[at].chance.between(1, 5)).compactMap { _ in someOperation(at) }
      return ids.isEmpty ? nil : .operations(ids)
    case 2: return someOperation(at).map { .dependents(of: $0) }
    case 3:
      return someSelection(at).map { known in
        var selection = known
        selection.operation = clients[at].chance.pick(["*", "t?", "t1*", "*2", "?*3"])
        if clients[at].chance.percent(30) { selection.states = [.dispatched, .ready] }
        return .selection(selection)
      }
    default:
      return someSelection(at).map { known in
        var selection = known
        // What is meant in all graphs is done to each of them, in parts.
        if clients[at].chance.percent(20) { selection.graphs = .active }
        return .selection(selection)
      }
    }
  }

  /// Tries a few times: few operations are of blocks. nil is no error.
  private func someBlockOperation(_ at: Int) -> OperationID? {
    for _ in 0..<8 {
      guard let id = someOperation(at) else { return nil }
      if case .blocks = ledger.template(of: id)?.work { return id }
    }
    return nil
  }

  /// Also queues that do not exist or are a graph's own, which must be refused in good order.
  private func someQueue(_ at: Int) -> String {
    if clients[at].chance.percent(20), let graph = someGraph(at) { return "\(graph.number)/own" }
    return clients[at].chance.pick(["default", "default", "q0", "q1", "q2"])
  }

  /// Mostly an existing queue, never another graph's own.
  private func someKnownQueue(_ at: Int) -> String {
    let known = ledger.queueByName.keys.filter { !$0.contains("/") }.sorted()
    return clients[at].chance.percent(70) ? clients[at].chance.pick(known) : someQueue(at)
  }

  /// Limits from 0 on, since 0 acts like a suspension (S65).
  private func someSettings(_ at: Int) -> QueueSettings {
    var settings = QueueSettings(name: clients[at].chance.pick(["q0", "q1"]))
    if clients[at].chance.percent(60) {
      settings.maximumConcurrent = UInt32(clients[at].chance.between(0, 3))
    }
    settings.isSuspended = clients[at].chance.percent(10)
    if plan.poolPercent > 0, clients[at].chance.percent(plan.poolPercent) {
      settings.pool = Plan.pool
    }
    return settings
  }

  /// Any part of the settings, or none. Names are exchanged among three, so that names meet that
  /// are taken.
  private func someChange(_ at: Int) -> QueueChange {
    var change = QueueChange()
    if clients[at].chance.percent(50) {
      let limit = UInt32(clients[at].chance.below(4))
      change.limit = clients[at].chance.percent(40) ? .unlimited : .atMost(limit)
    }
    if clients[at].chance.percent(60) { change.isSuspended = clients[at].chance.percent(50) }
    if clients[at].chance.percent(10) {
      change.newName = clients[at].chance.pick(["q0", "q1", "q2"])
    }
    if clients[at].chance.percent(15) {
      change.qos = clients[at].chance.pick(QualityOfService.allCases)
    }
    if plan.poolPercent > 0, clients[at].chance.percent(40) {
      change.pool = clients[at].chance.percent(plan.poolPercent) ? Plan.pool : []
    }
    return change
  }

  /// An edge that the ledger knows. It may be an edge on a whole array, which is refused (S37).
  private func edgeToRemove(_ at: Int) -> ClientRequest? {
    guard let to = someOperation(at), !ledger[to].needs.isEmpty else { return nil }
    let need = clients[at].chance.pick(ledger[to].needs)
    return .removeDependency(from: need.on, to: to)
  }

  /// A random part of the first declared graph; some of it may be enqueued already (S11).
  private func enqueueing(_ at: Int) -> ClientRequest? {
    for graph in ledger.liveGraphs {
      guard let entry = ledger.graphs[Int(graph.number)], entry.submission.isDeclaredOnly else {
        continue
      }
      let some = entry.operations.indices.filter { _ in clients[at].chance.percent(50) }
      let ids = some.map { OperationID(graph: graph, index: UInt32($0)) }
      return ids.isEmpty ? nil : .enqueue(ids, queue: someQueue(at))
    }
    return nil
  }
}
