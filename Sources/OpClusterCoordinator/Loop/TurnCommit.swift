// What a turn decided goes to the journal, and what it wants to say waits for that (G3). Snapshots
// and the bounds of the history, too. On the loop's thread; nothing here waits for the disk.

import DequeModule
import Logging
import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

/// The journal, and what waits for it.
struct PendingCommits {
  let journal: any Journal
  var release = ReleaseQueue(durable: 0)
  /// The turn that the journal had no room for.
  var unappended: JournalTurn?
  var snapshots: SnapshotPolicy
  /// Graphs that were removed, of which the journal has still to forget the attempts, with the
  /// commits that have to be durable before.
  var forgetting: Deque<(commit: UInt64, graph: GraphID)> = []
  /// Which graphs the turns that wait for the disk have changed.
  var undurable = UndurableGraphs()
  /// The next life of the coordinator will know that this journal is where it was left.
  var isSettled: Bool
  /// The journal takes nothing any more; the reason is on its way.
  var isClosed = false

  init(_ journal: any Journal, _ settings: CoordinatorSettings, isSettled: Bool) {
    self.journal = journal
    self.isSettled = isSettled
    snapshots = SnapshotPolicy(turns: settings.snapshotTurns, bytes: settings.snapshotBytes)
  }
}

extension CoordinatorLoop {
  /// Ends a turn: it is appended, its effects are held until it is durable. A turn without facts
  /// speaks as soon as everything before it is durable.
  func keep() {
    say(work.turn.atOnce)
    tellOfRefusals()
    var items: [Held] = []
    items.reserveCapacity(work.turn.afterDurable.count + work.questions.count)
    if work.hasInput { for effect in work.turn.afterDurable { items.append(held(effect)) } }
    if work.hasInput, !subscriptions.isEmpty { noteOwnGraphs() }
    answerQuestions(into: &items)
    let isDurable = work.hasInput && work.turn.isDurable
    commits.release.hold(
      HeldTurn(
        commit: scheduler.lastCommit.number, items: items,
        events: isDurable && !subscriptions.isEmpty ? work.turn.events : isDurable ? nil : [],
        lastEvent: scheduler.lastEvent, since: now))
    noteOutcomes()
    guard isDurable else { return }
    commits.undurable.note(work.turn.records, work.turn.events, commit: scheduler.lastCommit.number)
    let written = TurnWriting.journalTurn(
      work.turn, epoch: scheduler.epoch, lastEvent: scheduler.lastEvent)
    commits.snapshots.appended(bytes: TurnWriting.cost(written))
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
    for graph in graphs { commits.forgetting.append((scheduler.lastCommit.number, graph)) }
  }

  /// As far as the journal takes it; the rest in a later turn. Once for each that was removed.
  func forgetRemoved() {
    while let first = commits.forgetting.first, first.commit <= commits.release.durable,
      commits.journal.forget(subject: UInt64(first.graph.number)) == .accepted
    {
      commits.forgetting.removeFirst()
    }
  }

  /// A worker that waits outside does not show anywhere else.
  private func tellOfRefusals() {
    for case .toWorker(_, .refused(let refusal)) in work.turn.atOnce {
      let words = [refusal.message, refusal.hint].filter { !$0.isEmpty }.joined(separator: "; ")
      guard operatorLog.refusedWorkers.isNews(words, at: now) else { continue }
      logger.warning("a worker is refused: \(words)")
    }
  }

  /// The log's lines about workers that came, went or were set aside in this turn.
  private func tellOfWorkers() {
    for line in operatorLog.workerLines.lines(of: work.turn.events) {
      var facts: Logger.Metadata = ["worker": "\(line.name)", "number": "\(line.worker.number)"]
      if let reason = line.what.reason { facts["reason"] = "\(reason)" }
      logger.log(
        level: line.what.isWarning ? .warning : .info, "\(line.what.text)", metadata: facts)
    }
  }

  /// What this turn made of requests counts with whoever asked (G29). O(effects of the turn).
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
    for ending in work.turn.endings { admission.ended(ending.structure.row.graph) }
    admission.endTurn()
  }

  /// Tries again what the journal had no room for.
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

  /// Takes the state as a value; it is encoded and written piece by piece on the journal's thread.
  func considerSnapshot() {
    // Behind a snapshot nobody knows any more what had to be forgotten.
    guard commits.snapshots.isDue, commits.unappended == nil, !commits.isClosed,
      commits.forgetting.isEmpty
    else { return }
    let parts = SnapshotParts(scheduler.snapshot())
    let size = SnapshotSize()
    let answer = commits.journal.snapshot(
      through: scheduler.lastCommit.number, parts: parts.count
    ) { part in
      let bytes = parts.encoded(part)
      size.add(bytes.count)
      return bytes
    }
    guard answer == .accepted else { return }
    commits.snapshots.began(size)
    logger.debug("snapshot begun", metadata: ["commit": "\(scheduler.lastCommit.number)"])
  }

  /// Drops the oldest of the event log and of the attempts beyond their bounds.
  func retain() {
    let answers = [
      commits.journal.retainStream(rows: settings.streamRows, bytes: settings.streamBytes),
      commits.journal.retainChapters(rows: settings.chapterRows, bytes: settings.chapterBytes),
    ]
    // A journal that is full or closed is asked again after the next snapshot.
    for answer in answers where answer != .accepted {
      logger.debug("retention was put off", metadata: ["answer": "\(answer)"])
    }
  }
}
