// Snapshots: converts the durable state to a short list of facts, and back (G4, G9). Only what
// cannot be computed is written: cells, sparse tables and counters. Counts, gates, lines, segments
// and the loads of workers are made again by `rebuild`. A new durable field of a graph needs both
// directions here; tests compare the snapshot of a restored state with the one that it came from.

import DequeModule
import HeapModule
public import OpClusterModel

/// The durable state at one moment, as a value. It shares what the state has; what changes
/// afterwards is copied then, once, a table or a page of it at a time. The living graphs, which are
/// many and large, are copied one by one. Any thread makes facts of it.
public struct ClusterImage: Sendable {
  /// A fact, or a living graph, which is two.
  public enum Piece {
    case record(Record)
    case graph(UInt32)
  }

  private let counters: Counters
  private let queues: WatchedRegistry<Queue>
  private let workers: WatchedRegistry<WorkerRecord>
  private let keys: SubmissionKeys
  private let reusable: ReusableOutcomes
  private let ended: [GraphID: EndedGraph]
  private let endedOrder: Deque<GraphID>
  /// All of them, in the end.
  var graphs: RegistryCopy<Graph>

  init(_ state: ClusterState, graphs: RegistryCopy<Graph>) {
    self.graphs = graphs
    counters = state.counters
    queues = state.queues
    workers = state.workers
    keys = state.keys
    reusable = state.reusable
    ended = state.ended
    endedOrder = state.endedOrder
  }

  /// All facts from which a restore makes the state again.
  var records: [Record] { pieces.flatMap { records(of: $0) } }

  /// In the order of a restore: queues and workers come before the graphs that refer to them. Costs
  /// all but the operations of graphs.
  public var pieces: [Piece] {
    var records: [Record] = [.restoredCounters(counters)]
    for number in queues.numbers {
      records.append(.queueCreated(QueueID(number), queues[number].settings))
    }
    for number in workers.numbers {
      let worker = workers[number]
      records.append(.workerJoined(worker.id, name: worker.name, worker.session))
      if worker.isDraining { records.append(.workerDraining(worker.id)) }
    }
    // In several facts, so that no single record grows with the million keys that may be kept.
    let kept = keys.kept
    for first in stride(from: 0, to: kept.count, by: Limits.keysPerFact) {
      let end = min(first + Limits.keysPerFact, kept.count)
      records.append(.restoredKeys(Array(kept[first..<end])))
    }
    // Likewise.
    var part: [ReusableOutcome] = []
    for outcome in reusable.all {
      part.append(outcome)
      if part.count < 256 { continue }
      records.append(.restoredReusable(part))
      part = []
    }
    if !part.isEmpty { records.append(.restoredReusable(part)) }
    for graph in endedOrder {
      if let ending = ended[graph] { records.append(.restoredEnding(ending)) }
    }
    var pieces = records.map { Piece.record($0) }
    pieces += graphs.numbers.map { .graph($0) }
    // Again at the end: `place` counts graphs and places on from the counters at the front.
    pieces.append(.record(.restoredCounters(counters)))
    return pieces
  }

  /// Costs the operations of a graph.
  public func records(of piece: Piece) -> [Record] {
    switch piece {
    case .record(let record): return [record]
    case .graph(let number):
      let graph = graphs[number]
      return [
        .submitted(
          graph.id, submission(of: graph), fingerprint: graph.fingerprint, at: graph.submittedAt),
        .restoredGraph(state(of: graph)),
      ]
    }
  }

  /// The operations of a graph, and the bytes that somebody brought with it. Costs its stages, and
  /// what it keeps of its operations.
  public func size(of graph: UInt32) -> (operations: Int, bytes: Int) {
    let graph = graphs[graph]
    var bytes = 0
    for stage in graph.stages {
      bytes += stage.template.payload.count + stage.template.elementArguments.bytes.count
    }
    for output in graph.outputs.values { bytes += output.count }
    for blocks in graph.addedBlocks.values { bytes += blocks.count }
    return (Int(graph.operationCount), bytes)
  }

