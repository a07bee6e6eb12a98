// Converts the parts of a snapshot ⇄ `LiveGraph`, `EndedGraph`, `Counters`.
// A snapshot stands for all turns before it. It consists of records like a turn: for each live
// graph its `submitted` and then its state, what is kept of ended graphs, their keys, and the
// counters.

import OpClusterModel

/// Columns by index of the operation within its graph. The graph's shape is not here: its
/// `submitted` fact goes before it in the snapshot.
extension GraphState: WireConvertible {
  var proto: ProtoLiveGraph {
    var proto = ProtoLiveGraph()
    proto.graph = graph.number
    // One byte per operation each; the columns of numbers below cost one to five.
    proto.phases = data(phases)
    proto.flags = data(flags)
    proto.outcomes = data(outcomes)
    proto.attempts = attempts
    proto.losses = losses
    proto.eventSequences = eventSequences
    proto.workers = workers
    proto.isSuspended = isSuspended
    proto.failures = failures
    proto.allowedFailures = allowedFailures
    proto.failurePolicyTookEffect = failurePolicyTookEffect
    proto.scopeFailures = scopeFailures
    proto.basePlace = basePlace
    // Sparse columns hold an index for each entry, since few operations change their place, queue
    // or priority.
    proto.placeIndexDelta = differences(placeChanges.map(\.index))
    proto.placePriority = placeChanges.map(\.priority.proto)
    proto.place = placeChanges.map(\.place)
    if !outputs.isEmpty { proto.outputs = ProtoIndexedBytes(outputs) }
    proto.reasonIndexDelta = differences(reasons.map(\.index))
    // A cancelled array has the same reason in every element, so reasons are runs.
    var runs = ValueRuns<CancelReason>()
    for entry in reasons { runs.append(entry.reason) }
    proto.reason = runs.values.map(\.proto)
    proto.reasonCount = runs.counts
    if !addedEdges.isEmpty { proto.addedEdges = ProtoLiveEdges(addedEdges) }
    if !removedEdges.isEmpty { proto.removedEdges = ProtoLiveEdges(removedEdges) }
    proto.enqueuedIndexDelta = differences(enqueuedIn.map(\.index))
    proto.enqueuedQueue = enqueuedIn.map(\.queue.number)
    proto.enqueuedPlace = enqueuedIn.map(\.place)
    if !addedBlocks.isEmpty { proto.addedBlocks = ProtoIndexedBytes(addedBlocks) }
    if !reuseKeys.isEmpty { proto.reuseKeys = ProtoIndexedBytes(reuseKeys) }
    if !recomputations.isEmpty { proto.recomputations = ProtoIndexedBytes(recomputations) }
    proto.submittedAt = submittedAt.milliseconds
    proto.pauseIndexDelta = differences(pauses.map(\.index))
    proto.pauseSince = pauses.map(\.since.milliseconds)
    proto.pauseLength = pauses.map(\.length.nanoseconds)
    return proto
  }

  /// Throws for columns of other lengths than `phases`, and for bytes that are no phase or outcome.
  /// Counts of failures are taken as they are.
  init(proto: ProtoLiveGraph) throws(WireError) {
    self.init(graph: GraphID(proto.graph))
    try readColumns(proto)
    isSuspended = proto.isSuspended
    failures = proto.failures
    allowedFailures = proto.allowedFailures
    failurePolicyTookEffect = proto.failurePolicyTookEffect
    try checkCount(proto.scopeFailures.count, Limits.failureScopesPerGraph, "scope_failures")
    scopeFailures = proto.scopeFailures
    basePlace = proto.basePlace
    try readPlaces(proto)
    outputs = try proto.outputs.words(Limits.outputBytes, "graph.outputs")
    let causes: [CancelReason] = try list(
      // The limit is that of operations: each reason needs one.
      proto.reason, Limits.operationsPerGraph, "graph.reason")
    let each = try expanded(
      causes, proto.reasonCount, total: proto.reasonIndexDelta.count, "graph.reason")
    reasons = zip(sums(proto.reasonIndexDelta), each).map { ReasonEntry(index: $0, reason: $1) }
    addedEdges = try proto.addedEdges.words("graph.added_edges")
    removedEdges = try proto.removedEdges.words("graph.removed_edges")
    try readQueues(proto)
    addedBlocks = try proto.addedBlocks.words(Limits.payloadBytes, "graph.added_blocks")
    reuseKeys = try proto.reuseKeys.words(ContentDigest.byteCount, "graph.reuse_keys")
    recomputations = try proto.recomputations.words(8, "graph.recomputations")
    submittedAt = WallTime(milliseconds: proto.submittedAt)
    try readPauses(proto)
  }

