// Decodes events from columns: walks the kinds and takes each kind's data from the other columns.
// Checks every length.
// The writer is in `EventColumns.swift`. The coordinator reads its own log of events by it, and
// clients read batches.

import OpClusterModel

extension ProtoEvents {
  /// Keeps runs as they are: at most `limit` events, however few entries stand for them. The limit
  /// is counted over the lengths, so that a few bytes cannot claim a billion events.
  func runs(_ limit: Int) throws(WireError) -> [EventRun] {
    var reader = try EventReader(self, limit)
    return try reader.read()
  }
}

/// A column that is read from the front; each event that has a value takes one.
/// Columns of a kind's data are shorter than the column of kinds: their entries belong to the
/// events of that kind, in order. Running out is an error, and so is a rest.
private struct Supply<Value> {
  private let values: [Value]
  /// The value for every event if the column was left out; nil where the column must be there.
  private let fallback: Value?
  private let field: String
  /// The entries taken so far; `checkUsed` compares it with all of them in the end.
  private var next = 0

  init(_ values: [Value], else fallback: Value? = nil, _ field: String) {
    self.values = values
    // A column with entries has no fallback: it must have one for each event of its kind.
    self.fallback = values.isEmpty ? fallback : nil
    self.field = field
  }

  /// O(1). Throws `unequalColumns` if the events want more than the column has.
  mutating func take() throws(WireError) -> Value {
    if let fallback { return fallback }
    guard next < values.count else { throw WireError(field, .unequalColumns) }
    next += 1
    return values[next - 1]
  }

  /// Throws if entries are left over: then some event was read as another kind than it was written.
  func checkUsed() throws(WireError) { try checkEqual(next, values.count, field) }
}

/// Reads all columns side by side in one pass, O(events). Nothing of it is kept when a length does
/// not fit.
private struct EventReader {
  /// One byte per event: the number of its kind in `proto/`.
  private let kinds: [UInt8]
  /// How many neighbours each event stands for; 1 in batches for clients that take no runs.
  private let lengths: Column<UInt32>
  /// Empty if the sequences have no gaps, which holds for the log but not for a selection of it.
  private let sequenceDeltas: [Int64]
  private let firstSequence: UInt64
  /// One for each run of events with the same commit and time, which is mostly a turn.
  private let stamps: [(commit: CommitIndex, time: WallTime)]
  private let stampCounts: [UInt32]
  /// Operation, graph, queue or worker; operations if the column was left out.
  private let subjects: Column<ProtoEventSubject>
  private var operations: Supply<OperationID>
  private var ownSequences: Supply<UInt32>
  private var things: Supply<UInt32>
  private var outcomes: Supply<ProtoOutcome>
  private var reasons: Supply<CancelReason>
  private var attempts: Supply<UInt32>
  private var workers: Supply<UInt32>
  private var causes: Supply<ProtoFailureCause>
  private var priorities: Supply<ProtoPriority>
  private var submitted: Supply<UInt32>
  private var queues: Supply<ProtoQueueSettings>
  private var names: Supply<String>
  private var dependencies: Supply<OperationID>
  private var dependencyPolicies: Supply<ProtoEdgePolicy>
  private var enqueuedIn: Supply<UInt32>
  private var queueCounts: Supply<UInt32>
  private var stages: Supply<ProtoStageName>
  private var troubles: Supply<String>

