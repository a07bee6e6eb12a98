// Converts rows of replies ⇄ their messages. Each row is a message of its own: a page has at most
// `Limits.rowsPerReply` rows, so this is cheap enough, and clients in other languages read it
// easily.
// Clients are other programs and other releases: what a row does not say is absent or empty, and
// means "none" or "not known", never a value that could be mistaken for one.

import OpClusterModel

/// One count per state, the same order for graphs and stages.
extension StateCounts {
  /// Counts stand in the order of `StateWord.allCases`, as the numbers on the wire do.
  /// A shorter list is one of an earlier release, whose further states have no operations. Counts
  /// are clamped to what a graph can have, so that their sum does not overflow.
  fileprivate init(_ counts: [UInt32], _ field: String) throws(WireError) {
    self.init()
    try checkCount(counts.count, StateWord.allCases.count, field)
    for (word, count) in zip(StateWord.allCases, counts) {
      self[word] = min(count, UInt32(Limits.operationsPerGraph))
    }
  }
}

/// Times are by the coordinator's wall clock, in milliseconds since 1970; 0 where a graph has not
/// ended.
extension GraphRow: WireConvertible {
  var proto: ProtoGraphRow {
    var proto = ProtoGraphRow()
    proto.graph = graph.number
    proto.name = name
    proto.state = state.proto
    // All counts go out, also those that are 0: their position is their state.
    proto.counts = counts.counts
    proto.submittedAt = submittedAt.milliseconds
    proto.finishedAt = finishedAt.milliseconds
    proto.labels = labels.map(\.proto)
    proto.allowedFailures = allowedFailures
    return proto
  }
  /// Throws for a state that this release does not know: no other word would be true.
  init(proto: ProtoGraphRow) throws(WireError) {
    self.init(
      graph: GraphID(proto.graph), name: try text(proto.name, Limits.nameBytes, "graph.name"),
      state: try State(proto: proto.state, "graph.state"),
      counts: try StateCounts(proto.counts, "graph.counts"),
      submittedAt: WallTime(milliseconds: proto.submittedAt),
      finishedAt: WallTime(milliseconds: proto.finishedAt),
      labels: try list(proto.labels, Limits.labelsPerThing, "graph.labels"),
      allowedFailures: proto.allowedFailures)
  }
}

/// Some fields are filled for single operations only, since they cost a look into the history or
/// the submission: the attempts, the command, what stands in the way.
extension OperationRow: WireConvertible {
  var proto: ProtoOperationRow {
    var proto = ProtoOperationRow()
    proto.operation = id.proto
    proto.name = name
    if let index { proto.index = index }
    proto.state = state.proto
    proto.isReady = isReady
    proto.isExecuting = isExecuting
    proto.isFinished = isFinished
    proto.isCancelled = isCancelled
    // Unset until the operation has ended; 0 means that on the wire.
    if let outcome { proto.outcome = outcome.proto }
    if let reason { proto.reason = reason.proto }
    proto.queue = queue
    proto.priority = priority.proto
    proto.qos = qos.proto
    proto.workerName = workerName
    proto.attempt = attempt
    if !needs.isEmpty {
      proto.needs = ProtoOperations(needs.map(\.id))
      proto.needsShown = needs.map(\.shown)
      proto.needsPolicy = needs.map(\.policy.proto)
    }
    // One result in a column, so that its layout is the same wherever results occur.
    if let result { proto.result = ProtoAttemptResults([result]) }
    proto.submittedAt = submittedAt.milliseconds
    proto.readyAt = readyAt.milliseconds
    proto.startedAt = startedAt.milliseconds
    proto.finishedAt = finishedAt.milliseconds
    if !attempts.isEmpty { proto.attempts = ProtoAttemptHistories(attempts) }
    if !command.isEmpty { proto.command = data(command) }
    if !commandArgument.isEmpty { proto.commandArgument = data(commandArgument) }
    if !blockedBy.isEmpty { proto.blockedBy = ProtoOperations(blockedBy) }
    if let progress { proto.progress = progress.proto }
    // Presence says that the hold opens by itself.
    if let notBefore { proto.notBefore = notBefore.milliseconds }
    return proto
  }

