// The connections of machines: they say hello, fall silent and return, as workers do at a
// coordinator. A machine speaks the protocol of workers and cannot tell a relay from a coordinator.

import DequeModule
import HeapModule
import OpClusterExecution
import OpClusterModel

extension RackCore {
  mutating func take(
    _ message: WorkerMessage, from peer: PeerID, at now: Instant,
    into effects: inout [RackEffect]
  ) {
    if case .hello(let hello) = message { return greet(peer, hello, at: now, into: &effects) }
    guard let machine = machines.byPeer[peer] else {
      return refuse(peer, Refusal(.unknownWorker, "say hello first"), into: &effects)
    }
    hear(machine, at: now)
    switch message {
    case .hello: break
    case .report(let report): take(report, from: machine, peer, at: now, into: &effects)
    case .logChunk(let chunk): take(chunk, from: machine, into: &effects)
    case .goodbye(let lastReport):
      takeBack(from: machine, lastReport, at: now, into: &effects)
      lose(machine, "its machine has left", at: now, into: &effects)
      effects.append(.closeMachine(peer))
    }
  }

  /// A machine that leaves has reported what it ended; what it has not begun goes elsewhere. Where
  /// its last report did not arrive, nobody knows what it has begun.
  private mutating func takeBack(
    from machine: UInt32, _ lastReport: UInt64, at now: Instant, into effects: inout [RackEffect]
  ) {
    machines[machine].isLeaving = true
    machines.renewRoom(of: machine)
    guard lastReport <= machines[machine].reportTaken else { return }
    for attempt in machines[machine].attempts.sorted()
    where placements[attempt]?.unstarted != nil {
      placeAgain(attempt, wasSeen: true, at: now, into: &effects)
    }
  }

  private mutating func hear(_ machine: UInt32, at now: Instant) {
    machines[machine].lastHeard = max(machines[machine].lastHeard, now)
    guard machines[machine].isSuspect else { return }
    machines[machine].isSuspect = false
    machines.renewRoom(of: machine)
    hasNewRoom = true
  }

  func refuse(_ peer: PeerID, _ refusal: Refusal, into effects: inout [RackEffect]) {
    effects.append(.toMachine(peer, .refused(refusal)))
  }

  // MARK: - Hello

  private mutating func greet(
    _ peer: PeerID, _ hello: WorkerHello, at now: Instant, into effects: inout [RackEffect]
  ) {
    guard let version = ProtocolVersions.current.common(with: hello.versions) else {
      let (ours, theirs) = (ProtocolVersions.current, hello.versions)
      return refuse(
        peer,
        Refusal(
          .versionMismatch,
          "this relay speaks protocol \(ours.lowest) to \(ours.highest), the machine "
            + "\(theirs.lowest) to \(theirs.highest)",
          hint: "install the same release on both sides"), into: &effects)
    }
    if let refusal = problem(with: hello, from: peer) {
      return refuse(peer, refusal, into: &effects)
    }
    // Heard of, whatever becomes of the hello: no lease depends on it.
    if let known = machines.bySession[hello.session], machines[known].name == hello.name {
      hear(known, at: now)
    }
    // A welcome lets the machine's lease begin at its hello, so the coordinator must have heard of
    // the relay after it (G16). Nor does the relay know the cluster's times earlier.
    guard let contact = worker.contact, contact >= now || now - contact < welcomePatience else {
      return keep(hello, from: peer, at: now, into: &effects)
    }
    admit(hello, from: peer, version, at: now, into: &effects)
  }

  /// Keeps a hello until the coordinator has been heard. It is asked at once, by another hello of
  /// the relay's own.
  private mutating func keep(
    _ hello: WorkerHello, from peer: PeerID, at now: Instant, into effects: inout [RackEffect]
  ) {
    // One for each connection, so that nobody takes the places of others by saying it often.
    pending.removeAll { $0.peer == peer }
    guard pending.count < Limits.machinesPerRelay else {
      return refuse(peer, Refusal(.busy, "too many machines wait"), into: &effects)
    }
    pending.append(PendingHello(peer: peer, hello: hello, at: now))
    guard worker.conversation != nil, now - lastAsked >= timing.heartbeat else { return }
    lastAsked = now
    worker.apply(.disconnected, at: now, into: &decided)
  }

