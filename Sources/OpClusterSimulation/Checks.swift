// What the world itself watches: turns, welcomes, losses, answers and launches, and that the
// journal tells the same story as the living coordinator (I10, I12, I14, G22).

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// After every turn of the coordinator.
  func checkTurn() {
    if coordinator.turns % 16 == 0, let broken = coordinator.scheduler.brokenInvariant() {
      fail("scheduler", broken)
    }
    if !coordinator.turn.isDurable, !coordinator.turn.events.isEmpty {
      fail("G3", "events without a record: \(coordinator.turn.events)")
    }
    for record in coordinator.turn.records {
      switch record {
      case .workerJoined(let worker, _, let session): sessionOf[worker] = session
      case .workerLost(let worker): checkLoss(worker)
      default: break
      }
    }
  }

  /// G22, G24: nobody is lost who was heard, or who was given time to come back.
  private func checkLoss(_ worker: WorkerID) {
    guard let session = sessionOf[worker], !deadSessions.contains(session) else { return }
    let last = heard[session] ?? .zero
    if now - last < plan.timing.lost {
      fail("G22", "worker \(worker.number) is lost, heard \((now - last).seconds) s ago")
    }
  }

  /// Before a message leaves for a worker.
  func checkSaid(_ message: CoordinatorMessage, to peer: PeerID, _ owner: Connection.Owner) {
    guard case .worker(let worker) = owner else { return }
    let session = workers[worker].session
    switch message {
    case .welcome(let welcome):
      welcomedAt[welcome.conversation.session] = peer
      let before = welcomes.updateValue(
        coordinator.scheduler.lastCommit, forKey: welcome.conversation)
      if before != nil { fail("I8", "conversation \(welcome.conversation) begins twice") }
    case .orders(let orders):
      let silence = now - (heard[session] ?? .zero)
      if !orders.isHeartbeat, silence >= plan.timing.suspect { orderedInSilence.insert(session) }
      checkBlocks(orders.dispatches)
    case .refused, .logRequest: break
    }
  }

  /// S120: a block operation goes out with the blocks that were added to it until then.
  private func checkBlocks(_ dispatches: [Dispatch]) {
    for dispatch in dispatches where book.contains(dispatch.attempt.operation) {
      let id = dispatch.attempt.operation
      guard case .blocks = book.template(of: id)?.work, book[id].outcome == nil else { continue }
      if book[id].blocks != dispatch.argument {
        fail("S120", "\(id) has blocks \(book[id].blocks), sent are \(dispatch.argument)")
      }
    }
  }

  /// A word of a worker counts where its conversation is.
  func noteHeard(_ message: WorkerMessage, from peer: PeerID, _ session: WorkerSession) {
    if case .hello = message {
      if welcomedAt[session] == peer { return }
    } else if welcomedAt[session] != peer {
      return
    }
    heard[session] = now
    orderedInSilence.remove(session)
  }

  func checkLaunch(_ attempt: AttemptID, _ at: Int) {
    guard let conversation = workers[at].lastConversation else {
      return fail("worker", "\(workers[at].name) launches without ever having been welcomed")
    }
    book.launch(
      WitnessedLaunch(
        attempt: attempt, session: workers[at].session,
        welcomedAt: welcomes[conversation] ?? CommitIndex(0),
        hasLeaseInDoubt: now - workers[at].heardWordOf >= plan.timing.suspect
          || orderedInSilence.contains(workers[at].session)))
    takeProblems()
  }

  /// I12: what runs at a worker never asks for more than it has.
  func checkCapacity(_ at: Int) {
    var left = workers[at].machine.capacity
    for process in workers[at].processes { left.take(process.demand) }
    let isOver =
      left.cpus < .zero || left.memoryBytes < 0 || left.gpus < .zero
      || left.custom.contains { $0.amount < .zero }
    if isOver { fail("I12", "\(workers[at].name) runs more than it can: \(left)") }
  }

  /// I10: the journal replayed gives the state of the living one.
  func expectSameAsShadow(_ when: String) {
    let (live, replayed) = (coordinator.scheduler.snapshot(), shadow.snapshot())
    if live == replayed, coordinator.scheduler.lastEvent == book.lastEvent { return }
    let at = zip(live, replayed).enumerated().first { $1.0 != $1.1 }?.offset
    let difference = at.map { "\(live[$0]) and \(replayed[$0])" } ?? "\(live.count) facts"
    fail("I10", "\(when): replay differs: \(difference)")
    if let broken = coordinator.scheduler.brokenInvariant() { fail("scheduler", broken) }
  }

  /// I1: every acknowledged key is known, with the same graph (asked of a copy).
  func expectKeysKept() {
    var (probe, turn) = (coordinator.scheduler, Turn())
    for key in keys {
      guard let known = acknowledged[key] else { continue }
      turn.begin(at: now, wall: wall)
      let request = ClientRequest.submit(known.submission)
      probe.handle(.client(PeerID(0), RequestID(0), request), into: &turn)
      guard case .toClient(_, _, .accepted(known.graph, _, repeated: true)) = turn.afterDurable.last
      else {
        fail("I1", "key \(key.text) of graph \(known.graph.number) is not known any more")
        return
      }
    }
  }

  /// An answer leaves: what it promises holds from now on.
  func noteAnswer(_ reply: ClientReply, to id: RequestID, of client: Int) {
    switch reply {
    case .cancelled(let verdicts, _): for verdict in verdicts { seal(verdict) }
    case .suspended:
      guard let asked = clients[client].pending.first(where: { $0.id == id }),
        asked.resumesBefore == resumes(of: asked.request)
      else { return }
      sealSuspended(asked.request)
    default: break
    }
  }

  /// S72: nothing of it starts from now on, unless somebody resumed it meanwhile.
  private func sealSuspended(_ request: ClientRequest) {
    if let queue = queueMeant(by: request), book.queues[queue]?.settings.isSuspended ?? false {
      book.queues[queue]?.isSealed = true
    }
    if let graph = graphMeant(by: request), book.graphs[graph]?.isSuspended ?? false {
      book.graphs[graph]?.isSealed = true
    }
  }

  /// How often a queue or graph that a request suspends has been resumed.
  func resumes(of request: ClientRequest) -> Int {
    if let queue = queueMeant(by: request) { return book.queues[queue]?.resumes ?? 0 }
    if let graph = graphMeant(by: request) { return book.graphs[graph]?.resumes ?? 0 }
    return 0
  }

  private func queueMeant(by request: ClientRequest) -> UInt32? {
    guard case .changeQueue(let name, _) = request else { return nil }
    return book.queueByName[name]
  }

  private func graphMeant(by request: ClientRequest) -> Int? {
    guard case .suspendGraphs(let selection, true) = request,
      case .numbers(let ranges) = selection.graphs, let first = ranges.first?.first.number,
      Int(first) < book.graphs.count
    else { return nil }
    return Int(first)
  }

  /// S91, S96, G20: the cancellation is durable, and no member starts any more.
  private func seal(_ verdict: CancelVerdict) {
    guard book.contains(verdict.operation) else { return }
    switch verdict.verdict {
    case .cancelled, .executing, .alreadyCancelled:
      if !book[verdict.operation].isCancelled {
        fail("G20", "\(verdict) is answered and not durable")
      }
      if verdict.verdict != .alreadyCancelled { book[verdict.operation].isSealed = true }
    case .alreadyFinished:
      if book[verdict.operation].outcome == nil { fail("G3", "\(verdict) is not durable") }
    }
  }
}
