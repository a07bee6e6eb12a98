// Assigns operations to workers at the end of a turn. Free capacity goes to the queue of the
// highest quality of service, in rotation among equals (S60); inside a queue by level and place
// (S47); operations that fit nowhere are skipped (S61). A pass costs what it hands over and the
// classes that it has to look at, not the operations in line and not
// the workers: `Line` skips classes that fit nowhere, and `WorkerIndex` finds a worker in a path of
// its tree. `looks` and `steps` count both, and tests bound them. `WorkerChoice` chooses a worker,
// `InputPlaces` one of those that have what it reads; `AheadDispatch` sends dependents along.

import OpClusterModel

extension Scheduler {
  /// Hands over all that can be handed over now, at most `Limits.assignmentsPerTurn`. Called once,
  /// when a turn closes: everything that the turn made ready or free is seen together, so that the
  /// order of its messages does not decide.
  mutating func assign(into turn: inout SchedulingTurn) {
    assignmentPass.room = Limits.assignmentsPerTurn
    assignmentPass.hasPlacedDoubtful = false
    assignmentPass.doubtfulTries = 0
    state.sweepLines()
    if !doubtful.isEmpty { returnDoubtful() }
    noteChanges(at: turn.now)
    // Neither a line nor a worker has changed: there is nothing to give, and nothing to take back.
    if !lineIndex.hasAwake, freshWorkers.isEmpty, !surplusLooks.isDue(at: turn.now) { return }
    let haveLinesChanged = lineIndex.hasAwake
    // Repeated until nothing changes: a join point that ends here may make others ready.
    repeat { assignOnce(into: &turn) } while lineIndex.hasAwake && assignmentPass.room > 0
    if assignmentPass.room == 0 { return surplusLooks.putOff() }
    recallSurplus(haveLinesChanged: haveLinesChanged, into: &turn)
  }

  private mutating func noteChanges(at now: Instant) {
    renewIndex(at: now)
    if assignmentPass.haveWorkersChanged(
      takers: workerIndex.takersVersion, conversations: lastConversation &+ capacityChanges)
    {
      wakeResting()
    }
    renewLines()
  }

  /// Runs one pass over the queues that may have something for a worker. Afterwards the workers, as
  /// they are, have refused all that waits and was ready when the pass began.
  private mutating func assignOnce(into turn: inout SchedulingTurn) {
    // Kept between turns to reuse the memory of its arrays.
    var pass = AssignmentPass()
    swap(&pass, &assignmentPass)
    defer { swap(&pass, &assignmentPass) }
    pass.begin()
    for service in (0..<Rank.services).reversed()
    where lineIndex.whole(service).lines > 0 && pass.room > 0 {
      serveAll(of: service, &pass, into: &turn)
    }
    for queue in pass.visited where queues.contains(queue) {
      if state.reopenLine(of: queue) { restingQueues.append(queue) }
    }
    renewLines()
    renewIndex(at: turn.now)
    // If the turn is full, nobody knows what they would still take.
    if pass.room > 0 { freshWorkers.forgetAll() }
  }

  /// `joined`: join points ended, so that others may have become ready. `dispatched`: a worker was
  /// handed something. `nothing`: the queue has no more to give in this pass.
  private enum Service { case nothing, joined, dispatched }

  /// Serves the queues of one quality of service in rotation, behind the one that was served last,
  /// until none of them has anything for a worker, or the turn is full. A queue gets one operation
  /// for each time round, or many if it is the only one.
  private mutating func serveAll(
    of service: Int, _ pass: inout AssignmentPass, into turn: inout SchedulingTurn
  ) {
    var last = rotation
    while pass.room > 0, let queue = nextQueue(after: last, service, &pass, at: turn.now) {
      let isOnly =
        lineIndex.whole(service).lines == 1
        || nextQueue(after: queue, service, &pass, at: turn.now) == queue
      if state.visitLine(of: queue) { pass.visited.append(queue) }
      if serve(queue, atMost: isOnly ? 1024 : 1, &pass, into: &turn) == .nothing {
        state.closeLine(of: queue)
      }
      last = queue
      renewIndex(at: turn.now)
      renewLines()
    }
  }

