// Encodes messages and gives them to the right socket, and questions to the history. On the loop's
// thread.

import Logging
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterWire

extension CoordinatorLoop {
  /// Encodes an effect.
  func encoded(_ effect: Effect) -> UnreleasedEffect {
    switch effect {
    case .toWorker(let peer, let message): .toWorker(peer, encoded(message))
    case .toClient(let peer, let request, let reply):
      .reply(peer, reply.encoded(for: request))
    case .close(let peer): .close(peer)
    }
  }

  // Advice also travels in words, for peers that do not know its code.
  private func encoded(_ message: CoordinatorMessage) -> [UInt8] {
    Wire.encode(message, wording: \.forShell)
  }

  // MARK: - At once

  func send(_ message: CoordinatorMessage, toWorker peer: PeerID) {
    workers.send(encoded(message), to: peer, at: now)
  }

  func send(_ answer: ClientAnswer, toClient peer: PeerID) {
    clients.send(answer.encoded, to: peer, at: now)
  }

  /// Sends effects that claim no fact at once.
  func say(_ effects: [Effect]) {
    for effect in effects { perform(encoded(effect)) }
  }

  func perform(_ item: UnreleasedEffect) {
    switch item {
    case .toWorker(let peer, let bytes): workers.send(bytes, to: peer, at: now)
    case .reply(let peer, let bytes):
      clients.peers.update(peer) { $0.requestsInFlight = max(0, $0.requestsInFlight - 1) }
      clients.send(bytes, to: peer, at: now)
    case .close(let peer): workers.peers.remove(peer)
    case .ask(let question): ask(question)
    }
  }

  /// Answers a request of a client that was counted as in flight; claims no fact.
  func sendReply(_ reply: ClientReply, to peer: PeerID, _ request: RequestID) {
    perform(.reply(peer, reply.encoded(for: request)))
  }

  func performSubscriptionEffects() {
    var at = 0
    // An effect may add further effects.
    while at < work.effects.count {
      switch work.effects[at] {
      case .tell(let peer, let batch): send(.events(batch), toClient: peer)
      case .read(let question): ask(.slice(question))
      case .reply(let peer, let request, let words): sendReply(words, to: peer, request)
      }
      at += 1
    }
    work.effects.removeAll(keepingCapacity: true)
  }

  // MARK: - To the history

  func ask(_ question: HistoryQuestion) {
    // nil: nobody waits for an answer.
    guard let asker = asker(of: question) else { return }
    if sources.history.ask(question, of: asker) { return }
    let busy = Refusal(
      .busy, "too many questions to the history wait", hint: "try again in a moment",
      retryAfter: .milliseconds(500))
    switch question {
    case .rows(let rows): sendReply(.refused(busy), to: rows.peer, rows.request)
    case .log(let log): sendReply(.refused(busy), to: log.peer, log.request)
    case .slice(let slice):
      subscriptions.putBack(slice.number, busy, into: &work.effects)
    case .room: break
    }
  }

  /// The party that the question counts for (G29); nil if its asker has left.
  private func asker(of question: HistoryQuestion) -> HistoryTurns.Asker? {
    let peer: PeerID?
    switch question {
    case .room: return .coordinator
    case .slice(let slice): peer = subscriptions.reader(of: slice.number)
    case .rows, .log: peer = question.peer
    }
    guard let peer = peer.flatMap({ clients.peers[$0] }), !peer.isPutOut else { return nil }
    return .principal(peer.holder)
  }
}

extension ClientReply {
  /// Encodes a reply; replaces one that is too large for any client by a refusal.
  func encoded(for request: RequestID) -> [UInt8] {
    let bytes = ClientAnswer.reply(request, self).encoded
    if bytes.count <= Limits.messageBytes { return bytes }
    let refusal = Refusal(
      .limitExceeded, "the answer has \(bytes.count) bytes, more than one message takes",
      hint: "ask for less at once")
    return ClientAnswer.reply(request, .refused(refusal)).encoded
  }
}

extension ClientAnswer {
  // Advice also travels in words, for peers that do not know its code.
  fileprivate var encoded: [UInt8] { Wire.encode(self, wording: \.forShell) }
}
