// Sends messages: encodes them for the right socket at the right time. Only this file sends. On the
// loop's thread.

import Logging
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

extension CoordinatorLoop {
  /// Sends effects that claim no fact at once.
  func say(_ effects: [Effect]) {
    for effect in effects { perform(held(effect)) }
  }

  /// Encodes an effect.
  func held(_ effect: Effect) -> Held {
    switch effect {
    case .toWorker(let peer, let message): .toWorker(peer, Wire.encode(message))
    case .toClient(let peer, let request, let reply): .reply(peer, encoded(reply, request))
    case .close(let peer): .close(peer)
    }
  }

  /// Encodes a reply; replaces one that is too large for any client by a refusal.
  func encoded(_ reply: ClientReply, _ request: RequestID) -> [UInt8] {
    let bytes = Wire.encode(ClientAnswer.reply(request, reply))
    if bytes.count <= Limits.messageBytes { return bytes }
    return Wire.encode(
      ClientAnswer.reply(
        request,
        .refused(
          Refusal(
            .limitExceeded, "the answer has \(bytes.count) bytes, more than one message takes",
            hint: "ask for less at once"))))
  }

  /// Sends all effects that have become durable, and forgets peers that have left. The events of a
  /// turn precede its replies, so that a subscriber sees the effects of its own request (S3).
  func speak() {
    while let durable = commits.release.next() {
      if !subscriptions.isEmpty || durable.lastEvent > subscriptions.told {
        subscriptions.tell(durable.events, through: durable.lastEvent)
      }
      for item in durable.items {
        if case .reply(let peer, _) = item, !subscriptions.isEmpty {
          subscriptions.flush(peer: peer, canTake: { canTake($0) }, into: &work.effects)
          if !work.effects.isEmpty { performSubscriptionEffects() }
        }
        perform(item)
      }
    }
    if !subscriptions.isEmpty {
      while subscriptions.flush(at: now, canTake: { canTake($0) }, into: &work.effects) {
        performSubscriptionEffects()
      }
    }
    performSubscriptionEffects()
    if !workers.peers.waiting.isEmpty { workers.flush(at: now) }
    if !clients.peers.waiting.isEmpty { clients.flush(at: now) }
    forgetGone()
  }

  func perform(_ item: Held) {
    switch item {
    case .toWorker(let peer, let bytes): workers.send(bytes, to: peer, at: now)
    case .reply(let peer, let bytes):
      clients.peers.update(peer) { $0.requestsInFlight = max(0, $0.requestsInFlight - 1) }
      clients.send(bytes, to: peer, at: now)
    case .close(let peer): workers.peers.remove(peer)
    case .ask(let question): ask(question)
    }
  }

  // MARK: - At once

  func send(_ message: CoordinatorMessage, toWorker peer: PeerID) {
    workers.send(Wire.encode(message), to: peer, at: now)
  }

  func send(_ answer: ClientAnswer, toClient peer: PeerID) {
    clients.send(Wire.encode(answer), to: peer, at: now)
  }

  /// Answers a request of a client that was counted as in flight; claims no fact.
  func reply(_ reply: ClientReply, to peer: PeerID, _ request: RequestID) {
    perform(.reply(peer, encoded(reply, request)))
  }

  // MARK: - Gone

  private func canTake(_ peer: PeerID) -> Bool {
    clients.peers[peer].map { $0.outbox.isEmpty && !$0.isPutOut } ?? false
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