  /// The next queue in rotation whose line may have something for a worker.
  private mutating func nextQueue(
    after number: UInt32, _ service: Int, _ pass: inout AssignmentPass, at now: Instant
  ) -> UInt32? {
    guard let service = QualityOfService(rawValue: UInt8(service)) else { return nil }
    let areFresh = !freshWorkers.isEmpty
    let fresh = reach(of: Rank(service), &pass, at: now).fresh
    return lineIndex.next(after: number, Int(service.rawValue), &pass.steps) { summary in
      summary.isAwake || areFresh && summary.isPeculiar || fresh.admit(summary.least)
    }
  }

  /// The reach of all workers, and of those that have changed, for a rank.
  private mutating func reach(
    of rank: Rank, _ pass: inout AssignmentPass, at now: Instant
  ) -> LineReach {
    if let known = pass.reach[rank] { return known }
    let found = reachOfWorkers(for: rank, in: nil, at: now)
    pass.reach[rank] = found
    return found
  }

  /// Serves a queue until something was handed over or nothing more can be. Each round of the loop
  /// takes something out of the line, sets a class aside, or returns, so that it ends. The line is
  /// moved out of its queue meanwhile, because the search calls back into the state that holds it,
  /// and in place it would be copied; every path puts it back. `rotation` makes the next pass begin
  /// behind this queue, also in a later turn (S60).
  private mutating func serve(
    _ queue: UInt32, atMost share: UInt32, _ pass: inout AssignmentPass,
    into turn: inout SchedulingTurn
  ) -> Service {
    let pool = followedPool(of: queue)
    while true {
      let room = queues[queue].room
      if room == 0 || queues[queue].line.isEmpty {
        // What is left in it was not looked at.
        state.setService(of: queue, nil)
        return .nothing
      }
      renewIndex(at: turn.now)
      renewPool(pool)
      var line = state.takeLine(of: queue)
      guard let candidate = nextCandidate(&line, queue, room, &pass, pool, at: turn.now) else {
        state.putBack(&line, of: queue)
        return .nothing
      }
      let stage = graphs[candidate.run.graph.number].stageNumber(of: candidate.run.first)
      let most = min(room, share, state.parallelRoom(candidate.run.graph.number, stage))
      if classes[candidate.demandClass].demandClass.isInside {
        let wanted = min(candidate.valid, most)
        line.take(wanted, of: candidate)
        state.putBack(&line, of: queue)
        join(candidate.run, wanted, into: &turn)
        pass.noteHandedOver(wanted)
        rotation = queue
        return .joined
      }
      if isPutOff(candidate, stage, after: pass.doubtfulTries, &line, at: turn.now) {
        state.putBack(&line, of: queue)
        continue
      }
      let demandClass = state.classInLine(
        candidate.run.graph.number, stage, candidate.run.first)
      if demandClass != candidate.demandClass {
        // Its stage has become a class of its own since.
        line.take(candidate.run.count, of: candidate)
        state.putBack(&line, of: queue)
        state.enterLine(candidate.run, queue, demandClass: demandClass, level: candidate.level)
        continue
      }
      let wanted = Handover(
        demandClass: candidate.demandClass,
        rank: Rank(queues[queue].settings.qos, queue: queue, level: candidate.level),
        bytes: mostBytes(graph: candidate.run.graph.number, stage))
      let (candidates, isRestricted) = candidates(
        for: candidate.run, wanted, pool, at: turn.now)
      guard let choice = placed(candidate.run, wanted, among: candidates, at: turn.now) else {
        if !isRestricted {
          passOver(candidate, &line, &pass, pool)
        } else {
          keepDoubtful(1, of: candidate, &line)
          pass.doubtfulTries += 1
        }
        state.putBack(&line, of: queue)
        continue
      }
      let count = portion(of: candidate, stage, choice, atMost: most, bytes: wanted.bytes, &pass)
      line.take(count, of: candidate)
      state.putBack(&line, of: queue)
      pass.noteHandedOver(
        dispatch(candidate.run, count, to: WorkerID(choice.worker), into: &turn))
      if isRestricted || exclusivesFrom != nil { pass.hasPlacedDoubtful = true }
      rotation = queue
      return .dispatched
    }
  }

