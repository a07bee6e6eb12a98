// Runs a world: everything happens by the agenda, one happening after the other, on the thread that
// runs the seed. Knows all actors; none of them knows it.

import OpClusterModel

extension World {
  /// Runs until everything has ended, a rule is broken, or time is up. The first workers start
  /// within 300 ms. In a script clients have no will of their own.
  func run() {
    startCoordinator()
    for at in workers.indices {
      var chance = draw(.birth, at)
      agenda.plan(.workerStarts(worker: at), at: now + chance.milliseconds(0, 300))
    }
    for at in 0..<plan.clients {
      let client = Client(
        connection: open(.client(at)), chance: Chance(seed, purpose: 100 + UInt64(at)),
        submissionsLeft: script == nil ? plan.graphs : 0)
      clients.append(client)
      if script != nil { continue }
      agenda.plan(.clientActs(client: at), at: now + clients[at].chance.milliseconds(0, 500))
    }
    if let script {
      for at in script.asks.indices { agenda.plan(.clientAsks(at), at: script.asks[at].at) }
    }
    for at in mishaps.indices { agenda.plan(.mishap(at), at: mishaps[at].at) }
    agenda.plan(.heal, at: now + plan.turmoil)
    while violation == nil, let (moment, what) = agenda.next() {
      now = moment
      steps += 1
      happen(what)
      if isHealed {
        if isQuiet { break }
        if now > healedAt + World.patience || steps > World.stepBound { stuck() }
      }
    }
    if violation == nil { expectQuiet() }
  }

  /// The time in which everything must end once there are no more faults.
  private static let patience = Span.seconds(900)
  /// A world that never rests is as stuck as one that never ends.
  private static let stepBound = 2_000_000

  /// Happenings of an earlier life are dropped by whoever they are for, by the number of the life.
  private func happen(_ what: Happening) {
    switch what {
    case .arrival(let delivery): arrive(delivery)
    case .coordinatorTurn(let life): takeCoordinatorTurn(life: life)
    case .syncEnds(let life): endSync(life: life)
    case .coordinatorStarts: startCoordinator()
    case .peerGone(let peer, let life):
      guard coordinator.isUp, coordinator.life == life else { return }
      coordinator.gonePeers.append(peer)
      planCoordinatorTurn(at: now)
    case .workerTurn(let worker, let life): takeWorkerTurn(worker, life: life)
    case .workerStarts(let worker): startWorker(worker)
    case .broken(let connection): noticeBroken(connection)
    case .processEnds(let worker, let life, let attempt):
      endDueProcess(attempt, worker, life: life)
    case .guardLooks(let worker, let life): checkLease(worker, life: life)
    case .fetchTries(let worker, let life, let content, let tries):
      if tryFetch(content, worker, life: life, tries: tries) { planWorkerTurn(worker, now) }
    case .deliveryTries(let worker, let life, let delivery, let tries):
      if let learner = tryDelivery(delivery, worker, life: life, tries: tries) {
        planWorkerTurn(learner, now)
      }
    case .contentRots(let worker, let digest):
      if rotContent(digest, worker) { planWorkerTurn(worker, now) }
    case .contentLeaves(let worker, let digest):
      if dropContent(digest, worker) { planWorkerTurn(worker, now) }
    case .clientActs(let client): actAsClient(client)
    case .clientRepeats(let client, let id): repeatRequest(client, id)
    case .clientAsks(let at): askFromScript(at)
    case .mishap(let at): happen(mishaps[at])
    case .heal: heal()
    case .tidyUp: tidyUp()
    }
  }
}
