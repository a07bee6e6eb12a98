// Maps the operations and queues of the cluster to their objects, and delivers events to them.
// Called by the backend's delivering thread and by replies; any thread.

import Dispatch
import OpClusterModel
import Synchronization

final class OperationBook: Sendable {
  struct State {
    /// The objects of each graph. A graph is removed when it has ended.
    var graphs: [GraphID: GraphObjects] = [:]
    /// The handlers that wait for an object of another submission to be loaded.
    var loading: [OperationID: [LookUpHandler]] = [:]
    /// Submissions without an answer: events of unknown graphs may belong to them.
    var submissionsUnderway = 0
    var unclaimed: [GraphID: [EventRun]] = [:]
    /// Usually one record per queue; after a renaming there may be two, which both get its events.
    var queues: [QueueID: [WeakQueue]] = [:]
    /// The shared record of all handles with the same name.
    var records: [String: WeakQueue] = [:]
    var observers: DispatchQueue?
    /// Why no events are delivered any more: of the whole cluster, or of single graphs.
    var loss: ClusterError?
    var lostGraphs: [GraphID: ClusterError] = [:]
    var lossHandler: (@Sendable (ClusterError) -> Void)?
  }
  struct WeakQueue { weak var queue: QueueRecord? }
  let state = Mutex(State())

  func attach(_ observers: DispatchQueue) { state.withLock { $0.observers = observers } }

  // MARK: - Events

  /// Takes single events in the order of the log.
  func take(_ events: [Event]) { take(events.map { EventRun(first: $0, count: 1) }) }

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
