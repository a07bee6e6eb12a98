// The connections of workers: they join, report, fall silent and return (S147 to S150). Only this
// file decides that a worker is lost, by the coordinator's own clock.

import HeapModule
public import OpClusterModel

extension Scheduler {
  mutating func handleWorker(
    _ peer: PeerID, _ message: WorkerMessage, into turn: inout SchedulingTurn
  ) {
    if case .hello(let hello) = message { return greet(peer, hello, into: &turn) }
    guard let worker = workerByPeer[peer], workers.contains(worker.number) else {
      return turn.refuse(peer, Refusal(.unknownWorker, "say hello first"))
    }
    hear(worker, at: turn.now)
    switch message {
    case .hello: break
    case .report(let report): take(report, from: worker, peer, into: &turn)
    case .logChunk: break
    case .goodbye(let lastReport):
      followEnds(atWorker: worker, into: &turn)
      if lastReport > conversations[worker.number].reportTaken {
        // A report did not arrive, which may have told of starts. The others simply run again.
        for id in mayHaveStarted(worker) where state.runsOnce(id) {
          commit(.executing, id, into: &turn)
        }
      }
      endWhatMayNotRepeat(at: worker, into: &turn)
      commit(.workerLeft(worker), into: &turn)
      turn.afterDurable.append(.close(peer))
    }
  }

  private mutating func hear(_ worker: WorkerID, at now: Instant) {
    conversations[worker.number].lastHeard = max(conversations[worker.number].lastHeard, now)
    conversations[worker.number].wasHeard = true
    guard conversations[worker.number].isSuspect else { return }
    conversations[worker.number].isSuspect = false
    // It may be silent again when the wait for it is over.
    if drainingStores.isAnyDraining, conversations[worker.number].store != nil {
      contentCopies.reopenStranded(isNew: false)
    }
  }

  // MARK: - Hello

  private mutating func greet(_ peer: PeerID, _ hello: WorkerHello, into turn: inout SchedulingTurn)
  {
    guard let version = ProtocolVersions.current.common(with: hello.versions) else {
      return turn.refuse(peer, versionRefusal(hello.versions))
    }
    if let problem = problem(with: hello) { return turn.refuse(peer, problem) }
    if let known = hello.known, !state.knows(known) {
      return turn.refuse(peer, Self.otherHistory("what worker \(hello.name) was told"))
    }
    if let known = workerBySession[hello.session], workers.contains(known.number) {
      // Ignored: a worker says hello once per connection, so this is a duplicate, and its lists are
      // older than the orders sent since.
      if conversations[known.number].peer == peer { return }
      // A worker that has learnt another's session is still refused under a different name (G36).
      guard workers[known.number].name == hello.name else {
        return turn.refuse(
          peer, Refusal(.badRequest, "this session belongs to a worker of another name"))
      }
      return welcome(hello, known, peer, version, into: &turn)
    }
    if let old = workerByName[hello.name], workers.contains(old.number) {
      if let refusal = refusal(of: hello.name, for: old, at: turn.now) {
        return turn.refuse(peer, refusal)
      }
      lose(old, into: &turn)
    }
    guard workers.count < Limits.workers else {
      return turn.refuse(
        peer, Refusal(.limitExceeded, "there are \(Limits.workers) workers already"))
    }
    if counters.lastWorker == .max { return turn.refuse(peer, Self.noNumbers("workers")) }
    let worker = WorkerID(counters.lastWorker + 1)
    commit(.workerJoined(worker, name: hello.name, hello.session), into: &turn)
    welcome(hello, worker, peer, version, into: &turn)
  }

  /// The reason why a new life of a worker may not yet replace the old one. An exclusive operation
  /// may survive in the old life until its guard has killed it: its lease must expire first (G16).
  private func refusal(of name: String, for old: WorkerID, at now: Instant) -> Refusal? {
    let silence = now - conversations[old.number].lastHeard
    let patience = timing.heartbeat * 2
    if conversations[old.number].peer != nil, silence < patience {
      return Refusal(
        .busy, "a worker named \(name) is connected",
        hint: "give each worker a name of its own, or wait until the other one is gone")
    }
    guard silence <= timing.lost, holdsExclusive(old) else { return nil }
    return Refusal(
      .busy, "an earlier worker named \(name) held exclusive operations",
      hint: "it is taken once that one counts as lost")
  }

