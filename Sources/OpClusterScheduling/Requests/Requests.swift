// Client requests. Each accepted request is one commit, answered when it is durable (S1, S3); a
// refusal changes nothing (S145). Some first wait for workers to answer recalls
// (`DeferredRequests`).

import OpClusterModel

extension Scheduler {
  /// The entry of all client requests. The body calls it once for each request, after it has
  /// decided the quota and the right of the key (G29, G36). `settleDeferred` calls it again for a
  /// request that had to wait for recalls, so that nothing here may assume that it sees a request
  /// for the first time.
  mutating func handleClient(
    _ asker: Asker, _ request: ClientRequest, into turn: inout SchedulingTurn
  ) {
    reply(to: asker, into: &turn) { (core, turn) throws(Refusal) in
      try core.steer(asker, request, into: &turn)
    }
  }

  /// Decides a submission that was prepared on another thread.
  mutating func handleSubmission(
    _ asker: Asker, _ prepared: inout PreparedSubmission, into turn: inout SchedulingTurn
  ) {
    reply(to: asker, into: &turn) { (core, turn) throws(Refusal) in
      .now(try core.submit(&prepared, into: &turn))
    }
  }

  /// Answers with the reply or refusal of `decide`, unless the answer comes later.
  mutating func reply(
    to asker: Asker, into turn: inout SchedulingTurn,
    _ decide: (inout Scheduler, inout SchedulingTurn) throws(Refusal) -> Answer
  ) {
    do throws(Refusal) {
      if case .now(let reply) = try decide(&self, &turn) { turn.answer(asker, reply) }
    } catch {
      turn.answer(asker, .refused(error))
    }
  }

  /// Decides one request. Ownership is checked before anything changes, and the answer is decided
  /// once: a case either throws and has changed nothing, or answers. The requests of the last case
  /// change nothing and are `LivingRows`.
  private mutating func steer(
    _ asker: Asker, _ request: ClientRequest, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    switch request {
    case .submit(let submission):
      let isHashed = turn.keepsRecords || !submission.key.text.isEmpty
      var prepared = PreparedSubmission(
        submission, isHashed: isHashed, pageBits: state.pageBits)
      return .now(try submit(&prepared, into: &turn))
    case .reusable(let submission):
      return try beginForecast(submission, for: asker, into: &turn)
    case .enqueue(let operations, let queue):
      try checkOwn(operations.lazy.map(\.graph), of: asker)
      return .now(try enqueue(operations, queue, into: &turn))
    case .cancel(let target, let reason, let grace):
      return try cancel(asker, request, target, reason, grace, into: &turn)
    case .cancelQueue(let name, let reason):
      return try cancelQueued(asker, request, name, reason, into: &turn)
    case .suspendGraphs(let selection, let isSuspended):
      return try suspendOrResume(asker, selection, isSuspended, into: &turn)
    case .createQueue(let settings):
      return .now(try createQueue(settings, into: &turn))
    case .changeQueue(let name, let wanted):
      return try change(asker, queue(named: name), wanted, into: &turn)
    case .removeQueue(let name):
      return .now(try remove(queue(named: name), into: &turn))
    case .addDependency(let from, let to, let policy, let allowsCycle):
      try checkOwn([to.graph], of: asker)
      return try addDependency(asker, request, from, to, policy, allowsCycle, into: &turn)
    case .removeDependency(let from, let to):
      try checkOwn([to.graph], of: asker)
      return try removeDependency(asker, request, from, to, into: &turn)
    case .setPriority(let target, let priority):
      return try change(asker, target, .priority(priority), into: &turn)
    case .hold(let target, let isHeld):
      return try change(asker, target, .hold(isHeld), into: &turn)
    case .setQueue(let target, let queue):
      return try change(asker, target, .queue(queue), into: &turn)
    case .addBlocks(let id, let bytes):
      try checkOwn([id.graph], of: asker)
      return .now(try addBlocks(id, bytes, into: &turn))
    case .beginWait(let waiter, let target):
      return .now(try beginWait(waiter, target))
    case .endWait(let waiter):
      return .now(endWait(waiter))
    case .drainWorker(let name):
      return .now(try drain(name, into: &turn))
    case .resumeWorker(let name):
      return .now(try resume(name, into: &turn))
    case .forgetWorker(let name):
      return .now(try forget(name))
    case .locate(let digests, let reader):
      return .now(.located(locate(digests, for: reader, into: &turn)))
    case .bring(let content, let unreached, let reader):
      return .now(
        .located(try bring(content, unreached: unreached, for: reader, into: &turn)))
    case .place(let contents, let avoided, let writer):
      return .now(try place(contents, avoided: avoided, for: writer, into: &turn))
    case .removeGraphs(let graphs):
      return .now(try removeGraphs(asker, graphs, into: &turn))
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .configuration,
      .ping, .log, .subscribe, .grantCredit, .unsubscribe, .enrol:
      return .now(try read(request, at: turn.now))
    }
  }

