// Receives messages of clients: admission allows each frame, keeps it until its principal's turn,
// or refuses it (G29). Allowed requests are carried out here. On the loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire
import OpClusterZeroMQ

extension CoordinatorLoop {
  func hearClients() {
    var received = 0
    frames: for _ in 0..<(Limits.framesPerTurn / 2) where received < Limits.frameBytesPerTurn / 2 {
      switch next(clients.receive(), .client) {
      case .nothing: break frames
      case .invalid(let byteCount): received += byteCount
      case .message(let bytes, let sender):
        received += bytes.count
        takeClient(bytes, sender)
      }
    }
    hearQueued()
  }

  /// Hears queued frames one after the other, for a bounded time.
  private func hearQueued() {
    var clock = Instant.now
    // Reserves time for questions, which are answered at the end of the turn.
    var end = clock + self.clock.hearingTime
    var heard = 0
    hearPrepared(&clock)
    while heard < Limits.frameBytesPerTurn / 2, clock < end,
      let (frame, holder) = admission.queue.next(at: clock)
    {
      let asked = work.questions.count
      heard += frame.bytes.count
      if frame.isToBePrepared {
        prepare(frame, of: holder)
      } else {
        hear(frame.bytes, of: frame.peer, from: (frame, holder))
      }
      let now = Instant.now
      admission.queue.noteHearing(now - clock, of: frame.size, by: holder, at: now)
      clock = now
      if work.questions.count > asked {
        end = end - admission.queue.expectedCost(ofQuestionBy: holder)
      }
    }
  }

  /// Leaves a large message to the thread that prepares such.
  private func prepare(_ frame: FairRequestQueue.Frame, of holder: QuotaHolder) {
    guard let known = clients.peers[frame.peer], !known.isPutOut else { return }
    admission.queue.beginPreparing(frame.peer, of: holder)
    sources.preparation.begin(
      LargeMessage(
        bytes: frame.bytes, peer: frame.peer, holder: holder, submitter: known.principal.name,
        maySubmit: known.principal.may(.steer) && !admission.disk.isFull,
        memory: admission.memory))
  }

  /// Hears the message that the thread has prepared. What came behind it is heard from now on.
  private func hearPrepared(_ clock: inout Instant) {
    guard work.hasPrepared, var message = sources.preparation.take() else { return }
    work.hasPrepared = false
    admission.queue.endPreparing()
    if let known = clients.peers[message.peer], !known.isPutOut {
      switch message.content {
      case .success(.hello(let hello)): greet(hello, message.peer)
      case .success(.request(let request, let what)):
        take(
          request, what, of: message.byteCount, from: message.peer, prepared: &message.submission)
      case .failure(let error):
        dropRequest(message.failedRequest, of: message.byteCount, from: message.peer, error)
      }
    }
    let (holder, preparationTime) = (message.holder, message.time)
    // The plan of what was refused, or is known, is large.
    var past = Optional(message)
    sources.preparation.free(&past)
    let now = Instant.now
    admission.queue.notePreparation(preparationTime, by: holder, at: now)
    admission.queue.noteHearing(now - clock, of: .large, by: holder, at: now)
    clock = now
  }

  private func takeClient(_ bytes: [UInt8], _ sender: Sender) {
    guard let id = client(of: sender) else { return }
    clients.peers.update(id) { $0.lastHeard = now }
    if admits(.frame(bytes), .client, id) { hear(bytes, of: id) }
  }

  /// The conversation with a sender; nil for a new sender if the table is full (G27).
  func client(of sender: Sender) -> PeerID? {
    if let known = clients.peers.find(sender.connection) { return known }
    if clients.peers.isFull { return nil }
    let peer = addPeer(sender, to: &clients)
    let origin = clients.lastOrigin()
    clients.peers.update(peer) { $0.origin = origin }
    return peer
  }

  /// Handles a client's message in its turn.
  ///
  /// - Parameter queued: The frame that it came in and its principal, if it waited for its turn.
  private func hear(
    _ bytes: [UInt8], of peer: PeerID,
    from queued: (frame: FairRequestQueue.Frame, holder: QuotaHolder)? = nil
  ) {
    guard let known = clients.peers[peer], !known.isPutOut else { return }
    do {
      switch try Wire.decodeClientMessage(bytes) {
      case .hello(let hello): greet(hello, peer)
      case .request(let request, let what):
        if let queued, what.isLargeGraph {
          return admission.queue.postpone(queued.frame, of: queued.holder)
        }
        var prepared: PreparedSubmission?
        take(request, what, of: bytes.count, from: peer, prepared: &prepared)
      }
    } catch {
      dropRequest(RequestGlance(bytes)?.id, of: bytes.count, from: peer, error)
    }
  }

