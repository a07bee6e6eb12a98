// Starts, stops and ends attempts: carries out the actions of `AttemptState.after`.

public import OpClusterModel

extension ExecutionCore {
  /// Starts at most `most` attempts that fit and returns their number; call it again until it
  /// returns 0 or the body's time slice is used up. The best comes first (S47). If the best does
  /// not fit, the free part of its demand stays reserved, so that small ones behind it do not
  /// starve it.
  public mutating func startReady(
    atMost most: Int, at now: Instant, into effects: inout [ExecutionEffect]
  ) -> Int {
    let mayStart = link.holdsLease(at: now)
    guard queue.ready > 0, !isDraining, !isStopping, !isOrphaned, mayStart else { return 0 }
    // Ended attempts that are not durable elsewhere are kept here, so no more of them are started
    // (G27).
    guard outbox.bytes < settings.maximumUnacknowledgedBytes else { return 0 }
    var room = available
    var freeGPUs = gpus
    var isReserved = false
    var started = 0
    while started < most, running < settings.maximumRunning, let (lane, entry) = best() {
      let demand = queue.demand(of: lane)
      if queue.isExclusive(lane), !mayBegin(entry.operation, at: now) {
        isReserved = true
        queue.lanes[Int(lane)].isBlocked = true
      } else if room.covers(demand),
        let share = freeGPUs.share(of: settings.isRelay ? .zero : demand.gpus)
      {
        room.take(demand)
        freeGPUs.take(share)
        give(share, to: attempts[entry.ticket.slot].id)
        queue.lanes[Int(lane)].line.removeFirst()
        queue.served(lane)
        change(entry.ticket.slot, .chosen, at: now, into: &effects)
        started += 1
      } else {
        if !isReserved {
          room.reserve(demand)
          if !settings.isRelay { freeGPUs.reserve(demand.gpus) }
        }
        isReserved = true
        queue.lanes[Int(lane)].isBlocked = true
      }
    }
    if isReserved { queue.unblockAll() }
    return started
  }

  /// Whether an exclusive operation may have processes here: only under the lease, and not while an
  /// abandoned attempt of the same operation is still dying (G16).
  private func mayBegin(_ operation: OperationID, at now: Instant) -> Bool {
    link.holdsFence(at: now) && !leftovers.keys.contains { $0.operation == operation }
  }

  /// Returns the best entry among the lanes that are not blocked in this pass.
  private mutating func best() -> (Int32, LineEntry)? {
    var best: (Int32, LineEntry)?
    for lane in queue.active {
      guard !queue.lanes[Int(lane)].isBlocked, let entry = head(of: Int(lane)) else { continue }
      if let found = best, queue.goesBefore(found.1, of: found.0, entry, of: lane) { continue }
      best = (lane, entry)
    }
    return best
  }

  /// Returns the first valid entry of a line; drops entries that were given back.
  private mutating func head(of lane: Int) -> LineEntry? {
    while let entry = queue.lanes[lane].line.first {
      if stands(entry) { return entry }
      queue.lanes[lane].line.removeFirst()
    }
    return nil
  }

  private func stands(_ entry: LineEntry) -> Bool {
    attempts.isCurrent(entry.ticket) && attempts[entry.ticket.slot].state == .ready
      && attempts[entry.ticket.slot].id.operation == entry.operation
  }

  /// Changes an attempt's state; every change goes through this function.
  mutating func change(
    _ slot: Slot, _ event: AttemptEvent, grace: Span? = nil, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    let before = attempts[slot].state
    let (next, action) = before.after(event)
    attempts[slot].state = next
    switch action {
    case .nothing, .report: break
    case .enqueue: enqueue(slot)
    case .reportUnstarted:
      assigned -= 1
      leaveContents(slot, into: &effects)
      dropAwaits(of: slot, into: &effects)
      attempts[slot].argument = []
      attempts[slot].inputs = []
    case .launch: launch(slot, at: now, into: &effects)
    case .giveBack:
      outbox.append(.recalled(attempts[slot].id))
      unassign(slot, before, into: &effects)
    case .drop: unassign(slot, before, into: &effects)
    case .answerStarted:
      reportStart(slot)
      outbox.append(.alreadyStarted(attempts[slot].id))
    case .takeCancel:
      reportStart(slot)
      attempts[slot].isCancelled = true
      outbox.append(.cancelTaken(attempts[slot].id))
      ask(slot, grace, at: now, into: &effects)
    case .repeatCancel:
      attempts[slot].isCancelled = true
      outbox.append(.cancelTaken(attempts[slot].id))
      if let grace, next.isLive { timers.set(now + grace, .grace, attempts.ticket(slot)) }
    case .askToStop: ask(slot, grace, at: now, into: &effects)
    case .kill: effects.append(.kill(attempts[slot].id))
    case .killAndForget: killAndForget(slot, into: &effects)
    case .release:
      let (operation, graph) = (attempts[slot].id.operation, attempts[slot].graph)
      let isOutputLost = attempts[slot].outcome == .succeeded && !attempts[slot].output.isEmpty
      operations[graph][operation.index].outcome = isOutputLost ? nil : attempts[slot].outcome
      release(slot, into: &effects)
    }
  }