  /// Throws for columns of unequal length before anything is built from them. `limit` bounds the
  /// entries here and the events they stand for.
  init(_ proto: ProtoEvents, _ limit: Int) throws(WireError) {
    kinds = try opaque(proto.kinds, limit, "events.kinds")
    let count = kinds.count
    lengths = try Column(proto.length, count: count, else: 1, "events.length")
    sequenceDeltas = proto.sequenceDelta
    if !sequenceDeltas.isEmpty {
      try checkEqual(sequenceDeltas.count, count, "events.sequence_delta")
    }
    firstSequence = proto.firstSequence
    stampCounts = proto.commitCount
    try checkRuns(
      proto.commitDelta.count, stampCounts, total: count, "events.commit_count")
    stamps = try Self.stamps(proto.commitDelta, proto.timeDelta)
    let kindsOfSubject =
      proto.subject.isEmpty && proto.subjectCount.isEmpty
      ? []
      : try expanded(proto.subject, proto.subjectCount, total: count, "events.subject")
    subjects = try Column(kindsOfSubject, count: count, else: .operation, "events.subject")
    operations = Supply(
      try proto.operations.words(limit, "events.operations"), "events.operations")
    ownSequences = Supply(proto.operationSequence, "events.operation_sequence")
    things = Supply(proto.thing, "events.thing")
    // Success is what most operations end with, so a column of successes was left out.
    outcomes = Supply(proto.outcome, else: .succeeded, "events.outcome")
    reasons = Supply(try Self.reasons(proto, limit), "events.reason")
    // The first run of an operation is what most events are about.
    attempts = Supply(proto.attempt, else: 1, "events.attempt")
    workers = Supply(proto.worker, "events.worker")
    causes = Supply(proto.cause, "events.cause")
    priorities = Supply(proto.priority, "events.priority")
    submitted = Supply(proto.operationsSubmitted, "events.operations_submitted")
    queues = Supply(proto.queue, "events.queue")
    names = Supply(proto.workerName, "events.worker_name")
    dependencies = Supply(
      try proto.dependency.words(limit, "events.dependency"), "events.dependency")
    dependencyPolicies = Supply(proto.dependencyPolicy, "events.dependency_policy")
    enqueuedIn = Supply(proto.enqueuedIn, "events.enqueued_in")
    queueCounts = Supply(proto.queueCount, "events.queue_count")
    stages = Supply(proto.stage, "events.stage")
    troubles = Supply(proto.trouble, "events.trouble")
    try checkTotal(limit)
  }

  /// Checks the number of events that runs stand for against the limit.
  /// Length 0 is refused: a run always has its first event.
  private func checkTotal(_ limit: Int) throws(WireError) {
    if lengths.values.isEmpty { return }
    var total = 0
    for length in lengths.values {
      if length == 0 { throw WireError("events.length", .outOfRange) }
      total += Int(length)
      try checkCount(total, limit, "events.length")
    }
  }

  /// Differences wrap, so a stamp before the epoch or behind another clock is decoded and shown as
  /// it is.
  private static func stamps(
    _ commits: [Int64], _ times: [Int64]
  ) throws(WireError) -> [(commit: CommitIndex, time: WallTime)] {
    try checkEqual(times.count, commits.count, "events.time_delta")
    var commit: UInt64 = 0
    var time: Int64 = 0
    return zip(commits, times).map { commitDelta, timeDelta in
      commit &+= UInt64(bitPattern: commitDelta)
      time &+= timeDelta
      return (CommitIndex(commit), WallTime(milliseconds: time))
    }
  }

  /// One reason often covers a whole cancelled graph, so reasons are runs. The sum is checked
  /// before the runs are expanded.
  private static func reasons(
    _ proto: ProtoEvents, _ limit: Int
  ) throws(WireError) -> [CancelReason] {
    let total = proto.reasonCount.reduce(0) { $0 + Int($1) }
    try checkCount(total, limit, "events.reason_count")
    let reasons: [CancelReason] = try list(proto.reason, limit, "events.reason")
    return try expanded(reasons, proto.reasonCount, total: total, "events.reason")
  }

  /// Throws at the first event that cannot be read; what was read before it is dropped.
  mutating func read() throws(WireError) -> [EventRun] {
    var runs: [EventRun] = []
    runs.reserveCapacity(kinds.count)
    var sequence = firstSequence
    var at = 0
    for (stamp, count) in zip(stamps, stampCounts) {
      for _ in 0..<count {
        // A delta counts from the first sequence of the run before, not from its last.
        if !sequenceDeltas.isEmpty && at > 0 {
          sequence = runs[at - 1].first.sequence &+ UInt64(bitPattern: sequenceDeltas[at])
        }
        let event = Event(
          sequence: sequence, commit: stamp.commit, time: stamp.time,
          subject: try subject(subjects[at]), kind: try kind(kinds[at]))
        let run = EventRun(first: event, count: lengths[at])
        try check(run)
        runs.append(run)
        // Without deltas the next run continues where this one ends.
        sequence &+= UInt64(run.count)
        at += 1
      }
    }
    try checkUsed()
    return runs
  }

  /// Checks that a run's last index and last sequence number exist.
  /// Only operations form runs: their indices and sequences count on. A run of another subject, or
  /// one that leaves its type, is malformed.
  private func check(_ run: EventRun) throws(WireError) {
    if run.count == 1 { return }
    let further = run.count - 1
    guard case .operation(let operation, _) = run.first.subject,
      !operation.index.addingReportingOverflow(further).overflow,
      !run.first.sequence.addingReportingOverflow(UInt64(further)).overflow
    else { throw WireError("events.length", .outOfRange) }
  }