  /// Answers the hellos that have waited for the coordinator, and refuses those that wait for long:
  /// their machines try again.
  mutating func answerPending(at now: Instant, into effects: inout [RackEffect]) {
    guard !pending.isEmpty else { return }
    let waiting = pending
    pending = []
    for one in waiting {
      if let contact = worker.contact, contact >= one.at {
        guard let version = ProtocolVersions.current.common(with: one.hello.versions) else {
          continue
        }
        admit(one.hello, from: one.peer, version, at: now, into: &effects)
      } else if now - one.at > Self.pendingPatience {
        refuse(one.peer, Refusal(.busy, "the relay has no coordinator now"), into: &effects)
      } else {
        pending.append(one)
      }
    }
  }

  /// Shorter than a machine waits for its welcome.
  private static let pendingPatience = Span.milliseconds(2_500)

  private func problem(with hello: WorkerHello, from peer: PeerID) -> Refusal? {
    if hello.largest != nil {
      return Refusal(
        .badRequest, "a relay is no machine of another relay",
        hint: "let it connect to the coordinator")
    }
    if let known = machines.byPeer[peer], machines[known].session != hello.session {
      return Refusal(.badRequest, "this connection is that of \(machines[known].name)")
    }
    // What it remembers of an earlier relay, or of an earlier history of the coordinator, may have
    // the numbers of something else (G12).
    if let known = hello.known, known.life != life {
      return Refusal(
        .otherHistory, "the relay knows nothing of what machine \(hello.name) was told")
    }
    return nil
  }

  /// Why there is no room for a machine; asked when it is taken in, not when it comes.
  private func lackOfRoom(for hello: WorkerHello) -> Refusal? {
    if machines.bySession[hello.session] == nil, machines.count >= Limits.machinesPerRelay {
      return Refusal(.limitExceeded, "there are \(Limits.machinesPerRelay) machines already")
    }
    let names = machines.all.reduce(into: Set(hello.capacity.custom.map(\.name))) { names, number in
      names.formUnion(machines[number].capacity.custom.map(\.name))
    }
    guard names.count <= Limits.customResources else {
      return Refusal(
        .limitExceeded,
        "the machines of a relay have more than \(Limits.customResources) named resources",
        hint: "give them the same names")
    }
    return nil
  }

  /// Names what machines are told by this relay, in this session of its own.
  private var life: CoordinatorLife {
    CoordinatorLife(Epoch(1), number: worker.identity.session.number)
  }

  /// Takes a machine in, or back.
  private mutating func admit(
    _ hello: WorkerHello, from peer: PeerID, _ version: UInt32, at now: Instant,
    into effects: inout [RackEffect]
  ) {
    if let refusal = lackOfRoom(for: hello) { return refuse(peer, refusal, into: &effects) }
    if let known = machines.bySession[hello.session] {
      // A duplicate: a worker says hello once on each connection.
      if machines[known].peer == peer { return }
      guard machines[known].name == hello.name else {
        return refuse(
          peer, Refusal(.badRequest, "this session belongs to a worker of another name"),
          into: &effects)
      }
      return welcome(known, hello, peer, version, at: now, into: &effects)
    }
    if let old = machines.byName[hello.name] {
      if let refusal = refusal(for: old, at: now) { return refuse(peer, refusal, into: &effects) }
      lose(old, "its machine began anew", at: now, into: &effects)
    }
    let machine = machines.add(Machine(hello, at: now))
    beats.insert(
      Beat(at: now + timing.heartbeat / 2, machine: machine, session: hello.session))
    welcome(machine, hello, peer, version, at: now, into: &effects)
  }

