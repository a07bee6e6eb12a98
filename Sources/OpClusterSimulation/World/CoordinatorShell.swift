// The coordinator's body in the simulated world: turns, the journal's disk, and the one rule of
// release (G3, persist then speak). Driven by the world's clock. It does in a few lines what
// OpClusterCoordinator does with threads and sockets: the brain is the same, and so are the order
// of writing and speaking, which is what is judged.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

extension World {
  // MARK: - Its lives

  /// Reads the journal and begins a new life (G4). Recovers, checks that the recovered state is
  /// what was durable, and tells all peers that their connections are gone. Called at the start and
  /// after each crash.
  func startCoordinator() {
    guard !coordinator.isUp, expectNothingMissing() else { return }
    do {
      coordinator.scheduler = try coordinator.disk.recover(
        timing, pageBits: pageBits, share: share)
    } catch {
      return fail("I10", "the journal cannot be read: \(error)")
    }
    coordinator.life += 1
    coordinator.isUp = true
    coordinator.pausedUntil = .zero
    note(.life, UInt64(coordinator.life)) {
      "coordinator starts its life \(self.coordinator.life) at commit "
        + "\(self.coordinator.disk.durable.number)"
    }
    expectSameAsShadow("after recovery")
    expectKeysKept()
    for at in connections.indices where connections[at].isOpen { breakConnection(at) }
    for at in workers.indices { heard[workers[at].session] = resyncedAt }
    (greetedAt, spokenTo) = ([:], [:])
    coordinator.turn.begin(at: now, wall: wall)
    coordinator.scheduler.start(
      // Never 0, which would mean no life.
      life: Chance.mix(seed &+ UInt64(coordinator.life)) | 1,
      mayHaveGoneBack: coordinator.mayHaveGoneBack && mutant != .unnoticedRestores,
      into: &coordinator.turn)
    closeTurn()
    reconnectFollowers()
  }

  /// Known workers count as heard so long ago that `Timing.resync` is left to them.
  private var resyncedAt: Instant {
    now + timing.resync - timing.lost
  }

  /// Crashes, like `kill -9` together with a power loss. Turns that were not durable are lost, or
  /// kept in part, as `Disk.crash` decides. Kept ones become durable here, since nobody was told of
  /// them and the next start will read them.
  func crashCoordinator(_ mishap: Mishap, _ why: String) {
    guard coordinator.isUp else { return }
    note(.crash, UInt64(coordinator.life)) { "coordinator \(why)" }
    coordinator.isUp = false
    coordinator.inbox = []
    coordinator.gonePeers = []
    coordinator.withheld = []
    coordinator.plannedTurn = nil
    let kept = coordinator.disk.crash(
      keeping: mishap.detail, losesDurable: mutant == .lyingDisk)
    for turn in kept { becameDurable(turn) }
    agenda.plan(.coordinatorStarts, at: now + mishap.length)
  }

  // MARK: - A turn

  /// One turn is planned at most; an earlier moment replaces a later one. The happening of a
  /// replaced plan finds another moment and does nothing.
  func planCoordinatorTurn(at moment: Instant) {
    let moment = max(moment, coordinator.pausedUntil, now)
    if let planned = coordinator.plannedTurn, planned <= moment { return }
    coordinator.plannedTurn = moment
    agenda.plan(.coordinatorTurn(life: coordinator.life), at: moment)
  }

  /// The loop of a turn: all that has come, then the deadline, then the close.
  func takeCoordinatorTurn(life: Int) {
    guard coordinator.isUp, coordinator.life == life, coordinator.plannedTurn == now else { return }
    coordinator.plannedTurn = nil
    if now < coordinator.pausedUntil { return planCoordinatorTurn(at: coordinator.pausedUntil) }
    coordinator.turn.begin(at: now, wall: wall)
    coordinator.isTurnIdle = coordinator.inbox.isEmpty && coordinator.gonePeers.isEmpty
    takeInbox()
    if let deadline = coordinator.scheduler.nextDeadline(), deadline <= now {
      coordinator.scheduler.handle(
        .tick(durable: coordinator.disk.durable), into: &coordinator.turn)
    }
    closeTurn()
    if coordinator.scheduler.isSettled(at: now) { coordinator.mayHaveGoneBack = false }
  }