  /// Reads columns that have one entry per operation, or none at all.
  /// An empty column means that no operation has anything there. The bytes are checked here since
  /// the state stores them raw, without another look.
  private mutating func readColumns(_ proto: ProtoLiveGraph) throws(WireError) {
    let limit = Limits.operationsPerGraph
    phases = try opaque(proto.phases, limit, "graph.phases")
    flags = try opaque(proto.flags, limit, "graph.flags")
    outcomes = try opaque(proto.outcomes, limit, "graph.outcomes")
    attempts = proto.attempts
    losses = proto.losses
    eventSequences = proto.eventSequences
    workers = proto.workers
    // Each may be absent by itself: a graph without losses has no column of losses.
    let lengths = [
      flags.count, outcomes.count, attempts.count, losses.count, eventSequences.count,
      workers.count,
    ]
    for length in lengths where length != 0 {
      try checkEqual(length, phases.count, "graph.columns")
    }
    // Replay switches over phases; a byte outside of them would be a state that no rule covers.
    if phases.contains(where: { Phase(rawValue: $0) == nil }) {
      throw WireError("graph.phases", .outOfRange)
    }
    if outcomes.contains(where: { $0 != 0 && !isEnding($0) }) {
      throw WireError("graph.outcomes", .outOfRange)
    }
  }

  /// Operations whose priority or place in line was changed after the submission (S51, S52).
  private mutating func readPlaces(_ proto: ProtoLiveGraph) throws(WireError) {
    let field = "graph.place"
    let indices = sums(proto.placeIndexDelta)
    let priorities = try Priority.column(proto.placePriority, field)
    try checkEqual(priorities.count, indices.count, field)
    try checkEqual(proto.place.count, indices.count, field)
    let places = proto.place
    placeChanges = indices.indices.map { at in
      PlaceChange(index: indices[at], priority: priorities[at], place: places[at])
    }
  }

  /// Operations between two attempts: since when they wait, and for how long. Negative lengths are
  /// refused (S150).
  private mutating func readPauses(_ proto: ProtoLiveGraph) throws(WireError) {
    let field = "graph.pause"
    let indices = sums(proto.pauseIndexDelta)
    let (moments, lengths) = (proto.pauseSince, proto.pauseLength)
    try checkEqual(moments.count, indices.count, field)
    try checkEqual(lengths.count, indices.count, field)
    for at in indices.indices {
      pauses.append(
        PauseEntry(
          index: indices[at], since: WallTime(milliseconds: moments[at]),
          length: try span(lengths[at], field)))
    }
  }

  /// Operations that were enqueued after their graph, or moved; with the place that barriers count
  /// by.
  private mutating func readQueues(_ proto: ProtoLiveGraph) throws(WireError) {
    let field = "graph.enqueued"
    let indices = sums(proto.enqueuedIndexDelta)
    let (queues, places) = (proto.enqueuedQueue, proto.enqueuedPlace)
    try checkEqual(queues.count, indices.count, field)
    try checkEqual(places.count, indices.count, field)
    enqueuedIn = indices.indices.map { at in
      QueueEntry(index: indices[at], queue: QueueID(queues[at]), place: places[at])
    }
  }
}

/// One opaque value for some operations: their outputs, or the blocks that were added to them.
extension ProtoIndexedBytes {
  /// - Parameter entries: Ascending by index, so that the differences stay small.
  fileprivate init(_ entries: [GraphState.OutputEntry]) {
    self.init()
    indexDelta = differences(entries.map(\.index))
    bytes = entries.map { data($0.output) }
  }

  /// - Parameter limit: Bytes of one value; the number of values is bounded by the operations of a
  /// graph.
  fileprivate func words(
    _ limit: Int, _ field: String
  ) throws(WireError) -> [GraphState.OutputEntry] {
    try checkCount(indexDelta.count, Limits.operationsPerGraph, field)
    try checkEqual(bytes.count, indexDelta.count, field)
    var entries: [GraphState.OutputEntry] = []
    entries.reserveCapacity(bytes.count)
    for (index, output) in zip(sums(indexDelta), bytes) {
      let output = try opaque(output, limit, field)
      entries.append(GraphState.OutputEntry(index: index, output: output))
    }
    return entries
  }
}