  /// Whether the first operations of a candidate wait for a later turn, although a worker may have
  /// room. Where none was found for some that not all may have, it is looked for in later turns for
  /// the others, a few in each.
  private mutating func isPutOff(
    _ candidate: Line.Candidate, _ stage: Int, after tries: Int, _ line: inout Line,
    at now: Instant
  ) -> Bool {
    if awaitsTheLost(candidate.run.graph.number, stage, at: now) {
      keepDoubtful(candidate.valid, of: candidate, &line)
      return true
    }
    if tries < 2 * Limits.doubtfulPerTurn { return false }
    if restrictions(of: candidate.run).isEmpty { return false }
    keepDoubtful(1, of: candidate, &line)
    doubtfulUntried = doubtful.count
    return true
  }

  /// Removes the first operations of a candidate from the line until the next turn, so that they do
  /// not block others.
  private mutating func keepDoubtful(
    _ count: UInt32, of candidate: Line.Candidate, _ line: inout Line
  ) {
    line.take(count, of: candidate)
    for index in candidate.run.first..<candidate.run.first + count {
      doubtful.append(OperationID(graph: candidate.run.graph, index: index))
    }
  }

  /// The first in line of a class that may fit somewhere. The line is searched by reach: the most
  /// that any worker still takes. Reach is kept per rank for the rest of the pass, and dropped
  /// after each hand-over, which may lower it.
  private mutating func nextCandidate(
    _ line: inout Line, _ queue: UInt32, _ room: UInt32, _ pass: inout AssignmentPass,
    _ pool: Int?, at now: Instant
  ) -> Line.Candidate? {
    // The limits of a pool do not apply to other queues.
    var (reaches, steps) = (pool == nil ? pass.reach : [:], pass.steps)
    defer {
      if pool == nil { pass.reach = reaches }
      pass.steps = steps
    }
    while let candidate = line.first(
      within: { level in
        let rank = state.reachRank(queue, level: level)
        let reach = reaches[rank] ?? reachOfWorkers(for: rank, in: pool, at: now)
        reaches[rank] = reach
        return reach
      },
      &steps,
      examine: { settleHead($0, in: queue, $1, atMost: min(room, LineHeads.most)) })
    {
      let isFull = pass.isFull(candidate.demandClass)
      // A class full for others may have room for operations that rank above its own queue's.
      if !isFull || state.reachRank(queue, level: candidate.level).queue == queue {
        return candidate
      }
      line.setAside(candidate, untilWorkersChange: false)
    }
    // Removes obsolete runs, so that they do not count as waiting operations.
    _ = line.stands(above: -1) { settleHead($0, in: queue, $1, atMost: 1) }
    return nil
  }

  /// Skips a candidate's class in this pass: no worker, or none of the queue's pool, has room.
  /// Without a pool the class is noted as full for all queues of this pass, so that the next queue
  /// with the same demand does not search for a worker again.
  private mutating func passOver(
    _ candidate: Line.Candidate, _ line: inout Line, _ pass: inout AssignmentPass, _ pool: Int?
  ) {
    let number = candidate.demandClass
    if pool != nil {
      // Workers outside the pool may still take the class, from other queues.
      return line.setAside(candidate, untilWorkersChange: eligible(number, in: pool) == 0)
    }
    pass.noteFull(number)
    line.setAside(candidate, untilWorkersChange: eligible(number, in: nil) == 0)
  }

  /// Passes join points through all states at once, inside the coordinator (S4). One fact for each,
  /// which share a record; their ends may make dependents ready, which is why the caller passes
  /// again.
  private mutating func join(_ run: ReadyRun, _ count: UInt32, into turn: inout SchedulingTurn) {
    for offset in 0..<count {
      let id = OperationID(graph: run.graph, index: run.first + offset)
      commit(.succeeded, id, into: &turn)
    }
  }

  // MARK: - Choosing a worker