  /// Lost peers come first, as in the real loop. Messages are decoded here, so that the codec is
  /// part of the world.
  private func takeInbox() {
    let (gone, inbox) = (coordinator.gonePeers, coordinator.inbox)
    coordinator.gonePeers = []
    coordinator.inbox = []
    for peer in gone { gonePeers.insert(peer) }
    for peer in gone { coordinator.scheduler.handle(.gone(peer), into: &coordinator.turn) }
    for item in inbox {
      do {
        switch item.owner {
        case .worker(let worker):
          let message = try Wire.decodeWorkerMessage(item.bytes)
          trace("  \(self.workers[worker].name) → \(message)")
          noteHeard(message, from: item.peer, workers[worker].session)
          coordinator.scheduler.handle(.worker(item.peer, message), into: &coordinator.turn)
        case .stranger:
          let message = try Wire.decodeWorkerMessage(item.bytes)
          coordinator.scheduler.handle(.worker(item.peer, message), into: &coordinator.turn)
        case .client(let client):
          guard case .request(let id, let request) = try Wire.decodeClientMessage(item.bytes)
          else { continue }
          trace("  client \(client) → \(id.number) \(request)")
          if refusesForSpace(request, item.peer, id) { continue }
          coordinator.scheduler.handle(
            .client(item.peer, id, mutated(request)), into: &coordinator.turn)
        }
      } catch {
        fail("wire", "a message does not decode: \(error)")
      }
    }
  }

  /// With only the reserve left, refuses new submissions; running operations continue (G8).
  private func refusesForSpace(
    _ request: ClientRequest, _ peer: PeerID, _ id: RequestID
  ) -> Bool {
    guard case .submit = request, now < coordinator.disk.fullUntil else { return false }
    let refusal = Refusal(.busy, "the disk is nearly full", hint: "try again later")
    carryOut(.toClient(peer, id, .refused(refusal)))
    return true
  }

  /// Seals the turn, writes it, and sends what may leave. The order is the rule under test: write,
  /// say what claims no fact, withhold the rest.
  private func closeTurn() {
    coordinator.scheduler.close(&coordinator.turn)
    coordinator.turns += 1
    checkTurn()
    checkBounds()
    noteRetained(coordinator.turn)
    if coordinator.turn.isDurable {
      note(.turn, coordinator.turn.commit.number) {
        "commit \(self.coordinator.turn.commit.number): \(self.coordinator.turn.records)"
      }
      for record in coordinator.turn.records { count("record", record) }
      // A repeated message asks again for what its client has an answer to.
      let isSteered =
        coordinator.scheduler.hasUndecidedRequests
        || clients.contains { $0.pending.contains { $0.request.isSteering } }
      coordinator.disk.append(
        coordinator.turn, records: written(coordinator.turn), isSteered: isSteered)
    }
    for effect in coordinator.turn.atOnce { carryOut(effect) }
    if !coordinator.turn.afterDurable.isEmpty {
      coordinator.withheld.append(
        (coordinator.scheduler.lastCommit, coordinator.turn.afterDurable))
    }
    // Deliberate bugs that speak before the disk.
    if let early = mutant?.saidTooEarly {
      for at in coordinator.withheld.indices {
        for effect in coordinator.withheld[at].effects where early(effect) { carryOut(effect) }
        coordinator.withheld[at].effects.removeAll(where: early)
      }
    }
    watchIdleness()
    expectSpokenTo()
    release()
    sync()
    if let next = coordinator.scheduler.nextDeadline() {
      planCoordinatorTurn(at: max(next, now + .milliseconds(1)))
    }
  }

