// Converts the coordinator's replies and notifications ⇄ `ClientAnswer`.
// Answers have the number of their request; events and heartbeats come by themselves. Rows are in
// `RowCodec.swift`, refusals in `ThingsCodec.swift`.

import OpClusterModel

/// Advice needs words as well as a code, so encoding takes those for people at a shell (G32).
extension ClientAnswer: WireWorded {
  func proto(_ wording: (Advice) -> String) -> ProtoClientAnswer {
    var proto = ProtoClientAnswer()
    switch self {
    case .welcome(let version, let build, let life):
      var welcome = ProtoClientWelcome()
      welcome.version = version
      welcome.build = build
      // Two fields for one life: the epoch was there before lives had numbers.
      welcome.epoch = life.epoch.number
      welcome.life = life.number
      proto.welcome = welcome
    case .reply(let request, let reply):
      var body = ProtoReply()
      body.request = request.number
      body.body = reply.body(wording)
      proto.reply = body
    case .events(let batch): proto.events = batch.proto
    // A heartbeat says how long answers wait for the disk, so that a client can tell a slow disk
    // from a dead coordinator.
    case .heartbeat(let diskWait):
      var heartbeat = ProtoClientHeartbeat()
      heartbeat.diskWait = diskWait.nanoseconds
      proto.heartbeat = heartbeat
    }
    return proto
  }

  /// A client that cannot read an answer gives up the connection, and asks again on a new one what
  /// may be repeated (G34).
  init(proto: ProtoClientAnswer) throws(WireError) {
    switch proto.body {
    case .welcome(let welcome):
      self = .welcome(
        version: welcome.version, build: try text(welcome.build, Limits.labelBytes, "build"),
        CoordinatorLife(Epoch(welcome.epoch), number: welcome.life))
    case .reply(let reply):
      guard let body = reply.body else { throw WireError("reply.body", .missing) }
      self = .reply(RequestID(reply.request), try ClientReply(body))
    case .events(let batch): self = .events(try EventBatch(proto: batch))
    case .heartbeat(let heartbeat):
      self = .heartbeat(diskWait: try span(heartbeat.diskWait, "heartbeat.disk_wait"))
    case nil: throw WireError("body", .missing)
    }
  }
}

/// A batch belongs to one subscription. `first` counts what was sent on it before, so that a loss
/// is seen.
extension EventBatch: WireConvertible {
  var proto: ProtoEventBatch {
    var proto = ProtoEventBatch()
    proto.subscription = subscription
    proto.first = first
    if !runs.isEmpty { proto.events = ProtoEvents(runs: runs) }
    proto.caughtUp = caughtUp
    proto.resumeAt = resumeAt
    return proto
  }
  /// At most `Limits.entriesPerMessage` events, counted over the lengths of runs.
  init(proto: ProtoEventBatch) throws(WireError) {
    self.init(
      subscription: proto.subscription, first: proto.first,
      runs: try proto.events.runs(Limits.entriesPerMessage), caughtUp: proto.caughtUp,
      resumeAt: proto.resumeAt)
  }
}