  /// The workers that may take the first operation of a run, and whether they are fewer because of
  /// the operation itself. Costs some paths of the tree. Where the first choice is not for this
  /// operation, it costs the workers with room.
  private mutating func candidates(
    for run: ReadyRun, _ wanted: Handover, _ pool: Int?, at now: Instant
  ) -> (workers: Candidates, isRestricted: Bool) {
    let everybody: Candidates = pool.map { .pool($0) } ?? .all
    let restrictions = restrictions(of: run)
    if restrictions.isEmpty { return (everybody, isRestricted: false) }
    // Where nobody has room, it waits in line with the others of its class.
    guard let usual = chooseWorker(for: wanted, among: everybody, at: now) else {
      return (everybody, isRestricted: false)
    }
    // What it reads may lie with others, so that more than one of them counts.
    let graph = run.graph.number
    let readsContents = mayNeedContents(graph, graphs[graph].stageNumber(of: run.first))
    if !readsContents, !restrictions.unable.contains(usual.worker),
      !workers([usual.worker], admittedBy: restrictions, run).isEmpty
    {
      return (.few([usual.worker]), isRestricted: true)
    }
    let amounts = state.lineClass(wanted.demandClass).amounts
    let all = workerTree(of: pool).workers(&looks) { summary in
      summary.takers > 0
        && (summary.room(for: wanted.rank) > 0 || summary.mayHaveFree(amounts)
          || summary.mayReserve(amounts))
    }
    let able = workers(all, admittedBy: restrictions, run)
    return (.few(able), isRestricted: restrictions.doubt != .none || able.count < all.count)
  }

  /// How many of a candidate's operations its worker gets: as many as it takes, but no more than
  /// its share of the run, so that the others get some. Looks at no more than it gives; those
  /// behind them may have left the line and count all the same, which makes the share a little
  /// larger. Never 0. Rounded up, so that fewer operations than workers still make a portion of
  /// one.
  private func portion(
    of candidate: Line.Candidate, _ stage: Int, _ choice: WorkerChoice, atMost most: UInt32,
    bytes: Int, _ pass: inout AssignmentPass
  ) -> UInt32 {
    let first = OperationID(graph: candidate.run.graph, index: candidate.run.first)
    var count = min(
      choice.count, most, conversations[choice.worker].count(fitting: bytes))
    if isTry(choice.worker, first) { count = 1 }
    if count <= 1 { return 1 }
    let share = (candidate.run.count - 1) / max(choice.eligible, 1) + 1
    let bound = min(count, share, queues[queueNumber(of: first, stage)].room, LineHeads.most)
    let valid = state.standing(
      candidate.run, candidate.level, stage, from: candidate.valid, atMost: bound, &pass.steps)
    return max(min(valid, bound), 1)
  }

  private func queueNumber(of id: OperationID, _ stage: Int) -> UInt32 {
    graphs[id.graph.number].queue(of: id.index, stage: stage).number
  }

  // MARK: - Handing over

  /// Hands over the first `count` operations of a run, and what may go ahead of time behind each;
  /// returns how many in all.
  private mutating func dispatch(
    _ run: ReadyRun, _ count: UInt32, to worker: WorkerID, into turn: inout SchedulingTurn
  ) -> UInt32 {
    var handedOver = count
    if workers[worker.number].assigned == 0, workers[worker.number].executing == 0 {
      conversations[worker.number].busySince = turn.now
    }
    noteTry(
      worker.number, with: OperationID(graph: run.graph, index: run.first), at: turn.now)
    for offset in 0..<count {
      let id = OperationID(graph: run.graph, index: run.first + offset)
      if dispatch(id, to: worker, awaits: [], into: &turn) {
        handedOver += dispatchAhead(after: id, to: worker, into: &turn)
      }
    }
    // It does not fit now: its worker was chosen to keep its room for it, and it is not surplus
    // (S47).
    if count == 1, workers[worker.number].assigned == 1, free(worker.number).isOverdrawn {
      conversations[worker.number].reservation = OperationID(graph: run.graph, index: run.first)
    }
    return handedOver
  }

