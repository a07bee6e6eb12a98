// A worker's body in the simulated world: its execution core, its socket, and processes whose
// durations and ends the seed determines. It does what OpClusterWorker and OpClusterAttempts do
// with threads and real processes. The worker has a clock of its own that drifts, and every moment
// of the core is of that clock.

import OpClusterExecution
import OpClusterModel
import OpClusterWire

extension World {
  // MARK: - Its lives

  /// A new process with a new session: nothing of an earlier life is known to it.
  func startWorker(_ at: Int) {
    guard workers[at].core == nil else { return }
    workers[at].life += 1
    var chance = draw(.birth, at, -workers[at].life)
    workers[at].session = WorkerSession(chance.next())
    workers[at].bornAt = now
    var hello = WorkerHello(
      build: "simulated", name: workers[at].name, session: workers[at].session,
      capacity: workers[at].machine.capacity, labels: workers[at].machine.labels,
      types: workers[at].machine.types)
    hello.store = storeSource(of: at)
    workers[at].core = ExecutionCore(
      identity: hello, jitterSeed: chance.next(), at: workers[at].clock(now))
    // Some of its lives collect for longer than a real one, so that more falls into that time.
    let interval = Span.milliseconds([2, 5, 100, 500][Int(chance.next() % 4)])
    workers[at].reports = ReportPace(
      ReportPace.Intervals(many: interval, few: interval), at: workers[at].clock(now))
    workers[at].pausedUntil = .zero
    lookIntoStore(at)
    note(.life, UInt64(at), workers[at].session.number) {
      "\(self.workers[at].name) starts as session \(self.workers[at].session.number)"
    }
    planWorkerTurn(at, now)
  }

  /// Ends the worker process with all its operations. Sudden, also for an orderly leave: by then
  /// the core has said goodbye.
  func endWorker(_ at: Int, _ why: String, backAfter wait: Span) {
    guard workers[at].core != nil else { return }
    note(.crash, UInt64(at), workers[at].session.number) { "\(self.workers[at].name) \(why)" }
    deadSessions.insert(workers[at].session)
    if let connection = workers[at].connection { connections[connection].isOpen = false }
    workers[at].core = nil
    workers[at].connection = nil
    workers[at].plannedTurn = nil
    workers[at].guardLooksAt = nil
    workers[at].inbox = []
    workers[at].processes = []
    workers[at].templates = []
    workers[at].lastConversation = nil
    workers[at].falselyRecalled = []
    agenda.plan(.workerStarts(worker: at), at: now + wait)
  }

  /// Plans a turn soon, as a message wakes a loop.
  func give(_ at: Int, _ input: Worker.Input) {
    guard workers[at].core != nil else { return }
    workers[at].inbox.append(input)
    planWorkerTurn(at, now + turnDelay())
  }

  /// One turn is planned at most, as for the coordinator.
  func planWorkerTurn(_ at: Int, _ moment: Instant) {
    let moment = max(moment, workers[at].pausedUntil, now)
    if let planned = workers[at].plannedTurn, planned <= moment { return }
    workers[at].plannedTurn = moment
    agenda.plan(.workerTurn(worker: at, life: workers[at].life), at: moment)
  }

  // MARK: - A turn

  /// Takes the inbox in, then the time, then starts what there is room for, and speaks last: one
  /// message may then tell of all of it.
  func takeWorkerTurn(_ at: Int, life: Int) {
    guard workers[at].core != nil, workers[at].life == life, workers[at].plannedTurn == now
    else { return }
    workers[at].plannedTurn = nil
    if now < workers[at].pausedUntil { return planWorkerTurn(at, workers[at].pausedUntil) }
    var isIdle = workers[at].inbox.isEmpty
    takeInbox(at)
    if let deadline = workers[at].core?.nextDeadline, deadline <= workers[at].clock(now) {
      apply(.timePassed, at)
    }
    while startSome(at) {
      isIdle = false
      takeInbox(at)
    }
    if sendMessages(at) > 0 { isIdle = false }
    if workers[at].idleTurns.add(isIdle: isIdle, at: now) {
      fail("G30", "\(workers[at].name) turns and turns, and nothing happens")
    }
    workers[at].turns += 1
    if workers[at].turns % 8 == 0, let problem = workers[at].core?.checkInvariants().first {
      fail("worker", "\(workers[at].name): \(problem)")
    }
    if let exit = workers[at].core?.exit {
      if case .refused(let refusal) = exit { fail("worker", "was refused: \(refusal.message)") }
      return endWorker(at, "leaves: \(exit)", backAfter: workers[at].returnsAfter)
    }
    for next in [workers[at].core?.nextDeadline, workers[at].reports.speakAt] {
      guard let next else { continue }
      planWorkerTurn(at, max(workers[at].moment(of: next), now + .milliseconds(1)))
    }
  }