  /// Takes the entry of the subject's column; an operation has a sequence of its own besides.
  private mutating func subject(
    _ subject: ProtoEventSubject
  ) throws(WireError) -> Event.Subject {
    switch subject {
    case .operation: .operation(try operations.take(), sequence: try ownSequences.take())
    case .graph: .graph(GraphID(try things.take()))
    case .queue: .queue(QueueID(try things.take()))
    case .worker: .worker(WorkerID(try things.take()))
    case .unspecified, .UNRECOGNIZED:
      throw WireError("events.subject", .unknownValue(subject.rawValue))
    }
  }

  /// Splits the kinds by how often they occur, and to keep each function short: most events are of
  /// the kinds here.
  private mutating func kind(_ number: UInt8) throws(WireError) -> Event.Kind {
    let kind = ProtoEventKind(rawValue: Int(number)) ?? .unspecified
    switch kind {
    case .ready: return .isReady(true)
    case .notReady: return .isReady(false)
    case .executing: return .isExecuting(true)
    case .notExecuting: return .isExecuting(false)
    case .finished: return .isFinished(try Outcome(proto: outcomes.take(), "events.outcome"))
    case .cancelled: return .isCancelled(try reasons.take())
    case .attemptStarted: return .attemptStarted(try attempts.take(), WorkerID(try workers.take()))
    case .attemptEnded:
      return .attemptEnded(try attempts.take(), FailureCause(lenient: try causes.take()))
    case .completion: return .completion
    case .priority:
      return .priority(try Priority(proto: priorities.take(), "events.priority"))
    default: return try rareKind(kind)
    }
  }

  /// The kinds about graphs, queues and workers. The last resort is `steeredKind`, which refuses
  /// unknown numbers.
  private mutating func rareKind(_ kind: ProtoEventKind) throws(WireError) -> Event.Kind {
    switch kind {
    case .graphSubmitted: return .graphSubmitted(operations: try submitted.take())
    case .graphSuspended: return .graphSuspended(true)
    case .graphResumed: return .graphSuspended(false)
    case .graphSucceeded: return .graphFinished(.succeeded)
    case .graphFailed: return .graphFinished(.failed)
    case .graphCancelled: return .graphFinished(.cancelled)
    case .queueCreated: return .queueCreated(try QueueSettings(proto: queues.take()))
    case .queueChanged: return .queueChanged(try QueueSettings(proto: queues.take()))
    case .queueRemoved: return .queueRemoved
    case .workerJoined:
      let name = try text(names.take(), Limits.nameBytes, "events.worker_name")
      return .workerJoined(name: name)
    case .workerLost: return .workerLost
    case .workerDraining: return .workerDraining
    case .workerLeft: return .workerLeft
    case .workerSetAside:
      let reason = try text(troubles.take(), Limits.diagnosticBytes, "events.trouble")
      return .workerSetAside(try stage(), reason: reason)
    case .workerResumed: return .workerResumed(try stage())
    default: return try steeredKind(kind)
    }
  }

  /// Returns nil for any stage.
  /// Graph 0 stands for any stage: a worker that can start nothing is set aside as a whole.
  private mutating func stage() throws(WireError) -> StageName? {
    let stage = try stages.take()
    return stage.graph == 0 ? nil : try StageName(proto: stage)
  }

  /// Decodes the kinds of steering events.
  private mutating func steeredKind(_ kind: ProtoEventKind) throws(WireError) -> Event.Kind {
    switch kind {
    case .held: return .isHeld(true)
    case .released: return .isHeld(false)
    case .dependencyAdded:
      let policy = try EdgePolicy(proto: dependencyPolicies.take(), "events.dependency_policy")
      return .dependencyAdded(try dependencies.take(), policy)
    case .dependencyRemoved: return .dependencyRemoved(try dependencies.take())
    case .enqueued: return .enqueued(QueueID(try enqueuedIn.take()))
    case .queueCount: return .queueCount(try queueCounts.take())
    default: throw WireError("events.kinds", .unknownValue(kind.rawValue))
    }
  }

  /// Every column at once: an entry left over anywhere refuses the message.
  private func checkUsed() throws(WireError) {
    try operations.checkUsed()
    try ownSequences.checkUsed()
    try things.checkUsed()
    try outcomes.checkUsed()
    try reasons.checkUsed()
    try attempts.checkUsed()
    try workers.checkUsed()
    try causes.checkUsed()
    try priorities.checkUsed()
    try submitted.checkUsed()
    try queues.checkUsed()
    try names.checkUsed()
    try dependencies.checkUsed()
    try dependencyPolicies.checkUsed()
    try enqueuedIn.checkUsed()
    try queueCounts.checkUsed()
    try stages.checkUsed()
    try troubles.checkUsed()
  }
}