/// Edges that requests added or removed; those of the submission are known from it.
extension ProtoLiveEdges {
  fileprivate init(_ edges: [GraphState.AddedEdge]) {
    self.init()
    from = ProtoOperations(edges.map(\.from))
    to = edges.map(\.to)
    policy = edges.map(\.policy.proto)
  }

  /// Every edge has a policy here, in contrast to a submission's edges, where one may stand for
  /// all.
  fileprivate func words(_ field: String) throws(WireError) -> [GraphState.AddedEdge] {
    let operations = try from.words(Limits.elementEdgesPerGraph, field)
    let policies = try EdgePolicy.column(policy, field)
    try checkEqual(to.count, operations.count, field)
    try checkEqual(policies.count, operations.count, field)
    let to = to
    return operations.indices.map { at in
      GraphState.AddedEdge(from: operations[at], to: to[at], policy: policies[at])
    }
  }
}

/// Kept for edges and continued graphs that later submissions bring (S27). It has no names and no
/// edges: nobody asks for them again.
extension EndedGraph: WireConvertible {
  var proto: ProtoEndedGraph {
    var proto = ProtoEndedGraph()
    proto.graph = graph.number
    // Empty in snapshots of this release, where keys are records of their own.
    proto.key = key.text
    proto.fingerprint = fingerprint
    proto.outcome = outcome.proto
    proto.operationCount = operationCount
    proto.outcomes = data(outcomes)
    if !outputs.isEmpty { proto.outputs = ProtoIndexedBytes(outputs) }
    if !outputReplicas.isEmpty { proto.outputReplicas = data(outputReplicas) }
    // Tells apart an operation that left nothing from one whose output was given up.
    proto.outputsForgotten = outputsAreForgotten
    proto.secrets = secrets
    proto.submitter = submitter
    return proto
  }

  /// Throws `outOfRange` for a byte that is no ending; an operation that has not ended cannot be in
  /// a graph that has.
  init(proto: ProtoEndedGraph) throws(WireError) {
    let count = Int(proto.operationCount)
    try checkCount(count, Limits.operationsPerGraph, "ended.operation_count")
    let outcomes = try opaque(proto.outcomes, max(count, 1), "ended.outcomes")
    // One byte stands for all operations: most graphs end with successes alone.
    if outcomes.count != 1 { try checkEqual(outcomes.count, count, "ended.outcomes") }
    if outcomes.contains(where: { !isEnding($0) }) {
      throw WireError("ended.outcomes", .outOfRange)
    }
    self.init(
      graph: GraphID(proto.graph),
      key: SubmissionKey(try text(proto.key, Limits.ownedSubmissionKeyBytes, "ended.key")),
      fingerprint: proto.fingerprint,
      outcome: try GraphOutcome(proto: proto.outcome, "ended.outcome"),
      operationCount: proto.operationCount, outcomes: outcomes,
      outputs: try proto.outputs.words(Limits.outputBytes, "ended.outputs"))
    // Without any, as of earlier releases, one store has to have them.
    outputReplicas = try opaque(proto.outputReplicas, outputs.count, "ended.output_replicas")
    if !outputReplicas.isEmpty {
      try checkEqual(outputReplicas.count, outputs.count, "ended.output_replicas")
    }
    guard outputReplicas.allSatisfy({ (1...Limits.replicas).contains($0) }) else {
      throw WireError("ended.output_replicas", .outOfRange)
    }
    outputsAreForgotten = proto.outputsForgotten
    secrets = try checkSecrets(proto.secrets, "ended.secrets")
    submitter = try text(proto.submitter, Limits.labelBytes, "ended.submitter")
  }
}

/// Keys outlive the rest of their graphs, in order of their ends: so long a repeated submission is
/// recognised (G19).
extension ProtoKeptKeys {
  init(_ kept: [KeptKey]) {
    self.init()
    key = kept.map(\.key.text)
    graph = kept.map(\.graph.number)
    fingerprint = kept.map(\.fingerprint)
    operations = kept.map(\.operations)
    since = kept.map(\.since.milliseconds)
  }

