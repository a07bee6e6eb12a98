// Who knows what a restored journal has lost: workers that were told of it, and clients that follow
// the events (G12, G24). Part of the world.

import OpClusterExecution
import OpClusterModel
import OpClusterScheduling

extension World {
  /// Notes how much of the journal a worker was told, when it handles a message; the message may
  /// have been sent before a restore.
  func noteTold(_ message: CoordinatorMessage, saidAt: Instant, _ at: Int) {
    let (conversation, commit): (Conversation, CommitIndex)
    switch message {
    case .welcome(let welcome):
      (conversation, commit) = (welcome.conversation, welcome.known?.commit ?? CommitIndex(0))
    case .orders(let orders):
      (conversation, commit) = (orders.conversation, orders.commit)
      if orders.number == 0 { return }
    case .refused, .logRequest: return
    }
    guard workers[at].core?.conversation == conversation else { return }
    let session = conversation.session
    told[session] = max(told[session] ?? CommitIndex(0), commit)
    for restore in restores where saidAt <= restore.at && commit > restore.commit {
      foreign[session] = min(foreign[session] ?? .max, restore.graphs)
    }
  }

  /// Whether an operation means the same for a session and for the journal.
  func isOfThisHistory(_ operation: OperationID, _ session: WorkerSession) -> Bool {
    foreign[session].map { operation.graph.number < $0 } ?? true
  }

  /// Lets most clients return with the position of their newest event: one that knows more than the
  /// journal must be told so and begins again, all others continue (G12).
  func reconnectFollowers() {
    for at in clients.indices {
      var chance = draw(.reconnect, 5_000 + at, coordinator.life)
      if !isHealed, chance.percent(30) { continue }
      if let mark = clients[at].follower.mark {
        let isKnown = coordinator.scheduler.knows(mark)
        if isKnown == clients[at].follower.knowsMore {
          fail("G12", "client \(at) is at event \(mark.sequence), known: \(isKnown)")
        }
      }
      if clients[at].follower.knowsMore { clients[at].follower.mark = nil }
      clients[at].follower.knowsMore = false
      clients[at].follower.life = coordinator.life
    }
  }

  /// Notes that an answer shows a client the newest events.
  func follow(_ at: Int) {
    guard clients[at].follower.life == coordinator.life, coordinator.isUp else { return }
    clients[at].follower.mark = EventMark(
      life: shadow.life, sequence: ledger.lastEvent)
  }
}