  // MARK: - Submitting

  /// Accepts or refuses a submission as a whole (S58). A repeat under a known key gets the first
  /// reply and makes no fact (S11, G19). Costs what `admit` and the fact do; all that costs what
  /// the submission is large is prepared.
  private mutating func submit(
    _ prepared: inout PreparedSubmission, into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    var submission = prepared.submission
    if !submission.key.text.isEmpty, let known = keys.known(submission.key, at: turn.wall) {
      let isSame =
        known.fingerprint == prepared.contentHash
        || known.fingerprint == prepared.earlierContentHash
      guard isSame else {
        throw Refusal(
          .conflict,
          "key \(submission.key.text) belongs to graph \(known.graph.number), "
            + "whose content is another", hint: "choose a new key for a new graph")
      }
      return .accepted(known.graph, operations: known.operations, repeated: true)
    }
    if let refusal = prepared.refusal { throw refusal }
    let borrows = try borrowSecrets(for: &submission, prepared.outline)
    try admit(submission, prepared.outline, at: turn.wall)
    let graph = GraphID(counters.lastGraph + 1)
    turn.submissions.append(
      AcceptedSubmission(
        graph: graph, submission: submission, encoded: borrows ? nil : prepared.encoded,
        at: turn.wall))
    turn.handOver(prepared.takePlan())
    commit(
      .submitted(graph, submission, fingerprint: prepared.contentHash, at: turn.wall), into: &turn)
    return .accepted(graph, operations: prepared.outline.operationCount, repeated: false)
  }

  // MARK: - Telling workers

  /// Tells the workers that have members: unstarted ones are recalled, running ones are told to
  /// stop.
  mutating func tellWorkers(
    _ members: [OperationID], _ grace: Span? = nil, into turn: inout SchedulingTurn
  ) {
    for id in members where graphs.contains(id.graph.number) {
      let cell = graphs[id.graph.number].cell(id.index)
      if cell.worker == 0 { continue }
      if cell.isAssigned {
        state.askRecall(id, into: &turn)
      } else {
        sendCancel(id, grace: grace, into: &turn)
      }
    }
  }

  // MARK: - Queues and graphs

  /// Creates a queue that belongs to nobody. Names are unique in the cluster, because programs find
  /// a queue by name (S2). Its number is never used again.
  private mutating func createQueue(
    _ settings: QueueSettings, into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    try check(name: settings.name)
    try settings.pool.checkPool()
    guard queueByName[settings.name] == nil else {
      throw Refusal(.queueExists, "queue \(settings.name) exists already")
    }
    guard queues.count < Limits.queues else {
      throw Refusal(.limitExceeded, "there are \(Limits.queues) queues already")
    }
    if counters.lastQueue == .max { throw Self.noNumbers("queues") }
    commit(.queueCreated(QueueID(counters.lastQueue + 1), settings), into: &turn)
    return .done(turn.commit)
  }

  /// Checks the alphabet of a name. A `/` is not in it, so that nobody can take the name of a
  /// graph's queue, `GRAPH/name`.
  private func check(name: String) throws(Refusal) {
    guard name.isValidName else {
      throw Refusal(
        .badRequest, "a queue's name has 1 to 128 of the characters A-Z a-z 0-9 . _ : -")
    }
  }

