// Converts the records of one turn ⇄ `ProtoTurn`. Runs of operations stay runs; neighbouring ends
// of attempts share columns.
// A turn is one row of the journal, written with one commit. Its facts keep the order in which they
// were decided, since replay applies them one by one. The state that they lead to is in
// OpClusterScheduling; parts of snapshots are in `SnapshotCodec.swift`.

import OpClusterModel

extension ProtoTurn {
  /// One fact for each record, except that neighbouring ends of attempts become one.
  ///
  /// - Parameter submissions: The submissions that are encoded already.
  init(_ records: [Record], submissions: [GraphID: [UInt8]]) {
    self.init()
    facts.reserveCapacity(records.count)
    var endings = Endings()
    for record in records {
      switch record {
      case .finished(let operation, let result):
        endings.append(operation, result, to: &facts)
      case .attemptFailed(let operation, let result, let at):
        endings.append(operation, result, triedAgainAfter: at, to: &facts)
      // The submission stands as bytes in a field of bytes, so that it is encoded once for the
      // journal and for the history.
      case .submitted(let graph, let submission, let fingerprint, let at):
        endings.flush(to: &facts)
        var fact = ProtoFacts()
        fact.submitted.graph = graph.number
        fact.submitted.submission = data(
          submissions[graph] ?? Wire.encode(submission: submission))
        fact.submitted.fingerprint = fingerprint
        fact.submitted.at = at.milliseconds
        facts.append(fact)
      default:
        endings.flush(to: &facts)
        facts.append(ProtoFacts(record))
      }
    }
    endings.flush(to: &facts)
  }

  /// Order is kept. Throws for a fact without a body, which a later release has written.
  func words() throws(WireError) -> [Record] {
    var records: [Record] = []
    records.reserveCapacity(facts.count)
    for fact in facts {
      switch fact.body {
      case .finished(let endings):
        for (operation, result, _) in try endings.words() {
          records.append(.finished(operation, result))
        }
      case .attemptFailed(let endings):
        for (operation, result, at) in try endings.words() {
          records.append(.attemptFailed(operation, result, at: at))
        }
      case .some(let body): records.append(try Record(body))
      case nil: throw WireError("facts.body", .missing)
      }
    }
    return records
  }
}

/// Collects neighbouring records of ends until a record of another kind comes.
/// Thousands of operations end in one turn, each with a status of its own. In columns each costs a
/// few bytes. Ends that end the operation and ends that do not are different facts, so they never
/// share columns.
private struct Endings {
  /// In the order of the records, as are the two below.
  var operations: [OperationID] = []
  var results: [AttemptResult] = []
  /// Only of attempts after which the operation is tried again.
  var moments: [WallTime] = []
  /// Tells which of the two facts is being collected.
  var endsOperation = true

  /// - Parameter at: When an attempt was taken in after which another follows; nil for the
  /// operation's end.
  mutating func append(
    _ operation: OperationID, _ result: AttemptResult, triedAgainAfter at: WallTime? = nil,
    to facts: inout [ProtoFacts]
  ) {
    // The moment doubles as the kind: only attempts that are tried again have one.
    let endsOperation = at == nil
    if endsOperation != self.endsOperation { flush(to: &facts) }
    self.endsOperation = endsOperation
    operations.append(operation)
    results.append(result)
    if let at { moments.append(at) }
  }

  /// Must run before a record of another kind is appended, or the order of the turn would change.
  mutating func flush(to facts: inout [ProtoFacts]) {
    if operations.isEmpty { return }
    var endings = ProtoEndings()
    endings.operations = ProtoOperations(operations)
    endings.results = ProtoAttemptResults(results)
    // Journals of earlier releases have no moments either, and readers take an absent column for
    // unknown times.
    if moments.contains(where: { $0 != .unknown }) { endings.at = moments.map(\.milliseconds) }
    var fact = ProtoFacts()
    fact.body = endsOperation ? .finished(endings) : .attemptFailed(endings)
    facts.append(fact)
    operations.removeAll(keepingCapacity: true)
    results.removeAll(keepingCapacity: true)
    moments.removeAll(keepingCapacity: true)
  }
}

