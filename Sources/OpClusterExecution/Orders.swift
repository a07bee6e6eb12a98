// Templates, dispatches, recalls and cancels from the coordinator.

import OpClusterModel

extension ExecutionCore {
  mutating func learn(
    _ announcement: TemplateAnnouncement, into effects: inout [ExecutionEffect]
  ) {
    guard announcement.template < UInt32(Limits.templatesPerGraph) else { return }
    let graph = operations.numberMaking(announcement.graph)
    operations[graph].isForgotten = false
    if let known = operations[graph].template(at: announcement.template) {
      // Each conversation repeats the template; only the name of its queue can change.
      guard templates[Int(known.position)].queueName != announcement.queueName else { return }
      templates[Int(known.position)].queueName = announcement.queueName
      return effects.append(.learn(known, announcement))
    }
    let template = Template(
      graph: graph, firstIndex: announcement.firstIndex, name: announcement.name,
      queueName: announcement.queueName,
      isArray: announcement.isArray, indexRuns: announcement.indexRuns,
      demandClass: queue.join(announcement.demand, isExclusive: announcement.isExclusive),
      isPossible: identity.isLargeEnough(for: announcement.demand),
      isExclusive: announcement.isExclusive, contentNeeds: announcement.contentNeeds)
    let number: TemplateNumber
    if let again = freeTemplates.popLast() {
      number = again
      templates[Int(number.position)] = template
    } else {
      number = TemplateNumber(Int32(templates.count))
      templates.append(template)
    }
    operations[graph].setTemplate(number, at: announcement.template)
    effects.append(.learn(number, announcement))
  }

  /// Marks a graph that no further order names; it is removed when nothing of it is left here.
  mutating func forget(_ graph: GraphID, into effects: inout [ExecutionEffect]) {
    guard let number = operations.number(of: graph) else { return }
    operations[number].isForgotten = true
    removeIfOver(number, into: &effects)
  }

  private mutating func removeIfOver(
    _ graph: Int32, into effects: inout [ExecutionEffect]
  ) {
    guard operations[graph].live == 0, operations[graph].isForgotten else { return }
    for number in operations[graph].templates where number.position >= 0 {
      queue.leave(templates[Int(number.position)].demandClass)
      freeTemplates.append(number)
      effects.append(.forget(number))
    }
    effects.append(.forgetGraph(operations[graph].graph))
    operations.remove(graph)
  }

  /// Takes a dispatch in; false if its template is unknown. A dispatch that was seen before is
  /// never taken again (hole 2).
  mutating func accept(
    _ dispatch: Dispatch, at now: Instant, into effects: inout [ExecutionEffect]
  ) -> Bool {
    let (operation, attempt) = (dispatch.attempt.operation, dispatch.attempt.attempt)
    guard let graph = operations.number(of: operation.graph),
      let template = operations[graph].template(at: dispatch.template)
    else { return false }
    let known = operations[graph][operation.index]
    guard attempt > known.highest else {
      answerRepeated(dispatch.attempt, known.slot)
      return true
    }
    operations[graph][operation.index].highest = attempt
    operations[graph].isForgotten = false
    guard assigned < settings.maximumAssigned else {
      outbox.append(.recalled(dispatch.attempt))
      return true
    }
    // For the coordinator an older attempt has ended.
    if known.slot.exists { change(known.slot, .abandon, at: now, into: &effects) }
    let slot = place(for: dispatch.attempt, graph: graph)
    operations[graph][operation.index].outcome = nil
    operations[graph][operation.index].template = template
    attempts[slot].id = dispatch.attempt
    attempts[slot].template = template
    attempts[slot].priority = dispatch.priority
    attempts[slot].place = dispatch.place
    attempts[slot].queue = dispatch.queue
    attempts[slot].service = dispatch.service
    attempts[slot].run = dispatch.run
    guard templates[Int(template.position)].isPossible else {
      endImpossible(slot, into: &effects)
      return true
    }
    attempts[slot].state = .blocked
    attempts[slot].argument = dispatch.argument
    attempts[slot].inputs = dispatch.inputs
    if let name = dispatch.queueName { movedQueues[dispatch.attempt] = name }
    assigned += 1
    for dependency in dispatch.awaits.reversed() { addAwait(dependency, slot) }
    if !dispatch.inputs.isEmpty { awaitContents(slot, into: &effects) }
    if !awaitsAreRead(by: slot) {
      // The coordinator knows who else has it, or lets it be made again.
      change(slot, .recall, at: now, into: &effects)
    } else if attempts[slot].unmet == 0 {
      change(slot, .awaitsMet, at: now, into: &effects)
    }
    return true
  }

  /// Returns the slot of an operation; a new one if it has none.
  private mutating func place(for attempt: AttemptID, graph: Int32) -> Slot {
    let known = operations[graph][attempt.operation.index].slot
    if known.exists { return known }
    let slot = attempts.take(attempt, graph: graph)
    operations[graph][attempt.operation.index].slot = slot
    operations[graph].live += 1
    return slot
  }

  /// Answers a repeated dispatch with its present state; it never runs again (S13).
  private mutating func answerRepeated(_ attempt: AttemptID, _ slot: Slot) {
    late += 1
    guard slot.exists, attempts[slot].id == attempt, attempts[slot].state.isLive else { return }
    outbox.append(.alreadyStarted(attempt))
  }

