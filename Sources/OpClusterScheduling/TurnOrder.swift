// The order of a turn: the steps at the start of a life, for each input, and at the turn's end.

import HeapModule
public import OpClusterModel

extension Scheduler {
  /// Begins a new life of the coordinator, after the replay: known workers get `Timing.resync` to
  /// return (S150).
  ///
  /// - Parameters:
  ///   - number: The random number of this life (`CoordinatorLife.number`); 0: the life cannot be
  ///     distinguished from another of the same epoch.
  ///   - mayHaveGoneBack: The journal may be older than the orders that workers received, so
  ///     exclusive operations unknown to it may run: none begins before `Timing.lost` has passed
  ///     (G16).
  public mutating func start(
    life number: UInt64 = 0, mayHaveGoneBack: Bool = false, into turn: inout SchedulingTurn
  ) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    let life = CoordinatorLife(Epoch(counters.epoch.number + 1), number: number)
    commit(.started(life), into: &turn)
    self.mayHaveGoneBack = mayHaveGoneBack
    let hadPendingEnds = hasPendingEnds
    followEnds(into: &turn)
    if counters.endStepsPerTurn != share.endSteps {
      commit(.endStepsLimited(share.endSteps), into: &turn)
    }
    // The journal does not date the end of some graphs with keys: their keys count from now on.
    if keys.hasUntimed { commit(.keysDated(turn.wall), into: &turn) }
    exclusivesFrom = mayHaveGoneBack ? turn.now + timing.lost : nil
    resyncEnd = turn.now + timing.resync
    unheardWorkers = workers.numbers
    copiesFrom = workers.count == 0 ? turn.now : resyncEnd
    lastTick = turn.now
    alarms = []
    for number in graphs.numbers { setAlarms(GraphID(number), at: turn.now, wall: turn.wall) }
    setBackoffs(at: turn.now, wall: turn.wall)
    for number in workers.numbers {
      conversations[number].lastHeard = turn.now + timing.resync - timing.lost
    }
    resumeFailurePolicies(hadPendingEnds: hadPendingEnds, into: &turn)
  }

  /// Handles one input. Effects leave only after `close`.
  public mutating func handle(_ input: Input, into turn: inout SchedulingTurn) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    switch input {
    case .worker(let peer, let message): handleWorker(peer, message, into: &turn)
    case .client(let peer, let request, let what, let bound):
      handleClient(Asker(peer: peer, request: request, mayChange: bound), what, into: &turn)
    case .gone(let peer): forgetPeer(peer)
    case .tick(let durable): handleTick(durable, into: &turn)
    }
  }

  /// Takes in a client's submission that another thread has prepared; its plan is moved out.
  public mutating func handle(
    _ prepared: inout PreparedSubmission, from peer: PeerID, _ request: RequestID,
    into turn: inout SchedulingTurn
  ) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    handleSubmission(
      Asker(peer: peer, request: request, mayChange: .allGraphs), &prepared, into: &turn)
  }

  /// Ends a turn: assigns operations to workers, then seals records, events and orders.
  public mutating func close(_ turn: inout SchedulingTurn) {
    turn.commit = CommitIndex(lastCommit.number + 1)
    missContents(into: &turn)
    endPlacements(into: &turn)
    if endsWerePending, hasPendingEnds { commit(.endsContinued, into: &turn) }
    applyFailurePolicies(into: &turn)
    continueParts(into: &turn)
    settleDeferred(into: &turn)
    assign(into: &turn)
    if aheadStops.isDue { continueAhead(into: &turn) }
    continueForecasts(into: &turn)
    commitTroubles(into: &turn)
    cancelNeedlessRecomputations(into: &turn)
    state.tellQueueCounts(into: &turn)
    // The end of graphs with keys is dated by a fact of its own: the life of their keys counts from
    // it.
    if state.endsKeys { commit(.keysDated(turn.wall), into: &turn) }
    let leaving = state.endGraphs(into: &turn)
    endRecomputations(into: &turn)
    reuseDigests.forget(leaving)
    forgetAtWorkers(leaving, into: &turn)
    decideDeliveries(into: &turn)
    tellPinChanges(into: &turn)
    continueHandover(into: &turn)
    replicate(into: &turn)
    if !toldContents.isEmpty { toldContents.removeAll(keepingCapacity: true) }
    endsWerePending = hasPendingEnds
    turn.sealRecords()
    state.close(&turn)
    conversations.freeRetired()
    settleWelcomes(&turn)
    sendOrders(into: &turn)
    renewIndex(at: turn.now)
  }
}