/// Used for both facts; the moments of ends that end the operation are unknown and unused.
extension ProtoEndings {
  /// Throws if results or moments are not one for each operation.
  fileprivate func words() throws(WireError) -> [(OperationID, AttemptResult, WallTime)] {
    let operations = try operations.words(Limits.operationsPerGraph, "endings.operations")
    let results = try results.words(operations.count, "endings.results")
    if !at.isEmpty { try checkEqual(at.count, operations.count, "endings.at") }
    let moments = at.map { WallTime(milliseconds: $0) }
    return operations.indices.map { position in
      (operations[position], results[position], moments.isEmpty ? .unknown : moments[position])
    }
  }
}

/// The three initialisers and setters split one switch by groups, to keep functions short. Each
/// group passes on what it does not know, and the last one names all cases: a new record does not
/// compile before it has a place.
extension ProtoFacts {
  /// Encodes any record except submissions and the ends of attempts.
  fileprivate init(_ record: Record) {
    self.init()
    switch record {
    // `started` is the field of journals before lives had numbers, so it is only read.
    case .started(let life): begun = life.proto
    case .enqueued(let operations, let queue):
      enqueued.operations = ProtoOperations(operations)
      enqueued.queue = queue.number
    case .queueCreated(let queue, let settings):
      queueCreated = ProtoQueueFact(queue, settings)
    case .queueChanged(let queue, let settings):
      queueChanged = ProtoQueueFact(queue, settings)
    case .queueRemoved(let queue): queueRemoved = queue.number
    case .workerJoined(let worker, let name, let session):
      workerJoined.worker = worker.number
      workerJoined.name = name
      workerJoined.session = session.number
    case .workerLost(let worker): workerLost = worker.number
    case .workerLeft(let worker): workerLeft = worker.number
    case .workerDraining(let worker): workerDraining = worker.number
    case .workerSetAside(let worker, let stage, let reason):
      workerSetAside = ProtoWorkerTrouble(worker, stage)
      workerSetAside.reason = clipped(reason, to: Limits.diagnosticBytes)
    case .workerResumed(let worker, let stage):
      workerResumed = ProtoWorkerTrouble(worker, stage)
    default: setOperations(record)
    }
  }

  /// Facts about operations in bulk, and the parts of snapshots.
  private mutating func setOperations(_ record: Record) {
    switch record {
    case .dispatched(let worker, let runs):
      dispatched.worker = worker.number
      dispatched.runs = runs.proto
    case .recalled(let runs): recalled = runs.proto
    case .executing(let runs): executing = runs.proto
    case .succeeded(let runs): succeeded = runs.proto
    // The older of two fields holds the usual case, one graph; earlier releases read it.
    case .cancelled(let runs, let reason) where runs.count == 1:
      cancelled.runs = runs[0].proto
      cancelled.reason = reason.proto
    case .cancelled(let runs, let reason):
      cancelledGraphs.runs = runs.map(\.proto)
      cancelledGraphs.reason = reason.proto
    case .restoredGraph(let state): restoredGraph = state.proto
    case .restoredEnding(let ended): restoredEnding = ended.proto
    case .restoredCounters(let counters): restoredCounters = counters.proto
    case .restoredKeys(let kept): restoredKeys = ProtoKeptKeys(kept)
    case .keysDated(let at): keysDated = at.milliseconds
    case .endStepsLimited(let steps): endStepsLimited = steps
    case .endsContinued: endsContinued = true
    case .graphsRemoved(let graphs): graphsRemoved.graphs = graphs.map(\.number)
    case .recomputed(let operation, let output):
      recomputed.operation = operation.proto
      recomputed.output = data(output)
    case .madeReusable(let operation, let key):
      madeReusable.operation = operation.proto
      madeReusable.key = data(key.bytes)
    case .restoredReusable(let outcomes): restoredReusable = ProtoReusableOutcomes(outcomes)
    default: setSteering(record)
    }
  }

