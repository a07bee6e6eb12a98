// Other services for clients: questions that the scheduler and the history answer together, logs,
// subscriptions, heartbeats and timeouts. On the loop's thread.

import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterQueries
import OpClusterScheduling

extension CoordinatorLoop {
  // MARK: - Questions

  /// Answers questions with the state at the end of their turn, including exactly its newest event.
  /// One that looks at much is answered at the end of a later turn: of these one goes on first, for
  /// half of the time, so that it comes to an end; then come the new ones, most of which end at
  /// once, and then the others. Costs a look at each.
  func answerQuestions(into items: inout [UnreleasedEffect]) {
    var (questions, new) = work.takeQuestions()
    let isSlow = commits.release.diskWait(at: now) >= settings.diskPatience
    let searchEnd = Instant.now + settings.searchTime
    var hasSearched = false
    var (unfinished, late): ([ClientQuestion], [ClientQuestion]) = ([], [])
    for at in questions.indices {
      guard let known = clients.peers[questions[at].peer], !known.isPutOut else { continue }
      let holder = known.holder
      let isSearch = questions[at].search != nil
      let start = Instant.now
      if isSearch, hasSearched, start >= searchEnd {
        work.unfinishedSearches[holder, default: 0] += 1
        if new.contains(at) {
          late.append(questions[at])
        } else {
          work.begunQuestions.append(questions[at])
        }
        continue
      }
      hasSearched = hasSearched || isSearch
      let hasHalf = at < new.lowerBound
      let until = hasHalf ? start + settings.searchTime / 2 : searchEnd
      if isEnded(&questions[at].search, by: until) {
        answer(questions[at], isSlow: isSlow, &items)
      } else {
        work.unfinishedSearches[holder, default: 0] += 1
        if let back = questions[at].search?.back, let last = scheduler.lastGraph(back: back) {
          questions[at].settle(on: last)
        }
        unfinished.append(questions[at])
      }
      let end = Instant.now
      admission.queue.noteQuestion(end - start, for: questions[at].size, of: holder, at: end)
    }
    // Those that had no time go first in the next turns, the older ones before the newer.
    work.begunQuestions += late + unfinished
  }

  /// Answers at once what depends only on durable facts, if the disk is slow.
  private func answer(
    _ question: ClientQuestion, isSlow: Bool, _ items: inout [UnreleasedEffect]
  ) {
    guard isSlow, isKnownDurable(question.what) else { return answer(question, &items) }
    var own: [UnreleasedEffect] = []
    answer(question, &own)
    for item in own { perform(item) }
  }

  /// Goes on with a search until its end, or until this moment; whether it has ended.
  private func isEnded(_ search: inout LivingSearch?, by end: Instant) -> Bool {
    guard var current = search else { return true }
    // Moved, so that it changes in place.
    search = nil
    defer { search = current }
    repeat {
      if scheduler.goOn(with: &current, atMost: CoordinatorLimits.looksAtOnce) { return true }
    } while Instant.now < end
    return false
  }

  /// Whether the answer depends only on durable facts: then it need not wait for a slow disk (G3).
  /// Only for questions about few graphs; O(their number).
  private func isKnownDurable(_ what: ClientRequest) -> Bool {
    let selection: Selection
    switch what {
    case .graphs(let wanted, _, _), .operations(let wanted, _, _): selection = wanted
    case .submission(let graph): selection = .graph(graph)
    // These describe workers and queues, or a position to follow from.
    default: return false
    }
    switch selection.graphs {
    case .numbers(let ranges): return commits.undurable.isFree(ranges)
    case .last(let back):
      return scheduler.lastGraph(back: back).map { commits.undurable.isFree($0) } ?? false
    case .active, .all: return false
    }
  }

  private func answer(_ question: ClientQuestion, _ items: inout [UnreleasedEffect]) {
    let (peer, request, what) = (question.peer, question.request, question.what)
    if let large = largePart(of: what) {
      items.append(.ask(.rows(rowsQuestion(peer, request, large.part, large.selection))))
      return
    }
    let known: Result<ClientReply, Refusal>
    do throws(Refusal) {
      known = .success(try living(question))
    } catch {
      known = .failure(error)
    }
    if let rows = rows(peer, request, what, known) {
      items.append(.ask(.rows(rows)))
      return
    }
    switch known {
    case .success(let reply): items.append(.reply(peer, reply.encoded(for: request)))
    case .failure(let refusal):
      items.append(.reply(peer, ClientReply.refused(refusal).encoded(for: request)))
    }
  }