  /// Why a new life of a machine may not yet replace the old one: that may still be there, or its
  /// exclusive operations may (G16).
  private func refusal(for old: UInt32, at now: Instant) -> Refusal? {
    let silence = now - machines[old].lastHeard
    if machines[old].peer != nil, silence < timing.heartbeat * 2 {
      return Refusal(
        .busy, "a machine named \(machines[old].name) is connected",
        hint: "give each machine a name of its own, or wait until the other one is gone")
    }
    let isExclusive = machines[old].attempts.contains { placements[$0]?.isExclusive == true }
    guard silence <= timing.lost, isExclusive else { return nil }
    return Refusal(
      .busy, "an earlier machine named \(machines[old].name) held exclusive operations",
      hint: "it is taken once that one counts as lost")
  }

  /// How long ago the coordinator may have heard of the relay when a machine is welcomed: its lease
  /// must end before the relay counts as lost, as `Timing.fencesInTime` reckons it.
  private var welcomePatience: Span {
    guard timing.allowsExclusive else { return timing.suspect }
    return timing.lost - timing.lost / 100 - timing.fence - Timing.fenceMargin
  }

  private mutating func welcome(
    _ machine: UInt32, _ hello: WorkerHello, _ peer: PeerID, _ version: UInt32, at now: Instant,
    into effects: inout [RackEffect]
  ) {
    if let old = machines[machine].peer {
      machines.disconnect(old)
      forgetAsks(of: machine, into: &effects)
      effects.append(.closeMachine(old))
    }
    lastIncrement &+= 1
    machines[machine].begin(hello, increment: lastIncrement, at: now)
    machines[machine].isAdmitted = machines[machine].has(offering.offered)
    machines.connect(machine, peer)
    hasNewRoom = true
    offering.change(at: now)
    let stale = reconcile(machine, hello, at: now, into: &effects)
    var welcome = Welcome(
      conversation: machines[machine].conversation, version: version,
      worker: WorkerID(machine + 1), timing: timing, stale: stale, clientEndpoint: clientEndpoint)
    welcome.known = HistoryMark(life: life, commit: CommitIndex(0))
    effects.append(.toMachine(peer, .welcome(welcome)))
    // Repeated: an earlier order may not have arrived.
    for attempt in machines[machine].attempts.sorted() {
      guard let grace = stopped[attempt] else { continue }
      machines[machine].orders.cancels.append(CancelOrder(attempt: attempt, grace: grace))
      addressed.insert(machine)
    }
  }

  /// Compares what the machine lists with what it was given. Returns what is not its own.
  private mutating func reconcile(
    _ machine: UInt32, _ hello: WorkerHello, at now: Instant, into effects: inout [RackEffect]
  ) -> [AttemptID] {
    let claimed = Set(hello.assigned).union(hello.executing)
    for attempt in machines[machine].attempts.sorted() where !claimed.contains(attempt) {
      if placements[attempt]?.unstarted != nil {
        placeAgain(attempt, wasSeen: false, at: now, into: &effects)
      } else {
        _ = release(attempt)
        end(attempt, .lost, "its machine came back without it", at: now)
      }
    }
    return (hello.assigned + hello.executing).filter { placements[$0]?.machine != machine }
  }

  // MARK: - Silence

  /// A pause of the relay's own counts as no machine's silence: their messages wait at its door
  /// (F6). It is awake at least once a heartbeat. Costs the machines, after a pause only.
  mutating func excusePause(at now: Instant) {
    let pause = now - lastTurn
    lastTurn = max(lastTurn, now)
    guard pause > timing.heartbeat * 3 else { return }
    for machine in machines.all {
      machines[machine].lastHeard = machines[machine].lastHeard + pause
    }
  }