  /// Facts about single operations and graphs, mostly from requests.
  private mutating func setSteering(_ record: Record) {
    switch record {
    case .dependencyAdded(let from, let to, let policy):
      dependencyAdded.from = from.proto
      dependencyAdded.to = to.proto
      dependencyAdded.policy = policy.proto
    // The policy stays unset: an edge is known by its ends.
    case .dependencyRemoved(let from, let to):
      dependencyRemoved.from = from.proto
      dependencyRemoved.to = to.proto
    case .prioritySet(let runs, let priority):
      prioritySet.runs = runs.proto
      prioritySet.priority = priority.proto
    case .held(let runs): held = runs.proto
    case .released(let runs): released = runs.proto
    case .moved(let runs, let queue):
      moved.runs = runs.proto
      moved.queue = queue.number
    case .blocksAdded(let operation, let blocks):
      blocksAdded.operation = operation.proto
      blocksAdded.blocks = data(blocks)
    case .graphSuspended(let graph, let isSuspended):
      graphSuspended.graph = graph.number
      graphSuspended.isSuspended = isSuspended
    case .started, .submitted, .enqueued, .queueCreated, .queueChanged, .queueRemoved,
      .workerJoined, .workerLost, .workerLeft, .workerDraining, .workerSetAside, .workerResumed,
      .dispatched, .recalled, .executing, .succeeded, .finished, .attemptFailed, .cancelled,
      .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys, .keysDated,
      .endStepsLimited, .endsContinued, .graphsRemoved, .madeReusable, .restoredReusable,
      .recomputed:
      // Unreachable as long as the groups before take exactly these cases.
      preconditionFailure("a record of another group: \(record)")
    }
  }
}

/// A worker that could not start operations of a stage, or of any stage.
extension ProtoWorkerTrouble {
  fileprivate init(_ worker: WorkerID, _ stage: StageName?) {
    self.init()
    self.worker = worker.number
    // An absent stage means every operation, so it must not be set to an empty name.
    if let stage { self.stage = stage.proto }
  }

  fileprivate func stageName() throws(WireError) -> StageName? {
    hasStage ? try StageName(proto: stage) : nil
  }
}

/// Creating and changing a queue record the whole settings, so that replay needs no earlier fact.
extension ProtoQueueFact {
  fileprivate init(_ queue: QueueID, _ settings: QueueSettings) {
    self.init()
    self.queue = queue.number
    self.settings = settings.proto
  }
}

/// Decodes what `init(_: Record)` wrote, and what earlier releases wrote.
extension Record {
  /// Numbers of graphs, queues and workers are taken as they are: only the state knows which exist.
  fileprivate init(_ body: ProtoFacts.OneOf_Body) throws(WireError) {
    switch body {
    // A life of a journal before lives had numbers: its number is 0.
    case .started(let epoch): self = .started(CoordinatorLife(Epoch(epoch)))
    case .begun(let life): self = .started(CoordinatorLife(proto: life))
    case .submitted(let fact):
      self = .submitted(
        GraphID(fact.graph), try Wire.decodeSubmission([UInt8](fact.submission)),
        fingerprint: fact.fingerprint, at: WallTime(milliseconds: fact.at))
    case .enqueued(let fact):
      let operations = try fact.operations.words(Limits.operationsPerGraph, "enqueued")
      self = .enqueued(operations, QueueID(fact.queue))
    case .queueCreated(let fact):
      self = .queueCreated(QueueID(fact.queue), try QueueSettings(proto: fact.settings))
    case .queueChanged(let fact):
      self = .queueChanged(QueueID(fact.queue), try QueueSettings(proto: fact.settings))
    case .queueRemoved(let queue): self = .queueRemoved(QueueID(queue))
    case .workerJoined(let fact):
      let name = try text(fact.name, Limits.nameBytes, "worker_joined.name")
      self = .workerJoined(WorkerID(fact.worker), name: name, WorkerSession(fact.session))
    case .workerLost(let worker): self = .workerLost(WorkerID(worker))
    case .workerLeft(let worker): self = .workerLeft(WorkerID(worker))
    case .workerDraining(let worker): self = .workerDraining(WorkerID(worker))
    case .workerSetAside(let fact):
      let reason = try text(fact.reason, Limits.diagnosticBytes, "worker_set_aside.reason")
      self = .workerSetAside(WorkerID(fact.worker), try fact.stageName(), reason: reason)
    case .workerResumed(let fact):
      self = .workerResumed(WorkerID(fact.worker), try fact.stageName())
    default: self = try Record(operations: body)
    }
  }