/// Two functions each way: single values first, pages of rows in the second.
extension ClientReply {
  fileprivate func body(_ wording: (Advice) -> String) -> ProtoReply.OneOf_Body {
    switch self {
    case .refused(let refusal): return .refused(refusal.proto(wording))
    case .accepted(let graph, let operations, let repeated):
      var proto = ProtoAccepted()
      proto.graph = graph.number
      proto.operations = operations
      proto.repeated = repeated
      return .accepted(proto)
    // The number of the commit with the effect: once it is known, the effect is durable.
    case .done(let commit): return .done(commit.number)
    case .cancelled(let verdicts, let counts):
      // At most the first verdicts; the counts are of those that were left out as well.
      var proto = ProtoCancelled()
      proto.operations = ProtoOperations(verdicts.map(\.operation))
      proto.verdict = verdicts.map(\.verdict.proto)
      proto.total = counts.total
      proto.count = counts.counts
      return .cancelled(proto)
    case .suspended(let executing): return .suspended(ProtoOperations(executing))
    case .effect(let happened): return .effect(happened)
    case .changed(let changed, let unchanged):
      var proto = ProtoChanged()
      proto.changed = changed
      proto.unchanged = unchanged
      return .changed(proto)
    case .submission(let submission, let outcomes):
      return .submission(ProtoSubmittedGraph(submission, outcomes))
    case .pong(let commit, let epoch, let lastEvent):
      var proto = ProtoPong()
      proto.commit = commit.number
      proto.epoch = epoch.number
      proto.lastEvent = lastEvent
      return .pong(proto)
    case .log(let chunk): return .log(chunk.proto)
    case .located(let holders): return .located(ProtoContentHolders(holders))
    case .placed(let places): return .placed(ProtoContentHolders(places))
    case .reusable(let runs, let skipped):
      var proto = ProtoReusable()
      proto.reused = runs.proto
      proto.skipped = skipped.proto
      return .reusable(proto)
    case .subscribed(let since): return .subscribed(since)
    case .enrolled(let name, let role):
      var proto = ProtoEnrolled()
      proto.name = name
      proto.role = role.rawValue
      return .enrolled(proto)
    case .explanations(let rows, let more):
      var proto = ProtoExplanations()
      proto.rows = rows.map { $0.proto(wording) }
      proto.more = more
      return .explanations(proto)
    case .graphs, .operations, .structure, .queues, .workers, .configuration:
      return rowsBody
    }
  }

  /// Pages say whether another follows: rows alone cannot, as the last page may be full.
  private var rowsBody: ProtoReply.OneOf_Body {
    switch self {
    case .graphs(let rows, let more):
      var proto = ProtoGraphRows()
      proto.rows = rows.map(\.proto)
      proto.more = more
      return .graphs(proto)
    case .operations(let rows, let more):
      var proto = ProtoOperationRows()
      proto.rows = rows.map(\.proto)
      proto.more = more
      return .operations(proto)
    case .structure(let structure): return .structure(structure.proto)
    case .queues(let rows, let more):
      var proto = ProtoQueueRows()
      proto.rows = rows.map(\.proto)
      proto.more = more
      return .queues(proto)
    case .workers(let rows):
      var proto = ProtoWorkerRows()
      // Workers that are down stand in a list of their own, which clients of earlier releases do
      // not know: they take them for gone.
      proto.rows = rows.filter { $0.state != .down }.map(\.proto)
      proto.down = rows.filter { $0.state == .down }.map(\.proto)
      return .workers(proto)
    case .configuration(let values): return .configuration(values.proto)
    case .refused, .accepted, .done, .cancelled, .suspended, .effect, .changed, .submission,
      .pong, .log, .located, .placed, .reusable, .subscribed, .enrolled, .explanations:
      preconditionFailure("not a reply with rows: \(self)")
    }
  }