  /// Hands one attempt over; false if the operation ended instead, because of its inputs or since
  /// it was done before. The fact
  /// comes first, since it draws the attempt's number; the order only repeats what was committed.
  /// It leaves with the turn, when the fact is durable (G3).
  mutating func dispatch(
    _ id: OperationID, to worker: WorkerID, awaits: [LocalDependency],
    into turn: inout SchedulingTurn
  ) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    if reuse(id, stage, into: &turn) { return false }
    var inputs: [DependencyInput] = []
    if graphs[graph].stages[stage].readsInputs {
      inputs = self.inputs(of: id, stage)
      if let lack = lack(of: inputs) {
        // A waiting operation may be sent ahead, but fails only at its own time.
        if awaits.isEmpty { refuseInputs(id, .missingInput, lack, into: &turn) }
        return false
      }
      if mayNeedContents(graph, stage) {
        let contents = contentsRead(from: inputs, graph, stage)
        if let content = missing(of: contents, for: worker) {
          if awaits.isEmpty { awaitContent(id, content, at: turn.now) }
          return false
        }
        tellHolders(of: contents, to: worker, into: &turn)
      }
    }
    commit(.dispatched(worker), id, into: &turn)
    let cell = graphs[graph].cell(id.index)
    var order = Dispatch(
      attempt: AttemptID(operation: id, attempt: cell.attempt),
      template: UInt32(stage), priority: graphs[graph].priority(of: id.index, stage: stage),
      place: graphs[graph].place(of: id.index), argument: state.argument(of: id, stage),
      inputs: inputs, awaits: awaits)
    order.run = cell.run
    order.queue = graphs[graph].queue(of: id.index, stage: stage)
    order.service = queues[order.queue.number].settings.qos
    // The template goes once to each conversation; the order refers to it by number.
    let at = turn.orders(for: worker)
    let announced = announce(stage, of: id, in: order.queue, to: worker, at, &turn)
    if announced != order.queue { order.queueName = queues[order.queue.number].settings.name }
    turn.orders[at].orders.dispatches.append(order)
    conversations[worker.number].note(order.bytes, of: id)
    return true
  }

  /// Fails an operation whose inputs cannot be delivered, without an attempt (S138). The search
  /// goes back over this turn's history only.
  mutating func refuseInputs(
    _ id: OperationID, _ cause: FailureCause, _ lack: String, into turn: inout SchedulingTurn
  ) {
    var result = AttemptResult()
    result.cause = cause
    result.diagnostic = lack
    commit(.finished(id, result), into: &turn)
    // Adds the reason for people, because no attempt was made that could report it.
    guard
      let line = turn.history.lastIndex(where: { line in
        !line.isAttempt && line.attempt.operation.graph == id.graph
          && line.members.contains(id.index)
      }), turn.history[line].result.cause == .none
    else { return }
    turn.history[line].result.cause = result.cause
    turn.history[line].result.diagnostic = lack
  }

  /// Tells the worker the operation's template, unless it knows the current version. Returns the
  /// queue that the template names: the stage's own, or, if that was removed, the operation's.
  private mutating func announce(
    _ stage: Int, of id: OperationID, in own: QueueID, to worker: WorkerID, _ at: Int,
    _ turn: inout SchedulingTurn
  ) -> QueueID {
    let graph = id.graph
    // A worker keeps one queue name for each template. Operations that moved name their own queue
    // in the order instead.
    let usual = graphs[graph.number].queue(ofStage: stage)
    let named = usual == own || queues.contains(usual.number) ? usual : own
    let queueName = queues[named.number].settings.name
    let template = UInt32(stage)
    if conversations[worker.number].knows(template, of: graph, queue: queueName) { return named }
    noteTold(template, of: graph, queue: queueName, to: worker.number)
    let service = queues[own.number].settings.qos
    var announcement = graphs[graph.number].announcement(of: stage, service)
    announcement.queueName = queueName
    conversations[worker.number].note(announcement.payload.count, of: id)
    turn.orders[at].orders.templates.append(announcement)
    return named
  }
}

extension Graph {
  fileprivate func announcement(of stage: Int, _ qos: QualityOfService) -> TemplateAnnouncement {
    var announcement = stages[stage].announcement(in: id, submission.name, UInt32(stage), qos)
    // Limited by `Limits.secretsPerGraph`, once per template and conversation.
    announcement.secrets = stages[stage].template.secrets.map { position in
      let position = Int(position)
      return submission.secrets.indices.contains(position) ? submission.secrets[position] : ""
    }
    announcement.submitter = submission.submitter
    announcement.traceParent = submission.traceParent
    return announcement
  }
}

extension Stage {
  fileprivate func announcement(
    in graph: GraphID, _ graphName: String, _ number: UInt32, _ qos: QualityOfService
  ) -> TemplateAnnouncement {
    var announcement = TemplateAnnouncement(
      graph: graph, graphName: graphName, template: number, firstIndex: firstIndex,
      name: template.name, isArray: template.isArray, indexRuns: template.indexRuns,
      work: template.work, payload: template.payload, demand: template.demand,
      qos: template.qos ?? qos)
    announcement.timeout = template.timeout
    announcement.grace = template.grace
    announcement.fillsInput = template.fillsInput
    announcement.isExclusive = template.isExclusive
    announcement.inputFiles = template.inputFiles
    return announcement
  }
}