  /// Changes the settings of a queue: all that the request names, or none. A pool changes only
  /// while the queue is empty, since its operations were placed by the former pool.
  private mutating func change(
    _ asker: Asker, _ id: QueueID, _ change: QueueChange, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    var settings = queues[id.number].settings
    if let name = change.newName, name != settings.name {
      guard queues[id.number].owner == nil else {
        throw Refusal(.badRequest, "queue \(settings.name) belongs to a graph and keeps its name")
      }
      try check(name: name)
      guard queueByName[name] == nil else {
        throw Refusal(.queueExists, "queue \(name) exists already")
      }
      settings.name = name
    }
    if let qos = change.qos { settings.qos = qos }
    switch change.limit {
    case .unlimited: settings.maximumConcurrent = nil
    case .atMost(let limit): settings.maximumConcurrent = limit
    case nil: break
    }
    if let isSuspended = change.isSuspended { settings.isSuspended = isSuspended }
    if let pool = change.pool, pool != settings.pool {
      try pool.checkPool()
      try checkEmpty(queues[id.number], "the pool of queue \(settings.name) changes")
      settings.pool = pool
    }
    if settings != queues[id.number].settings {
      commit(.queueChanged(id, settings), into: &turn)
    } else if change.isSuspended != true {
      return .now(.done(lastCommit))
    }
    let isSuspending = change.isSuspended == true
    // Only the two cases below recall anything; the list of operations at workers is read for them
    // alone, since it costs all that workers hold.
    guard isSuspending || queues[id.number].inFlight > queues[id.number].limit else {
      return .now(.done(turn.commit))
    }
    let (assigned, running) = byStart(operationsAtWorkers(in: id))
    // Also if it was suspended before: a restart forgets the recalls.
    recallBeyondLimit(of: id.number, among: assigned, into: &turn)
    if !isSuspending { return .now(.done(turn.commit)) }
    answerSuspension(asker, assigned, running)
    return .later
  }

  /// Removes an empty queue. `default` stays for ever, since submissions without a queue go there,
  /// and a graph's own queue leaves with its graph (S5).
  private mutating func remove(
    _ id: QueueID, into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    let queue = queues[id.number]
    if id == .main { throw Refusal(.badRequest, "the queue default always exists") }
    if let owner = queue.owner {
      throw Refusal(
        .badRequest,
        "queue \(queue.settings.name) belongs to graph \(owner.number) and goes with it")
    }
    try checkEmpty(queue)
    commit(.queueRemoved(id), into: &turn)
    return .done(turn.commit)
  }

  func queue(named name: String) throws(Refusal) -> QueueID {
    if let id = queueByName[name] { return id }
    throw Refusal(
      .unknownQueue, "there is no queue \(name)",
      hint: .createQueue(name))
  }

  /// Starts to drain a worker by name. Draining it again is no error and makes no fact; the reply
  /// then names the newest commit, which is not earlier than the fact that began it.
  private mutating func drain(
    _ name: String, into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    guard let worker = workerByName[name], workers.contains(worker.number) else {
      throw Refusal(
        .unknownWorker, "there is no worker \(name)", hint: .listWorkers)
    }
    return startDraining(worker, into: &turn) ? .done(turn.commit) : .done(lastCommit)
  }

  // MARK: - Edges

  /// Adds a late edge (S34 to S36). The order of the checks matters: an edge that is there already
  /// is answered before anything is recalled, and the cycle is sought last, because that search may
  /// visit whole graphs.
  private mutating func addDependency(
    _ asker: Asker, _ request: ClientRequest, _ from: OperationID, _ to: OperationID,
    _ policy: EdgePolicy, _ allowsCycle: Bool, into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    if from == to { throw Refusal(.selfDependency, "\(state.shown(to)) cannot wait for itself") }
    try checkKnown(from)
    guard case .living(let cell) = try target(to) else { return .now(.effect(false)) }
    if let known = policyOf(from, to) ?? wholePolicyOf(from, to) {
      if known == policy { return .now(.effect(true)) }
      throw Refusal(
        .conflictingEdge, "\(state.shown(to)) already waits for \(state.shown(from)) in another way"
      )
    }
    if deferIfAssigned(asker, request, to, cell, into: &turn) { return .later }
    if cell.phase == .executing || cell.phase == .finished { return .now(.effect(false)) }
    // What it would wait for may itself wait for what it makes, which no search for cycles knows.
    if let origin = graphs[to.graph.number].submission.recomputes {
      throw Refusal(
        .badRequest,
        "\(state.shown(to)) makes again what \(state.shown(origin)) left, and waits for nothing",
        hint: "let those wait that need it", operations: [origin])
    }
    // An operation that reads outputs would fail later for an output that is not kept (S27).
    let stage = graphs[to.graph.number].stageNumber(of: to.index)
    if graphs[to.graph.number].stages[stage].template.wantsInputs {
      try state.checkOutput(of: from)
    }
    var steps = 0
    if !allowsCycle, let path = state.cycle(ifWaiting: to, on: from, &steps) {
      throw Refusal(
        .cycle, "this would be a cycle: \(state.shown(cycle: path))", operations: path)
    }
    commit(.dependencyAdded(from: from, to: to, policy), into: &turn)
    noteEdgeInParts()
    return .now(.effect(true))
  }