  /// Messages of a connection that was given up are dropped.
  private func takeInbox(_ at: Int) {
    let inbox = workers[at].inbox
    workers[at].inbox = []
    for input in inbox {
      switch input {
      case .frame(let delivery):
        guard workers[at].connection == delivery.connection else { continue }
        do {
          let message = mutated(try Wire.decodeCoordinatorMessage(delivery.bytes), at)
          hear(message, saidAt: delivery.saidAt, at)
          apply(.message(message), at)
          noteTold(message, saidAt: delivery.saidAt, at)
          if let conversation = workers[at].core?.conversation {
            workers[at].lastConversation = conversation
          }
        } catch {
          fail("wire", "a message does not decode: \(error)")
        }
      case .broken(let connection):
        if workers[at].connection == connection { apply(.disconnected, at) }
      case .ended(let attempt, let result):
        workers[at].reports.noteEnd()
        apply(.ended(attempt, result), at)
      case .stop: apply(.stop, at)
      case .gained(let content): apply(.contentsGained([content]), at)
      case .lost(let digest): apply(.contentsLost([digest]), at)
      case .missed(let content, let miss):
        // Without a store nobody can bring it.
        let isBrought = miss == .unreachable && workers[at].core?.mayStoreOutputs == true
        if miss != .holdersChanged, !isBrought { noteMissed(content.digest, at) }
        apply(.contentMissed(content, "nobody gives it", miss), at)
      case .undelivered(let failed): apply(.undelivered([failed]), at)
      }
    }
  }

  /// Renews the lease with a message of the present conversation. `heardWordOf` is when the
  /// coordinator spoke, `heardAt` when the worker heard: between the two lies the time that a lease
  /// must not count.
  private func hear(_ message: CoordinatorMessage, saidAt: Instant, _ at: Int) {
    switch message {
    case .welcome(let welcome):
      workers[at].heardWordOf = saidAt
      workers[at].heardAt = workers[at].clock(now)
      workers[at].isOwnershipInDoubt = false
      workers[at].obeyed = 0
      workers[at].store.retained = workers[at].store.retained.filter {
        $0.value == welcome.conversation
      }
      trace("  \(self.workers[at].name) ← welcome \(welcome.conversation.increment)")
    case .orders(let orders):
      guard orders.conversation == workers[at].core?.conversation else { return }
      workers[at].heardWordOf = max(workers[at].heardWordOf, saidAt)
      workers[at].heardAt = workers[at].clock(now)
      for digest in orders.retained { workers[at].store.retained[digest] = nil }
      for digest in orders.unobtainable where workers[at].core?.cannotReach(digest) == true {
        noteMissed(digest, at)
        handovers.miss(digest, by: at)
      }
    case .refused(let refusal):
      if refusal.code == .unknownWorker { workers[at].isOwnershipInDoubt = true }
    case .logRequest: break
    }
  }

  private func apply(_ event: ExecutionEvent, _ at: Int) {
    var effects: [ExecutionEffect] = []
    let moment = workers[at].clock(now)
    workers[at].core?.apply(event, at: moment, into: &effects)
    for effect in effects { carryOut(effect, at) }
    if let session = workers[at].core?.identity.session, session != workers[at].session {
      becomeAnother(at, session)
    }
  }

  /// Begins a new session in the same process, because the journal does not know its history.
  private func becomeAnother(_ at: Int, _ session: WorkerSession) {
    note(.life, UInt64(at), session.number) {
      "\(self.workers[at].name) begins anew as session \(session.number)"
    }
    deadSessions.insert(workers[at].session)
    workers[at].session = session
    workers[at].lastConversation = nil
  }