  /// Facts about operations in bulk, and the parts of snapshots.
  private init(operations body: ProtoFacts.OneOf_Body) throws(WireError) {
    switch body {
    case .dispatched(let fact):
      self = .dispatched(WorkerID(fact.worker), try OperationRuns(proto: fact.runs))
    case .recalled(let runs): self = .recalled(try OperationRuns(proto: runs))
    case .executing(let runs): self = .executing(try OperationRuns(proto: runs))
    case .succeeded(let runs): self = .succeeded(try OperationRuns(proto: runs))
    // One graph is a list with one entry: both fields become the same record.
    case .cancelled(let fact):
      self = .cancelled(
        [try OperationRuns(proto: fact.runs)], try CancelReason(proto: fact.reason))
    case .cancelledGraphs(let fact):
      self = .cancelled(
        // Each entry is one graph with operations that have not ended, so their limit bounds the
        // list.
        try list(fact.runs, Limits.pendingOperations, "cancelled_graphs.runs"),
        try CancelReason(proto: fact.reason))
    case .restoredGraph(let state): self = .restoredGraph(try GraphState(proto: state))
    case .restoredEnding(let ended): self = .restoredEnding(try EndedGraph(proto: ended))
    case .restoredCounters(let counters):
      self = .restoredCounters(try Counters(proto: counters))
    case .restoredKeys(let kept): self = .restoredKeys(try kept.words())
    case .keysDated(let at): self = .keysDated(WallTime(milliseconds: at))
    case .endStepsLimited(let steps): self = .endStepsLimited(steps)
    case .endsContinued: self = .endsContinued
    case .graphsRemoved(let fact):
      try checkCount(fact.graphs.count, Limits.graphsPerRemoval, "graphs_removed")
      self = .graphsRemoved(fact.graphs.map { GraphID($0) })
    case .madeReusable(let fact):
      self = .madeReusable(
        try OperationID(proto: fact.operation), key: try digest(fact.key, "made_reusable.key"))
    case .restoredReusable(let proto): self = .restoredReusable(try proto.words())
    case .recomputed(let fact):
      self = .recomputed(
        try OperationID(proto: fact.operation),
        output: try opaque(fact.output, Limits.outputBytes, "recomputed.output"))
    default: self = try Record(steering: body)
    }
  }

  /// Facts about single operations and graphs.
  private init(steering body: ProtoFacts.OneOf_Body) throws(WireError) {
    switch body {
    case .dependencyAdded(let edge):
      self = .dependencyAdded(
        from: try OperationID(proto: edge.from), to: try OperationID(proto: edge.to),
        try EdgePolicy(proto: edge.policy, "dependency_added.policy"))
    case .dependencyRemoved(let edge):
      self = .dependencyRemoved(
        from: try OperationID(proto: edge.from), to: try OperationID(proto: edge.to))
    case .prioritySet(let fact):
      self = .prioritySet(
        try fact.hasRuns
          ? OperationRuns(proto: fact.runs) : OperationRuns(OperationID(proto: fact.operation)),
        try Priority(proto: fact.priority, "priority_set.priority"))
    case .held(let runs): self = .held(try OperationRuns(proto: runs))
    case .released(let runs): self = .released(try OperationRuns(proto: runs))
    case .moved(let fact):
      self = .moved(
        try fact.hasRuns
          ? OperationRuns(proto: fact.runs) : OperationRuns(OperationID(proto: fact.operation)),
        QueueID(fact.queue))
    case .blocksAdded(let fact):
      self = .blocksAdded(
        try OperationID(proto: fact.operation),
        try opaque(fact.blocks, Limits.payloadBytes, "blocks_added.blocks"))
    case .graphSuspended(let fact):
      self = .graphSuspended(GraphID(fact.graph), fact.isSuspended)
    case .started, .begun, .submitted, .enqueued, .queueCreated, .queueChanged, .queueRemoved,
      .workerJoined, .workerLost, .workerLeft, .workerDraining, .workerSetAside, .workerResumed,
      .dispatched, .recalled, .executing, .succeeded, .finished, .attemptFailed, .cancelled,
      .cancelledGraphs, .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys,
      .keysDated, .endStepsLimited, .endsContinued, .graphsRemoved, .madeReusable,
      .restoredReusable, .recomputed:
      // Unreachable: `started` to `graphsRemoved` were taken by the groups before, the ends of
      // attempts by `ProtoTurn.words`.
      preconditionFailure("a fact of another group")
    }
  }
}