  /// Every text and list has a limit, also for a client, which may talk to a coordinator of another
  /// release.
  init(proto: ProtoOperationRow) throws(WireError) {
    self.init(
      id: try OperationID(proto: proto.operation),
      name: try text(proto.name, Limits.nameBytes, "operation.name"),
      index: proto.hasIndex ? proto.index : nil,
      state: try StateWord(proto: proto.state, "operation.state"))
    isReady = proto.isReady
    isExecuting = proto.isExecuting
    isFinished = proto.isFinished
    isCancelled = proto.isCancelled
    outcome =
      proto.outcome == .unspecified
      ? nil : try Outcome(proto: proto.outcome, "operation.outcome")
    reason = proto.hasReason ? try CancelReason(proto: proto.reason) : nil
    queue = try text(proto.queue, WireLimits.queueNameBytes, "operation.queue")
    priority = try Priority(
      proto: proto.priority, unspecified: .normal, "operation.priority")
    qos = try QualityOfService(proto: proto.qos, unspecified: .default, "operation.qos")
    workerName = try text(proto.workerName, Limits.nameBytes, "operation.worker_name")
    attempt = proto.attempt
    needs = try proto.needWords()
    result = proto.hasResult ? try proto.result.words(1, "operation.result")[0] : nil
    submittedAt = WallTime(milliseconds: proto.submittedAt)
    readyAt = WallTime(milliseconds: proto.readyAt)
    startedAt = WallTime(milliseconds: proto.startedAt)
    finishedAt = WallTime(milliseconds: proto.finishedAt)
    attempts = try proto.attempts.words(WireLimits.attemptsPerRow)
    command = try opaque(proto.command, Limits.payloadBytes, "operation.command")
    commandArgument = try opaque(
      proto.commandArgument, Limits.elementArgumentBytes, "operation.command_argument")
    blockedBy = try proto.blockedBy.words(WireLimits.blockersPerRow, "operation.blocked_by")
    progress = proto.hasProgress ? try Progress(proto: proto.progress) : nil
    notBefore = proto.hasNotBefore ? WallTime(milliseconds: proto.notBefore) : nil
  }
}

/// A running attempt says it of itself, and the newest replaces all before.
extension OperationRow.Progress: WireConvertible {
  var proto: ProtoOperationRow.Progress {
    var proto = ProtoOperationRow.Progress()
    proto.fraction = fraction
    proto.text = clipped(text, to: Limits.reasonBytes)
    return proto
  }
  /// NaN fails every comparison, so this check refuses it too (G33).
  /// The fraction is 0 to 1; the text may be empty.
  init(proto: ProtoOperationRow.Progress) throws(WireError) {
    guard proto.fraction >= 0 && proto.fraction <= 1 else {
      throw WireError("operation.progress.fraction", .outOfRange)
    }
    self.init(
      fraction: proto.fraction,
      text: try OpClusterWire.text(
        proto.text, Limits.reasonBytes, "operation.progress.text"))
  }
}

/// At most `WireLimits.needsPerRow` of the dependencies; an operation with more shows the first.
extension ProtoOperationRow {
  /// Each dependency has its path as people read it, since its graph may be another one.
  fileprivate func needWords() throws(WireError) -> [OperationRow.Need] {
    let field = "operation.needs"
    let operations = try needs.words(WireLimits.needsPerRow, field)
    let shown = try texts(
      needsShown, operations.count, bytes: WireLimits.sentenceBytes, "operation.needs_shown")
    let policies = try EdgePolicy.column(needsPolicy, "operation.needs_policy")
    try checkEqual(shown.count, operations.count, field)
    try checkEqual(policies.count, operations.count, field)
    return operations.indices.map { at in
      OperationRow.Need(id: operations[at], shown: shown[at], policy: policies[at])
    }
  }
}

/// A drawing of the graph needs no more: rows by stage rather than by operation, so that a graph of
/// a million elements is a few rows.
extension GraphStructure: WireConvertible {
  var proto: ProtoGraphStructure {
    var proto = ProtoGraphStructure()
    proto.row = row.proto
    proto.stages = stages.map(\.proto)
    if !groupEdges.isEmpty { proto.groupEdges = ProtoGroupEdges(groupEdges) }
    // The true number of edges stands beside them, so that the reader knows how many were left out.
    proto.elementEdges = ProtoElementEdges(elementEdges)
    proto.elementEdgeCount = elementEdgeCount
    proto.lastEvent = lastEvent
    return proto
  }
  /// At most `WireLimits.edgesShown` edges between elements. A coordinator that sends more is
  /// refused.
  init(proto: ProtoGraphStructure) throws(WireError) {
    self.init(
      row: try GraphRow(proto: proto.row),
      stages: try list(proto.stages, Limits.templatesPerGraph, "structure.stages"),
      groupEdges: try proto.groupEdges.words(),
      elementEdges: try proto.elementEdges.words(WireLimits.edgesShown),
      elementEdgeCount: proto.elementEdgeCount)
    lastEvent = proto.lastEvent
  }
}

