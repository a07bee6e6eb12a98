// Assigns operations to workers at the end of a turn. Free capacity goes to the queue of the
// highest quality of service, in rotation among equals (S60); inside a queue by level and place
// (S47); operations that fit nowhere are skipped (S61).

import OpClusterModel

extension Scheduler {
  mutating func assign(into turn: inout Turn) {
    state.sweepLines()
    if !doubtful.isEmpty { returnDoubtful() }
    // Repeated until nothing changes: a join point that ends here may make others ready.
    while assignOnce(into: &turn) {}
    recallSurplus(into: &turn)
  }

  /// Runs one pass over all queues; true if another pass could find more.
  private mutating func assignOnce(into turn: inout Turn) -> Bool {
    let (first, isOnly) = firstWaitingQueue()
    guard let first else { return false }
    // Kept between turns to reuse the memory of its arrays.
    var pass = AssignmentPass()
    swap(&pass, &assignmentPass)
    defer { swap(&pass, &assignmentPass) }
    pass.begin()
    workers.forEachNumber { number in
      if takesWork(number) { pass.workers.append(number) }
      return true
    }
    pass.compareWorkers(conversations: lastConversation &+ capacityChanges)
    var joined = false
    if isOnly {
      while true {
        switch serve(first, atMost: 1024, &pass, into: &turn) {
        case .nothing: return joined
        case .joined: joined = true
        case .dispatched: break
        }
      }
    }
    for tier in waitingQueues() {
      var active = tier
      var at = 0
      while !active.isEmpty {
        at %= active.count
        let share: UInt32 = active.count == 1 ? 1024 : 1
        switch serve(active[at], atMost: share, &pass, into: &turn) {
        case .nothing: active.remove(at: at)
        case .joined:
          joined = true
          at += 1
        case .dispatched: at += 1
        }
      }
    }
    return joined
  }

  private enum Service { case nothing, joined, dispatched }

  /// The first queue with a non-empty line, by number, and whether it is the only one. Visits only
  /// queues that had such a line, however many queues there are.
  private mutating func firstWaitingQueue() -> (queue: UInt32?, isOnly: Bool) {
    var first: UInt32?
    var isOnly = true
    var hasEmptied = false
    for number in linedQueues {
      assignmentPass.steps += 1
      guard queues.contains(number), !queues[number].line.isEmpty else {
        hasEmptied = true
        continue
      }
      if queues[number].room == 0 { continue }
      if first != nil { isOnly = false }
      first = first ?? number
      if !isOnly { break }
    }
    if hasEmptied {
      state.forgetEmptyLines()
    }
    return (first, isOnly)
  }

  /// The queues with a non-empty line, highest quality of service first; each tier begins behind
  /// the queue that was served last.
  private func waitingQueues() -> [[UInt32]] {
    let waiting = linedQueues.filter {
      queues.contains($0) && queues[$0].room > 0 && !queues[$0].line.isEmpty
    }
    return QualityOfService.allCases.reversed().compactMap { qos in
      let tier = waiting.filter { queues[$0].settings.qos == qos }
      if tier.isEmpty { return nil }
      let lead = tier.firstIndex { $0 > rotation } ?? 0
      return Array(tier[lead...] + tier[..<lead])
    }
  }

