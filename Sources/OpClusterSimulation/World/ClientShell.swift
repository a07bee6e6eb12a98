// Clients in the simulated world: they submit with keys and repeat until they are answered, steer
// graphs of their own and of others, read, and check the answers. Steering is drawn in
// `ClientRequests`. A request is repeated under its number; only a submission is known as a
// repetition, by its key (G19).

import OpClusterModel
import OpClusterWire

extension World {
  /// Does one thing and plans the next. Stops when the world heals: from then on `Aftermath` speaks
  /// for users.
  func actAsClient(_ at: Int) {
    if isHealed { return }
    let pause = Int(plan.turmoil.nanoseconds / 1_000_000) / (8 + plan.graphs * 4)
    agenda.plan(
      .clientActs(client: at), at: now + clients[at].chance.milliseconds(1, max(pause, 2)))
    guard clients[at].pending.count < 4 else { return }
    if clients[at].chance.percent(plan.steering) {
      if let request = steeringRequest(at) { ask(request, at) }
    } else if clients[at].submissionsLeft > 0 {
      submitSomething(at)
    } else if let known = clients[at].known.first, clients[at].chance.percent(20) {
      // A late repetition: the same key, sometimes with other content.
      var again = known.submission
      if clients[at].chance.percent(30) { again.name += "x" }
      ask(.submit(again), at)
    } else {
      ask(readingRequest(at), at)
    }
  }

  /// The key names client and submission, so that scripts and traces can be read.
  func submitSomething(_ at: Int) {
    clients[at].submissionsLeft -= 1
    let key = "\(at)-\(clients[at].submissionsLeft)"
    var maker = GraphMaker(chance: Chance(clients[at].chance.next()), plan: plan)
    var earlier: [OperationID] = []
    if let id = someOperation(at), clients[at].chance.percent(40) { earlier.append(id) }
    let queues = ["q0", "q1"].filter { ledger.queueByName[$0] != nil }
    ask(.submit(maker.graph(key: key, earlier: earlier, queues: queues)), at)
  }

  /// Sends at once or lines up: a client has a bounded number of requests on their way.
  func ask(_ request: ClientRequest, _ at: Int) {
    guard clients[at].pending.count < Client.mostInFlight else {
      return clients[at].linedUp.append(request)
    }
    clients[at].lastRequest += 1
    let id = RequestID(clients[at].lastRequest)
    var asked = Client.Asked(id: id, request: request)
    asked.queue = queueMeant(by: request)
    asked.resumesBefore = resumes(of: asked)
    clients[at].pending.append(asked)
    // Recorded as bytes: a script needs no text for every request.
    if !isHealed || request.isSubmission, recording != nil {
      let bytes = Wire.encode(.request(RequestID(0), request))
      recording?.asks.append(WorldScript.Ask(at: now, client: at, bytes: bytes))
    }
    note(.request, UInt64(at), id.number) { "client \(at) asks \(id.number): \(request)" }
    say(id, request, at)
  }

  /// Plans its repetition at once. An answered request finds itself no longer pending then.
  private func say(_ id: RequestID, _ request: ClientRequest, _ at: Int) {
    send(Wire.encode(.request(id, request)), over: clients[at].connection, .toCoordinator)
    var chance = draw(.repetition)
    agenda.plan(.clientRepeats(client: at, id), at: now + chance.milliseconds(800, 4_000))
  }

  /// Sends a request of the script. A script may have fewer clients than the seed that it came
  /// from.
  func askFromScript(_ number: Int) {
    asksLeft -= 1
    guard let script, case let entry = script.asks[number] else { return }
    do {
      guard case .request(_, let request) = try Wire.decodeClientMessage(entry.bytes) else {
        return
      }
      ask(request, entry.client % clients.count)
    } catch {
      fail("wire", "a request of the script does not decode: \(error)")
    }
  }

  /// Repeats an unanswered request, sometimes on a new connection. A new connection in a third of
  /// the cases, since the coordinator knows peers by their connection.
  func repeatRequest(_ at: Int, _ id: RequestID) {
    guard let found = clients[at].pending.firstIndex(where: { $0.id == id }) else { return }
    clients[at].pending[found].tries += 1
    var chance = draw(.repetition)
    if chance.percent(30) {
      connections[clients[at].connection].isOpen = false
      clients[at].connection = open(.client(at))
    }
    say(id, clients[at].pending[found].request, at)
  }

  /// Handles an answer. An answer to a repetition finds no request and is dropped.
  func take(_ bytes: [UInt8], at client: Int) {
    do {
      guard case .reply(let id, let reply) = try Wire.decodeClientAnswer(bytes),
        let found = clients[client].pending.firstIndex(where: { $0.id == id })
      else { return }
      let asked = clients[client].pending.remove(at: found)
      note(.answer, UInt64(client), id.number) { "client \(client) is told \(id.number): \(reply)" }
      answers += 1
      follow(client)
      check(reply, to: asked.request, client)
      if !clients[client].linedUp.isEmpty { ask(clients[client].linedUp.removeFirst(), client) }
    } catch {
      fail("wire", "an answer does not decode: \(error)")
    }
  }

  /// Judges an answer by the ledger, which knows what was durable when it left.
  private func check(_ reply: ClientReply, to request: ClientRequest, _ client: Int) {
    switch (request, reply) {
    case (.submit(let submission), .accepted(let graph, let operations, _)):
      noteAccepted(submission, graph, operations, client)
    case (.submit(let submission), .refused(let refusal)):
      refusals[String(describing: refusal.code), default: 0] += 1
      // A conflict, for the same key with other content, is the only permitted refusal of a known
      // key.
      if refusal.code == .busy { return askAgain(request, client) }
      if acknowledged[submission.key] != nil, refusal.code != .conflict {
        fail("I1", "key \(submission.key.text) was accepted, now: \(refusal.message)")
      }
    case (.operations, .operations(let rows, _)):
      for row in rows where row.isFinished {
        if ledger.contains(row.id), ledger[row.id].outcome != row.outcome {
          fail("I2", "\(row.id) is read as \(String(describing: row.outcome))")
        }
      }
    case (_, .refused(let refusal)):
      refusals[String(describing: refusal.code), default: 0] += 1
    default: break
    }
  }

  /// Repeats a request to a busy coordinator (G8, G27): the submission must not get lost.
  private func askAgain(_ request: ClientRequest, _ at: Int) {
    clients[at].lastRequest += 1
    let id = RequestID(clients[at].lastRequest)
    clients[at].pending.append(Client.Asked(id: id, request: request))
    var chance = draw(.repetition)
    agenda.plan(.clientRepeats(client: at, id), at: now + chance.milliseconds(300, 1_500))
  }

  /// From here on the key must lead to this graph, whatever crashes (I1).
  private func noteAccepted(
    _ submission: GraphSubmission, _ graph: GraphID, _ operations: UInt32, _ client: Int
  ) {
    guard Int(graph.number) < ledger.graphs.count, let known = ledger.graphs[Int(graph.number)]
    else {
      return fail("G1", "graph \(graph.number) is acknowledged and not durable")
    }
    if known.submission != submission, mutant != .keyIgnored {
      fail("I1", "key \(submission.key.text) was accepted with other content")
    }
    if Int(operations) != submission.operationCount {
      fail("G2", "graph \(graph.number) was accepted with \(operations) operations")
    }
    if let other = acknowledged[submission.key] {
      if other.graph != graph { fail("I6", "key \(submission.key.text) has two graphs") }
      return
    }
    acknowledged[submission.key] = (graph, submission)
    keys.append(submission.key)
    clients[client].known.append((submission, graph))
  }
}