  private mutating func enqueue(_ slot: Slot) {
    let attempt = attempts[slot]
    queue.insert(
      LineEntry(
        priority: attempt.priority, place: attempt.place, operation: attempt.id.operation,
        ticket: SlotTicket(slot: slot, generation: attempt.generation)),
      laneKey(of: slot), attempt.service)
  }

  /// The lane of a ready attempt in the local queue.
  private func laneKey(of slot: Slot) -> LocalQueue.LaneKey {
    LocalQueue.LaneKey(
      demandClass: templates[Int(attempts[slot].template.position)].demandClass,
      queue: attempts[slot].queue)
  }

  private mutating func launch(
    _ slot: Slot, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    let number = attempts[slot].template
    let demandClass = templates[Int(number.position)].demandClass
    queue.remove(laneKey(of: slot))
    available.take(queue.classes[Int(demandClass)].demand)
    assigned -= 1
    running += 1
    if isExclusive(number) { exclusivesRunning += 1 }
    launched += 1
    leaveContents(slot, into: &effects)
    var launch = Launch(
      attempt: attempts[slot].id, template: number, run: attempts[slot].run,
      queueName: movedQueues.removeValue(forKey: attempts[slot].id), argument: [], inputs: [])
    swap(&launch.argument, &attempts[slot].argument)
    swap(&launch.inputs, &attempts[slot].inputs)
    if let share = gpuShares.isEmpty ? nil : gpuShares[launch.attempt]?.last {
      launch.gpus = share.parts.map(\.position)
    }
    let given = launch.inputs.count
    var edge = attempts[slot].firstAwait
    while edge.exists {
      if let input = edges[edge].input { launch.inputs.append(input) }
      edge = edges[edge].nextAwait
    }
    // As the coordinator does with what it sends.
    if launch.inputs.count > given {
      templates[Int(number.position)].contentNeeds.narrow(&launch.inputs[given...])
    }
    if attempts[slot].firstAwait.exists { dropAwaits(of: slot, into: &effects) }
    newlyStarted.append(attempts.ticket(slot))
    if let timeout = templates[Int(number.position)].limits.timeout {
      timers.set(now + timeout, .timeout, attempts.ticket(slot))
    }
    effects.append(.launch(launch))
  }

  /// Removes an unstarted attempt from the local queue.
  private mutating func unassign(
    _ slot: Slot, _ before: AttemptState, into effects: inout [ExecutionEffect]
  ) {
    assigned -= 1
    if before == .ready {
      let lane = queue.remove(laneKey(of: slot))
      leaveContents(slot, into: &effects)
      dropAwaits(of: slot, into: &effects)
      release(slot, into: &effects)
      if let lane { sweepLine(Int(lane)) }
    } else {
      leaveContents(slot, into: &effects)
      dropAwaits(of: slot, into: &effects)
      release(slot, into: &effects)
    }
  }

  /// Sweeps a line that consists mostly of entries given back.
  private mutating func sweepLine(_ number: Int) {
    guard queue.lanes[number].line.count > 64 + 2 * queue.lanes[number].ready else { return }
    var line = queue.lanes[number].line
    queue.lanes[number].line = Line()
    line.removeAll { !stands($0) }
    queue.lanes[number].line = line
  }

  /// Asks the attempt to stop and sets the grace: the order's, the command's own, or the cluster's.
  private mutating func ask(
    _ slot: Slot, _ grace: Span?, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    let own = templates[Int(attempts[slot].template.position)].limits.grace
    timers.set(now + (grace ?? own ?? link.timing.grace), .grace, attempts.ticket(slot))
    effects.append(.stop(attempts[slot].id))
  }

  /// Kills and drops a running attempt that no longer belongs to this worker. Its resources become
  /// free when the body reports its end.
  private mutating func killAndForget(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    let attempt = attempts[slot].id
    effects.append(.kill(attempt))
    leftovers[attempt] = attempts[slot].template
    operations[attempts[slot].graph].live += 1
    if !unkillable.isEmpty { addUpUnkillable() }
    release(slot, into: &effects)
  }

  mutating func fire(
    _ timer: AttemptTimer, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    guard attempts.isCurrent(timer.ticket) else { return }
    switch timer.kind {
    case .timeout: change(timer.ticket.slot, .stop(.timeout), at: now, into: &effects)
    case .grace: change(timer.ticket.slot, .graceOver, at: now, into: &effects)
    }
  }