  private mutating func serve(
    _ queue: UInt32, atMost share: UInt32, _ pass: inout AssignmentPass, into turn: inout Turn
  ) -> Service {
    let pool = pass.pool(of: queue, queues[queue].settings) { workers($0, inPoolOf: queue) }
    while true {
      let room = queues[queue].room
      if room == 0 { return .nothing }
      var line = state.takeLine(of: queue)
      let service = queues[queue].settings.qos
      guard let candidate = nextCandidate(&line, queue, room, &pass, pool, at: turn.now) else {
        state.putBack(&line, of: queue)
        return .nothing
      }
      let stage = graphs[candidate.run.graph.number].stageNumber(of: candidate.run.first)
      let wanted = min(
        candidate.valid, room, share, state.parallelRoom(candidate.run.graph.number, stage))
      if classes[candidate.demandClass].demandClass.isInside {
        line.take(wanted, of: candidate)
        state.putBack(&line, of: queue)
        join(candidate.run, wanted, into: &turn)
        pass.reach.removeAll(keepingCapacity: true)
        rotation = queue
        return .joined
      }
      if awaitsTheLost(candidate.run.graph.number, stage, at: turn.now) {
        line.take(candidate.valid, of: candidate)
        for index in candidate.run.first..<candidate.run.first + candidate.valid {
          doubtful.append(OperationID(graph: candidate.run.graph, index: index))
        }
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
      let doubt = doubt(about: candidate.run)
      let able = workers(pool ?? pass.workers, ableToStart: candidate.run)
      guard
        let (worker, fitting) = chooseWorker(
          candidate, Rank(service, queue: queue, level: candidate.level),
          workers(able, admitting: doubt),
          bytes: mostBytes(graph: candidate.run.graph.number, stage), at: turn.now)
      else {
        if doubt == .none, able.count == (pool ?? pass.workers).count {
          passOver(candidate, queue, &line, &pass, pool, at: turn.now)
        } else {
          // Removed from the line, so that it does not block others.
          line.take(1, of: candidate)
          doubtful.append(OperationID(graph: candidate.run.graph, index: candidate.run.first))
        }
        state.putBack(&line, of: queue)
        continue
      }
      let count = min(wanted, fitting)
      line.take(count, of: candidate)
      state.putBack(&line, of: queue)
      dispatch(candidate.run, count, to: worker, into: &turn)
      pass.reach.removeAll(keepingCapacity: true)
      rotation = queue
      return .dispatched
    }
  }

  /// The first in line of a class that may fit somewhere.
  private mutating func nextCandidate(
    _ line: inout Line, _ queue: UInt32, _ room: UInt32, _ pass: inout AssignmentPass,
    _ pool: [UInt32]?, at now: Instant
  ) -> Line.Candidate? {
    line.begin(pass: pass.number, workersVersion: pass.workersVersion)
    let (candidates, closedKinds) = (pool ?? pass.workers, pass.closedKinds)
    // The limits of a pool do not apply to other queues.
    var (reaches, steps) = (pool == nil ? pass.reach : [:], pass.steps)
    defer {
      if pool == nil { pass.reach = reaches }
      pass.steps = steps
    }
    while let candidate = line.first(
      within: { level in
        let rank = state.reachRank(queue, level: level)
        var reach = reaches[rank] ?? reach(of: candidates, for: rank, at: now)
        reaches[rank] = reach
        reach.now.kinds &= ~closedKinds
        return reach
      },
      &steps,
      settle: { settleHead($0, $1, atMost: min(room, 1024), candidates, now) })
    {
      let isFull = pass.isFull(candidate.demandClass)
      // A class full for others may have room for operations that rank above its own queue's.
      if !isFull || state.reachRank(queue, level: candidate.level).queue == queue {
        return candidate
      }
      line.setAside(candidate, untilWorkersChange: false)
    }
    // Removes obsolete runs, so that they do not count as waiting operations.
    _ = line.stands(above: -1) { settleHead($0, $1, atMost: 1, candidates, now) }
    return nil
  }

  /// Skips a candidate's class in this pass: no worker, or none of the queue's pool, has room.
  private mutating func passOver(
    _ candidate: Line.Candidate, _ queue: UInt32, _ line: inout Line,
    _ pass: inout AssignmentPass, _ pool: [UInt32]?, at now: Instant
  ) {
    let number = candidate.demandClass
    if let pool {
      // Workers outside the pool may still take the class, from other queues.
      line.setAside(candidate, untilWorkersChange: !pool.contains { fits($0, number) })
      return
    }
    pass.noteFull(number)
    let rank = state.reachRank(queue, level: candidate.level)
    if lacksNamed(number, pass.workers, rank, at: now) {
      pass.closedKinds |= classes.bit(ofKind: classes[number].kind)
    }
    line.setAside(
      candidate, untilWorkersChange: !pass.workers.contains { fits($0, number) })
  }

  /// Whether anything stands in a queue's line above a level.
  mutating func hasWaiting(_ queue: UInt32, above level: Int, at now: Instant) -> Bool {
    guard queues[queue].line.hasRuns(above: level) else { return false }
    var line = state.takeLine(of: queue)
    defer { state.putBack(&line, of: queue) }
    return line.stands(above: level) { settleHead($0, $1, atMost: 1, [], now) }
  }

  /// The part of a run at the head of a line that still stands there, at most `most`.
  private mutating func settleHead(
    _ run: ReadyRun, _ level: Int, atMost most: UInt32, _ candidates: [UInt32], _ now: Instant
  ) -> Line.Settling {
    let graph = run.graph.number
    guard graphs.contains(graph) else { return .gone }
    if graphs[graph].isSuspended {
      state.parkInGraph(run)
      return .gone
    }
    let stage = graphs[graph].stageNumber(of: run.first)
    if state.parallelRoom(graph, stage) == 0 {
      state.parkInStage(run, stage)
      return .gone
    }
    let skip = state.skip(run, level, stage)
    if skip == run.count { return .gone }
    var valid: UInt32 = 1
    var bound = min(run.count - skip, most)
    if bound > 8 {
      let queue = graphs[graph].queue(of: run.first, stage: stage).number
      let rank = Rank(queues[queue].settings.qos, queue: queue, level: level)
      bound = min(
        bound, useful(graphs[graph].stages[stage].demandClass, rank, candidates, at: now))
    }
    while valid < bound, state.standsInLine(run, skip + valid, level, stage) { valid += 1 }
    return .stands(skip: skip, valid: valid)
  }

  /// A number of ready operations of a class beyond which more would not change the distribution.
  private func useful(
    _ demandClass: Int, _ rank: Rank, _ candidates: [UInt32], at now: Instant
  ) -> UInt32 {
    if classes[demandClass].demandClass.isInside { return .max }
    let demand = classes[demandClass].demandClass.demand
    var eligible: UInt32 = 0
    var most: UInt32 = 1
    for number in candidates where fits(number, demandClass) {
      eligible += 1
      most = max(
        most, free(number).count(fitting: demand), room(at: number, for: rank, at: now))
    }
    let (useful, isTooMuch) = most.multipliedReportingOverflow(by: max(eligible, 1))
    return isTooMuch ? .max : useful
  }

  /// Passes join points through all states at once, inside the coordinator (S4).
  private mutating func join(_ run: ReadyRun, _ count: UInt32, into turn: inout Turn) {
    for offset in 0..<count {
      let id = OperationID(graph: run.graph, index: run.first + offset)
      commit(.succeeded, id, into: &turn)
    }
  }

  // MARK: - Choosing a worker

  /// The worker for operations of a class, and how many of them it takes: the emptiest worker that
  /// can start them at once; else one that soon can; else, for a large operation that small ones
  /// would starve, one that reserves its room for it.
  ///
  /// - Parameter bytes: The maximum of bytes that each operation brings along.
  private func chooseWorker(
    _ candidate: Line.Candidate, _ rank: Rank, _ candidates: [UInt32], bytes: Int, at now: Instant
  ) -> (WorkerID, UInt32)? {
    let demandClass = candidate.demandClass
    let demand = classes[demandClass].demandClass.demand
    var eligible: UInt32 = 0
    var best: (worker: UInt32, count: UInt32, score: Double)?
    var next: (worker: UInt32, count: UInt32, score: Double)?
    var reserve: UInt32?
    for number in candidates where fits(number, demandClass) {
      // It was tried in this pass.
      if conversations[number].isResting { continue }
      eligible += 1
      guard conversations[number].hasRoom(for: bytes) else { continue }
      let free = free(number)
      let fitting = free.count(fitting: demand)
      if fitting > 0, conversations[number].reservation == nil {
        let score = free.cpus.units / max(conversations[number].capacity.cpus.units, 0.001)
        if best.map({ score > $0.score }) ?? true { best = (number, fitting, score) }
        continue
      }
      let room = room(at: number, for: rank, at: now)
      if room > 0 {
        if next.map({ Double(room) > $0.score }) ?? true { next = (number, room, Double(room)) }
      } else if workers[number].held == 0, free.cpus > .zero, reserve == nil {
        reserve = number
      }
    }
    guard let chosen = best ?? next else {
      return reserve.map { (WorkerID($0), 1) }
    }
    let share = (candidate.valid + eligible - 1) / max(eligible, 1)
    let isTry = isTry(
      chosen.worker, OperationID(graph: candidate.run.graph, index: candidate.run.first))
    let count = isTry ? 1 : min(chosen.count, max(share, 1))
    return (WorkerID(chosen.worker), min(count, conversations[chosen.worker].count(fitting: bytes)))
  }

  // MARK: - Handing over

  private mutating func dispatch(
    _ run: ReadyRun, _ count: UInt32, to worker: WorkerID, into turn: inout Turn
  ) {
    if workers[worker.number].held == 0, workers[worker.number].executing == 0 {
      conversations[worker.number].busySince = turn.now
    }
    noteTry(
      worker.number, with: OperationID(graph: run.graph, index: run.first), at: turn.now)
    for offset in 0..<count {
      let id = OperationID(graph: run.graph, index: run.first + offset)
      if dispatch(id, to: worker, awaits: [], into: &turn) {
        dispatchAhead(after: id, to: worker, into: &turn)
      }
    }
    if count == 1, workers[worker.number].held == 1,
      conversations[worker.number].capacity.cpus < workers[worker.number].taken.cpus
    {
      conversations[worker.number].reservation = OperationID(graph: run.graph, index: run.first)
    }
  }

  /// Hands one attempt over; false if the operation failed because of its inputs instead.
  mutating func dispatch(
    _ id: OperationID, to worker: WorkerID, awaits: [LocalDependency], into turn: inout Turn
  ) -> Bool {
    let graph = id.graph.number
    let stage = graphs[graph].stageNumber(of: id.index)
    var inputs: [DependencyInput] = []
    if graphs[graph].stages[stage].template.wantsInputs {
      inputs = self.inputs(of: id, stage)
      if let lack = lack(of: inputs) {
        // A waiting operation may be sent ahead, but fails only at its own time.
        if awaits.isEmpty { refuseInputs(id, lack, into: &turn) }
        return false
      }
    }
    commit(.dispatched(worker), id, into: &turn)
    let cell = graphs[graph].cell(id.index)
    var order = Dispatch(
      attempt: AttemptID(operation: id, attempt: cell.attempt),
      template: UInt32(stage), priority: graphs[graph].priority(of: id.index, stage: stage),
      place: graphs[graph].place(of: id.index), argument: argument(of: id, stage),
      inputs: inputs, awaits: awaits)
    order.run = cell.run
    order.queue = graphs[graph].queue(of: id.index, stage: stage)
    order.service = queues[order.queue.number].settings.qos
    let at = turn.orders(for: worker)
    let announced = announce(stage, of: id, in: order.queue, to: worker, at, &turn)
    if announced != order.queue { order.queueName = queues[order.queue.number].settings.name }
    turn.orders[at].orders.dispatches.append(order)
    conversations[worker.number].note(order.bytes, of: id)
    return true
  }

  /// The element's argument, followed by added blocks: joined, they are one list (S120).
  private func argument(of id: OperationID, _ stage: Int) -> [UInt8] {
    let graph = id.graph.number
    let blocks = graphs[graph].addedBlocks[id.index] ?? []
    if graphs[graph].stages[stage].template.elementArguments.isEmpty { return blocks }
    let element = Int(graphs[graph].stages[stage].element(id.index))
    return graphs[graph].stages[stage].template.elementArguments[element] + blocks
  }

  /// The reason why these inputs cannot be delivered; nil if they can.
  private func lack(of inputs: [DependencyInput]) -> String? {
    if let missing = inputs.first(where: { $0.output?.isEmpty ?? false }) {
      return
        "the output of \(state.shown(missing.operation)) had no room in the coordinator's memory: "
        + "beyond \(Limits.keptOutputBytesPerOperation) bytes an operation, "
        + "\(Limits.keptOutputBytesPerPrincipal >> 20) MiB are kept for one client and "
        + "\(Limits.keptOutputBytes >> 20) for all; leave what is large in a file and say where"
    }
    return inputs.reduce(0, { $0 + ($1.output?.count ?? 0) }) > Limits.inputBytes
      ? "the outputs of its dependencies exceed \(Limits.inputBytes) bytes together" : nil
  }

  private mutating func refuseInputs(
    _ id: OperationID, _ lack: String, into turn: inout Turn
  ) {
    var result = AttemptResult()
    result.cause = .missingInput
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
    _ turn: inout Turn
  ) -> QueueID {
    let graph = id.graph
    let usual = graphs[graph.number].stages[stage].queue
    let named = usual == own || queues.contains(usual.number) ? usual : own
    let queueName = queues[named.number].settings.name
    let template = UInt32(stage)
    if conversations[worker.number].knows(template, of: graph, queue: queueName) { return named }
    conversations[worker.number].tell(template, of: graph, queue: queueName)
    var announcement = graphs[graph.number].announcement(
      of: stage, queues[own.number].settings.qos)
    announcement.queueName = queueName
    conversations[worker.number].note(announcement.payload.count, of: id)
    turn.orders[at].orders.templates.append(announcement)
    return named
  }

  /// The outputs of its finished dependencies (S135, S138): of whole stages only existing outputs.
  func inputs(of id: OperationID, _ stage: Int) -> [DependencyInput] {
    let graph = id.graph.number
    if !graphs[graph].hasDependencies(id.index, stage) { return [] }
    var inputs: [DependencyInput] = []
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      for index in graphs[graph].stages[edge.stage].indices
      where graphs[graph].outputs[index] != nil {
        if let input = input(from: graphs[graph].operation(index)) { inputs.append(input) }
      }
    }
    graphs[graph].forEachDependency(of: id.index) { on, _ in
      if let input = input(from: on) { inputs.append(input) }
    }
    return inputs
  }