  /// The submission with the current names of its queues. A restore resolves queues by name, and a
  /// queue may have been renamed since the submission.
  private func submission(of graph: Graph) -> GraphSubmission {
    var submission = graph.fullSubmission
    for position in submission.queues.indices {
      guard case .named = submission.queues[position] else { continue }
      // A removed queue has no members left, and its substitute gets none either.
      let queue = queues.contains(graph.queues[position].number) ? graph.queues[position] : .main
      submission.queues[position] = .named(queues[queue.number].settings.name)
    }
    return submission
  }

  /// The cells as columns, one value for each operation. The flags are cut to their durable byte;
  /// recalls, pins and the mark of a back-off do not outlive a process.
  private func state(of graph: Graph) -> GraphState {
    var state = GraphState(graph: graph.id)
    for index in 0..<graph.operationCount {
      let cell = graph.cell(index)
      state.phases.append(cell.phase.rawValue)
      state.flags.append(
        UInt8(truncatingIfNeeded: cell.flags.intersection(.durable).rawValue))
      state.outcomes.append(cell.ending.rawValue)
      state.attempts.append(cell.attempt)
      // Three counts in one column of 32 bits: 16 of runs, 8 of losses, 8 of failures.
      state.losses.append(
        UInt32(cell.runs) << 16 | UInt32(cell.losses) << 8 | UInt32(cell.failures))
      state.eventSequences.append(cell.eventSequence)
      state.workers.append(cell.worker)
    }
    state.isSuspended = graph.isSuspended
    state.failures = graph.failures
    state.allowedFailures = graph.allowedFailures
    state.failurePolicyTookEffect = graph.failurePolicyTookEffect
    state.scopeFailures = graph.scopeFailures
    state.basePlace = graph.basePlace
    state.submittedAt = graph.submittedAt
    addSparse(of: graph, to: &state)
    return state
  }

  /// The tables that have an entry for few operations. Sorted by index: the same state must give
  /// the same bytes, however its dictionaries arose (G4).
  private func addSparse(of graph: Graph, to state: inout GraphState) {
    for index in graph.changes.indices(below: graph.operationCount) {
      guard let change = graph.changes[index] else { continue }
      state.placeChanges.append(
        GraphState.PlaceChange(index: index, priority: change.priority, place: change.place))
    }
    for index in graph.outputs.keys.sorted() {
      state.outputs.append(
        GraphState.OutputEntry(index: index, output: graph.outputs[index] ?? []))
    }
    for index in graph.addedBlocks.keys.sorted() {
      state.addedBlocks.append(
        GraphState.OutputEntry(index: index, output: graph.addedBlocks[index] ?? []))
    }
    for index in graph.reuseKeys.keys.sorted() {
      state.reuseKeys.append(
        GraphState.OutputEntry(index: index, output: graph.reuseKeys[index]?.bytes ?? []))
    }
    for index in graph.recomputations.keys.sorted() {
      state.recomputations.append(
        GraphState.OutputEntry(index: index, output: graph.recomputations[index]?.bytes ?? []))
    }
    graph.reasons.forEach { index, reason in
      state.reasons.append(GraphState.ReasonEntry(index: index, reason: reason))
    }
    for index in graph.extraDependencies.keys.sorted() {
      for extra in graph.extraDependencies[index] ?? [] where !extra.isOriginal {
        state.addedEdges.append(
          GraphState.AddedEdge(from: extra.on, to: index, policy: extra.policy))
      }
    }
    for index in graph.removedDependencies.keys.sorted() {
      for from in graph.removedDependencies[index] ?? [] {
        state.removedEdges.append(
          GraphState.AddedEdge(from: from, to: index, policy: .finished))
      }
    }
    for index in graph.pauses.keys.sorted() {
      guard let pause = graph.pauses[index] else { continue }
      state.pauses.append(
        GraphState.PauseEntry(index: index, since: pause.since, length: pause.length))
    }
    for index in graph.enqueuedIn.indices(below: graph.operationCount) {
      guard let entry = graph.enqueuedIn[index] else { continue }
      state.enqueuedIn.append(
        GraphState.QueueEntry(index: index, queue: entry.queue, place: entry.place))
    }
  }
}

