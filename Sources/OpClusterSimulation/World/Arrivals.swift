// What the network brings to its ends: bytes, and breaks. Knows all actors. Part of the world.

import OpClusterModel

extension World {
  /// Delivers bytes to the other end, if it still exists. A message for an earlier life of the
  /// coordinator, or for a peer number that a silent break has replaced, is gone.
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
