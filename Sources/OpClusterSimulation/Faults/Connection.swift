// The simulated network between the coordinator and its workers and clients: a connection is one
// socket of theirs, with all network faults. Only bytes are in flight. Owned by the world.

import OpClusterModel

/// One socket of a worker or client, from its opening to its closing.
struct Connection: Sendable {
  enum Owner: Hashable, Sendable {
    case worker(Int)
    case client(Int)
    /// A peer that only says hello: a namesake of this worker, or (−1) a peer of another release.
    case stranger(Int)
  }
  let owner: Owner
  /// The coordinator's number for it; changes with each connection of the same socket.
  var peer: PeerID
  /// The life of the coordinator that it is connected to; −1: none.
  var life: Int
  /// Whether the owner has not closed it.
  var isOpen = true
  /// Whether the coordinator has put it out and ignores it (A21).
  var isShut = false
  /// The moment until which each direction stays silent.
  var cutUntil: [Instant] = [.zero, .zero]
  /// The newest arrival of each direction: only a fault changes the order.
  var lastArrival: [Instant] = [.zero, .zero]
  /// The bytes in flight, both directions (I18).
  var inFlight = 0
}

enum Direction: Int, Sendable {
  case toCoordinator, fromCoordinator
}

/// Bytes in flight.
struct Delivery: Sendable {
  var connection: Int
  var direction: Direction
  var bytes: [UInt8]
  /// The coordinator's number of the connection at sending: a new number means a new connection.
  var peer: PeerID
  var saidAt: Instant
}

extension World {
  /// Opens a new socket for a worker or client.
  func open(_ owner: Connection.Owner) -> Int {
    lastPeer += 1
    let life = coordinator.isUp ? coordinator.life : -1
    connections.append(Connection(owner: owner, peer: PeerID(lastPeer), life: life))
    connectionByPeer[PeerID(lastPeer)] = connections.count - 1
    return connections.count - 1
  }

  /// Sends bytes, or loses them.
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

  /// Delivers bytes to the other end, if it still exists.
  func arrive(_ delivery: Delivery) {
    connections[delivery.connection].inFlight -= delivery.bytes.count
    let end = connections[delivery.connection]
    guard delivery.peer == end.peer, end.life == coordinator.life, coordinator.isUp else { return }
    switch delivery.direction {
    case .toCoordinator:
      // A message sent before the socket was closed may still be read, but a worker's not after its
      // next socket has spoken: the protocol does not number hellos.
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

  /// Lets the owner notice the break.
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