extension ClusterState {
  /// Restores the state of a snapshot. The state must be empty; call it before any replay. The
  /// facts must be those of `snapshot`, in its order; no event is told. Costs what the snapshot
  /// holds, and a logarithm for each operation in line.
  mutating func restore(_ records: [Record], commit: CommitIndex) {
    var turn = SchedulingTurn()
    turn.isReplay = true
    for record in records {
      switch record {
      case .submitted(let id, let submission, let fingerprint, let at):
        var plan = GraphPlan(submission, pageBits: pageBits, demandsAtOnce: .max)
        place(&plan, as: id, submission, fingerprint, at)
      case .queueCreated(let id, let settings):
        if id != .main {
          addQueue(id, settings, owner: nil)
        } else {
          changeQueue(id, settings, into: &turn)
        }
      // The other facts of a snapshot mean the same as live.
      default: apply(record, into: &turn)
      }
    }
    rebuild()
    // After `rebuild`, since applying the facts above has drawn places and events.
    for case .restoredCounters(let values) in records { counters = values }
    lastCommit = commit
  }

  /// Sets the cells of a graph that `place` has just made. A column of another length than the
  /// graph has operations changes nothing; the codec has checked that all columns are equally long.
  /// An unknown phase reads as waiting.
  mutating func restore(_ state: GraphState) {
    let graph = state.graph.number
    guard graphs.contains(graph), state.phases.count == graphs[graph].operationCount else {
      return
    }
    for index in 0..<graphs[graph].operationCount {
      let at = Int(index)
      graphs[graph].update(index) { cell in
        cell = OperationCell()
        cell.phase = Phase(rawValue: state.phases[at]) ?? .waiting
        cell.flags = OperationCell.Flags(rawValue: UInt16(state.flags[at]))
        cell.ending = OperationCell.Ending(rawValue: state.outcomes[at])
        cell.attempt = state.attempts[at]
        cell.losses = UInt8(truncatingIfNeeded: state.losses[at] >> 8)
        cell.failures = UInt8(truncatingIfNeeded: state.losses[at])
        cell.runs = UInt16(truncatingIfNeeded: state.losses[at] >> 16)
        cell.eventSequence = state.eventSequences[at]
        cell.worker = state.workers[at]
      }
    }
    graphs[graph].isSuspended = state.isSuspended
    graphs[graph].failures = state.failures
    graphs[graph].allowedFailures = state.allowedFailures
    graphs[graph].failurePolicyTookEffect = state.failurePolicyTookEffect
    if state.scopeFailures.count == graphs[graph].scopeFailures.count {
      graphs[graph].scopeFailures = state.scopeFailures
    }
    graphs[graph].basePlace = state.basePlace
    graphs[graph].submittedAt = state.submittedAt
    restoreSparse(state)
  }

  /// Fills the sparse tables.
  private mutating func restoreSparse(_ state: GraphState) {
    let graph = state.graph.number
    for change in state.placeChanges {
      graphs[graph].changes[change.index] = Graph.PlaceChange(
        priority: change.priority, place: change.place)
    }
    for entry in state.outputs {
      keep(entry.output, of: OperationID(graph: state.graph, index: entry.index))
    }
    for entry in state.reuseKeys {
      graphs[graph].reuseKeys[entry.index] = ContentDigest(bytes: entry.output)
    }
    for entry in state.recomputations where entry.index < graphs[graph].operationCount {
      graphs[graph].recomputations[entry.index] = Recomputations(bytes: entry.output)
    }
    for entry in state.addedBlocks { graphs[graph].addedBlocks[entry.index] = entry.output }
    for entry in state.pauses where entry.index < graphs[graph].operationCount {
      graphs[graph].pauses[entry.index] = Graph.Pause(since: entry.since, length: entry.length)
      // Not durable by itself: the scheduler reckons the rest of the pause when it starts (G31).
      graphs[graph].update(entry.index) { $0.flags.insert(.backingOff) }
    }
    restoreReasons(state.reasons, of: graph)
    if !state.addedEdges.isEmpty { noteCiting(graph) }
    for edge in state.addedEdges {
      if edge.from.graph == state.graph, edge.from.index > edge.to {
        graphs[graph].edgesAscend = false
      }
      graphs[graph].extraDependencies[edge.to, default: []].append(
        Graph.ExtraDependency(on: edge.from, policy: edge.policy, isOriginal: false))
    }
    for edge in state.removedEdges {
      graphs[graph].removedDependencies[edge.to, default: []].append(edge.from)
      graphs[graph].extraDependencies[edge.to]?.removeAll {
        $0.isOriginal && $0.on == edge.from
      }
    }
    for entry in state.enqueuedIn {
      graphs[graph].enqueuedIn[entry.index] = Graph.Enqueueing(
        queue: entry.queue, place: entry.place)
    }
  }

