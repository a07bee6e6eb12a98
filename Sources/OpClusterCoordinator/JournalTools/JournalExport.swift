// Prints the journal's facts as lines for people, and checks that all of them are valid. Used by
// the command, on its thread.

public import OpClusterJournal
import OpClusterModel
import OpClusterScheduling
import OpClusterWire

public enum JournalExport {
  /// Prints every fact of the snapshot and of the turns behind it, up to the first damaged record.
  /// Reads in one transaction, so a coordinator may work at the same time.
  ///
  /// - Throws: A `JournalError`, or a `CoordinatorError` that names the record.
  public static func export(folder: String, _ line: (String) -> Void) throws {
    try JournalTools.readUntilDamage(folder: folder) { content in
      try forEachRecord(content) { place, record in
        for text in texts(record) { line("\(place) \(text)") }
      }
    }
  }

  /// Decodes everything, and repeats the checks of a start (G6); returns the number of facts.
  /// Throws as `export` does.
  public static func check(folder: String) throws -> Int {
    try JournalTools.read(folder: folder) { try check($0) }
  }

  /// Checks content that was read already.
  @discardableResult
  public static func check(_ recovered: Recovered) throws -> Int {
    var count = 0
    try forEachRecord(recovered) { _, _ in count += 1 }
    // Checks that a state results, and that the events agree with the turns.
    _ = try Startup.scheduler(from: recovered, timing: Timing())
    return count
  }

  private static func forEachRecord(
    _ recovered: Recovered, _ body: (String, Record) -> Void
  ) throws {
    var part = 0
    try recovered.forEachSnapshotPart { bytes in
      let place = "snapshot \(recovered.snapshotSequence ?? 0) part \(part)"
      for record in try decoded(bytes, place) { body(place, record) }
      part += 1
    }
    try recovered.forEachTurn { turn in
      let place = "turn \(turn.sequence) epoch \(turn.epoch)"
      for record in try decoded(turn.body, place) { body(place, record) }
    }
  }

  private static func decoded(
    _ bytes: [UInt8], _ place: String
  ) throws(CoordinatorError) -> [Record] {
    do {
      return try Wire.decodeRecords(bytes)
    } catch {
      throw .unreadable(record: place, problem: error.description)
    }
  }

  /// The lines of a fact: one for each graph that it names runs of.
  private static func texts(_ record: Record) -> [String] {
    guard case .cancelled(let members, let reason) = record else { return [text(record)] }
    return members.map { "cancelled \(text($0)) reason=\(reason)" }
  }

  private static func text(_ record: Record) -> String {
    switch record {
    case .started(let life): "started epoch=\(life.epoch.number)"
    case .submitted(let graph, let submission, _, _):
      "submitted graph=\(graph.number) name=\(submission.name) "
        + "operations=\(submission.operationCount) key=\(submission.key.text)"
    case .enqueued(let operations, let queue):
      "enqueued operations=\(operations.map(text).joined(separator: ",")) queue=\(queue.number)"
    case .queueCreated(let queue, let settings):
      "queue_created queue=\(queue.number) name=\(settings.name)"
    case .queueChanged(let queue, let settings):
      "queue_changed queue=\(queue.number) name=\(settings.name)"
    case .queueRemoved(let queue): "queue_removed queue=\(queue.number)"
    case .workerJoined(let worker, let name, _):
      "worker_joined worker=\(worker.number) name=\(name)"
    case .workerLost(let worker): "worker_lost worker=\(worker.number)"
    case .workerLeft(let worker): "worker_left worker=\(worker.number)"
    case .workerDraining(let worker): "worker_draining worker=\(worker.number)"
    case .workerSetAside(let worker, let stage, let reason):
      "worker_set_aside worker=\(worker.number) stage=\(stage?.text ?? "") "
        + "reason=\(reason.withoutTerminalOrders())"
    case .workerResumed(let worker, let stage):
      "worker_resumed worker=\(worker.number) stage=\(stage?.text ?? "")"
    case .graphSuspended(let graph, let isSuspended):
      "graph_suspended graph=\(graph.number) value=\(isSuspended)"
    case .restoredGraph(let state):
      "restored_graph graph=\(state.graph.number) operations=\(state.phases.count)"
    case .restoredEnding(let ended):
      "restored_ending graph=\(ended.graph.number) outcome=\(ended.outcome)"
    case .restoredCounters(let counters):
      "restored_counters epoch=\(counters.epoch.number) last_graph=\(counters.lastGraph) "
        + "last_event=\(counters.lastEvent)"
    case .restoredKeys(let kept): "restored_keys count=\(kept.count)"
    case .madeReusable(let id, let key): "made_reusable operation=\(id) key=\(key.short)"
    case .recomputed(let id, let output): "recomputed operation=\(id) bytes=\(output.count)"
    case .restoredReusable(let outcomes): "restored_reusable count=\(outcomes.count)"
    case .keysDated(let at): "keys_dated at=\(at.milliseconds)"
    case .endStepsLimited(let steps): "end_steps_limited steps=\(steps)"
    case .endsContinued: "ends_continued"
    case .graphsRemoved(let graphs):
      "graphs_removed graphs=\(graphs.map { "\($0.number)" }.joined(separator: ","))"
    default: operationText(record)
    }
  }

  private static func operationText(_ record: Record) -> String {
    switch record {
    case .dispatched(let worker, let runs):
      "dispatched worker=\(worker.number) \(text(runs))"
    case .recalled(let runs): "recalled \(text(runs))"
    case .executing(let runs): "executing \(text(runs))"
    case .succeeded(let runs): "succeeded \(text(runs))"
    case .cancelled: texts(record).joined(separator: "; ")
    case .finished(let id, let result):
      "finished operation=\(text(id)) cause=\(result.cause) exit=\(result.exitStatus)"
    case .attemptFailed(let id, let result, _):
      "attempt_failed operation=\(text(id)) cause=\(result.cause) exit=\(result.exitStatus)"
    case .dependencyAdded(let from, let to, let policy):
      "dependency_added from=\(text(from)) to=\(text(to)) when=\(policy)"
    case .dependencyRemoved(let from, let to):
      "dependency_removed from=\(text(from)) to=\(text(to))"
    case .prioritySet(let runs, let priority):
      "priority_set \(text(runs)) priority=\(priority)"
    case .moved(let runs, let queue): "moved \(text(runs)) queue=\(queue.number)"
    default: "\(record)"
    }
  }

  private static func text(_ id: OperationID) -> String { id.numbered }

  private static func text(_ runs: OperationRuns) -> String {
    let ranges = (0..<runs.runCount).map { at in
      let run = runs.run(at)
      return run.count == 1 ? "\(run.lowerBound)" : "\(run.lowerBound)-\(run.upperBound - 1)"
    }
    return "graph=\(runs.graph.number) operations=\(ranges.joined(separator: ","))"
  }
}