  private func holdsExclusive(_ worker: WorkerID) -> Bool {
    state.operations(at: worker).contains { id in
      let graph = graphs[id.graph.number]
      return graph.stages[graph.stageNumber(of: id.index)].template.isExclusive
    }
  }

  private func problem(with hello: WorkerHello) -> Refusal? {
    if !hello.name.isValidName {
      return Refusal(
        .badRequest, "a worker's name has 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    }
    if hello.labels.count > Limits.labelsPerThing {
      return Refusal(.limitExceeded, "more than \(Limits.labelsPerThing) labels")
    }
    return nil
  }

  private func versionRefusal(_ theirs: ProtocolVersions) -> Refusal {
    let ours = ProtocolVersions.current
    return Refusal(
      .versionMismatch,
      "this coordinator speaks protocol \(ours.lowest) to \(ours.highest), "
        + "the peer \(theirs.lowest) to \(theirs.highest)",
      hint: "install the same release on both sides")
  }

  private mutating func welcome(
    _ hello: WorkerHello, _ worker: WorkerID, _ peer: PeerID, _ version: UInt32,
    into turn: inout SchedulingTurn
  ) {
    let number = worker.number
    if let old = conversations[number].peer, old != peer {
      workerByPeer[old] = nil
      turn.atOnce.append(.close(old))
    }
    turn.dropOrders(for: number)
    workerByPeer[peer] = worker
    let isBackAfterRestart = conversations[number].increment == 0
    // The number may wrap around: by then no conversation with the first number is left.
    lastConversation = lastConversation == .max ? 1 : lastConversation + 1
    unwellWorkers.remove(number)
    endTrouble(of: number)
    forgetTold(to: number)
    aheadStops.endConversation(with: number)
    conversations[number].begin(peer, hello, number: lastConversation, at: turn.now)
    forgetContents(of: number, at: turn.now)
    if workers[number].isDraining { drainingStores.greet(number) }
    holders.begin(number, hasStore: hello.store != nil)
    if hello.store != nil {
      addStore(of: number)
      contentCopies.reopenStranded(isNew: true)
    }
    compareWithKinds(number)
    let stale = reconcile(worker, hello, into: &turn)
    var welcome = Welcome(
      conversation: conversationNow(with: worker), version: version, worker: worker,
      timing: timing, stale: stale, clientEndpoint: clientEndpoint)
    welcome.takesContents = hello.store != nil
    turn.welcomed.append((number, turn.afterDurable.count))
    turn.afterDurable.append(.toWorker(peer, .welcome(welcome)))
    conversations[number].welcomedIn = turn.commit
    welcomedWorkers.append(number)
    conversations[number].lastSpoken = turn.now
    // Repeated: the order to leave may have been lost with the previous conversation.
    if workers[number].isDraining { _ = turn.orders(for: worker) }
    repeatOrders(to: worker, isBackAfterRestart: isBackAfterRestart, into: &turn)
  }

  func conversationNow(with worker: WorkerID) -> Conversation {
    Conversation(
      epoch: counters.epoch, session: workers[worker.number].session,
      increment: conversations[worker.number].increment)
  }

  /// Compares the attempts that the worker lists with those that were handed to it. Returns the
  /// listed attempts that are no longer its own.
  private mutating func reconcile(
    _ worker: WorkerID, _ hello: WorkerHello, into turn: inout SchedulingTurn
  ) -> [AttemptID] {
    let claimed = Set(hello.assigned).union(hello.executing)
    for id in state.operations(at: worker) {
      let cell = graphs[id.graph.number].cell(id.index)
      let attempt = AttemptID(operation: id, attempt: cell.attempt)
      // The end of an earlier one in this list may have ended this one as well.
      if claimed.contains(attempt) || cell.worker != worker.number { continue }
      if cell.isAssigned {
        // The dispatch was lost, so the attempt can never start there (hole 1 of Simulation.md).
        commit(.recalled, id, into: &turn)
      } else {
        concludeLoss(id, worker, into: &turn)
      }
    }
    return (hello.assigned + hello.executing).filter { attempt in
      guard graphs.contains(attempt.operation.graph.number),
        attempt.operation.index < graphs[attempt.operation.graph.number].operationCount
      else { return true }
      let cell = graphs[attempt.operation.graph.number].cell(attempt.operation.index)
      return cell.worker != worker.number || cell.attempt != attempt.attempt
    }
  }

  /// Handles a running attempt that its own worker no longer knows.
  private mutating func concludeLoss(
    _ id: OperationID, _ worker: WorkerID, into turn: inout SchedulingTurn
  ) {
    var result = AttemptResult()
    result.cause = .lost
    result.diagnostic = "the worker came back without it"
    let isFinal =
      !state.mayRunAgainAfterLoss(id) || graphs[id.graph.number].cell(id.index).isCancelled
    state.note(result, of: id, ends: isFinal, by: worker, into: &turn)
    commit(
      isFinal ? .finished(id, result) : .attemptFailed(id, result, at: turn.wall), into: &turn)
    if !isFinal { state.recallAhead(of: id, into: &turn) }
  }

  /// Repeats recalls and cancellations that have not been answered.
  private mutating func repeatOrders(
    to worker: WorkerID, isBackAfterRestart: Bool, into turn: inout SchedulingTurn
  ) {
    for id in state.operations(at: worker) {
      let cell = graphs[id.graph.number].cell(id.index)
      let attempt = AttemptID(operation: id, attempt: cell.attempt)
      let isWanted =
        cell.flags.contains(.recalling) || cell.isCancelled || waitsForResumption(id)
        || (isBackAfterRestart && mayWaitInVain(id))
      if cell.isAssigned, isWanted {
        state.markRecalling(id)
        let at = turn.orders(for: worker)
        turn.orders[at].orders.recalls.append(attempt)
      } else if cell.isCancelled {
        let at = turn.orders(for: worker)
        turn.orders[at].orders.cancels.append(CancelOrder(attempt: attempt))
      }
    }
  }

  /// Whether an operation may wait in vain: it may have been sent ahead of dependencies that have
  /// ended elsewhere, and the previous life's recall is forgotten.
  private func mayWaitInVain(_ id: OperationID) -> Bool {
    var hasDependencies = false
    graphs[id.graph.number].forEachDependency(of: id.index) { _, _ in hasDependencies = true }
    return hasDependencies
  }

  private func waitsForResumption(_ id: OperationID) -> Bool {
    let graph = graphs[id.graph.number]
    let queue = graph.queue(of: id.index, stage: graph.stageNumber(of: id.index))
    return graph.isSuspended || !queues[queue.number].isRunning
  }

  // MARK: - Silence

  mutating func forgetPeer(_ peer: PeerID) {
    guard let worker = workerByPeer.removeValue(forKey: peer), workers.contains(worker.number)
    else {
      return
    }
    if conversations[worker.number].peer == peer { conversations[worker.number].peer = nil }
  }

  mutating func handleTick(_ durable: CommitIndex, into turn: inout SchedulingTurn) {
    // The coordinator's own pause counts as no worker's silence (F6): send first, judge later.
    let pause = turn.now - lastTick
    lastTick = turn.now
    let isOwnPause = pause > timing.heartbeat * 3
    if isOwnPause {
      looks += workers.count
      for number in workers.numbers {
        conversations[number].lastHeard = conversations[number].lastHeard + pause
      }
    }
    excuseWelcomed(durable, at: turn.now)
    for number in workersDue(at: turn.now) where !waitsForWelcome(number, durable) {
      let silence = turn.now - conversations[number].lastHeard
      if silence > timing.lost {
        lose(WorkerID(number), into: &turn)
        continue
      }
      if silence > timing.suspect, !conversations[number].isSuspect,
        conversations[number].peer != nil
      {
        conversations[number].isSuspect = true
      }
      beat(number, into: &turn)
    }
    if let moment = exclusivesFrom, moment <= turn.now { exclusivesFrom = nil }
    endRests(at: turn.now)
    wakeBackoffs(into: &turn)
    ringAlarms(into: &turn)
  }

  /// The workers to which a tick has something to say, or about which something to decide. Whoever
  /// is due a little later comes along: a thousand that are spoken to one by one wake the
  /// coordinator, and by their answers wake it again, a thousand times for each heartbeat.
  private mutating func workersDue(at now: Instant) -> [UInt32] {
    renewIndex(at: now)
    if workerIndex.whole.due > now { return [] }
    let soon = now + earlyBeat
    return workerIndex.workers(&looks) { $0.due <= soon }
  }

  /// How much earlier than it is due a heartbeat may leave.
  private var earlyBeat: Span { timing.heartbeat / 8 }

  /// Lets the silence of workers whose welcome still waits for the disk begin now.
  private mutating func excuseWelcomed(_ durable: CommitIndex, at now: Instant) {
    if welcomedWorkers.isEmpty { return }
    looks += welcomedWorkers.count
    welcomedWorkers = welcomedWorkers.filter { number in
      workers.contains(number) && waitsForWelcome(number, durable)
    }
    for number in welcomedWorkers {
      conversations[number].lastHeard = max(conversations[number].lastHeard, now)
      conversations[number].lastSpoken = now
    }
  }

  /// Whether its welcome still waits for the disk. It cannot report before the welcome arrives, so
  /// its silence is the coordinator's fault (F51).
  private func waitsForWelcome(_ worker: UInt32, _ durable: CommitIndex) -> Bool {
    conversations[worker].peer != nil && durable < conversations[worker].welcomedIn
  }

  /// Sends heartbeats only, while decisions wait for the disk (G22): a worker without heartbeats
  /// gives up its operations. Changes no fact.
  public mutating func keepTalking(_ durable: CommitIndex, into turn: inout SchedulingTurn) {
    for number in workersDue(at: turn.now) where !waitsForWelcome(number, durable) {
      beat(number, into: &turn)
    }
    renewIndex(at: turn.now)
  }

  /// Sends a heartbeat. It claims no fact, so unlike orders it does not wait for the disk, and the
  /// worker does not look for another connection (F51).
  private mutating func beat(_ number: UInt32, into turn: inout SchedulingTurn) {
    // Not to a suspect: a worker that hears but is not heard would keep its lease past its loss
    // (S147), and would not look for a better connection.
    guard let peer = conversations[number].peer, !conversations[number].isSuspect,
      turn.now - conversations[number].lastSpoken >= timing.heartbeat - earlyBeat
    else { return }
    conversations[number].lastSpoken = turn.now
    var beat = WorkerOrders(
      conversation: conversationNow(with: WorkerID(number)), number: 0, acknowledged: 0)
    beat.heard = conversations[number].reportTaken
    turn.atOnce.append(.toWorker(peer, .orders(beat)))
  }

  private mutating func wakeBackoffs(into turn: inout SchedulingTurn) {
    while let first = backoffs.min, first.until <= turn.now {
      backoffs.removeMin()
      let id = first.operation
      guard graphs.contains(id.graph.number) else { continue }
      let cell = graphs[id.graph.number].cell(id.index)
      guard cell.phase == .executing, cell.attempt == first.attempt,
        cell.flags.contains(.backingOff)
      else { continue }
      state.endBackoff(of: id)
    }
  }

  /// Declares a worker lost, because its lease has expired.
  mutating func lose(_ worker: WorkerID, into turn: inout SchedulingTurn) {
    followEnds(atWorker: worker, into: &turn)
    for id in mayHaveStarted(worker) { commit(.executing, id, into: &turn) }
    noteDown(workers[worker.number], turn)
    commit(.workerLost(worker), into: &turn)
  }

  /// The operations that a worker may have started without a report that arrived: those that it had
  /// room for, in its own order, and all that must not run twice. They count as started, so that an
  /// operation that kills its worker at once cannot do so forever (G17), and one that must not be
  /// repeated is not (S12).
  private func mayHaveStarted(_ worker: WorkerID) -> [OperationID] {
    var free = conversations[worker.number].offered
    var unstarted: [OperationID] = []
    for id in state.operations(at: worker) {
      let cell = graphs[id.graph.number].cell(id.index)
      if cell.isAssigned {
        // A recalled operation has hardly begun; one that must not run twice may have, and counts.
        let isSpared = cell.flags.contains(.recalling) && !state.runsOnce(id)
        if !cell.flags.contains(.ahead), !isSpared { unstarted.append(id) }
      } else {
        free.take(resourceDemand(of: id))
      }
    }
    unstarted.sort { rank(of: $0) < rank(of: $1) }
    return unstarted.filter { id in
      let stage = graphs[id.graph.number].stageNumber(of: id.index)
      let isOnce = graphs[id.graph.number].stages[stage].template.maximumLosses == 0
      guard isOnce || free.covers(resourceDemand(of: id)) else { return false }
      free.take(resourceDemand(of: id))
      return true
    }
  }

  private func resourceDemand(of id: OperationID) -> Resources {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    return classes[graphs[graph].demandClass(of: stage)].demandClass.demand
  }

  /// The order at a worker: lower ranks go first (S47).
  private func rank(of id: OperationID) -> (Int8, UInt64) {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    let priority = graphs[graph].priority(of: id.index, stage: stage)
    return (-priority.rawValue, graphs[graph].place(of: id.index))
  }

  private mutating func noteDown(_ worker: WorkerRecord, _ turn: SchedulingTurn) {
    let wasHeard = conversations[worker.id.number].wasHeard
    let silence = max(turn.now - conversations[worker.id.number].lastHeard, .zero)
    let reason =
      wasHeard
      ? "it was not heard of for \(silence.secondsRoundedUp) s"
      : "it did not come back within \(timing.resync.secondsRoundedUp) s of the coordinator's start"
    // The time allowed for its return is not silence.
    let quiet = wasHeard ? silence : .zero
    downWorkers.add(
      worker.name, worker.id, at: turn.now - quiet,
      since: turn.wall == .unknown ? .unknown : turn.wall - quiet, reason: reason)
  }

  /// Forgets a lost worker at a client's request: it is no longer listed.
  mutating func forget(_ name: String) throws(Refusal) -> ClientReply {
    if downWorkers.remove(name) { return .done(lastCommit) }
    if let worker = workerByName[name], workers.contains(worker.number) {
      throw Refusal(
        .badRequest, "worker \(name) is not down",
        hint: .drainWorker(name))
    }
    throw Refusal(.unknownWorker, "there is no worker \(name)", hint: .listWorkers)
  }

  /// Ends running operations that allow no loss when their worker leaves in good order. The end is
  /// no loss, and it is a fact of its own, so that earlier journals keep their meaning (S12).
  private mutating func endWhatMayNotRepeat(at worker: WorkerID, into turn: inout SchedulingTurn) {
    for id in state.operations(at: worker) {
      let cell = graphs[id.graph.number].cell(id.index)
      guard cell.phase == .executing, !cell.isAssigned, !cell.isCancelled, state.runsOnce(id)
      else { continue }
      var result = AttemptResult()
      result.cause = .workerStopped
      state.note(result, of: id, ends: true, by: worker, into: &turn)
      commit(.finished(id, result), into: &turn)
    }
  }

  /// Lets the welcomes of a turn that is sealed wait for its commit and tell it: what they name as
  /// stale may be so by the facts of this turn, and a journal that was restored without them is to
  /// be known by whoever heard of them (S12). A turn without facts waits for earlier commits only.
  /// O(workers welcomed in the turn).
  mutating func settleWelcomes(_ turn: inout SchedulingTurn) {
    for (number, effect) in turn.welcomed {
      turn.tellMark(state.mark(lastCommit), inWelcomeAt: effect)
      if workers.contains(number) { conversations[number].welcomedIn = lastCommit }
    }
  }

  // MARK: - Orders

  /// Sends one message per worker and turn, numbered, with the acknowledgement that this turn makes
  /// durable.
  mutating func sendOrders(into turn: inout SchedulingTurn) {
    for at in turn.orders.indices {
      let number = turn.orders[at].worker
      guard workers.contains(number), let peer = conversations[number].peer else { continue }
      turn.orders[at].orders.conversation = conversationNow(with: WorkerID(number))
      turn.orders[at].orders.acknowledged = conversations[number].reportTaken
      turn.orders[at].orders.heard = conversations[number].reportTaken
      // It leaves by this order: what others still fetch of it delays that.
      turn.orders[at].orders.drain =
        workers[number].isDraining && !drainingStores.keeps(number)
      for var part in turn.orders[at].orders.parts() {
        conversations.updateUnnoted(number) { $0.ordersSent += 1 }
        part.number = conversations[number].ordersSent
        part.commit = lastCommit
        turn.afterDurable.append(.toWorker(peer, .orders(part)))
      }
    }
    turn.forgetOrders()
  }
}

extension SchedulingTurn {
  fileprivate mutating func refuse(_ peer: PeerID, _ refusal: Refusal) {
    atOnce.append(.toWorker(peer, .refused(refusal)))
  }
}