  /// What the history is asked for because it costs what a living graph is large: the loop adds the
  /// states, and the submission has the rest.
  private func largePart(
    of what: ClientRequest
  ) -> (part: RowsQuestion.What, selection: Selection)? {
    switch what {
    case .structure(let selection):
      let most = CoordinatorLimits.stagesToldAtOnce
      guard let large = scheduler.largeGraph(selection, stagesAbove: most) else { return nil }
      return (.structure(living: large), .graph(large.row.graph))
    case .submission(let graph):
      guard let outcomes = scheduler.outcomes(of: graph) else { return nil }
      return (.submission(graph, outcomes: outcomes), .graph(graph))
    default: return nil
    }
  }

  private func living(_ question: ClientQuestion) throws(Refusal) -> ClientReply {
    if let search = question.search { return try scheduler.answer(search, at: now) }
    let reply = try scheduler.answer(question.what, at: now)
    switch reply {
    case .structure(var structure):
      structure.lastEvent = scheduler.lastEvent
      return .structure(structure)
    default: return reply
    }
  }

  /// The question to the history; nil if the history could add nothing.
  private func rows(
    _ peer: PeerID, _ request: RequestID, _ what: ClientRequest,
    _ known: Result<ClientReply, Refusal>
  ) -> RowsQuestion? {
    let selection: Selection
    let part: RowsQuestion.What
    switch (what, known) {
    case (.graphs(let wanted, let after, let limit), .success(.graphs(let rows, let more))):
      if wanted.graphs == .active { return nil }
      selection = wanted
      let limit = Limits.rowsPerReply(asked: limit)
      part = .graphs(after: after, limit: limit, rows: rows, more: more)
    case (.operations(let wanted, let after, let limit), .success(.operations(let rows, let more))):
      if wanted.graphs == .active, !rows.contains(where: { $0.attempt > 0 }) { return nil }
      selection = wanted
      let limit = Limits.rowsPerReply(asked: limit)
      part = .operations(after: after, limit: limit, rows: rows, more: more)
    case (.operations(let wanted, let after, let limit), .failure):
      selection = wanted
      let limit = Limits.rowsPerReply(asked: limit)
      part = .operations(after: after, limit: limit, rows: [], more: false)
    case (.structure(let wanted), .failure):
      selection = wanted
      part = .structure(living: nil)
    case (.explain(let wanted), .failure):
      selection = wanted
      part = .explain
    case (.submission(let graph), .failure):
      selection = .graph(graph)
      part = .submission(graph, outcomes: nil)
    default: return nil
    }
    return rowsQuestion(peer, request, part, selection, known)
  }

  private func rowsQuestion(
    _ peer: PeerID, _ request: RequestID, _ part: RowsQuestion.What, _ selection: Selection,
    _ known: Result<ClientReply, Refusal>? = nil
  ) -> RowsQuestion {
    // Nothing ended is active.
    let isPast = selection.graphs != .active
    let living = scheduler.livingNumbers
    let last = scheduler.lastGraph(back: 0)?.number ?? 0
    let graphs =
      isPast ? GraphSet(selection.graphs, living: living, last: last) : GraphSet(ranges: [])
    var otherwise = Refusal(.unknownOperation, "no operation matches")
    if case .failure(let refusal) = known, refusal.code != .alreadyFinished {
      otherwise = refusal
    }
    return RowsQuestion(
      peer: peer, request: request, what: part, selection: selection, graphs: graphs,
      living: living, last: last, lastEvent: scheduler.lastEvent, otherwise: otherwise)
  }

  // MARK: - The history

  func take(_ answer: HistoryAnswer) {
    switch answer {
    case .reply(let peer, let bytes): perform(.reply(peer, bytes))
    case .slice(let slice): subscriptions.take(slice, into: &work.effects)
    case .room(let bytes, let lost):
      takeRoom(bytes)
      if let lost { end = .failed(.journal(lost)) }
    case .damaged(let error): note(historyProblem: error.description)
    case .sound: note(historyProblem: nil)
    case .log(let question, let result):
      switch result {
      case .success(let found): askWorker(question, found.attempt, found.workerName)
      case .failure(let refusal): sendReply(.refused(refusal), to: question.peer, question.request)
      }
    }
  }

  /// Notes a change of the history's condition, for the log and for the coordinator's status.
  private func note(historyProblem problem: String?) {
    if problem == sources.historyProblem { return }
    if let problem {
      logger.error("the history is damaged", metadata: ["problem": "\(problem)"])
    } else {
      logger.notice("the history holds again")
    }
    sources.historyProblem = problem
  }

  func takeRoom(_ bytes: UInt64?) {
    guard admission.disk.note(bytes) else { return }
    logger.warning(
      admission.disk.isFull
        ? "the disk is nearly full: submissions are refused" : "the disk has room again",
      metadata: ["free_bytes": "\(bytes ?? 0)"])
  }

  // MARK: - Logs