  /// Neighbours go in together, so that whole pages share an entry again.
  private mutating func restoreReasons(_ entries: [GraphState.ReasonEntry], of graph: UInt32) {
    var at = 0
    while at < entries.count {
      var end = at + 1
      while end < entries.count, entries[end].index == entries[end - 1].index &+ 1,
        entries[end].reason == entries[at].reason
      { end += 1 }
      let range = entries[at].index..<max(entries[at].index, entries[end - 1].index &+ 1)
      graphs[graph].reasons.set(entries[at].reason, for: range)
      at = end
    }
  }

  // MARK: - What follows from the cells

  /// Computes all derived state: counts, blockers, gates, lines, segments, workers. The order is
  /// forced: edges need the endings of all graphs, gates need the counts of stages, and lines need
  /// gates, blockers and barriers. Costs operations and edges.
  private mutating func rebuild() {
    for number in graphs.numbers { recount(number) }
    for number in graphs.numbers { countOpenDependencies(number) }
    for number in graphs.numbers {
      let cited = graphs[number].extraDependencies
      for index in cited.keys.sorted() { for extra in cited[index] ?? [] { cite(extra.on) } }
    }
    placeBarriers()
    // First counts all, then places them: a barrier must not find its queue empty.
    forEachUnfinished { $0.countIn($1) }
    forEachUnfinished { $0.takePlace($1) }
    for number in queues.numbers { queues[number].toldMembers = queues[number].members }
  }

  /// Counts the stages of one graph anew, and then the gates, which ask other stages for what is
  /// unfinished. Slots are left at 0; `sitDown` counts them.
  private mutating func recount(_ graph: UInt32) {
    graphs[graph].unfinished = 0
    graphs[graph].inFlight = 0
    graphs[graph].counts = StateCounts()
    graphs[graph].externalDependents = [:]
    for stage in graphs[graph].stages.indices {
      var counts = StateCounts()
      var unfinished: UInt32 = 0
      for index in graphs[graph].stages[stage].indices {
        let cell = graphs[graph].cell(index)
        counts[cell.word] += 1
        if cell.phase != .finished { unfinished += 1 }
        if cell.ending.outcome == .cancelled { graphs[graph].sawCancelled = true }
      }
      graphs[graph].stages[stage].counts = counts
      graphs[graph].counts.add(counts)
      graphs[graph].stages[stage].unfinished = unfinished
      graphs[graph].stages[stage].inFlight = 0
      graphs[graph].unfinished += unfinished
    }
    for stage in graphs[graph].stages.indices {
      graphs[graph].stages[stage].gates = UInt32(
        graphs[graph].stages[stage].incoming.count {
          $0.match == .all && graphs[graph].stages[$0.stage].unfinished > 0
        })
    }
  }

  /// Counts the unmet edges of each unfinished operation, and registers it with the other graphs
  /// that it waits for.
  private mutating func countOpenDependencies(_ graph: UInt32) {
    for index in 0..<graphs[graph].operationCount
    where graphs[graph].cell(index).phase != .finished {
      var open: [OperationID] = []
      graphs[graph].forEachDependency(of: index) { on, _ in
        if knownEnding(of: on) == nil { open.append(on) }
      }
      graphs[graph].update(index) { $0.blockers = UInt32(open.count) }
    }
    let to = graphs[graph]
    for index in to.extraDependencies.keys.sorted() where to.cell(index).phase != .finished {
      for extra in to.extraDependencies[index] ?? [] where knownEnding(of: extra.on) == nil {
        graphs[extra.on.graph.number].externalDependents[extra.on.index, default: []].append(
          Graph.ExternalDependent(operation: to.operation(index), policy: extra.policy))
      }
    }
  }

