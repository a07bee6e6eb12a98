// The network between a worker or client and the coordinator: a connection is a socket of theirs,
// with all that a bad day does to it. In flight there are only bytes. Owned by the world.

import OpClusterModel

/// One socket of a worker or client, from its opening to its closing.
struct Connection: Sendable {
  enum Owner: Hashable, Sendable {
    case worker(Int)
    case client(Int)
    /// Somebody who greets once: a namesake of this worker, or (−1) a peer of another release.
    case stranger(Int)
  }
  let owner: Owner
  /// What the coordinator calls it; another one after each connection of the same socket.
  var peer: PeerID
  /// Which life of the coordinator it is connected to; −1: to none.
  var life: Int
  /// The owner has not closed it.
  var isOpen = true
  /// The coordinator has put it out: it does not listen to it any more (A21).
  var isShut = false
  /// A direction stays silent until its moment.
  var cutUntil: [Instant] = [.zero, .zero]
  /// The newest arrival of each direction: order is kept but by a fault.
  var lastArrival: [Instant] = [.zero, .zero]
  /// Bytes on their way, both directions (I18).
  var inFlight = 0
}

enum Direction: Int, Sendable {
  case toCoordinator, fromCoordinator
}

/// Bytes on their way.
struct Delivery: Sendable {
  var connection: Int
  var direction: Direction
  var bytes: [UInt8]
  /// What the coordinator called the connection when they left: another one is another line.
  var peer: PeerID
  var saidAt: Instant
}

extension World {
  /// Opens a fresh socket for a worker or client.
  func open(_ owner: Connection.Owner) -> Int {
    lastPeer += 1
    let life = coordinator.isUp ? coordinator.life : -1
    connections.append(Connection(owner: owner, peer: PeerID(lastPeer), life: life))
    connectionByPeer[PeerID(lastPeer)] = connections.count - 1
    return connections.count - 1
  }

  /// Puts bytes on their way, or loses them.
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
      // What was said again long after is behind what followed, and holds nothing up.
      if again > .zero { verdict.overtakes = true }
      put(bytes, connection, direction, verdict, &chance)
    }
  }

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

  /// Bytes reach the other end, if it is still there.
  func arrive(_ delivery: Delivery) {
    connections[delivery.connection].inFlight -= delivery.bytes.count
    let end = connections[delivery.connection]
    guard delivery.peer == end.peer, end.life == coordinator.life, coordinator.isUp else { return }
    switch delivery.direction {
    case .toCoordinator:
      // What its owner sent before it closed the socket may still be read, but a worker's not after
      // its next socket has spoken: the protocol does not number hellos.
      var chance = draw(.notice, delivery.connection, delivery.bytes.count)
      if end.isShut || (!end.isOpen && chance.percent(50)) { return }
      if case .worker(let worker) = end.owner {
        if delivery.connection < workers[worker].newestHeard { return }
        workers[worker].newestHeard = delivery.connection
      }
      coordinator.inbox.append((end.peer, end.owner, delivery.bytes))
      planCoordinatorTurn(at: now + turnDelay())
    case .fromCoordinator:
      guard end.isOpen else { return }
      switch end.owner {
      case .worker(let worker): give(worker, .frame(delivery))
      case .client(let client): take(delivery.bytes, at: client)
      case .stranger(let worker): takeAsStranger(delivery.bytes, worker)
      }
    }
  }

  /// How long a loop takes to come round.
  func turnDelay() -> Span {
    var chance = draw(.turn)
    return chance.microseconds(0, 200)
  }

  /// The coordinator is another one: each connection is made anew without anybody noticing (what a
  /// socket library does by itself), or its owner notices some time.
  func breakConnection(_ connection: Int) {
    var chance = draw(.reconnect, connection, coordinator.life)
    let isSilent = !isHealed && chance.percent(plan.silentReconnects)
    breakConnection(connection, isSilent: isSilent, noticedAfter: chance.milliseconds(1, 2_000))
  }

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

  /// The owner has noticed.
  func noticeBroken(_ connection: Int) {
    guard connections[connection].isOpen else { return }
    switch connections[connection].owner {
    case .worker(let worker): give(worker, .broken(connection))
    case .client(let client):
      connections[connection].isOpen = false
      clients[client].connection = open(.client(client))
    case .stranger: connections[connection].isOpen = false
    }
  }
}
