// The brain's part of the conversation: hello, welcome, numbered orders, reports.

public import OpClusterModel

extension ExecutionCore {
  /// Returns the next message; nil: nothing to send. Call it at the end of a turn, when the socket
  /// can take a message, until it returns nil. Progress waits for the next heartbeat, unless
  /// `withProgress` is set.
  public mutating func takeMessage(
    at now: Instant, withProgress: Bool = false
  ) -> WorkerMessage? {
    switch link.state {
    case .greeting(let deadline, isHelloTaken: false):
      link.state = .greeting(deadline: deadline, isHelloTaken: true)
      link.madeHello(at: now)
      return .hello(hello())
    case .talking(let conversation):
      let isHeartbeatDue = now >= link.nextHeartbeat
      reportStarts()
      if isHeartbeatDue || withProgress { reportProgress() }
      if isHeartbeatDue || !outbox.pending.isEmpty || contents.hasNews {
        link.nextHeartbeat = now + link.timing.heartbeat
        var report = outbox.take(conversation, ordersTaken: link.ordersTaken)
        // Also after an order: a coordinator that took it for lost meanwhile knows nothing of that.
        report.isLeaving = isDraining
        if !unkillable.isEmpty {
          report.unkillable = Array(unkillable.prefix(Limits.unkillableTold))
          report.unkillableDemand = unkillableDemand
        }
        if contents.hasNews { contents.tell(&report) }
        link.made(report: report.number, at: now)
        return .report(report)
      }
      guard isGoodbyeDue else { return nil }
      link.state = .closed
      exit = isStopping ? .stopped : .drained
      return .goodbye(lastReport: outbox.newest)
    case .greeting, .waiting, .closed: return nil
    }
  }

  /// Whether there is news beyond starts and progress, which travel with the next report.
  public var hasNews: Bool {
    switch link.state {
    case .talking: !outbox.pending.isEmpty || contents.hasNews || isGoodbyeDue
    case .greeting(_, let isHelloTaken): !isHelloTaken
    case .waiting, .closed: false
    }
  }
  /// Whether there are unreported starts or progress.
  public var hasUntoldStarts: Bool { !newlyStarted.isEmpty || !progressOrder.isEmpty }

  /// Attempts that have begun and whose ends are not acknowledged.
  public var executingAttempts: [AttemptID] { hello().executing }

  /// Makes the hello. Ended attempts without acknowledgement count as executing: the coordinator
  /// regards them so until the report follows.
  private func hello() -> WorkerHello {
    var hello = identity
    hello.known = known
    for slot in attempts.used {
      switch attempts[slot].state {
      case .blocked, .ready: hello.assigned.append(attempts[slot].id)
      case .running, .stopping, .killing, .ended: hello.executing.append(attempts[slot].id)
      case .absent: break
      }
    }
    hello.assigned.sort()
    hello.executing.sort()
    return hello
  }

  mutating func take(
    _ message: CoordinatorMessage, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    switch message {
    case .welcome(let welcome):
      guard case .greeting(_, isHelloTaken: true) = link.state,
        welcome.conversation.session == identity.session
      else {
        late += 1
        return
      }
      if let refusal = refusal(of: welcome.version) {
        link.state = .closed
        exit = .refused(refusal)
        return
      }
      begin(welcome, at: now, into: &effects)
    case .refused(let refusal) where refusal.code == .otherHistory:
      beginAnew(at: now, into: &effects)
    case .refused(let refusal): refused(refusal, at: now)
    case .orders(let orders): obey(orders, at: now, into: &effects)
    case .logRequest: if link.conversation != nil { link.heard(at: now) }
    }
  }

  /// Returns why the worker cannot speak the version that the coordinator has chosen; nil if it can
  /// (G32).
  private func refusal(of version: UInt32) -> Refusal? {
    let ours = identity.versions
    if version >= ours.lowest, version <= ours.highest { return nil }
    return Refusal(
      .versionMismatch,
      "the coordinator chose version \(version), this worker speaks \(ours.lowest) to "
        + "\(ours.highest)", hint: "install the same release on both sides")
  }

  /// Begins a conversation: drops attempts that no longer belong to this worker, and repeats
  /// unacknowledged reports.
  private mutating func begin(
    _ welcome: Welcome, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    link.welcomed(welcome, at: now)
    contents.begin(areTold: welcome.takesContents)
    // What is told anew stays until it is released anew: the coordinator may need again what it
    // released before, and could not say so meanwhile.
    if welcome.takesContents, !contents.held.isEmpty {
      effects.append(.keep(contents.held.keys.sorted()))
    }
    known = welcome.known
    drainHeard = nil
    isOrphaned = false
    isFenced = false
    abandon(welcome.stale, at: now, into: &effects)
    for entry in outbox.takeAll() where isWorthTelling(entry) { outbox.append(entry) }
  }

