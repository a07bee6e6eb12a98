// Answers, rows, events and facts by chance.

package import OpClusterModel

extension MessageGenerator {
  /// `kind` from 0 to 21: welcome, events, heartbeat and the replies.
  package mutating func clientAnswer(_ kind: Int) -> ClientAnswer {
    switch kind {
    case 0: .welcome(version: number(), build: text(), life())
    case 1:
      .events(
        EventBatch(
          subscription: number(), first: number(), runs: runs(), caughtUp: bool(),
          resumeAt: number()))
    case 2: .heartbeat(diskWait: span())
    default: .reply(RequestID(number()), reply(kind))
    }
  }
  package static let clientAnswerKinds = 25

  private mutating func reply(_ kind: Int) -> ClientReply {
    switch kind {
    case 3: .refused(refusal())
    case 4: .accepted(graph(), operations: number(), repeated: bool())
    case 5: .done(CommitIndex(number()))
    case 6:
      .cancelled(
        many { generator in
          CancelVerdict(
            operation: generator.operation(), verdict: generator.member(CancelVerdict.Verdict.self))
        }, VerdictCounts([number(), number(), number(), number()]) ?? VerdictCounts())
    case 7: .suspended(executing: many { $0.operation() })
    case 8: .effect(bool())
    case 9: .graphs(many { $0.graphRow() }, more: bool())
    case 10: .operations(many { $0.operationRow() }, more: bool())
    case 11: .structure(structure())
    case 12:
      .explanations(
        many { generator in
          Explanation(
            operation: generator.operation(), shown: generator.text(),
            state: generator.member(StateWord.self),
            lines: generator.many { $0.explanationLine() })
        }, more: bool())
    case 13:
      .queues(
        many { generator in
          QueueRow(
            queue: generator.queue(), settings: generator.settings(),
            operationCount: generator.number(),
            executing: generator.number(), dispatched: generator.number(),
            barriers: generator.number())
        }, more: bool())
    // Those that are down travel behind the others.
    case 14: .workers(many { $0.workerRow(isDown: false) } + many { $0.workerRow(isDown: true) })
    case 15:
      .configuration(configurationValues())
    case 16: .pong(commit: CommitIndex(number()), epoch: Epoch(number()), lastEvent: number())
    case 17: .log(chunk())
    case 18: .changed(number(), unchanged: number())
    case 19: submittedGraph()
    case 20: .enrolled(name: text(), role: member(Role.self))
    case 21:
      .located(
        many { generator in
          ContentHolders(digest: generator.content().digest, sources: [generator.source()])
        })
    case 22:
      .placed(many { ContentHolders(digest: $0.content().digest, sources: [$0.source()]) })
    case 23: .reusable(runs(), skipped: runs())
    default: .subscribed(since: number())
    }
  }

  /// A text as the advice of a line travels as a part of the line.
  private mutating func explanationLine() -> Explanation.Line {
    let hint = advice()
    let meaning = member(Explanation.Meaning.self)
    if case .text = hint { return Explanation.Line(text(), meaning: meaning) }
    return Explanation.Line(text(), hint: hint, meaning: meaning)
  }

  /// With an outcome, or none, for each of its operations.
  private mutating func submittedGraph() -> ClientReply {
    let submission = submission()
    let outcomes = (0..<submission.operationCount).map { _ in
      maybe { $0.member(Outcome.self).rawValue } ?? 0
    }
    return .submission(submission, outcomes: outcomes)
  }

  package mutating func configurationValues() -> ConfigurationValues {
    var values = ConfigurationValues(
      timing: timing(), clientEndpoint: text(), workerEndpoint: text(), stateFolder: text())
    values.wall = WallTime(milliseconds: Int64(bitPattern: number()))
    values.diskFreeBytes = below(3) == 0 ? nil : number()
    values.historyProblem = below(3) == 0 ? nil : text()
    values.diskReserveBytes = number()
    return values
  }

