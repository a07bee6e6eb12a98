// What a turn decided goes to the journal, and what it wants to say waits for that (G3). Snapshots
// and the bounds of the history, too. On the loop's thread; nothing here waits for the disk.

import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

extension CoordinatorLoop {
  /// Ends a turn: it is appended, its effects are held until it is durable. A turn without facts
  /// speaks as soon as everything before it is durable.
  func keep() {
    say(turn.atOnce)
    tellOfRefusals()
    var items: [Held] = []
    items.reserveCapacity(turn.afterDurable.count + questions.count)
    if hasInput { for effect in turn.afterDurable { items.append(held(effect)) } }
    if hasInput, !subscriptions.isEmpty { noteOwnGraphs() }
    answerQuestions(into: &items)
    let isDurable = hasInput && turn.isDurable
    release.hold(
      HeldTurn(
        commit: scheduler.lastCommit.number, items: items,
        events: isDurable && !subscriptions.isEmpty ? turn.events : isDurable ? nil : [],
        lastEvent: scheduler.lastEvent, since: now))
    noteOutcomes()
    guard isDurable else { return }
    undurable.note(turn.records, turn.events, commit: scheduler.lastCommit.number)
    let written = TurnWriting.journalTurn(
      turn, epoch: scheduler.epoch, lastEvent: scheduler.lastEvent)
    snapshots.appended(bytes: TurnWriting.cost(written))
    append(written)
    tellOfWorkers()
    noteRemoved()
  }

  // MARK: - Removed graphs

  /// What is kept of them besides their documents goes when the fact that they are removed is
  /// durable.
  private func noteRemoved() {
    let graphs = scheduler.takeRemoved()
    if graphs.isEmpty { return }
    logger.notice("graphs were removed", metadata: ["count": "\(graphs.count)"])
    for graph in graphs { forgetting.append((scheduler.lastCommit.number, graph)) }
  }

  /// As far as the journal takes it; the rest in a later turn. Once for each that was removed.
  func forgetRemoved() {
    while let first = forgetting.first, first.commit <= release.durable,
      journal.forget(subject: UInt64(first.graph.number)) == .accepted
    {
      forgetting.removeFirst()
    }
  }

  /// A worker that waits outside does not show anywhere else.
  private func tellOfRefusals() {
    for case .toWorker(_, .refused(let refusal)) in turn.atOnce {
      let words = [refusal.message, refusal.hint].filter { !$0.isEmpty }.joined(separator: "; ")
      guard refusedWorkers.isNews(words, at: now) else { continue }
      logger.warning("a worker is refused: \(words)")
    }
  }

  /// The log's lines about workers that came, went or were set aside in this turn.
  private func tellOfWorkers() {
    for line in workerLines.lines(of: turn.events) {
      var facts: Logger.Metadata = ["worker": "\(line.name)", "number": "\(line.worker.number)"]
      if let reason = line.what.reason { facts["reason"] = "\(reason)" }
      logger.log(
        level: line.what.isWarning ? .warning : .info, "\(line.what.text)", metadata: facts)
    }
  }

  /// What this turn made of requests counts with whoever asked (G29). O(effects of the turn).
  private func noteOutcomes() {
    guard hasInput else { return }
    for case .toClient(let peer, let request, let reply) in turn.afterDurable {
      guard let holder = clients.peers[peer]?.holder else { continue }
      switch reply {
      case .accepted(let graph, let operations, repeated: false):
        scheduler.own(graph, by: holder)
        admission.began(
          graph, operations: Int(operations), queues: scheduler.ownQueueCount(of: graph), request,
          of: peer, by: holder)
      case .done:
        admission.done(request, of: peer, by: holder) { scheduler.madeQueue(named: $0) }
      default: break
      }
    }
    for case .queueRemoved(let queue) in turn.records { admission.removed(queue) }
    for ending in turn.endings { admission.ended(ending.structure.row.graph) }
    admission.endTurn()
  }

  /// Tries again what the journal had no room for.
  func appendWaiting() {
    guard let waiting = unappended else { return }
    unappended = nil
    append(waiting)
  }

  private func append(_ written: JournalTurn) {
    switch journal.append(written) {
    case .accepted: break
    case .full: unappended = written
    case .closed: isJournalClosed = true
    case .outOfOrder(let expected):
      preconditionFailure("turn \(written.sequence) is not \(expected), which the journal expects")
    case .refused:
      preconditionFailure("the journal refused turn \(written.sequence)")
    }
  }

  // MARK: - Snapshots

  /// Takes the state as a value; it is encoded and written piece by piece on the journal's thread.
  func considerSnapshot() {
    // Behind a snapshot nobody knows any more what had to be forgotten.
    guard snapshots.isDue, unappended == nil, !isJournalClosed, forgetting.isEmpty else { return }
    let parts = SnapshotParts(scheduler.snapshot())
    let size = SnapshotSize()
    let answer = journal.snapshot(
      through: scheduler.lastCommit.number, parts: parts.count
    ) { part in
      let bytes = parts.encoded(part)
      size.add(bytes.count)
      return bytes
    }
    guard answer == .accepted else { return }
    snapshots.began(size)
    logger.debug("snapshot begun", metadata: ["commit": "\(scheduler.lastCommit.number)"])
  }

  /// Drops the oldest of the event log and of the attempts beyond their bounds.
  func retain() {
    let answers = [
      journal.retainStream(rows: settings.streamRows, bytes: settings.streamBytes),
      journal.retainChapters(rows: settings.chapterRows, bytes: settings.chapterBytes),
    ]
    // A journal that is full or closed is asked again after the next snapshot.
    for answer in answers where answer != .accepted {
      logger.debug("retention was put off", metadata: ["answer": "\(answer)"])
    }
  }
}
