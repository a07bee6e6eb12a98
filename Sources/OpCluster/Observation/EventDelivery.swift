// Delivers events to the objects that the book knows. Called by the backend's delivering thread and
// by replies; any thread. Records and objects are released outside of the lock.

import Dispatch
import OpClusterModel
import Synchronization

extension OperationBook {
  // MARK: - Events

  /// Takes runs of events in the order of the log.
  func take(_ runs: [EventRun]) {
    foreseeCounts(runs)
    // Neighbouring runs mostly belong to one graph.
    var recent: (graph: GraphID, objects: Objects)?
    for run in runs {
      switch run.first.subject {
      case .operation(let first, let own):
        if recent?.graph != first.graph {
          recent = find(first.graph, run).map { (first.graph, $0) }
        }
        if let objects = recent?.objects { take(run, first, own, objects) }
      case .queue(let id): take(run.first, id)
      case .graph(let graph):
        if case .graphFinished = run.first.kind { finish(graph, run) }
      case .worker: break
      }
    }
  }

  private struct Objects {
    var operations: GraphObjects
    var observers: DispatchQueue?
  }

  /// The objects of a graph; if there are none, keeps the run for an answer that may name them.
  private func find(_ graph: GraphID, _ run: EventRun) -> Objects? {
    state.withLock { state in
      if let operations = state.graphs[graph] {
        return Objects(operations: operations, observers: state.observers)
      }
      if state.submissionsUnderway > 0 { state.unclaimed[graph, default: []].append(run) }
      return nil
    }
  }

  private func take(_ run: EventRun, _ first: OperationID, _ own: UInt32, _ objects: Objects) {
    objects.operations.forEach(from: first.index, count: run.count) { operation in
      operation.take(run.first, own: own, objects.observers)
    }
  }

  private func finish(_ graph: GraphID, _ run: EventRun) {
    // Released outside of the lock: observers of operations may hold anything.
    _ = state.withLock { state -> GraphObjects? in
      let objects = state.graphs.removeValue(forKey: graph)
      if objects == nil, state.submissionsUnderway > 0 {
        state.unclaimed[graph, default: []].append(run)
      }
      return objects
    }
  }

  // MARK: - Submissions

  func submissionBegins() { state.withLock { $0.submissionsUnderway += 1 } }

  /// Takes the answer to a submission: these objects represent the operations of the graph.
  /// Delivers the events that arrived before the answer.
  func submissionEnds(_ graph: GraphID?, _ objects: [ClusterOperation?]) {
    let (early, loss, _) = state.withLock { state -> ([EventRun], ClusterError?, GraphObjects?) in
      let before = graph.flatMap { state.graphs[$0] }
      if let graph { state.graphs[graph] = GraphObjects(submitted: objects) }
      let early = graph.flatMap { state.unclaimed.removeValue(forKey: $0) } ?? []
      state.submissionsUnderway -= 1
      if state.submissionsUnderway == 0, !state.unclaimed.isEmpty { state.unclaimed = [:] }
      return (early, state.loss, before)
    }
    take(early)
    // A loss that came before the answer did not find them.
    if let loss { for case let operation? in objects { operation.lose(loss) } }
  }

  // MARK: - Queues

  /// Updates counts in advance: events deliver an end before the count after it, but an observer of
  /// the end must find the right count (S111). Visits each run once more.
  func foreseeCounts(_ runs: [EventRun]) {
    for run in runs {
      guard case .queue(let id) = run.first.subject, case .queueCount(let count) = run.first.kind
      else { continue }
      for record in records(of: id) { record.foresee(count) }
    }
  }

  private func records(of id: QueueID) -> [QueueRecord] {
    state.withLock { $0.queues[id]?.compactMap(\.queue) ?? [] }
  }

  /// Takes an event of a queue.
  func take(_ event: Event, _ id: QueueID) {
    if case .queueCreated(let settings) = event.kind {
      let created = state.withLock { state -> (record: QueueRecord, others: [QueueRecord])? in
        guard let record = state.records[settings.name]?.queue else { return nil }
        return (record, state.register(record, as: id))
      }
      created?.record.take(created: settings, as: id)
    }
    let records = records(of: id)
    if case .queueChanged(let settings) = event.kind {
      for record in records where record.name != settings.name {
        _ = rename(record, from: record.name, to: settings.name)
      }
    }
    for record in records { record.take(event) }
  }
}

extension ClusterOperation {
  /// Takes an event of this operation. Waits end at once; observers are called where they may call
  /// back, completion blocks where they may take long (S112).
  func take(_ event: Event, own: UInt32, _ observers: DispatchQueue?) {
    guard let effects = life.withLock({ $0.take(event, own: own) }) else { return }
    if let (queue, end) = effects.ended { queue.took(end) }
    if let change = effects.change, !effects.observers.isEmpty {
      observers?.async { for observer in effects.observers { observer(change) } }
    }
    for waiter in effects.waiters { waiter(()) }
    if let completion = effects.completion { DispatchQueue.global().async { completion() } }
  }
}

extension OperationBook {
  /// Takes the error that the body of an operation threw in this process.
  func take(thrown error: any Error, by id: OperationID) {
    let operation = state.withLock { state -> ClusterOperation? in
      state.graphs[id.graph]?[id.index]
    }
    operation?.life.withLock { $0.thrown = error }
  }
}
