// The way of a fact into the state, and its consequences beyond it: the conversation with a worker
// begins and ends with its record, alarms are set, held operations are released. Replay and restore
// also come through here.

import HeapModule
public import OpClusterModel

extension Scheduler {
  /// Commits a fact: it takes effect and will be journaled.
  mutating func commit(_ record: Record, into turn: inout SchedulingTurn) {
    state.apply(record, into: &turn)
    follow(record, into: &turn)
    takeConsequences(of: &turn)
    turn.note(record)
  }

  /// Commits a fact about one operation; neighbours with the same fact share a record.
  mutating func commit(_ fact: RunFact, _ id: OperationID, into turn: inout SchedulingTurn) {
    state.apply(fact, to: id, into: &turn)
    takeConsequences(of: &turn)
    turn.note(fact, id)
  }

  /// Applies a committed turn of the journal.
  public mutating func replay(_ records: [Record], commit: CommitIndex) {
    state.replay(records, commit: commit)
    follow(records)
  }

  /// Restores the state of a snapshot. The scheduler must be empty; call it before any replay.
  public mutating func restore(_ records: [Record], commit: CommitIndex) {
    state.restore(records, commit: commit)
    follow(records)
  }

  /// The facts from which `restore` makes this state again. A snapshot for a journal must wait
  /// while ends are pending, which it would not name.
  public func snapshot() -> [Record] { image.records }

  /// The durable state at this moment. Costs the living graphs, and not their operations.
  public var image: ClusterImage { ClusterImage(state, graphs: state.graphs.copied()) }

  /// Begins to take the durable state of this moment as a value, which turns that follow do not
  /// change. Costs nanoseconds a living graph.
  public mutating func beginImage() {
    partialImage = ClusterImage(state, graphs: RegistryCopy(numbers: []))
    state.graphs.beginCopy()
  }

  /// Goes on with the image that was begun; call it once a turn. The image when it is whole, else
  /// nil. Costs a few hundred living graphs, and not their operations.
  public mutating func continueImage() -> ClusterImage? {
    guard let graphs = state.graphs.takePartOfCopy(), var image = partialImage else { return nil }
    partialImage = nil
    image.graphs = graphs
    return image
  }

  private mutating func follow(_ records: [Record]) {
    var turn = SchedulingTurn()
    turn.isReplay = true
    for record in records { follow(record, into: &turn) }
    // Dropped: a worker is compared with every kind when its conversation begins.
    _ = state.takeNewKinds()
  }

  /// Carries out the consequences of a fact that has taken effect.
  mutating func follow(_ record: Record, into turn: inout SchedulingTurn) {
    switch record {
    case .workerJoined(let worker, let name, _):
      conversations.insert(WorkerConversation(heard: turn.now), number: worker.number)
      downWorkers.remove(name)
    case .workerLost(let worker), .workerLeft(let worker):
      endConversation(worker.number, at: turn.now)
    case .submitted(let graph, _, _, let at):
      if !turn.isReplay { setAlarms(graph, at: turn.now, wall: at) }
    case .graphsRemoved(let graphs):
      removed += graphs
    default: break
    }
  }

  private mutating func endConversation(_ worker: UInt32, at now: Instant) {
    guard conversations.contains(worker) else { return }
    if let peer = conversations[worker].peer { workerByPeer[peer] = nil }
    unwellWorkers.remove(worker)
    forgetTold(to: worker)
    forgetContents(of: worker, at: now)
    workerPools.compare(worker, nil)
    workerOffers.forget(worker)
    aheadStops.endConversation(with: worker)
    conversations.remove(worker)
  }

  /// Carries out the collected consequences; costs as much as the fact did.
  @inline(__always)
  mutating func takeConsequences(of turn: inout SchedulingTurn) {
    if !turn.consequences.isEmpty { follow(&turn.consequences) }
    if !state.newKinds.isEmpty {
      for kind in state.takeNewKinds() { compareWorkers(withNewKind: kind) }
    }
  }

  private mutating func follow(_ consequences: inout Consequences) {
    for entry in consequences.letGo {
      if conversations.contains(entry.worker) { conversations[entry.worker].letGo(entry.operation) }
      if entry.hasLeft { forgetAttempt(of: entry.operation) }
    }
    for backoff in consequences.backoffs { backoffs.insert(backoff) }
    consequences.letGo.removeAll(keepingCapacity: true)
    consequences.backoffs.removeAll(keepingCapacity: true)
  }
}