/// A stage is a template with its counts. `work` is a text for people: a command line, or a type's
/// name.
extension GraphStructure.Stage: WireConvertible {
  var proto: ProtoGraphStructure.Stage {
    var proto = ProtoGraphStructure.Stage()
    proto.name = name
    proto.count = count
    proto.firstIndex = firstIndex
    proto.isArray = isArray
    if !indexRuns.isEmpty { proto.indexRuns = ProtoIndexRuns(indexRuns) }
    proto.queue = queue
    proto.work = work
    proto.counts = counts.counts
    if demand != .none { proto.demand = ProtoResources(demand) }
    if !requirements.isEmpty { proto.requirements = requirements.map(\.proto) }
    return proto
  }
  init(proto: ProtoGraphStructure.Stage) throws(WireError) {
    self.init(
      name: try text(proto.name, Limits.nameBytes, "stage.name"), count: proto.count,
      firstIndex: proto.firstIndex, isArray: proto.isArray,
      indexRuns: try proto.indexRuns.words("stage.index_runs"),
      queue: try text(proto.queue, WireLimits.queueNameBytes, "stage.queue"),
      work: try text(proto.work, WireLimits.sentenceBytes, "stage.work"),
      counts: try StateCounts(proto.counts, "stage.counts"))
    demand = try proto.demand.words("stage.demand")
    requirements = try list(proto.requirements, Limits.labelsPerThing, "stage.requirements")
  }
}

/// Lines are sentences for people at a shell. Clients that know codes put the advice into words of
/// their own (G32).
extension Explanation: WireWorded {
  func proto(_ wording: (Advice) -> String) -> ProtoExplanations.Row {
    var proto = ProtoExplanations.Row()
    proto.operation = operation.proto
    proto.shown = shown
    proto.state = state.proto
    for (at, line) in lines.enumerated() {
      // Always the whole sentence, for clients that do not know the code.
      proto.lines.append(line.sentence(wording))
      if let meaning = line.meaning.proto {
        var marked = ProtoExplanations.LineMeaning()
        marked.line = UInt32(clamping: at)
        marked.meaning = meaning
        proto.meanings.append(marked)
      }
      // Without a code there is nothing to say beside the sentence.
      guard let advice = line.hint.code else { continue }
      var advised = ProtoExplanations.AdvisedLine()
      advised.line = UInt32(clamping: at)
      advised.text = clipped(line.text, to: WireLimits.sentenceBytes)
      advised.advice = advice
      proto.advised.append(advised)
    }
    return proto
  }
  /// A position of advice outside of the lines is malformed; advice of an unknown code is no error.
  init(proto: ProtoExplanations.Row) throws(WireError) {
    let sentences = try texts(
      proto.lines, WireLimits.sentencesPerExplanation, bytes: WireLimits.sentenceBytes,
      "explanation.lines")
    var lines = sentences.map { Line($0) }
    try checkCount(proto.advised.count, lines.count, "explanation.advised")
    for advised in proto.advised {
      let text = try text(advised.text, WireLimits.sentenceBytes, "explanation.advised.text")
      guard lines.indices.contains(Int(advised.line)) else {
        throw WireError("explanation.advised.line", .outOfRange)
      }
      // Without a code that is known here, the whole sentence stays.
      if let hint = try Advice(code: advised.advice) {
        lines[Int(advised.line)] = Line(text, hint: hint)
      }
    }
    try checkCount(proto.meanings.count, lines.count, "explanation.meanings")
    for marked in proto.meanings {
      guard lines.indices.contains(Int(marked.line)) else {
        throw WireError("explanation.meanings.line", .outOfRange)
      }
      lines[Int(marked.line)].meaning = Meaning(proto: marked.meaning)
    }
    self.init(
      operation: try OperationID(proto: proto.operation),
      shown: try text(proto.shown, WireLimits.sentenceBytes, "explanation.shown"),
      state: try StateWord(proto: proto.state, "explanation.state"), lines: lines)
  }
}

extension Explanation.Meaning {
  /// The meaning on the wire; nil for the usual one, which is not sent.
  fileprivate var proto: ProtoExplanations.LineMeaning.Meaning? {
    switch self {
    case .reason: nil
    case .unplaceable: .unplaceable
    case .ended: .ended
    }
  }

  /// A meaning that a later release has added is a reason like any other here.
  fileprivate init(proto: ProtoExplanations.LineMeaning.Meaning) {
    switch proto {
    case .unplaceable: self = .unplaceable
    case .ended: self = .ended
    case .unspecified, .UNRECOGNIZED: self = .reason
    }
  }
}

/// Text and advice are parted by a semicolon, as in all sentences of `why`.
extension Explanation.Line {
  /// The line with its advice in words.
  fileprivate func sentence(_ wording: (Advice) -> String) -> String {
    let sentence = hint.isEmpty ? text : "\(text); \(hint.words(wording))"
    return clipped(sentence, to: WireLimits.sentenceBytes)
  }
}