  /// Handles the end of an attempt.
  /// - Parameter isOutlived: The attempt left processes that KILL does not end and that keep its
  ///   resources.
  mutating func ended(
    _ attempt: AttemptID, _ raw: AttemptResult, isOutlived: Bool = false, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    let slot = operations.slot(of: attempt.operation)
    guard slot.exists, attempts[slot].id == attempt, attempts[slot].state.isLive else {
      if isOutlived {
        outlive(attempt, at: now)
      } else {
        endLeftover(attempt, at: now, into: &effects)
      }
      return
    }
    let result = Self.conclude(raw, attempts[slot].state)
    change(slot, .ended, at: now, into: &effects)
    if isOutlived {
      leftovers[attempt] = attempts[slot].template
      operations[attempts[slot].graph].live += 1
      outlive(attempt, at: now)
    } else {
      forgetUnkillable(attempt)
      freeRoom(of: attempt, attempts[slot].template, at: now)
    }
    if !progress.isEmpty { progress[attempt] = nil }
    let outcome = result.outcomeAtWorker(isCancelled: attempts[slot].isCancelled)
    outbox.append(.finished(attempt, result))
    if settle(slot, outcome, result.output, into: &effects) { outbox.noteFollowed() }
  }

  mutating func endLeftover(
    _ attempt: AttemptID, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    guard let template = leftovers.removeValue(forKey: attempt) else {
      late += 1
      return
    }
    outlived.remove(attempt)
    forgetUnkillable(attempt)
    freeRoom(of: attempt, template, at: now)
    leave(templates[Int(template.position)].graph, into: &effects)
  }

  /// Frees the resources of an attempt of which nothing is left.
  private mutating func freeRoom(
    of attempt: AttemptID, _ number: TemplateNumber, at now: Instant
  ) {
    takeBackGPUs(of: attempt)
    let demandClass = templates[Int(number.position)].demandClass
    available.giveBack(queue.classes[Int(demandClass)].demand)
    running -= 1
    if isExclusive(number) { exclusivesRunning -= 1 }
    beginFarewell(at: now)
  }

  /// Tells the operations that wait here for the outcome. An edge whose policy it does not satisfy
  /// stays open: the operation may be tried again, or the coordinator recalls the dependent.
  /// Returns whether one of them waits for nothing more.
  @discardableResult
  mutating func settle(
    _ slot: Slot, _ outcome: Outcome?, _ output: [UInt8], into effects: inout [ExecutionEffect]
  ) -> Bool {
    attempts[slot].outcome = outcome
    attempts[slot].output = output
    guard let outcome, attempts[slot].firstDependent.exists else { return false }
    var isFollowed = false
    let (operation, template) = (attempts[slot].id.operation, attempts[slot].template)
    var number = attempts[slot].firstDependent
    while number.exists {
      let next = edges[number].nextDependent
      if edges[number].policy.isSatisfied(by: outcome) {
        edges.unlink(number, from: &attempts[slot].firstDependent)
        edges[number].from = .none
        edges[number].input = input(operation, template, outcome, output)
        let dependent = edges[number].to
        attempts[dependent].unmet -= 1
        if !awaitsRead(number) {
          change(dependent, .recall, at: .zero, into: &effects)
        } else if attempts[dependent].unmet == 0 {
          change(dependent, .awaitsMet, at: .zero, into: &effects)
          isFollowed = true
        }
      }
      number = next
    }
    return isFollowed
  }

  /// Returns the result for the coordinator: the body's result with the reason of the stop.
  static func conclude(_ raw: AttemptResult, _ state: AttemptState) -> AttemptResult {
    var result = raw
    switch state {
    case .absent, .blocked, .ready, .running, .ended: return raw
    case .stopping(let reason): Self.blame(reason, &result)
    case .killing(let reason):
      Self.blame(reason, &result)
      result.wasForced = true
    }
    return result
  }

  /// The text for people about an exclusive attempt that the lease ended.
  public static let fenceDiagnostic =
    "killed, since the coordinator had not heard of the worker for too long and might have given "
    + "this exclusive operation to another"

  private static func blame(_ reason: StopReason, _ result: inout AttemptResult) {
    switch reason {
    case .timeout: result.cause = .timeout
    case .workerStop:
      if result.isSuccess { return }
      result.cause = .workerStopped
      // Nobody cancelled it: it is tried elsewhere, and what waits for its end waits on (G10).
      result.wasStopped = false
    case .fence:
      if result.isSuccess { return }
      result.cause = .workerStopped
      result.wasStopped = false
      result.diagnostic = fenceDiagnostic
    case .cancel:
      // A success in spite of the stop is kept (S99); a failure counts as a consequence of the
      // stop.
      if result.cause != .none { result.wasStopped = true }
      result.cause = .none
    }
  }

  /// Begins a stop after SIGTERM, or after a drain that may not wait: asks everything to stop, then
  /// leaves.
  mutating func beginStop(at now: Instant, into effects: inout [ExecutionEffect]) {
    guard !isStopping else { return }
    stopDeadline = now + settings.farewell
    stopEverything(at: now, into: &effects)
  }

  mutating func stopEverything(at now: Instant, into effects: inout [ExecutionEffect]) {
    for slot in attempts.used where attempts[slot].state.isLive {
      change(slot, .stop(.workerStop), at: now, into: &effects)
    }
  }

  mutating func killEverything(at now: Instant, into effects: inout [ExecutionEffect]) {
    beginStop(at: now, into: &effects)
    for slot in attempts.used where attempts[slot].state.isLive {
      change(slot, .graceOver, at: now, into: &effects)
    }
  }
}