  /// A turn that takes nothing in and says nothing is a busy loop if others follow at once (G30). A
  /// part of a request may find nothing to change, and has an end: every request is answered.
  private func watchIdleness() {
    let isIdle =
      coordinator.isTurnIdle && !coordinator.turn.isDurable
      && !coordinator.scheduler.mayContinueParts
      && coordinator.turn.atOnce.isEmpty && coordinator.turn.afterDurable.isEmpty
    if coordinator.idleTurns.add(isIdle: isIdle, at: now) {
      fail("G30", "the coordinator turns and turns, and nothing happens")
    }
  }

  // MARK: - Persist, then speak

  /// One sync at a time; turns that close meanwhile wait for the next and share it.
  private func sync() {
    guard coordinator.disk.beginSync() else { return }
    agenda.plan(.syncEnds(life: coordinator.life), at: now + nextSyncLength())
  }

  func endSync(life: Int) {
    guard coordinator.isUp, coordinator.life == life else { return }
    for turn in coordinator.disk.endSync() { becameDurable(turn) }
    release()
    sync()
  }

  /// Sends effects that claim facts; nothing else does. Withheld effects are in the order of
  /// commits, so that the first that is not durable ends it.
  private func release() {
    var count = 0
    while count < coordinator.withheld.count,
      coordinator.withheld[count].commit <= coordinator.disk.durable
    {
      expectDurable(coordinator.withheld[count].commit)
      for effect in coordinator.withheld[count].effects { carryOut(effect) }
      count += 1
    }
    coordinator.withheld.removeFirst(count)
  }

  /// Puts an effect on the network. A peer that is gone is passed over, as the socket does it.
  private func carryOut(_ effect: Effect) {
    count(effect)
    switch effect {
    case .close(let peer):
      if let connection = connectionByPeer[peer] { connections[connection].isShut = true }
    case .toWorker(let peer, let message):
      guard let connection = connectionByPeer[peer] else { return }
      checkSaid(message, to: peer, connections[connection].owner)
      trace("  → \(self.connections[connection].owner) \(message)")
      send(Wire.encode(message, wording: Self.wording), over: connection, .fromCoordinator)
    case .toClient(let peer, let request, let reply):
      guard let connection = connectionByPeer[peer],
        case .client(let client) = connections[connection].owner
      else { return }
      noteAnswer(reply, to: request, of: client)
      trace("  → client \(client) \(request.number) \(reply)")
      send(
        Wire.encode(.reply(request, reply), wording: Self.wording), over: connection,
        .fromCoordinator)
    }
  }

  /// Nobody reads words here: all peers are of this release.
  private static func wording(_ advice: Advice) -> String { "" }

  /// Passes a durable turn to the oracles, before any peer is told. Decodes the turn as a restart
  /// would, and gives it to both oracles: the replayed shadow and the ledger.
  private func becameDurable(_ turn: WrittenTurn) {
    do {
      let records = try Wire.decodeRecords(turn.records)
      shadow.replay(records, commit: turn.commit)
      ledger.isSteered = turn.isSteered
      ledger.take(
        records, try Wire.decodeEventRuns(turn.events), turn.submissions, turn.endings,
        commit: turn.commit)
      takeProblems()
    } catch {
      fail("wire", "turn \(turn.commit.number) does not decode: \(error)")
    }
    durableTurns += 1
    expectNoneLeft()
    if steps - comparedAt >= World.comparisonSteps, coordinator.isUp, coordinator.disk.isIdle,
      coordinator.scheduler.lastCommit == turn.commit
    {
      comparedAt = steps
      expectSameAsShadow("while running")
    }
  }

  /// At any moment, not only when a real coordinator would take one.
  func takeSnapshot() {
    guard coordinator.isUp, !coordinator.scheduler.hasPendingEnds else { return }
    note(.snapshot, coordinator.scheduler.lastCommit.number) { "snapshot" }
    coordinator.disk.write(
      snapshot: coordinator.scheduler.snapshot(), commit: coordinator.scheduler.lastCommit)
  }
}