/// Numbers as of the answer. A queue of a graph is listed as `GRAPH/name` by its settings.
extension QueueRow: WireConvertible {
  var proto: ProtoQueueRows.Row {
    var proto = ProtoQueueRows.Row()
    proto.queue = queue.number
    proto.settings = settings.proto
    proto.operationCount = operationCount
    proto.executing = executing
    proto.dispatched = dispatched
    proto.barriers = barriers
    return proto
  }
  init(proto: ProtoQueueRows.Row) throws(WireError) {
    self.init(
      queue: QueueID(proto.queue), settings: try QueueSettings(proto: proto.settings),
      operationCount: proto.operationCount, executing: proto.executing,
      dispatched: proto.dispatched, barriers: proto.barriers)
  }
}

/// `executing` and `held` count operations. Workers that are down have the time and the reason of
/// their loss.
extension WorkerRow: WireConvertible {
  var proto: ProtoWorkerRows.Row {
    var proto = ProtoWorkerRows.Row()
    proto.worker = worker.number
    proto.name = name
    proto.state = state.proto
    proto.capacity = ProtoResources(capacity)
    proto.free = ProtoResources(free)
    proto.executing = executing
    proto.held = held
    proto.labels = labels.map(\.proto)
    proto.types = types.map(\.proto)
    if let lastHeard { proto.lastHeardNanoseconds = lastHeard.nanoseconds }
    proto.unkillable = unkillable
    proto.trouble = clipped(trouble, to: Limits.reasonBytes)
    proto.setAside = isSetAside
    proto.downSince = downSince.milliseconds
    proto.downReason = clipped(downReason, to: Limits.reasonBytes)
    return proto
  }
  init(proto: ProtoWorkerRows.Row) throws(WireError) {
    self.init(
      worker: WorkerID(proto.worker),
      name: try text(proto.name, Limits.nameBytes, "worker.name"),
      state: try State(proto: proto.state, "worker.state"),
      capacity: try proto.capacity.words("worker.capacity"),
      // Free amounts may be negative: work that was fetched ahead is counted although it does not
      // run yet.
      free: try proto.free.words(lowest: .min, "worker.free"), executing: proto.executing,
      held: proto.held,
      labels: try list(proto.labels, Limits.labelsPerThing, "worker.labels"),
      types: try list(proto.types, WireLimits.typesPerWorker, "worker.types"),
      lastHeard: proto.hasLastHeardNanoseconds
        ? try span(proto.lastHeardNanoseconds, "worker.last_heard") : nil)
    unkillable = proto.unkillable
    trouble = try text(proto.trouble, Limits.reasonBytes, "workers.trouble")
    isSetAside = proto.setAside
    downSince = WallTime(milliseconds: proto.downSince)
    downReason = try text(proto.downReason, Limits.reasonBytes, "workers.down_reason")
  }
}

/// Settings of the running coordinator, and what it knows of its disk and its history.
extension ConfigurationValues: WireConvertible {
  var proto: ProtoConfiguration {
    var proto = ProtoConfiguration()
    proto.timing = timing.proto
    proto.clientEndpoint = clientEndpoint
    proto.workerEndpoint = workerEndpoint
    proto.stateFolder = stateFolder
    proto.wallMilliseconds = wall.milliseconds
    if let diskFreeBytes { proto.diskFreeBytes = diskFreeBytes }
    proto.diskReserveBytes = diskReserveBytes
    if let historyProblem { proto.historyProblem = historyProblem }
    proto.storesAreWanted = storesAreWanted
    return proto
  }
  /// Endpoints and folder are texts of the coordinator's own configuration, bounded like sentences.
  init(proto: ProtoConfiguration) throws(WireError) {
    let limit = WireLimits.sentenceBytes
    self.init(
      timing: try Timing(proto: proto.timing),
      clientEndpoint: try text(proto.clientEndpoint, limit, "configuration.client_endpoint"),
      workerEndpoint: try text(proto.workerEndpoint, limit, "configuration.worker_endpoint"),
      stateFolder: try text(proto.stateFolder, limit, "configuration.state_folder"))
    wall = WallTime(milliseconds: proto.wallMilliseconds)
    // Absent where the system could not say; 0 would mean a full disk.
    diskFreeBytes = proto.hasDiskFreeBytes ? proto.diskFreeBytes : nil
    diskReserveBytes = proto.diskReserveBytes
    historyProblem =
      proto.hasHistoryProblem
      ? try text(proto.historyProblem, limit, "configuration.history_problem") : nil
    storesAreWanted = proto.storesAreWanted
  }
}
