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
      placeElsewhere(attempt, at: now, into: &effects)
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
    // A welcome lets the machine's lease begin at its hello, so the coordinator must have heard of
    // the relay shortly before (G16). Nor does the relay know the cluster's times earlier.
    guard let contact = worker.contact, now - contact < welcomePatience else {
      return refuse(
        peer, Refusal(.busy, "the relay has no coordinator now"), into: &effects)
    }
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
    guard machines.count < Limits.machinesPerRelay else {
      return refuse(
        peer, Refusal(.limitExceeded, "there are \(Limits.machinesPerRelay) machines already"),
        into: &effects)
    }
    let machine = machines.add(Machine(hello, at: now))
    beats.insert(Beat(at: now + timing.heartbeat, machine: machine))
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
      effects.append(.closeMachine(old))
    }
    lastIncrement &+= 1
    machines[machine].begin(hello, increment: lastIncrement, at: now)
    machines.connect(machine, peer)
    hasNewRoom = true
    offering.change(at: now)
    let stale = reconcile(machine, hello, at: now, into: &effects)
    effects.append(
      .toMachine(
        peer,
        .welcome(
          Welcome(
            conversation: machines[machine].conversation, version: version,
            worker: WorkerID(machine + 1), timing: timing, stale: stale,
            clientEndpoint: clientEndpoint))))
    // Repeated: an earlier order may not have arrived.
    for attempt in machines[machine].attempts.sorted() where stopped.contains(attempt) {
      machines[machine].orders.cancels.append(CancelOrder(attempt: attempt, grace: .zero))
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
        placeElsewhere(attempt, at: now, into: &effects)
      } else {
        _ = release(attempt)
        end(attempt, .lost, "its machine came back without it", at: now)
      }
    }
    return (hello.assigned + hello.executing).filter { placements[$0]?.machine != machine }
  }

  // MARK: - Silence

  /// Looks at the machines that are due, each at most once a heartbeat.
  mutating func judgeSilence(at now: Instant, into effects: inout [RackEffect]) {
    while let beat = beats.min, beat.at <= now {
      beats.removeMin()
      guard machines.contains(beat.machine) else { continue }
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
      beats.insert(Beat(at: now + timing.heartbeat / 2, machine: beat.machine))
    }
  }

  /// Ends what a machine had: it is not known to have run.
  mutating func lose(
    _ machine: UInt32, _ why: String, at now: Instant, into effects: inout [RackEffect]
  ) {
    let lost = machines.remove(machine)
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
      now - machines[machine].lastSpoken >= timing.heartbeat / 2
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

extension Machine {
  /// Begins a conversation: what it was told counts for nothing, and what waited to be sent is
  /// found out by comparing.
  fileprivate mutating func begin(_ hello: WorkerHello, increment: UInt32, at now: Instant) {
    self.increment = increment
    free.giveBack(withheld)
    withheld = .none
    free.take(capacity)
    free.giveBack(hello.capacity)
    capacity = hello.capacity
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