  package mutating func counts() -> StateCounts {
    var counts = StateCounts()
    for word in StateWord.allCases {
      counts[word] = bounded(0...UInt32(Limits.operationsPerGraph))
    }
    return counts
  }

  package mutating func graphRow() -> GraphRow {
    GraphRow(
      graph: graph(), name: text(), state: member(GraphRow.State.self), counts: counts(),
      submittedAt: wallTime(), finishedAt: wallTime(), labels: labels(),
      allowedFailures: number())
  }

  package mutating func operationRow() -> OperationRow {
    var row = OperationRow(
      id: operation(), name: text(), index: maybe { $0.number() },
      state: member(StateWord.self))
    row.isReady = bool()
    row.isExecuting = bool()
    row.isFinished = bool()
    row.isCancelled = bool()
    row.outcome = maybe { $0.member(Outcome.self) }
    row.reason = maybe { $0.reason() }
    row.queue = text()
    row.priority = member(Priority.self)
    row.qos = member(QualityOfService.self)
    row.workerName = text()
    row.attempt = number()
    row.blockedBy = many { $0.operation() }
    row.notBefore = maybe { WallTime(milliseconds: $0.number()) }
    row.progress = maybe { generator in
      .init(fraction: Double(generator.below(1001)) / 1000, text: generator.text())
    }
    row.needs = many { generator in
      OperationRow.Need(
        id: generator.operation(), shown: generator.text(),
        policy: generator.member(EdgePolicy.self))
    }
    row.result = maybe { $0.result() }
    row.submittedAt = wallTime()
    row.readyAt = wallTime()
    row.startedAt = wallTime()
    row.finishedAt = wallTime()
    row.attempts = many { $0.history() }
    row.command = bytes()
    row.commandArgument = bytes()
    return row
  }

  package mutating func structure() -> GraphStructure {
    var structure = GraphStructure(
      row: graphRow(),
      stages: many { generator in
        GraphStructure.Stage(
          name: generator.text(), count: generator.number(), firstIndex: generator.number(),
          isArray: generator.bool(), indexRuns: generator.indexRuns(), queue: generator.text(),
          work: generator.text(), counts: generator.counts())
      }, groupEdges: many { $0.groupEdge() }, elementEdges: elementEdges(),
      elementEdgeCount: number())
    structure.lastEvent = number()
    return structure
  }

  package mutating func workerRow(isDown: Bool) -> WorkerRow {
    var row = WorkerRow(
      worker: worker(), name: text(),
      state: isDown ? .down : one(of: [.connected, .suspect, .away, .draining]),
      capacity: resources(), free: resources(negative: true), executing: number(),
      held: number(), labels: labels(), types: many { $0.type() },
      lastHeard: maybe { $0.span() })
    row.unkillable = number()
    row.trouble = text()
    row.isSetAside = bool()
    row.downSince = wallTime()
    row.downReason = text()
    return row
  }

  // Events
  package mutating func events() -> [Event] {
    var sequence: UInt64 = number()
    let isGapless = bool()
    return many(30) { generator in
      sequence = isGapless ? sequence &+ 1 : generator.number()
      return Event(
        sequence: sequence, commit: CommitIndex(UInt64(generator.below(3))),
        time: WallTime(milliseconds: Int64(generator.below(2))), subject: generator.subject(),
        kind: generator.eventKind(generator.below(Self.eventKinds)))
    }
  }

  /// Single events, or longer runs.
  private mutating func runs() -> [EventRun] {
    bool() ? eventRuns() : events().map { EventRun(first: $0, count: 1) }
  }

  package mutating func eventRuns() -> [EventRun] {
    many(20) { generator in
      let count = UInt32(generator.below(9) + 1)
      let subject: Event.Subject =
        count == 1
        ? generator.subject()
        : .operation(
          OperationID(graph: generator.graph(), index: min(generator.number(), .max - count)),
          sequence: generator.number())
      let event = Event(
        sequence: min(generator.number(), .max - UInt64(count)),
        commit: CommitIndex(generator.number()), time: generator.wallTime(), subject: subject,
        kind: generator.eventKind(generator.below(Self.eventKinds)))
      return EventRun(first: event, count: count)
    }
  }

