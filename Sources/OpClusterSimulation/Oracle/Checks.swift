// The world's own checks: turns, welcomes, losses, answers and launches, and the agreement of the
// journal with the living coordinator (I10, I12, I14, G22). They need more than the ledger knows:
// the times of messages, who heard whom, which processes live. A failure here ends the world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// Checks every turn of the coordinator.
  func checkTurn() {
    // Not every turn: the check visits all operations.
    if coordinator.turns % 16 == 0, let broken = coordinator.scheduler.brokenInvariant() {
      fail("scheduler", broken)
    }
    if !coordinator.turn.isDurable, !coordinator.turn.events.isEmpty {
      fail("G3", "events without a record: \(coordinator.turn.events)")
    }
    let isTaken = coordinator.turn.records.contains {
      if case .workerJoined = $0 { true } else { false }
    }
    for record in coordinator.turn.records {
      switch record {
      case .workerJoined(let worker, _, let session): sessionOf[worker] = session
      case .workerDraining(let worker): noteDrain(worker)
      case .workerLost(let worker):
        if isTaken, let session = sessionOf[worker] { displaced.insert(session) }
        checkLoss(worker)
        if let session = sessionOf[worker] { welcomedAt[session] = nil }
      case .workerLeft(let worker):
        if let session = sessionOf[worker] { welcomedAt[session] = nil }
      default: break
      }
    }
  }

  /// Checks that no worker is lost that was heard, or that still had time to return (G22, G24).
  private func checkLoss(_ worker: WorkerID) {
    guard let session = sessionOf[worker], !deadSessions.contains(session),
      !displaced.contains(session), foreign[session] == nil
    else { return }
    let last = heard[session] ?? .zero
    if now - last < timing.lost {
      fail("G22", "worker \(worker.number) is lost, heard \((now - last).seconds) s ago")
    }
    // A worker that waits for its welcome cannot speak: the silence is the disk's (F51).
    let isUnwelcomed = coordinator.withheld.contains { turn in
      turn.effects.contains { effect in
        guard case .toWorker(let peer, .welcome(let welcome)) = effect else { return false }
        return welcome.conversation.session == session && connectionByPeer[peer] != nil
          && !gonePeers.contains(peer)
      }
    }
    if isUnwelcomed { fail("G22", "worker \(worker.number) is lost, its welcome was held back") }
  }

  /// Twice the heartbeat: one interval of the coordinator's checks, and one more.
  private static let spokenWithin = Span.seconds(2)

  /// Checks that every heard worker gets messages, however slow the disk is (F51, G22).
  func expectSpokenTo() {
    for worker in workers where worker.core != nil {
      // A worker whose name was taken during a pause learns it when the other one is welcomed.
      guard !displaced.contains(worker.session),
        let peer = welcomedAt[worker.session], greetedAt[worker.session] == peer,
        !gonePeers.contains(peer), connectionByPeer[peer] != nil,
        let heard = heard[worker.session], let said = spokenTo[peer]
      else { continue }
      if now - heard < timing.suspect, now - said > World.spokenWithin {
        fail("G22", "\(worker.name) was last spoken to \((now - said).seconds) s ago")
      }
    }
  }

  /// Checks a message before it leaves for a worker.
  func checkSaid(_ message: CoordinatorMessage, to peer: PeerID, _ owner: Connection.Owner) {
    guard case .worker(let worker) = owner else { return }
    let session = workers[worker].session
    spokenTo[peer] = now
    switch message {
    case .welcome(let welcome):
      if foreign[welcome.conversation.session] != nil {
        fail("G12", "\(welcome.conversation.session) is welcomed, and knows more than the journal")
      }
      welcomedAt[welcome.conversation.session] = peer
      handovers.welcomedSince[welcome.conversation.session] = now
      let lastLook = now - World.spokenWithin
      heard[session] = max(heard[session] ?? .zero, lastLook)
      let before = welcomes.updateValue(
        coordinator.scheduler.lastCommit, forKey: welcome.conversation)
      if before != nil { fail("I8", "conversation \(welcome.conversation) begins twice") }
    case .orders(let orders):
      let silence = now - (heard[session] ?? .zero)
      // Numbered ones wait for the disk; an acknowledgement alone says "I am here" as well.
      if orders.number > 0, silence >= timing.suspect { orderedInSilence.insert(session) }
      checkBlocks(orders.dispatches)
    case .refused(let refusal) where refusal.code == .otherHistory:
      guard let session = greetings[peer], foreign[session] == nil else { return }
      fail("G24", "\(session) is to begin anew, and knows no more than the journal")
    case .refused, .logRequest: break
    }
  }

  /// Checks that a block operation is sent with all blocks added so far (S120).
  private func checkBlocks(_ dispatches: [Dispatch]) {
    for dispatch in dispatches where ledger.contains(dispatch.attempt.operation) {
      let id = dispatch.attempt.operation
      guard case .blocks = ledger.template(of: id)?.work, ledger[id].outcome == nil else {
        continue
      }
      // One long sync may make a dispatch, its recall and a change durable at once: the old order
      // then finds no holder.
      guard ledger[id].worker != 0, ledger[id].attempt == dispatch.attempt.attempt else { continue }
      if ledger[id].blocks != dispatch.argument {
        fail("S120", "\(id) has blocks \(ledger[id].blocks), sent are \(dispatch.argument)")
      }
    }
  }

  /// Notes a message of a worker; it counts only at its conversation's connection.
  func noteHeard(_ message: WorkerMessage, from peer: PeerID, _ session: WorkerSession) {
    var session = session
    if case .hello(let hello) = message {
      session = hello.session
      greetings[peer] = session
      greetedAt[session] = peer
      if welcomedAt[session] == peer { return }
    } else if welcomedAt[session] != peer || gonePeers.contains(peer) {
      return
    }
    heard[session] = now
    orderedInSilence.remove(session)
  }

  func checkLaunch(_ attempt: AttemptID, _ at: Int) {
    guard let conversation = workers[at].lastConversation else {
      return fail("worker", "\(workers[at].name) launches without ever having been welcomed")
    }
    expectAlone(attempt, workers[at].session)
    let silence = workers[at].clock(now) - workers[at].heardAt
    if silence >= timing.suspect {
      fail("S147", "\(workers[at].name) launches \(silence.seconds) s after the last word")
    }
    if workers[at].isOwnershipInDoubt {
      fail("S147", "\(workers[at].name) launches while it asks what still belongs to it")
    }
    // A launch in a lost history, within its lease, is permitted.
    if foreign[workers[at].session] != nil { return }
    ledger.launch(
      ObservedLaunch(
        attempt: attempt, session: workers[at].session,
        welcomedAt: welcomes[conversation] ?? CommitIndex(0),
        hasLeaseInDoubt: now - workers[at].heardWordOf >= timing.suspect
          || orderedInSilence.contains(workers[at].session),
        isDisplaced: displaced.contains(workers[at].session)))
    takeProblems()
  }

  /// Checks that no other process of an exclusive operation lives anywhere (I13).
  private func expectAlone(_ attempt: AttemptID, _ session: WorkerSession) {
    guard isOfThisHistory(attempt.operation, session),
      ledger.template(of: attempt.operation)?.isExclusive ?? false
    else { return }
    for other in workers {
      for process in other.processes where process.attempt.operation == attempt.operation {
        if process.attempt == attempt && process.session == session { continue }
        if !isOfThisHistory(attempt.operation, process.session) { continue }
        fail("I13", "\(attempt) is launched, and \(process.attempt) still runs at \(other.name)")
      }
    }
  }

  /// Checks that a leaving effect was decided in a turn that the oracles know as durable (I19).
  func expectDurable(_ commit: CommitIndex) {
    if commit > ledger.commit {
      fail("I19", "commit \(commit.number) is told, durable is \(ledger.commit.number)")
    }
  }

  /// Checks that a durably ended operation has no process left at its worker (I17).
  func expectNoneLeft() {
    for worker in workers {
      for process in worker.processes
      where foreign[process.session] == nil && ledger.isOver(process.attempt, at: process.session) {
        fail("I17", "\(process.attempt) has ended and still runs at \(worker.name)")
      }
    }
  }

  /// Checks the limit of a message's size (I11, I18).
  func checkSize(of bytes: [UInt8]) {
    if bytes.count > Limits.messageBytes { fail("I11", "a message of \(bytes.count) bytes") }
  }

  /// Checks the limits of all queues, by number and bytes (I11, I18).
  func checkBounds() {
    if coordinator.turns % 8 != 0 { return }
    for client in clients where client.pending.count > Limits.requestsInFlightPerClient {
      fail("I11", "\(client.pending.count) requests of one client are in flight")
    }
    for worker in workers {
      guard let counts = worker.core?.counts else { continue }
      let most = ExecutionSettings().maximumAssigned
      if counts.assigned > most || counts.unacknowledged > 4 * most {
        fail("I11", "\(worker.name) has \(counts)")
      }
    }
    if coordinator.disk.unsyncedTurns > World.turnsInFlight {
      fail("I11", "\(coordinator.disk.unsyncedTurns) turns wait for the disk")
    }
    let operations = ledger.operationCount
    let bytes =
      coordinator.disk.unsyncedBytes + connections.reduce(0) { $0 + ($1.isOpen ? $1.inFlight : 0) }
    if bytes > World.bytesAtRest + operations * World.bytesOfOperation {
      fail("I18", "\(bytes) bytes are buffered for \(operations) operations")
    }
  }
  /// A turn begins every 200 µs at most, and a slow sync takes 3 s. In a longer one there is less
  /// and less to write, since clients wait for answers.
  private static let turnsInFlight = 15_000
  /// Buffers that are there without any operation.
  private static let bytesAtRest = 1 << 20
  /// The limit of bytes per operation (G29).
  private static let bytesOfOperation = 2_048

  /// Checks that running operations never demand more than their worker has (I12).
  func checkCapacity(_ at: Int) {
    var left = workers[at].machine.capacity
    for process in workers[at].processes { left.take(process.demand) }
    let isOver =
      left.cpus < .zero || left.memoryBytes < 0 || left.gpus < .zero
      || left.custom.contains { $0.amount < .zero }
    if isOver { fail("I12", "\(workers[at].name) runs more than it can: \(left)") }
  }

  /// Checks that durable data still exist when the coordinator starts (G1).
  func expectNothingMissing() -> Bool {
    let last = coordinator.disk.turns.last?.commit ?? coordinator.disk.snapshotCommit
    if last == ledger.commit, coordinator.disk.isGapless { return true }
    fail("G1", "the journal ends at commit \(last.number), durable was \(ledger.commit.number)")
    return false
  }

  /// Checks that a replay of the journal gives the living state (I10).
  func expectSameAsShadow(_ when: String) {
    let (live, replayed) = (coordinator.scheduler.snapshot(), shadow.snapshot())
    if live == replayed, coordinator.scheduler.lastEvent == ledger.lastEvent { return }
    fail("I10", "\(when): replay differs: \(difference(live, replayed))")
    if let broken = coordinator.scheduler.brokenInvariant() { fail("scheduler", broken) }
  }

  /// The first difference, with a little context. Two states are long, and the first difference is
  /// mostly near the cause.
  private func difference(_ live: [Record], _ replayed: [Record]) -> String {
    guard let at = zip(live, replayed).enumerated().first(where: { $1.0 != $1.1 })?.offset else {
      return "\(live.count) and \(replayed.count) facts, events to \(ledger.lastEvent)"
    }
    let (one, other) = ("\(live[at])", "\(replayed[at])")
    let same = zip(one, other).prefix { $0 == $1 }.count
    return "…\(one.dropFirst(max(same - 120, 0)).prefix(200))… and "
      + "…\(other.dropFirst(max(same - 20, 0)).prefix(80))…"
  }

  /// Checks that every acknowledged key is known, with the same graph (I1; asked of a copy).
  func expectKeysKept() {
    var (probe, turn) = (coordinator.scheduler, SchedulingTurn())
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

  /// Notes a leaving answer: its promises hold from now on.
  func noteAnswer(_ reply: ClientReply, to id: RequestID, of client: Int) {
    switch reply {
    case .cancelled(let verdicts, _): for verdict in verdicts { seal(verdict) }
    case .suspended:
      guard let asked = clients[client].pending.first(where: { $0.id == id }),
        asked.resumesBefore == resumes(of: asked)
      else { return }
      sealSuspended(asked)
    default: break
    }
  }

  /// Notes that no member of a suspended queue or graph may start until it is resumed (S72).
  private func sealSuspended(_ asked: Client.Asked) {
    if let queue = asked.queue, isMeant(queue, by: asked.request),
      ledger.queues[queue]?.settings.isSuspended ?? false
    {
      ledger.queues[queue]?.isSealed = true
    }
    if let graph = graphMeant(by: asked.request), ledger.graphs[graph]?.isSuspended ?? false {
      ledger.graphs[graph]?.isSealed = true
    }
  }

  /// The number of resumptions of the queue or graph that a request suspends.
  func resumes(of asked: Client.Asked) -> Int {
    if let queue = asked.queue { return ledger.queues[queue]?.resumes ?? 0 }
    if let graph = graphMeant(by: asked.request) { return ledger.graphs[graph]?.resumes ?? 0 }
    return 0
  }

  /// Also for a change that suspends nothing, which then seals nothing.
  func queueMeant(by request: ClientRequest) -> UInt32? {
    guard case .changeQueue(let name, _) = request else { return nil }
    return ledger.queueByName[name]
  }

  /// Whether a queue has the name that a change gives, or the one that the change gives it.
  private func isMeant(_ queue: UInt32, by request: ClientRequest) -> Bool {
    guard case .changeQueue(let name, let change) = request else { return false }
    return ledger.queueByName[change.newName ?? name] == queue
  }

  private func graphMeant(by request: ClientRequest) -> Int? {
    guard case .suspendGraphs(let selection, true) = request,
      case .numbers(let ranges) = selection.graphs, let first = ranges.first?.first.number,
      Int(first) < ledger.graphs.count
    else { return nil }
    return Int(first)
  }

  /// Notes that a cancellation is durable, and that no member may start any more (S91, S96, G20).
  private func seal(_ verdict: CancelVerdict) {
    guard ledger.contains(verdict.operation) else { return }
    switch verdict.verdict {
    case .cancelled, .executing, .alreadyCancelled:
      if !ledger[verdict.operation].isCancelled {
        fail("G20", "\(verdict) is answered and not durable")
      }
      if verdict.verdict != .alreadyCancelled { ledger[verdict.operation].isSealed = true }
    case .alreadyFinished:
      if ledger[verdict.operation].outcome == nil { fail("G3", "\(verdict) is not durable") }
    }
  }
}