  /// Sets all barriers of all graphs in the order of their places: a segment list can only be
  /// appended to.
  private mutating func placeBarriers() {
    var barriers: [(place: UInt64, id: OperationID, queue: UInt32)] = []
    for number in graphs.numbers {
      for (at, stage) in graphs[number].stages.enumerated() where stage.template.isBarrier {
        let index = stage.firstIndex
        let phase = graphs[number].cell(index).phase
        if phase == .finished || phase == .declared { continue }
        barriers.append(
          (
            graphs[number].enqueuePlace(of: index), graphs[number].operation(index),
            graphs[number].queue(of: index, stage: at).number
          ))
      }
    }
    for barrier in barriers.sorted(by: { $0.place < $1.place }) {
      queues[barrier.queue].addBarrier(barrier.id, place: barrier.place)
    }
  }

  /// Calls `body` for every unfinished operation that is in a queue.
  private mutating func forEachUnfinished(_ body: (inout ClusterState, OperationID) -> Void) {
    for number in graphs.numbers {
      for index in 0..<graphs[number].operationCount {
        let phase = graphs[number].cell(index).phase
        if phase != .finished && phase != .declared { body(&self, graphs[number].operation(index)) }
      }
    }
  }

  /// Counts one operation in its queue, and at its worker.
  private mutating func countIn(_ id: OperationID) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    let stage = graphs[graph].stageNumber(of: id.index)
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    if !graphs[graph].stages[stage].template.isBarrier {
      let place = graphs[graph].enqueuePlace(of: id.index)
      queues[queue].members += 1
      queues[queue].segments[queues[queue].segment(of: place)].unfinished += 1
    }
    if cell.phase == .executing { queues[queue].executing += 1 }
    if cell.worker != 0 { sitDown(id, cell, stage, queue) }
  }

  /// Puts one operation where its cell says: in line, parked, or nowhere.
  private mutating func takePlace(_ id: OperationID) {
    let graph = id.graph.number
    let cell = graphs[graph].cell(id.index)
    let stage = graphs[graph].stageNumber(of: id.index)
    if cell.isCancelled, cell.phase == .waiting || cell.phase == .ready {
      let queue = graphs[graph].queue(of: id.index, stage: stage).number
      queues[queue].cancelledMembers.insert(OperationSpan(id, stage: stage))
    } else if cell.isInLine {
      enterLine(id, stage)
    } else if cell.phase == .waiting {
      var turn = SchedulingTurn()
      turn.isReplay = true
      settle(id, into: &turn)
    }
  }

  /// Counts an operation that a worker has in every count of slots. A worker that is gone is passed
  /// over.
  private mutating func sitDown(
    _ id: OperationID, _ cell: OperationCell, _ stage: Int, _ queue: UInt32
  ) {
    graphs[id.graph.number].inFlight += 1
    graphs[id.graph.number].stages[stage].inFlight += 1
    queues[queue].inFlight += 1
    guard workers.contains(cell.worker) else { return }
    let demandClass = graphs[id.graph.number].demandClass(of: stage)
    workers[cell.worker].taken.count(classes[demandClass].demandClass.demand)
    if cell.isAssigned {
      assign(id, stage, at: cell.worker)
    } else {
      workers[cell.worker].executing += 1
    }
    workers[cell.worker].operations.append(id)
  }
}

extension Graph {
  /// The original submission, with its element edges read back from the table.
  var fullSubmission: GraphSubmission {
    var full = submission
    full.templates = stages.map(\.template)
    for index in 0..<operationCount where !dependencies.isEmpty {
      for position in dependencies.range(of: index) {
        full.elementEdges.from.append(dependencies[position].index)
        full.elementEdges.to.append(index)
        full.elementEdges.policies.append(dependencies[position].policy)
      }
    }
    return full
  }
}