  package mutating func subject() -> Event.Subject {
    switch below(6) {
    case 0: .graph(graph())
    case 1: .queue(queue())
    case 2: .worker(worker())
    default: .operation(operation(), sequence: number())
    }
  }

  package static let eventKinds = 25
  package mutating func eventKind(_ kind: Int) -> Event.Kind {
    switch kind {
    case 0: .isReady(bool())
    case 1: .isExecuting(bool())
    case 2: .isFinished(bool() ? .succeeded : member(Outcome.self))
    case 3: .isCancelled(reason())
    case 4: .attemptStarted(bool() ? 1 : number(), worker())
    case 5: .attemptEnded(number(), member(FailureCause.self))
    case 6: .completion
    case 7: .priority(member(Priority.self))
    case 8: .graphSubmitted(operations: number())
    case 9: .graphSuspended(bool())
    case 10: .graphFinished(member(GraphOutcome.self))
    case 11: .queueCreated(settings())
    case 12: .queueChanged(settings())
    case 13: .queueRemoved
    case 14: .workerJoined(name: text())
    case 15: .workerLost
    case 16: .workerDraining
    case 17: .isHeld(bool())
    case 18: .dependencyAdded(operation(), member(EdgePolicy.self))
    case 19: .dependencyRemoved(operation())
    case 20: .enqueued(queue())
    case 21: .queueCount(number())
    case 22: .workerSetAside(maybe { $0.stageName() }, reason: text())
    case 23: .workerResumed(maybe { $0.stageName() })
    default: .workerLeft
    }
  }

  // Facts
  package mutating func runs() -> OperationRuns {
    var runs = OperationRuns(graph: graph())
    var next: UInt32 = 0
    for _ in 0..<below(6) {
      next += UInt32(below(1000) + 1)
      let count = UInt32(bool() ? 1 : below(50) + 1)
      runs.append(first: next, count: count)
      next += count
    }
    return runs
  }

  package mutating func stageName() -> StageName {
    StageName(graph: GraphID(max(number(), 1)), name: text())
  }

  /// `kind` below `recordKinds`.
  package mutating func record(_ kind: Int) -> Record {
    switch kind {
    case 0: .started(life())
    case 1: .submitted(graph(), submission(), fingerprint: number(), at: wallTime())
    case 2: .enqueued(many { $0.operation() }, queue())
    case 3: .queueCreated(queue(), settings())
    case 4: .queueChanged(queue(), settings())
    case 5: .queueRemoved(queue())
    case 6: .workerJoined(worker(), name: text(), WorkerSession(number()))
    case 7: .workerLost(worker())
    case 8: .workerLeft(worker())
    case 9: .dispatched(worker(), runs())
    case 10: .recalled(runs())
    case 11: .executing(runs())
    case 12: .succeeded(runs())
    case 13: .finished(operation(), result())
    case 14: .attemptFailed(operation(), result(), at: wallTime())
    case 15: .cancelled(many { $0.runs() }, reason())
    case 16: .dependencyAdded(from: operation(), to: operation(), member(EdgePolicy.self))
    case 17: .dependencyRemoved(from: operation(), to: operation())
    case 18: .prioritySet(runs(), member(Priority.self))
    case 19: .graphSuspended(graph(), bool())
    case 20: .restoredGraph(graphState())
    case 21: .restoredEnding(endedGraph())
    case 22: .held(runs())
    case 23: .released(runs())
    case 24: .moved(runs(), queue())
    case 25: .blocksAdded(operation(), bytes())
    case 26: .workerDraining(worker())
    case 27: .restoredKeys(many { $0.keptKey() })
    case 28: .keysDated(wallTime())
    case 29: .graphsRemoved(many { $0.graph() })
    case 30: .workerSetAside(worker(), maybe { $0.stageName() }, reason: text())
    case 31: .workerResumed(worker(), maybe { $0.stageName() })
    case 32: .madeReusable(operation(), key: content().digest)
    case 33:
      .restoredReusable(
        many { generator in
          ReusableOutcome(
            key: generator.content().digest, operation: generator.operation(),
            output: generator.bytes())
        })
    case 34: .recomputed(operation(), output: bytes())
    case 35: .endStepsLimited(number())
    case 36: .endsContinued
    default: .restoredCounters(counters())
    }
  }
  package static let recordKinds = 38

