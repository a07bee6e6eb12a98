// Appends the decisions of a turn to the journal, and holds its effects until they are durable
// (G3). Also takes snapshots and limits the history. On the loop's thread; never waits for the
// disk.

import DequeModule
import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterPresentation
import OpClusterScheduling
import OpClusterWire

extension CoordinatorLoop {
  /// Ends a turn: appends it, and holds its effects until it is durable. The effects of a turn
  /// without facts leave as soon as all earlier turns are durable.
  func keep() {
    say(work.turn.atOnce)
    tellOfRefusals()
    var items: [UnreleasedEffect] = []
    items.reserveCapacity(work.turn.afterDurable.count + work.questions.count)
    if work.hasInput { for effect in work.turn.afterDurable { items.append(encoded(effect)) } }
    if work.hasInput, !subscriptions.isEmpty { noteOwnGraphs() }
    answerQuestions(into: &items)
    let isDurable = work.hasInput && work.turn.isDurable
    let events: TurnEvents =
      if !isDurable { .runs([]) } else if subscriptions.isEmpty { .inJournal } else {
        .runs(work.turn.events)
      }
    commits.release.append(
      UnreleasedTurn(
        commit: scheduler.lastCommit.number, items: items,
        events: events,
        lastEvent: scheduler.lastEvent, since: now, isDurable: isDurable))
    noteOutcomes()
    if work.hasInput { operatorLog.figures.note(work.turn.events, work.turn.history) }
    guard isDurable else { return }
    commits.undurable.note(work.turn.records, work.turn.events, commit: scheduler.lastCommit.number)
    let written = TurnRecords.journalTurn(
      work.turn, epoch: scheduler.epoch, lastEvent: scheduler.lastEvent)
    let bytes = TurnRecords.cost(written)
    commits.snapshots.appended(bytes: bytes)
    operatorLog.figures.noteCommit(bytes: bytes)
    append(written)
    tellOfWorkers()
    tellOfGraphs()
    noteRemoved()
  }

  /// For those who look closely: a line for each graph would be most of a log.
  private func tellOfGraphs() {
    guard logger.logLevel <= .debug else { return }
    for accepted in work.turn.submissions {
      logger.debug(
        "graph submitted",
        metadata: [
          "graph": "\(accepted.graph.number)", "name": "\(accepted.submission.name)",
          "operations": "\(accepted.submission.operationCount)",
        ])
    }
    for ending in work.turn.endings {
      let row = ending.row
      logger.debug(
        "graph ended",
        metadata: [
          "graph": "\(row.graph.number)", "name": "\(row.name)", "state": "\(row.state.rawValue)",
        ])
    }
  }

  // MARK: - Removed graphs

  /// Queues removed graphs: their data besides documents are deleted when the fact of their removal
  /// is durable.
  private func noteRemoved() {
    let graphs = scheduler.takeRemoved()
    if graphs.isEmpty { return }
    logger.notice("graphs were removed", metadata: ["count": "\(graphs.count)"])
    for graph in graphs { commits.forgetting.append((scheduler.lastCommit.number, graph)) }
  }

  /// Deletes as far as the journal accepts it; the rest in a later turn. Once per removed graph.
  func forgetRemoved() {
    while let first = commits.forgetting.first, first.commit <= commits.release.durable,
      commits.journal.forget(subject: UInt64(first.graph.number)) == .accepted
    {
      commits.forgetting.removeFirst()
    }
  }

  /// Logs refusals, since a refused worker is not visible anywhere else.
  private func tellOfRefusals() {
    for case .toWorker(_, .refused(let refusal)) in work.turn.atOnce {
      let words = refusal.forShell
      guard operatorLog.refusedWorkers.noteRefusal(words, at: now) else { continue }
      logger.warning("a worker is refused: \(words)")
    }
  }

  /// Logs the workers that joined, left or were set aside in this turn.
  private func tellOfWorkers() {
    for line in operatorLog.workerLines.lines(of: work.turn.events) {
      var facts: Logger.Metadata = ["worker": "\(line.name)", "number": "\(line.worker.number)"]
      if let reason = line.what.reason { facts["reason"] = "\(reason)" }
      logger.log(
        level: line.what.isWarning ? .warning : .info, "\(line.what.text)", metadata: facts)
    }
  }

  /// Counts the results of this turn's requests for their principals (G29). O(effects of the turn).
  private func noteOutcomes() {
    guard work.hasInput else { return }
    for case .toClient(let peer, let request, let reply) in work.turn.afterDurable {
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
    for case .queueRemoved(let queue) in work.turn.records { admission.removed(queue) }
    for ending in work.turn.endings { admission.ended(ending.row.graph) }
    admission.endTurn()
  }

  /// Appends the turn for which the journal had no room.
  func appendWaiting() {
    guard let waiting = commits.unappended else { return }
    commits.unappended = nil
    append(waiting)
  }

  private func append(_ written: JournalTurn) {
    switch commits.journal.append(written) {
    case .accepted: break
    case .full: commits.unappended = written
    case .closed: commits.isClosed = true
    case .outOfOrder(let expected):
      preconditionFailure("turn \(written.sequence) is not \(expected), which the journal expects")
    case .refused:
      preconditionFailure("the journal refused turn \(written.sequence)")
    }
  }

  // MARK: - Snapshots

  /// Takes the state as a value, in as many turns as its graphs need; the journal's thread makes
  /// facts of it, encodes and writes them part by part.
  func considerSnapshot() {
    if commits.image == nil, isSnapshotDue {
      scheduler.beginImage()
      commits.image = scheduler.lastCommit
    }
    guard let commit = commits.image, let image = scheduler.continueImage() else { return }
    commits.image = nil
    let size = SnapshotSize()
    let answer = commits.journal.snapshot(through: commit.number) { SnapshotParts(image, size) }
    guard answer == .accepted else { return }
    commits.snapshots.began(size)
    logger.debug("snapshot begun", metadata: ["commit": "\(commit.number)"])
  }

  private var isSnapshotDue: Bool {
    // Not before removed graphs are deleted: after a snapshot nothing records that they must be.
    // Nor before pending ends are followed, which a snapshot does not name.
    commits.snapshots.isDue && commits.unappended == nil && !commits.isClosed
      && commits.forgetting.isEmpty && !scheduler.hasPendingEnds
  }

  /// Drops the oldest rows of the event log and of the attempts beyond their limits.
  func retain() {
    let answers = [
      commits.journal.retainStream(rows: settings.streamRows, bytes: settings.streamBytes),
      commits.journal.retainChapters(rows: settings.chapterRows, bytes: settings.chapterBytes),
    ]
    // A full or closed journal is asked again after the next snapshot.
    for answer in answers where answer != .accepted {
      logger.debug("retention was put off", metadata: ["answer": "\(answer)"])
    }
  }
}