  /// Asks the worker of the attempt for its log; otherwise asks the history which worker ran it.
  func askLog(_ question: LogQuestion) {
    let operation = question.attempt.operation
    if let current = scheduler.currentAttempt(of: operation),
      question.attempt.attempt.map({ $0 == current.run }) ?? true
    {
      let attempt = AttemptID(operation: operation, attempt: current.attempt)
      return askWorker(question, attempt, current.workerName)
    }
    ask(.log(question))
  }

  private func askWorker(_ question: LogQuestion, _ attempt: AttemptID, _ name: String) {
    guard let peer = scheduler.peer(ofWorkerNamed: name), workers.peers[peer] != nil else {
      return sendReply(.refused(.unavailable(worker: name)), to: question.peer, question.request)
    }
    guard !sources.logs.isFull else {
      let busy = Refusal(
        .busy, "\(Limits.logQuestions) pieces of logs are on their way",
        hint: "try again in a moment", retryAfter: .seconds(1))
      return sendReply(.refused(busy), to: question.peer, question.request)
    }
    let request = sources.logs.ask(
      question, attempt: attempt, worker: peer, workerName: name,
      deadline: now + settings.logPatience)
    send(.logRequest(request), toWorker: peer)
  }

  // MARK: - Subscriptions

  func subscribe(_ wish: EventSubscription, _ peer: PeerID, _ request: RequestID) {
    if let known = wish.known, !scheduler.knows(known) {
      let refusal = Scheduler.otherHistory("event \(known.sequence), which the subscriber knows")
      return sendReply(.refused(refusal), to: peer, request)
    }
    let graphs = GraphSet(
      wish.selection.graphs, living: scheduler.livingNumbers,
      last: scheduler.lastGraph(back: 0)?.number ?? 0)
    let filter = EventFilter(
      wish.selection, graphs: graphs, graphsOnly: wish.graphsOnly, includesOwn: wish.includesOwn)
    guard let holder = clients.peers[peer]?.holder else { return }
    if let refusal = subscriptions.lackOfRoom(
      for: filter, number: wish.number, of: peer, by: holder)
    {
      return sendReply(.refused(refusal), to: peer, request)
    }
    subscriptions.add(
      wish, filter, peer: peer, by: holder, request: request, decided: scheduler.lastEvent,
      into: &work.effects)
  }

  /// Tells subscribers of their own graphs about the graphs that this turn has accepted, from the
  /// first event on. A repeated submission is not included: part of its events may have been told,
  /// and the client, which knows its position, subscribes again and names the graph.
  func noteOwnGraphs() {
    for case .toClient(let peer, _, .accepted(let graph, _, repeated: false)) in work.turn
      .afterDurable
    {
      subscriptions.noteOwn(graph, of: peer)
    }
  }

  // MARK: - Time

  /// Twice per heartbeat: sends heartbeats to waiting clients, looks for clients that have left,
  /// and ends overdue waits.
  func attend() {
    for answer in sources.logs.expire(at: now) {
      sendReply(answer.reply, to: answer.client, answer.request)
    }
    let pause = settings.timing.heartbeat / 2
    guard now - clock.lastAttended >= pause else { return }
    clock.lastAttended = now
    keys.access?.reportRefused(logger)
    lookAtMemory()
    cutSilent()
    ask(.room)
    admission.forgetIdle(at: now)
    subscriptions.evict(
      at: now, patience: settings.subscriberPatience, backlog: settings.subscriberBacklog,
      into: &work.effects)
    performSubscriptionEffects()
    for peer in clients.peers.all {
      let isAwaiting =
        peer.requestsInFlight > 0 || subscriptions.follows(peer.id)
        || admission.queue.isPreparing(peer.id)
      attend(peer, isAwaiting: isAwaiting)
    }
    for peer in workers.peers.ungreeted where isStale(peer) {
      workers.peers.remove(peer.id)
    }
  }

  private func attend(_ peer: Peer, isAwaiting: Bool) {
    if !peer.isGreeted {
      if isStale(peer) { clients.peers.remove(peer.id) }
      return
    }
    // Places are scarce: silent departures must be detected sooner.
    let isCrowded = clients.peers.greeted >= Limits.clients / 2
    let pause = isAwaiting || isCrowded ? settings.timing.heartbeat : CoordinatorLimits.probePause
    if now - peer.lastSpoken >= pause, peer.outbox.isEmpty {
      let wait = commits.release.diskWait(at: now)
      send(
        .heartbeat(diskWait: wait >= settings.diskPatience ? wait : .zero), toClient: peer.id)
    }
  }

  /// Whether a connection without a hello, or one that was put out, has been quiet.
  private func isStale(_ peer: Peer) -> Bool {
    now - peer.lastHeard >= CoordinatorLimits.probePause
  }
}