  /// Limits of pages are checked as for requests: a client trusts its coordinator no more than it
  /// must.
  fileprivate init(_ body: ProtoReply.OneOf_Body) throws(WireError) {
    switch body {
    case .refused(let refusal): self = .refused(try Refusal(proto: refusal))
    case .accepted(let proto):
      self = .accepted(
        GraphID(proto.graph), operations: proto.operations, repeated: proto.repeated)
    case .done(let commit): self = .done(CommitIndex(commit))
    case .cancelled(let proto):
      let verdicts = try proto.words()
      self = .cancelled(verdicts, try proto.counts(of: verdicts))
    case .suspended(let executing):
      self = .suspended(
        executing: try executing.words(Limits.operationsPerGraph, "suspended"))
    case .effect(let happened): self = .effect(happened)
    case .changed(let proto): self = .changed(proto.changed, unchanged: proto.unchanged)
    // The outcomes are runs, which expand to as many entries as the submission has operations: a
    // wrong sum is refused.
    case .submission(let proto):
      let submission = try GraphSubmission(proto: proto.submission)
      let outcomes = try proto.outcomeWords(operations: submission.operationCount)
      self = .submission(submission, outcomes: outcomes)
    case .pong(let proto):
      self = .pong(
        commit: CommitIndex(proto.commit), epoch: Epoch(proto.epoch),
        lastEvent: proto.lastEvent)
    case .log(let chunk): self = .log(try LogChunk(proto: chunk))
    case .located(let proto): self = .located(try proto.words(Limits.rowsPerReply))
    case .placed(let proto): self = .placed(try proto.words(Limits.rowsPerReply))
    case .reusable(let proto):
      self = .reusable(
        try OperationRuns(proto: proto.reused), skipped: try OperationRuns(proto: proto.skipped))
    case .subscribed(let since): self = .subscribed(since: since)
    case .enrolled(let proto):
      // A role travels as its name; an unknown one is an error, as it decides what the key may do.
      guard let role = Role(rawValue: proto.role) else {
        throw WireError("enrolled.role", .outOfRange)
      }
      self = .enrolled(name: try text(proto.name, Limits.nameBytes, "enrolled.name"), role: role)
    case .graphs(let proto):
      self = .graphs(try list(proto.rows, Limits.rowsPerReply, "graphs"), more: proto.more)
    case .operations(let proto):
      let rows: [OperationRow] = try list(proto.rows, Limits.rowsPerReply, "operations")
      self = .operations(rows, more: proto.more)
    case .structure(let structure): self = .structure(try GraphStructure(proto: structure))
    case .explanations(let proto):
      let rows: [Explanation] = try list(proto.rows, Limits.rowsPerReply, "explanations")
      self = .explanations(rows, more: proto.more)
    case .queues(let proto):
      self = .queues(try list(proto.rows, Limits.queues, "queues"), more: proto.more)
    case .workers(let proto):
      let rows: [WorkerRow] = try list(proto.rows, Limits.workers, "workers")
      // Those that are down come last, whatever the order was.
      self = .workers(rows + (try list(proto.down, Limits.lostWorkersListed, "workers.down")))
    case .configuration(let values):
      self = .configuration(try ConfigurationValues(proto: values))
    }
  }
}

/// For those who run a graph again: the whole submission, and how each operation ended.
extension ProtoSubmittedGraph {
  fileprivate init(_ submission: GraphSubmission, _ outcomes: [UInt8]) {
    self.init()
    self.submission = submission.proto
    var runs = ValueRuns<UInt8>()
    for raw in outcomes { runs.append(raw) }
    outcome = runs.values.map { ProtoOutcome(rawValue: Int($0)) ?? .unspecified }
    outcomeCount = runs.counts
  }

  /// One raw `Outcome` per operation; 0 for an operation that has not ended.
  fileprivate func outcomeWords(operations: Int) throws(WireError) -> [UInt8] {
    let field = "submission.outcome"
    var raw: [UInt8] = []
    for proto in outcome {
      raw.append(proto == .unspecified ? 0 : try Outcome(proto: proto, field).rawValue)
    }
    return try expanded(raw, outcomeCount, total: operations, field)
  }
}

/// Verdicts are in the order of operations, one for each.
extension ProtoCancelled {
  fileprivate func words() throws(WireError) -> [CancelVerdict] {
    let operations = try operations.words(Limits.operationsPerGraph, "cancelled.operations")
    let verdicts = try CancelVerdict.Verdict.column(verdict, "cancelled.verdict")
    try checkEqual(verdicts.count, operations.count, "cancelled.verdict")
    return zip(operations, verdicts).map { CancelVerdict(operation: $0, verdict: $1) }
  }

  /// Those of the listed verdicts if a coordinator of an earlier release sent none.
  fileprivate func counts(of verdicts: [CancelVerdict]) throws(WireError) -> VerdictCounts {
    if count.isEmpty { return VerdictCounts(of: verdicts) }
    try checkEqual(count.count, CancelVerdict.Verdict.allCases.count, "cancelled.count")
    return VerdictCounts(count) ?? VerdictCounts(of: verdicts)
  }
}