  /// Whether an unacknowledged entry of an earlier conversation is still valid.
  private mutating func isWorthTelling(_ entry: WorkerReport.Entry) -> Bool {
    switch entry {
    case .started(let attempt), .finished(let attempt, _):
      let slot = operations.slot(of: attempt.operation)
      return slot.exists && attempts[slot].id == attempt && attempts[slot].state != .absent
    case .recalled, .alreadyStarted, .cancelTaken: return true
    case .progress: return false
    }
  }

  /// Handles a refusal; some pass, the others are final. A refusal in a conversation leads to a new
  /// hello soon; a refusal of a hello leads to a longer wait.
  private mutating func refused(_ refusal: Refusal, at now: Instant) {
    // Also where the worker has given the conversation up itself, for its silence.
    if refusal.code == .unknownWorker { link.doubtOwnership() }
    if case .waiting = link.state { return }
    switch refusal.code {
    case .busy, .shuttingDown, .limitExceeded:
      if link.conversation == nil {
        link.failBusy(settings, at: now)
      } else {
        link.fail(settings, at: now)
      }
    case .versionMismatch, .forbidden, .badRequest:
      link.state = .closed
      exit = .refused(refusal)
    default: link.fail(settings, at: now)
    }
  }

  /// Obeys orders of the present conversation, each number once, in order (Simulation.md, hole 1).
  private mutating func obey(
    _ orders: WorkerOrders, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    guard link.conversation == orders.conversation else {
      late += 1
      return
    }
    link.heard(at: now)
    link.noteHeard(through: max(orders.heard, orders.acknowledged))
    if isFenced, link.holdsFence(at: now) { isFenced = false }
    // A heartbeat without content has no number.
    if orders.number == 0, orders.isHeartbeat { return link.joinBeat(at: now) }
    if orders.number <= link.ordersTaken {
      late += 1
      return
    }
    guard orders.number <= link.ordersTaken + 1 else {
      link.fail(settings, at: now)
      return
    }
    link.ordersTaken = orders.number
    if let before = known?.commit, before < orders.commit { known?.commit = orders.commit }
    for template in orders.templates { learn(template, into: &effects) }
    obeyContents(orders, at: now, into: &effects)
    for dispatch in orders.dispatches {
      guard accept(dispatch, at: now, into: &effects) else {
        // The dispatch names an unknown template: the peers disagree, so they begin again.
        link.fail(settings, at: now)
        return
      }
    }
    for attempt in orders.recalls { recall(attempt, .recall, at: now, into: &effects) }
    for cancel in orders.cancels {
      recall(cancel.attempt, .cancel, grace: cancel.grace, at: now, into: &effects)
    }
    if !orders.stale.isEmpty { abandon(orders.stale, at: now, into: &effects) }
    // After the dispatches: one of them may await an operation that is acknowledged here.
    acknowledge(through: orders.acknowledged, at: now, into: &effects)
    for graph in orders.forgottenGraphs { forget(graph, into: &effects) }
    if orders.drain { isDraining = true }
    // What it has may be needed again after it was told to leave.
    drainHeard = orders.drain ? max(orders.heard, orders.acknowledged) : nil
  }

  /// Drops the reports that are durable at the coordinator.
  private mutating func acknowledge(
    through number: UInt64, at now: Instant, into effects: inout [ExecutionEffect]
  ) {
    while let entries = outbox.takeAcknowledged(through: number) {
      for case .finished(let attempt, _) in entries {
        let slot = operations.slot(of: attempt.operation)
        guard slot.exists, attempts[slot].id == attempt else { continue }
        change(slot, .acknowledged, at: now, into: &effects)
      }
    }
  }

  /// Reports the starts of attempts that have not ended meanwhile: a finish implies its start
  /// (S149).
  private mutating func reportStarts() {
    guard !newlyStarted.isEmpty else { return }
    for ticket in newlyStarted where attempts.isCurrent(ticket) { reportStart(ticket.slot) }
    newlyStarted.removeAll(keepingCapacity: true)
  }

  mutating func reportStart(_ slot: Slot) {
    guard attempts[slot].state.isLive, !attempts[slot].isStartReported else { return }
    attempts[slot].isStartReported = true
    outbox.append(.started(attempts[slot].id))
  }

  private mutating func reportProgress() {
    guard !progressOrder.isEmpty else { return }
    for attempt in progressOrder {
      guard let newest = progress[attempt] else { continue }
      outbox.append(.progress(attempt, fraction: newest.fraction, text: newest.text))
    }
    progressOrder.removeAll(keepingCapacity: true)
    progress.removeAll(keepingCapacity: true)
  }

  /// Keeps the newest progress for the next heartbeat.
  mutating func noteProgress(_ attempt: AttemptID, _ newest: Progress) {
    let slot = operations.slot(of: attempt.operation)
    guard slot.exists, attempts[slot].id == attempt, attempts[slot].state.isLive else { return }
    var newest = newest
    if newest.text.utf8.count > Limits.reasonBytes {
      newest.text = String(decoding: newest.text.utf8.prefix(Limits.reasonBytes), as: UTF8.self)
    }
    if progress.updateValue(newest, forKey: attempt) == nil { progressOrder.append(attempt) }
  }
}