  /// A few at a time, so that other input comes in between.
  private func startSome(_ at: Int) -> Bool {
    var effects: [ExecutionEffect] = []
    let moment = workers[at].clock(now)
    let started = workers[at].core?.startReady(atMost: 4, at: moment, into: &effects) ?? 0
    for effect in effects { carryOut(effect, at) }
    return started > 0
  }

  private func sendMessages(_ at: Int) -> Int {
    var sent = 0
    let moment = workers[at].clock(now)
    let canWait = workers[at].core?.reportsCanWait(at: moment) == true
    guard workers[at].reports.maySpeak(canWait: canWait, at: moment) else { return 0 }
    while let message = workers[at].core?.takeMessage(at: moment) {
      count(message)
      if case .hello = message { workers[at].isOwnershipInDoubt = true }
      if case .goodbye = message { expectHandedOver(at) }
      guard let connection = workers[at].connection else { continue }
      send(Wire.encode(mutated(message, at)), over: connection, .toCoordinator)
      sent += 1
    }
    return sent
  }

  /// Does what a real body does with an effect. Effects of an effect are applied at once.
  private func carryOut(_ effect: ExecutionEffect, _ at: Int) {
    count("worker", effect)
    switch effect {
    case .renewConversation:
      if let old = workers[at].connection { connections[old].isOpen = false }
      workers[at].connection = open(.worker(at))
    case .learn(let number, let template): learn(number, template, at)
    case .forget(let number): workers[at].templates[Int(number.position)] = nil
    case .launch(let launch): self.launch(launch, at)
    case .stop(let attempt): stop(attempt, at)
    case .kill(let attempt): kill(attempt, at)
    case .forgetGraph: break
    case .fetch(let content, let sources): fetch(content, from: sources, at)
    case .dropFetch(let digest): workers[at].store.fetches[digest] = nil
    case .deliver(let deliveries): for delivery in deliveries { deliver(delivery, at) }
    case .grant(let grants):
      for grant in grants {
        let name = grant.mayWrite ? \SimulatedStore.writers : \SimulatedStore.grants
        workers[at].store[keyPath: name][grant.reader, default: []].insert(grant.digest)
      }
    case .revoke(let key):
      workers[at].store.grants[key] = nil
      workers[at].store.writers[key] = nil
    case .keep(let digests):
      for digest in digests where workers[at].store.contents[digest] != nil {
        workers[at].store.kept.insert(digest)
      }
    case .letGo(let digests): letGo(digests, at)
    }
  }

  /// Positions are used again by the core, so that the array stays as long as the most templates at
  /// once.
  private func learn(_ number: TemplateNumber, _ template: TemplateAnnouncement, _ at: Int) {
    let position = Int(number.position)
    while workers[at].templates.count <= position { workers[at].templates.append(nil) }
    workers[at].templates[position] = template
    guard case .command = template.work else { return }
    do {
      let command = try Wire.decodeCommand(template.payload)
      let limits = TemplateLimits(timeout: command.timeout, grace: command.grace)
      apply(.prepared(number, limits), at)
    } catch {
      fail("wire", "a command does not decode: \(error)")
    }
  }

  // MARK: - The lease guard

  /// Plans the lease guard, a separate process that a pause of the worker does not stop: it knows
  /// what the worker last reported, and kills exclusive operations when the lease has expired
  /// (G16).
  private func planGuard(_ at: Int) {
    guard workers[at].guardLooksAt == nil, let core = workers[at].core else { return }
    let deadline = (core.contact ?? .zero) + core.fence
    let moment = max(workers[at].moment(of: deadline), now)
    workers[at].guardLooksAt = moment
    agenda.plan(.guardLooks(worker: at, life: workers[at].life), at: moment)
  }

  /// Looks at the contact as it is now: a lease that was renewed meanwhile plans another look.
  func checkLease(_ at: Int, life: Int) {
    guard let core = workers[at].core, workers[at].life == life,
      workers[at].guardLooksAt == now
    else { return }
    workers[at].guardLooksAt = nil
    guard workers[at].processes.contains(where: \.isExclusive) else { return }
    if workers[at].clock(now) < (core.contact ?? .zero) + core.fence { return planGuard(at) }
    if mutant == .guardAsleep { return }
    for found in workers[at].processes.indices where workers[at].processes[found].isExclusive {
      note(.crash, UInt64(at), 3) { "the guard of w\(at) kills what is exclusive" }
      workers[at].processes[found].course.result = Course.killed
      planEnd(of: found, at, after: .zero)
    }
  }