  /// nil: it has not ended, or its graph is no longer remembered.
  private func input(from id: OperationID) -> DependencyInput? {
    guard let outcome = state.ending(of: id)?.outcome else { return nil }
    guard graphs.contains(id.graph.number) else {
      let output = state.lacksOutput(id) ? [] : ended[id.graph]?.output(of: id.index)
      return DependencyInput(
        operation: id, name: "", index: nil, outcome: outcome, output: output)
    }
    let stage = graphs[id.graph.number].stages[
      graphs[id.graph.number].stageNumber(of: id.index)]
    let shown =
      stage.template.isArray
      ? stage.template.shownIndex(ofElement: stage.element(id.index)) : nil
    return DependencyInput(
      operation: id, name: stage.template.name, index: shown, outcome: outcome,
      output: outcome == .succeeded ? graphs[id.graph.number].outputs[id.index] : nil)
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
    return announcement
  }

  /// Whether an operation has, or had, any dependency.
  fileprivate func hasDependencies(_ index: UInt32, _ stage: Int) -> Bool {
    !dependencies.range(of: index).isEmpty || !stages[stage].incoming.isEmpty
      || (!extraDependencies.isEmpty && extraDependencies[index] != nil)
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
    return announcement
  }
}

extension Resources {
  /// How many times `demand` fits; at most 65,536, and 0 if any amount is overdrawn.
  func count(fitting demand: Resources) -> UInt32 {
    var count: Int64 = 65_536
    func bound(_ free: Int64, _ wanted: Int64) {
      if wanted > 0 { count = min(count, max(free, 0) / wanted) }
    }
    bound(cpus.tenThousandths, demand.cpus.tenThousandths)
    bound(memoryBytes, demand.memoryBytes)
    bound(gpus.tenThousandths, demand.gpus.tenThousandths)
    for wanted in demand.custom {
      bound(amount(named: wanted.name).tenThousandths, wanted.amount.tenThousandths)
    }
    return UInt32(count)
  }
}