  /// Looks at the machines that are due, each at most once a heartbeat.
  mutating func judgeSilence(at now: Instant, into effects: inout [RackEffect]) {
    while let beat = beats.min, beat.at <= now {
      beats.removeMin()
      guard machines.contains(beat.machine), machines[beat.machine].session == beat.session
      else { continue }
      let silence = now - machines[beat.machine].lastHeard
      if silence > timing.lost {
        if let peer = machines[beat.machine].peer { effects.append(.closeMachine(peer)) }
        lose(beat.machine, "its machine was not heard of any more", at: now, into: &effects)
        continue
      }
      if silence > timing.suspect, !machines[beat.machine].isSuspect {
        machines[beat.machine].isSuspect = true
        machines.renewRoom(of: beat.machine)
      }
      self.beat(beat.machine, at: now, into: &effects)
      beats.insert(
        Beat(at: now + timing.heartbeat / 2, machine: beat.machine, session: beat.session))
    }
  }

  /// Ends what a machine had: it is not known to have run.
  mutating func lose(
    _ machine: UInt32, _ why: String, at now: Instant, into effects: inout [RackEffect]
  ) {
    let lost = machines.remove(machine)
    if kept == machine { kept = nil }
    hasNewRoom = true
    addressed.remove(machine)
    offering.change(at: now)
    forgetAsks(of: machine, into: &effects)
    for attempt in lost.attempts.sorted() {
      placements[attempt] = nil
      end(attempt, .lost, why, at: now)
    }
    carryOut(at: now, into: &effects)
  }

  /// Sends a heartbeat, with a number if there is something to acknowledge. Not to a suspect: a
  /// machine that hears but is not heard would not look for a better connection.
  private mutating func beat(
    _ machine: UInt32, at now: Instant, into effects: inout [RackEffect]
  ) {
    guard let peer = machines[machine].peer, !machines[machine].isSuspect,
      now - machines[machine].lastSpoken >= timing.heartbeat
    else { return }
    let before = machines[machine].acknowledged
    machines[machine].hear(until: worker.contact)
    if machines[machine].acknowledged != before {
      addressed.insert(machine)
      return
    }
    machines[machine].lastSpoken = now
    var orders = WorkerOrders(
      conversation: machines[machine].conversation, number: 0, acknowledged: 0)
    orders.heard = machines[machine].acknowledged
    effects.append(.toMachine(peer, .orders(orders)))
  }

  // MARK: - Orders

  /// Sends the orders of this turn, numbered, in messages of bounded size.
  mutating func sendOrders(at now: Instant, into effects: inout [RackEffect]) {
    for machine in addressed.sorted() where machines.contains(machine) {
      guard let peer = machines[machine].peer else { continue }
      machines[machine].hear(until: worker.contact)
      var orders = machines[machine].orders
      machines[machine].orders = Machine.noOrders
      orders.conversation = machines[machine].conversation
      orders.acknowledged = machines[machine].acknowledged
      orders.heard = machines[machine].acknowledged
      machines[machine].lastSpoken = now
      for var part in orders.parts() {
        machines[machine].ordersSent += 1
        part.number = machines[machine].ordersSent
        effects.append(.toMachine(peer, .orders(part)))
      }
    }
    addressed.removeAll(keepingCapacity: true)
  }
}

/// A machine that waits for its welcome.
struct PendingHello: Sendable {
  var peer: PeerID
  var hello: WorkerHello
  var at: Instant
}

extension Machine {
  /// Begins a conversation: what it was told counts for nothing, and what waited to be sent is
  /// found out by comparing.
  fileprivate mutating func begin(_ hello: WorkerHello, increment: UInt32, at now: Instant) {
    self.increment = increment
    // Anew: a name that comes with this hello is missing in what was free before.
    let taken = taken
    withheld = .none
    capacity = hello.capacity
    free = capacity
    free.take(taken)
    labels = hello.labels
    types = hello.types
    lastHeard = now
    lastSpoken = now
    isSuspect = false
    isLeaving = false
    told = [:]
    ordersSent = 0
    reportTaken = 0
    reports = []
    acknowledged = 0
    orders = Machine.noOrders
  }
}
