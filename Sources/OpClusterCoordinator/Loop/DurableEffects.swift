// Sends what has become durable, in the order of the turns, and then what subscribers are told. On
// the loop's thread.

import OpClusterModel
import OpClusterScheduling
import OpClusterWire

extension CoordinatorLoop {
  /// Sends all effects that have become durable, and forgets peers that have left. The events of a
  /// turn precede its replies, so that a subscriber sees the effects of its own request (S3).
  func speak() {
    while let durable = commits.release.next() {
      if durable.isDurable { operatorLog.figures.noteDurable(after: now - durable.since) }
      if !subscriptions.isEmpty || durable.lastEvent > subscriptions.told {
        subscriptions.tell(durable.events, through: durable.lastEvent)
      }
      for item in durable.items {
        if case .reply(let peer, _) = item, !subscriptions.isEmpty {
          subscriptions.flush(peer: peer, stuck: clients.peers.waiting, into: &work.effects)
          if !work.effects.isEmpty { performSubscriptionEffects() }
        }
        perform(item)
      }
    }
    if !subscriptions.isEmpty {
      while subscriptions.flush(at: now, stuck: clients.peers.waiting, into: &work.effects) {
        performSubscriptionEffects()
      }
    }
    performSubscriptionEffects()
    if !workers.peers.waiting.isEmpty { workers.flush(at: now) }
    if !clients.peers.waiting.isEmpty { clients.flush(at: now) }
    forgetGone()
  }

  /// Forgets peers whose connections have ended or that read too slowly.
  private func forgetGone() {
    for peer in workers.takeGone() + workers.takeTooSlow() where workers.peers[peer] != nil {
      forget(.worker, peer)
    }
    for peer in clients.takeTooSlow() { _ = admits(.unread, .client, peer) }
    for peer in clients.takeGone() where clients.peers[peer] != nil {
      subscriptions.remove(peer: peer)
      forget(.client, peer)
    }
  }
}