  package mutating func graphState() -> GraphState {
    var state = GraphState(graph: graph())
    let count = below(10)
    for _ in 0..<count {
      state.phases.append(member(Phase.self).rawValue)
      state.flags.append(number())
      state.outcomes.append(maybe { $0.member(Outcome.self).rawValue } ?? 0)
      state.attempts.append(number())
      state.losses.append(number())
      state.eventSequences.append(number())
      state.workers.append(number())
    }
    state.isSuspended = bool()
    state.failures = number()
    state.allowedFailures = number()
    state.failurePolicyTookEffect = bool()
    state.scopeFailures = many { $0.number() }
    state.basePlace = number()
    state.placeChanges = many { generator in
      .init(
        index: generator.number(), priority: generator.member(Priority.self),
        place: generator.number())
    }
    state.outputs = many { .init(index: $0.number(), output: $0.bytes()) }
    state.reasons = many { .init(index: $0.number(), reason: $0.reason()) }
    state.addedEdges = many { $0.liveEdge() }
    state.removedEdges = many { $0.liveEdge() }
    state.enqueuedIn = many { .init(index: $0.number(), queue: $0.queue(), place: $0.number()) }
    state.addedBlocks = many { .init(index: $0.number(), output: $0.bytes()) }
    state.reuseKeys = many { .init(index: $0.number(), output: $0.content().digest.bytes) }
    state.recomputations = many { .init(index: $0.number(), output: Array($0.bytes().prefix(8))) }
    state.submittedAt = wallTime()
    state.pauses = many {
      .init(index: $0.number(), since: $0.wallTime(), length: $0.span())
    }
    return state
  }

  private mutating func keptKey() -> KeptKey {
    KeptKey(
      key: SubmissionKey(text()), graph: graph(), fingerprint: number(),
      operations: UInt32(below(Limits.operationsPerGraph + 1)), since: wallTime())
  }

  private mutating func liveEdge() -> GraphState.AddedEdge {
    .init(from: operation(), to: number(), policy: member(EdgePolicy.self))
  }

  package mutating func endedGraph() -> EndedGraph {
    let count = below(10)
    let outcomes = bool() ? 1 : count
    var ended = EndedGraph(
      graph: graph(), key: SubmissionKey(text()), fingerprint: number(),
      outcome: member(GraphOutcome.self), operationCount: UInt32(count),
      outcomes: (0..<outcomes).map { _ in member(Outcome.self).rawValue },
      outputs: many { .init(index: $0.number(), output: $0.bytes()) })
    if bool() {
      ended.outputReplicas = ended.outputs.map { _ in UInt8(1 + below(Int(Limits.replicas))) }
    }
    ended.outputsAreForgotten = bool()
    ended.secrets = many { $0.text() }
    ended.submitter = text()
    return ended
  }

  package mutating func counters() -> Counters {
    var counters = Counters()
    counters.epoch = Epoch(number())
    counters.lastGraph = number()
    counters.lastQueue = number()
    counters.lastWorker = number()
    counters.lastPlace = number()
    counters.lastEvent = number()
    counters.endStepsPerTurn = number()
    counters.lives = many { generator in
      KnownLife(
        generator.life(), after: CommitIndex(generator.number()), events: generator.number())
    }
    return counters
  }

  package mutating func life() -> CoordinatorLife {
    CoordinatorLife(Epoch(number()), number: number())
  }

  package mutating func mark() -> HistoryMark {
    HistoryMark(life: life(), commit: CommitIndex(number()))
  }
}