extension ClusterState {
  /// Puts a run in line.
  mutating func enterLine(_ run: ReadyRun, _ queue: UInt32, demandClass: Int, level: Int) {
    if queues[queue].line.isEmpty { noteLined(queue) }
    queues[queue].line.add(run, of: lineClass(demandClass), level: level)
    if queues[queue].line.hasBecomeDue { crowdedQueues.append(queue) }
  }

  /// Notes that the line of a queue is no longer empty.
  mutating func noteLined(_ queue: UInt32) {
    var (low, high) = (0, linedQueues.count)
    while low < high {
      let middle = (low + high) / 2
      if linedQueues[middle] < queue { low = middle + 1 } else { high = middle }
    }
    if low < linedQueues.count, linedQueues[low] == queue { return }
    linedQueues.insert(queue, at: low)
  }

  /// Removes obsolete runs from long lines. Only between turns: inside of one, a run may stand in
  /// line a moment before it is ready.
  mutating func sweepLines() {
    if crowdedQueues.isEmpty { return }
    for queue in crowdedQueues where queues.contains(queue) {
      guard queues[queue].line.isDueForSweep else { continue }
      var line = Line()
      swap(&line, &queues[queue].line)
      line.sweep { run, level in
        guard graphs.contains(run.graph.number) else { return .gone }
        let stage = graphs[run.graph.number].stageNumber(of: run.first)
        let skip = skip(run, level, stage)
        return skip == run.count ? .gone : .stands(skip: skip, valid: 1)
      }
      swap(&line, &queues[queue].line)
    }
    crowdedQueues.removeAll(keepingCapacity: true)
  }

  /// The number of first operations of a run that do not stand in line.
  func skip(_ run: ReadyRun, _ level: Int, _ stage: Int) -> UInt32 {
    var skip: UInt32 = 0
    while skip < run.count, !standsInLine(run, skip, level, stage) { skip += 1 }
    return skip
  }

  func parallelRoom(_ graph: UInt32, _ stage: Int) -> UInt32 {
    let bound = graphs[graph].stages[stage].template.maximumParallel
    return bound == 0 ? .max : bound - min(bound, graphs[graph].stages[stage].inFlight)
  }

  func standsInLine(
    _ run: ReadyRun, _ offset: UInt32, _ level: Int, _ stage: Int
  ) -> Bool {
    let graph = run.graph.number
    let index = run.first + offset
    guard let cell = graphs[graph].cells.stored(index) else {
      return graphs[graph].stages[stage].pristine.phase == .ready
    }
    guard cell.isInLine else { return false }
    if !cell.flags.contains(.changed) { return true }
    let priority = graphs[graph].priority(of: index, stage: stage)
    return graphs[graph].place(of: index) == run.place + UInt64(offset)
      && (level == Line.barrierLevel || Line.level(of: priority) == level)
  }
}