  /// At most `Limits.keysPerFact`; more keys are several records.
  func words() throws(WireError) -> [KeptKey] {
    let count = key.count
    try checkCount(count, Limits.keysPerFact, "restored_keys.key")
    try checkEqual(graph.count, count, "restored_keys.graph")
    try checkEqual(fingerprint.count, count, "restored_keys.fingerprint")
    try checkEqual(operations.count, count, "restored_keys.operations")
    try checkEqual(since.count, count, "restored_keys.since")
    var kept: [KeptKey] = []
    kept.reserveCapacity(count)
    for at in 0..<count {
      try checkCount(
        Int(operations[at]), Limits.operationsPerGraph, "restored_keys.operations")
      let key = try text(key[at], Limits.ownedSubmissionKeyBytes, "restored_keys.key")
      kept.append(
        KeptKey(
          key: SubmissionKey(key), graph: GraphID(graph[at]), fingerprint: fingerprint[at],
          operations: operations[at], since: WallTime(milliseconds: since[at])))
    }
    return kept
  }
}

/// Numbers that must never be used twice, also not after a restart from this snapshot.
extension Counters: WireConvertible {
  var proto: ProtoCounters {
    var proto = ProtoCounters()
    proto.epoch = epoch.number
    proto.lastGraph = lastGraph
    proto.lastQueue = lastQueue
    proto.lastWorker = lastWorker
    proto.lastPlace = lastPlace
    proto.lastEvent = lastEvent
    proto.endStepsPerTurn = endStepsPerTurn
    // The lives of the coordinator by which peers are told that they know another history.
    for known in lives {
      proto.lifeEpochs.append(known.life.epoch.number)
      proto.lifeNumbers.append(known.life.number)
      proto.commitsBefore.append(known.commitsBefore.number)
      proto.eventsBefore.append(known.eventsBefore)
    }
    return proto
  }
  /// Throws for more lives than are remembered, or for columns of other lengths.
  init(proto: ProtoCounters) throws(WireError) {
    self.init()
    epoch = Epoch(proto.epoch)
    lastGraph = proto.lastGraph
    lastQueue = proto.lastQueue
    lastWorker = proto.lastWorker
    lastPlace = proto.lastPlace
    lastEvent = proto.lastEvent
    endStepsPerTurn = proto.endStepsPerTurn
    let count = proto.lifeEpochs.count
    try checkCount(count, Limits.rememberedLives, "counters.life_epochs")
    try checkEqual(proto.lifeNumbers.count, count, "counters.life_numbers")
    try checkEqual(proto.commitsBefore.count, count, "counters.commits_before")
    try checkEqual(proto.eventsBefore.count, count, "counters.events_before")
    lives = (0..<count).map { at in
      KnownLife(
        CoordinatorLife(Epoch(proto.lifeEpochs[at]), number: proto.lifeNumbers[at]),
        after: CommitIndex(proto.commitsBefore[at]), events: proto.eventsBefore[at])
    }
  }
}

/// Whether the byte is an outcome; the coordinator sets the top bit for a harmless skip.
/// Bit 7 is no outcome: it says that a skip does not count against the graph.
///
/// - Parameter raw: One byte of a column of outcomes.
private func isEnding(_ raw: UInt8) -> Bool { Outcome(rawValue: raw & 0x7F) != nil }

extension ProtoReusableOutcomes {
  init(_ outcomes: [ReusableOutcome]) {
    self.init()
    keys = column(outcomes.map(\.key))
    graph = outcomes.map(\.operation.graph.number)
    index = outcomes.map(\.operation.index)
    output = outcomes.map { data($0.output) }
  }

  func words() throws(WireError) -> [ReusableOutcome] {
    let all = try digests(keys, Limits.reusableOutcomes, "reusable.keys")
    try checkEqual(graph.count, all.count, "reusable.graph")
    try checkEqual(index.count, all.count, "reusable.index")
    try checkEqual(output.count, all.count, "reusable.output")
    var outcomes: [ReusableOutcome] = []
    for (at, key) in all.enumerated() {
      outcomes.append(
        ReusableOutcome(
          key: key, operation: OperationID(graph: GraphID(graph[at]), index: index[at]),
          output: try opaque(output[at], Limits.outputBytes, "reusable.output")))
    }
    return outcomes
  }
}
