// The oracle's checks of events: gapless, once, in legal order (I2, I4, I14, I15). Events are
// looked at when their turn is durable, before a follower is told of them; `Histories` compares
// what followers got. Events are noted here, and facts are noted in `LedgerRecords`: two sources of
// the same history, which must agree.

import OpClusterModel
import OpClusterScheduling

extension ShadowLedger {
  /// Two sequences are checked: the one of all events, and the operation's own (S106).
  mutating func take(_ event: Event) {
    if event.sequence != lastEvent + 1 {
      complain("I15", "event \(event.sequence) follows \(lastEvent)")
    }
    lastEvent = event.sequence
    switch event.subject {
    case .graph, .worker: return
    case .queue(let queue):
      if case .queueCount(let count) = event.kind { expect(count, in: queue) }
    case .operation(let id, let sequence):
      guard contains(id) else { return complain("I15", "an event of unknown \(id)") }
      if sequence != self[id].sequence + 1 {
        complain("I15", "\(shown(id)): event \(sequence) follows \(self[id].sequence)")
      }
      self[id].sequence = sequence
      // Only the completion may follow the end (S8).
      if self[id].outcome != nil, event.kind != .completion {
        complain("I2", "\(shown(id)) has ended, then \(event.kind)")
      }
      take(event.kind, id)
    }
  }

  /// Notes what later checks need. Kinds that no invariant is about are passed over.
  private mutating func take(_ kind: Event.Kind, _ id: OperationID) {
    switch kind {
    case .isFinished(let outcome): finish(id, outcome)
    case .attemptStarted(_, _): expectNeedsMet(id)
    case .isExecuting(true): expectNeedsMet(id)
    case .attemptEnded(_, .lost):
      self[id].losses += 1
      if let template = template(of: id), self[id].losses >= template.maximumLosses {
        complain("I14", "\(shown(id)) goes on after \(self[id].losses) losses")
      }
    case .isCancelled:
      self[id].isCancelled = true
      self[id].isHeld = false
    case .completion:
      if self[id].wasCompleted { complain("S109", "\(shown(id)) is completed twice") }
      self[id].wasCompleted = true
    default: break
    }
  }

  /// Notes the end. A loss is an end only when the losses allow no other run (S12).
  private mutating func finish(_ id: OperationID, _ outcome: Outcome) {
    if let other = self[id].outcome {
      complain("I2", "\(shown(id)) ended as \(other) and as \(outcome)")
    }
    self[id].outcome = outcome
    if outcome == .lost, let template = template(of: id) {
      let losses = self[id].losses + 1
      if losses < max(template.maximumLosses, 1) {
        complain("I14", "\(shown(id)) is lost after \(losses) losses")
      }
    }
    if self[id].isCancelled != (outcome == .cancelled || outcome == .skipped) {
      complain("S100", "\(shown(id)) ended as \(outcome), cancelled: \(self[id].isCancelled)")
    }
    close(id, .ended)
  }

  /// The count of a queue at the end of a turn equals its members, barriers excluded (S81, S105).
  /// Counts all operations anew: worlds are small, and the coordinator's own count is what is
  /// judged.
  private mutating func expect(_ told: UInt32, in queue: QueueID) {
    var count: UInt32 = 0
    for graph in graphs {
      guard let graph, !graph.hasEnded else { continue }
      for (index, entry) in graph.operations.enumerated()
      where entry.queue == queue.number && entry.isQueued && entry.outcome == nil {
        if !graph.submission.templates[graph.templates[index]].isBarrier { count += 1 }
      }
    }
    if count != told { complain("S105", "queue \(queue.number) has \(count), told are \(told)") }
  }

  /// In the order of events, no operation starts before its dependencies ended as required (G10).
  private mutating func expectNeedsMet(_ id: OperationID) {
    for need in self[id].needs {
      let outcome = contains(need.on) ? self[need.on].outcome : nil
      if let outcome, need.policy.isSatisfied(by: outcome) { continue }
      complain(
        "I4",
        "\(shown(id)) starts, but \(shown(need.on)) is \(outcome.map { "\($0)" } ?? "unfinished")")
    }
  }

  /// The end of a graph, as the history keeps it. Its outcomes must be those that the events told.
  mutating func take(_ ending: GraphEnding) {
    let number = Int(ending.row.graph.number)
    guard number < graphs.count, let graph = graphs[number] else {
      return complain("I2", "unknown graph \(number) ends")
    }
    if graph.hasEnded { complain("I2", "graph \(number) ends twice") }
    for case let other? in graphs where !other.hasEnded {
      guard other.submission.recomputes?.graph.number == UInt32(number) else { continue }
      complain("S153", "graph \(number) ends, and something of it runs again")
    }
    graphs[number]?.hasEnded = true
    let told = graph.operations.map { $0.outcome?.rawValue ?? 0 }
    if told != ending.outcomes {
      complain("I2", "graph \(number) ends as \(ending.outcomes), told was \(told)")
    }
  }
}
