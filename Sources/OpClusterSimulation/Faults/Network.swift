// The simulated network between the coordinator and its workers and clients, with all its faults.
// Carries bytes and knows nothing of who reads them. Part of the world.

import OpClusterModel

extension World {
  /// Opens a new socket for a worker or client. Returns the position in `connections`, which only
  /// grows: a late message still finds its connection.
  func open(_ owner: Connection.Owner) -> Int {
    lastPeer += 1
    let life = coordinator.isUp ? coordinator.life : -1
    connections.append(Connection(owner: owner, peer: PeerID(lastPeer), life: life))
    connectionByPeer[PeerID(lastPeer)] = connections.count - 1
    return connections.count - 1
  }

  /// Sends bytes, or loses them. The fate is drawn before it is known whether the message can go at
  /// all, so that the number of a message does not depend on the connection's state.
  func send(_ bytes: [UInt8], over connection: Int, _ direction: Direction) {
    let end = connections[connection]
    var (verdict, chance) = judge(end.owner, direction)
    guard end.isOpen, end.life == coordinator.life, coordinator.isUp else {
      if direction == .fromCoordinator, chance.percent(70) {
        let notice = Happening.peerGone(end.peer, life: coordinator.life)
        agenda.plan(notice, at: now + chance.milliseconds(1, 50))
      }
      return
    }
    tracer.note(bytes: bytes)
    checkSize(of: bytes)
    if !verdict.isLost { put(bytes, connection, direction, verdict, &chance) }
    if let again = verdict.again {
      verdict.late = again
      // A late repetition arrives behind later messages and delays none of them.
      if again > .zero { verdict.overtakes = true }
      put(bytes, connection, direction, verdict, &chance)
    }
  }

  /// Plans the arrival. Without overtaking, a message arrives no earlier than the one before it in
  /// its direction, as over a stream.
  private func put(
    _ bytes: [UInt8], _ connection: Int, _ direction: Direction, _ verdict: Verdict,
    _ chance: inout Chance
  ) {
    var arrival = now + chance.microseconds(plan.latency.low, plan.latency.high) + verdict.late
    let cut = connections[connection].cutUntil[direction.rawValue]
    if cut > now {
      if chance.percent(50) { return }
      arrival = max(arrival, cut)
    }
    if !verdict.overtakes {
      arrival = max(arrival, connections[connection].lastArrival[direction.rawValue])
      connections[connection].lastArrival[direction.rawValue] = arrival
    }
    let delivery = Delivery(
      connection: connection, direction: direction, bytes: bytes,
      peer: connections[connection].peer, saidAt: now)
    connections[connection].inFlight += bytes.count
    agenda.plan(.arrival(delivery), at: arrival)
  }

  /// The duration until the next turn of a loop.
  func turnDelay() -> Span {
    var chance = draw(.turn)
    return chance.microseconds(0, 200)
  }

  /// Handles a new life of the coordinator: each connection is re-established without notice (as a
  /// socket library does by itself), or its owner notices the break some time later.
  func breakConnection(_ connection: Int) {
    var chance = draw(.reconnect, connection, coordinator.life)
    let isSilent = !isHealed && chance.percent(plan.silentReconnects)
    breakConnection(connection, isSilent: isSilent, noticedAfter: chance.milliseconds(1, 2_000))
  }

  /// A silent break gives the same socket another peer number: the coordinator sees a new peer, and
  /// the owner sees nothing.
  func breakConnection(_ connection: Int, isSilent: Bool, noticedAfter wait: Span) {
    guard connections[connection].isOpen else { return }
    if coordinator.isUp, isSilent {
      connectionByPeer[connections[connection].peer] = nil
      lastPeer += 1
      connections[connection].peer = PeerID(lastPeer)
      connections[connection].life = coordinator.life
      connections[connection].isShut = false
      connectionByPeer[PeerID(lastPeer)] = connection
    } else {
      connections[connection].life = -1
      agenda.plan(.broken(connection: connection), at: now + wait)
    }
  }
}