  // MARK: - Processes

  /// The oracle judges before the process exists. Its course depends on the seed and the attempt's
  /// name alone, so that nothing else disturbs it.
  private func launch(_ launch: Launch, _ at: Int) {
    let attempt = launch.attempt
    let (graph, index) = (attempt.operation.graph.number, attempt.operation.index)
    guard let template = workers[at].templates[Int(launch.template.position)] else {
      return fail("worker", "launches \(attempt) of a template that it forgot")
    }
    note(.launch, UInt64(graph) << 32 | UInt64(index), UInt64(attempt.attempt)) {
      "\(self.workers[at].name) launches \(graph)/\(index) attempt \(attempt.attempt)"
    }
    checkLaunch(attempt, at)
    var course = Course(
      seed: seed, attempt: attempt, plan: plan, isExclusive: template.isExclusive)
    let position = launch.template.position
    if !hasContents(of: launch, template.contentNeeds, at)
      || plan.isUnable(at, graph: graph, template: UInt32(position), seed: seed)
    {
      course = .unable
    }
    workers[at].processes.append(
      Worker.Process(
        attempt: attempt, session: workers[at].session, demand: template.demand, course: course,
        endsAt: nil))
    checkCapacity(at)
    let last = workers[at].processes.count - 1
    workers[at].processes[last].isExclusive = template.isExclusive
    if template.isExclusive { planGuard(at) }
    planEnd(of: last, at, after: course.duration)
    if course.duration == .zero { endProcess(last, at) }
  }

  /// A later end replaces an earlier one: the happening of the earlier finds another moment.
  private func planEnd(of process: Int, _ at: Int, after span: Span) {
    workers[at].processes[process].endsAt = now + span
    let attempt = workers[at].processes[process].attempt
    let end = Happening.processEnds(worker: at, life: workers[at].life, attempt)
    agenda.plan(end, at: now + span)
  }

  func endDueProcess(_ attempt: AttemptID, _ at: Int, life: Int) {
    guard workers[at].core != nil, workers[at].life == life,
      let process = workers[at].processes.firstIndex(where: { $0.attempt == attempt }),
      workers[at].processes[process].endsAt == now
    else { return }
    endProcess(process, at)
    planWorkerTurn(at, now)
  }

  /// The oracle learns of the end before the worker does.
  private func endProcess(_ found: Int, _ at: Int) {
    var process = workers[at].processes.remove(at: found)
    let attempt = process.attempt
    process.course.result = storing(process.course.result, of: attempt.operation, at)
    if foreign[process.session] == nil {
      ledger.ended(attempt, process.course.result, at: process.session)
    }
    workers[at].inbox.append(.ended(attempt, process.course.result))
  }

  /// Asks a process to stop: it may end soon, continue to its end, or ignore the request.
  private func stop(_ attempt: AttemptID, _ at: Int) {
    guard let found = workers[at].processes.firstIndex(where: { $0.attempt == attempt }),
      !workers[at].processes[found].isAskedToStop
    else { return }
    workers[at].processes[found].isAskedToStop = true
    switch workers[at].processes[found].course.onStop {
    case .goOn: break
    case .ignore: workers[at].processes[found].endsAt = nil
    case .obey(let after):
      if mutant == .earlyEnds {
        let result = Course.stopped
        ledger.ended(attempt, result, at: workers[at].session)
        workers[at].inbox.append(.ended(attempt, result))
      }
      workers[at].processes[found].course.result = Course.stopped
      planEnd(of: found, at, after: after)
    }
  }

  /// Ends some milliseconds later, as a process tree does.
  private func kill(_ attempt: AttemptID, _ at: Int) {
    guard let found = workers[at].processes.firstIndex(where: { $0.attempt == attempt }) else {
      return
    }
    workers[at].processes[found].course.result = Course.killed
    var chance = draw(.kill)
    planEnd(of: found, at, after: chance.milliseconds(1, 20))
  }
}