  /// Fails an attempt that demands more than this worker has: it would wait forever.
  private mutating func endImpossible(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    var result = AttemptResult()
    result.cause = .cannotStart
    result.diagnostic = "asks for more than worker '\(identity.name)' has; check its resources"
    attempts[slot].state = .ended
    outbox.append(.finished(attempts[slot].id, result))
    settle(slot, result.outcomeAtWorker(isCancelled: false), [], into: &effects)
  }

  /// Adds one local dependency; satisfied at once if the operation has already succeeded here
  /// (S151).
  private mutating func addAwait(_ dependency: LocalDependency, _ slot: Slot) {
    let operation = dependency.operation
    guard operation != attempts[slot].id.operation else { return }
    let graph = operations.numberMaking(operation.graph)
    let number = edges.add(
      AwaitEdge(awaited: operation, from: .none, to: slot, policy: dependency.policy))
    edges[number].nextAwait = attempts[slot].firstAwait
    attempts[slot].firstAwait = number
    let known = operations[graph][operation.index]
    let hasEnded = known.slot.exists && attempts[known.slot].state == .ended
    let outcome = hasEnded ? attempts[known.slot].outcome : known.outcome
    if let outcome, dependency.policy.isSatisfied(by: outcome) {
      let output = hasEnded ? attempts[known.slot].output : []
      edges[number].input = input(operation, known.template, outcome, output)
      return
    }
    // A graph that is only awaited is removed with its last waiting operation.
    if operations[graph].templates.isEmpty { operations[graph].isForgotten = true }
    let from = place(
      for: AttemptID(operation: operation, attempt: known.highest), graph: graph)
    edges[number].from = from
    edges.link(number, into: &attempts[from].firstDependent)
    attempts[slot].unmet += 1
  }

  /// Returns the input of a dependent from an operation that ended here.
  func input(
    _ operation: OperationID, _ number: TemplateNumber, _ outcome: Outcome, _ output: [UInt8]
  ) -> DependencyInput {
    let template = number.position >= 0 ? templates[Int(number.position)] : nil
    return DependencyInput(
      operation: operation, name: template?.name ?? "",
      index: template.flatMap { $0.isArray ? $0.shownIndex(of: operation) : nil },
      outcome: outcome, output: outcome == .succeeded && !output.isEmpty ? output : nil)
  }

  /// Handles a recall, or the cancel of an unstarted attempt, which has the same effect (S91).
  mutating func recall(
    _ attempt: AttemptID, _ event: AttemptEvent, grace: Span? = nil, at now: Instant,
    into effects: inout [ExecutionEffect]
  ) {
    guard let graph = operations.number(of: attempt.operation.graph) else {
      outbox.append(.recalled(attempt))
      return
    }
    let known = operations[graph][attempt.operation.index]
    if known.slot.exists, attempts[known.slot].id == attempt,
      attempts[known.slot].state != .absent
    {
      change(known.slot, event, grace: grace, at: now, into: &effects)
    } else if attempt.attempt >= known.highest {
      // The attempt is unknown, or was given back before: it will not start.
      operations[graph][attempt.operation.index].highest = attempt.attempt
      outbox.append(.recalled(attempt))
    } else {
      late += 1
    }
  }

  /// Ends attempts that no longer belong to this worker, without a report (S147).
  mutating func abandon(
    _ stale: [AttemptID], at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    for attempt in stale {
      let slot = operations.slot(of: attempt.operation)
      guard slot.exists, attempts[slot].id == attempt else { continue }
      change(slot, .abandon, at: now, into: &effects)
    }
    let gone = Set(stale)
    outbox.filterPending { !gone.contains($0.attempt) }
  }

  /// Ends the use of a slot. It stays as the place of an operation that others await; otherwise it
  /// becomes free.
  mutating func release(_ slot: Slot, into effects: inout [ExecutionEffect]) {
    if !movedQueues.isEmpty { movedQueues[attempts[slot].id] = nil }
    attempts[slot].argument = []
    attempts[slot].inputs = []
    attempts[slot].output = []
    attempts[slot].outcome = nil
    attempts[slot].isCancelled = false
    attempts[slot].isStartReported = false
    if attempts[slot].firstDependent.exists {
      // Invalidate the tickets of the former attempt.
      attempts[slot].generation &+= 1
      return
    }
    let (operation, graph) = (attempts[slot].id.operation, attempts[slot].graph)
    operations[graph][operation.index].slot = .none
    attempts.giveBack(slot)
    leave(graph, into: &effects)
  }

  /// Counts down the graph's attempts here.
  mutating func leave(_ graph: Int32, into effects: inout [ExecutionEffect]) {
    operations[graph].live -= 1
    if operations[graph].isForgotten { removeIfOver(graph, into: &effects) }
  }

  /// Removes the slot's awaits, and operations that only it awaited.
  mutating func dropAwaits(of slot: Slot, into effects: inout [ExecutionEffect]) {
    var number = attempts[slot].firstAwait
    attempts[slot].firstAwait = .none
    attempts[slot].unmet = 0
    while number.exists {
      let next = edges[number].nextAwait
      let from = edges[number].from
      if from.exists {
        edges.unlink(number, from: &attempts[from].firstDependent)
        if attempts[from].state == .absent { release(from, into: &effects) }
      }
      edges.remove(number)
      number = next
    }
  }
}

extension ExecutionCore.Template {
  /// The shown number of an element (`OP_INDEX`).
  func shownIndex(of operation: OperationID) -> UInt32 {
    indexRuns.number(ofElement: operation.index &- firstIndex)
  }
}