  /// Removes an edge (S37). An edge that is not there is a success without a fact. An edge on a
  /// whole array cannot go for one element: the gate of the stage counts arrays, not pairs.
  private mutating func removeDependency(
    _ asker: Asker, _ request: ClientRequest, _ from: OperationID, _ to: OperationID,
    into turn: inout SchedulingTurn
  ) throws(Refusal) -> Answer {
    guard case .living(let cell) = try target(to) else { return .now(.effect(false)) }
    if policyOf(from, to) == nil {
      if wholePolicyOf(from, to) == nil { return .now(.effect(true)) }
      throw Refusal(
        .badRequest,
        "\(state.shown(to)) waits for all of that array, not for \(state.shown(from)) alone",
        hint: "cancel it and submit what should run instead", operations: [from])
    }
    if deferIfAssigned(asker, request, to, cell, into: &turn) { return .later }
    if cell.phase == .executing || cell.phase == .finished { return .now(.effect(false)) }
    commit(.dependencyRemoved(from: from, to: to), into: &turn)
    return .now(.effect(true))
  }

  /// The operation that a request names.
  private enum Target {
    case living(OperationCell)
    /// Its graph has ended, which counts as an ended operation (S35, S62).
    case ended
  }

  /// Finds the operation. Throws `unknownOperation` or `expired`; an ended graph is no error here.
  private func target(_ id: OperationID) throws(Refusal) -> Target {
    do {
      return .living(try state.liveCell(id))
    } catch {
      if error.code == .alreadyFinished { return .ended }
      throw error
    }
  }

  /// Recalls a dispatched, unstarted operation before the request is decided (S34, S52). True if
  /// the request was put off. The operation is pinned meanwhile, so that the end of the turn does
  /// not hand it out again before the request is decided.
  private mutating func deferIfAssigned(
    _ asker: Asker, _ request: ClientRequest, _ id: OperationID, _ cell: OperationCell,
    into turn: inout SchedulingTurn
  ) -> Bool {
    guard cell.phase == .dispatched else { return false }
    let pinned = [OperationRuns(id)]
    deferRequest(
      asker, awaiting: [id], pinning: pinned,
      .decideAgain(request, pinned: pinned, pausesAhead: false), into: &turn)
    return true
  }

  /// The policy of an edge between stages that contains this edge (S30).
  private func wholePolicyOf(_ from: OperationID, _ to: OperationID) -> EdgePolicy? {
    guard from.graph == to.graph else { return nil }
    let graph = graphs[to.graph.number]
    return graph.stages[graph.stageNumber(of: to.index)].incoming.first { edge in
      edge.match == .all && graph.stages[edge.stage].indices.contains(from.index)
    }?.policy
  }

  /// The policy of an edge on this single operation; nil if there is none. Visits all dependencies
  /// of `to`.
  private func policyOf(_ from: OperationID, _ to: OperationID) -> EdgePolicy? {
    var found: EdgePolicy?
    graphs[to.graph.number].forEachDependency(of: to.index) { on, policy in
      if on == from { found = policy }
    }
    return found
  }
}

extension SchedulingTurn {
  /// Queues a reply behind the commit of this turn. Replies leave after the events of the same
  /// turn, so that a caller sees its own effect in what it reads (S3).
  mutating func answer(_ asker: Asker, _ reply: ClientReply) {
    afterDurable.append(.toClient(asker.peer, asker.request, reply))
  }
}