  // MARK: - Being heard

  private func greet(_ hello: ClientHello, _ peer: PeerID) {
    guard admits(.hello(hello, AdmissionFacts(clients: clients.peers.greeted)), .client, peer)
    else { return }
    let version = ProtocolVersions.current.common(with: hello.versions) ?? 1
    send(.welcome(version: version, build: Build.name, scheduler.life), toClient: peer)
  }

  /// - Parameter prepared: The submission of the request, if it was prepared.
  private func take(
    _ request: RequestID, _ what: ClientRequest, of bytes: Int, from peer: PeerID,
    prepared: inout PreparedSubmission?
  ) {
    guard let known = clients.peers[peer] else { return }
    var facts = facts(about: what, of: known)
    facts.operations = prepared?.operationCount
    guard admits(.request(request, what, bytes: bytes, facts), .client, peer) else { return }
    switch what {
    case .graphs, .operations, .structure, .explain, .submission, .queues, .workers, .ping:
      let question = ClientQuestion(
        peer: peer, request: request, what: what, size: .init(bytes: bytes))
      if question.search != nil, let busy = tooManySearches(by: known.holder) {
        return sendReply(.refused(busy), to: peer, request)
      }
      work.questions.append(question)
    case .configuration:
      sendReply(.configuration(configuration), to: peer, request)
    case .log(let attempt, let stream, let offset, let bytes):
      askLog(
        LogQuestion(
          peer: peer, request: request, attempt: attempt, stream: stream, offset: offset,
          maximumBytes: bytes))
    case .enrol(let name, let key): enrol(name, key, peer, request)
    case .subscribe(let wish): subscribe(wish, peer, request)
    case .grantCredit(let number, let events):
      let isKnown = subscriptions.grant(Subscriptions.Key(peer: peer, number: number), events)
      sendReply(.effect(isKnown), to: peer, request)
    case .unsubscribe(let number):
      subscriptions.remove(Subscriptions.Key(peer: peer, number: number))
      sendReply(.effect(true), to: peer, request)
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .drainWorker, .resumeWorker, .forgetWorker, .removeGraphs, .locate,
      .place, .bring, .reusable:
      work.hasInput = true
      if var submission = prepared.take() {
        scheduler.handle(&submission, from: peer, request, into: &work.turn)
      } else {
        let input = Input.client(
          peer, request, owned(what, by: peer),
          mayChange: settings.steering.bound(of: known.principal))
        scheduler.handle(input, into: &work.turn)
      }
    }
  }

  /// The refusal of one more question that may look at much; nil if there is room.
  private func tooManySearches(by holder: QuotaHolder) -> Refusal? {
    let own = work.unfinishedSearches[holder, default: 0]
    let all = work.begunQuestions.count
    if own < CoordinatorLimits.unfinishedSearches, all < CoordinatorLimits.allUnfinishedSearches {
      return nil
    }
    return Refusal(
      .busy, "answers to \(all) questions are being looked for, \(own) of this key",
      hint: "ask again in a moment", retryAfter: .milliseconds(100))
  }

  /// The facts of the scheduler and the subscriptions that admission needs. O(log subscriptions),
  /// and for blocks O(labels of their graph).
  private func facts(about what: ClientRequest, of peer: Peer) -> AdmissionFacts {
    var facts = AdmissionFacts(clients: clients.peers.greeted)
    switch what {
    case .subscribe: facts.subscriptions = subscriptions.count(of: peer.id)
    case .addBlocks(let id, _): facts.submitter = scheduler.submitter(of: id.graph)
    case .submit(let graph):
      facts.lackOfOutputRoom = scheduler.lackOfRoom(forOutputsOf: graph, by: peer.holder)
    default: break
    }
    return facts
  }
}

extension ClientRequest {
  /// Whether it submits what costs much more than its message is large: single edges among very
  /// many elements. Costs its templates.
  fileprivate var isLargeGraph: Bool {
    guard case .submit(let graph) = self, graph.elementEdges.count + graph.groupEdges.count > 0
    else { return false }
    return graph.operationCount > CoordinatorLimits.operationsPlannedAtOnce
  }
}
