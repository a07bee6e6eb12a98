// Names for the numbers in events: learned from the structures of graphs, the lists of queues and
// workers, and the events themselves. One task.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// What is known so far. `learn` asks for what a batch needs; then names are found at once.
struct NameBook: EventNames {
  private let reader: Reader
  private var graphs: [GraphID: StageIndex?] = [:]
  private var queues: [QueueID: String] = [:]
  private var workers: [WorkerID: String] = [:]
  private var hasAskedForQueues = false
  private var askedWorkers: Set<WorkerID> = []

  /// Structures that are kept; then they are asked for anew.
  private static let maximumGraphs = 256

  init(_ reader: Reader) { self.reader = reader }

  /// Makes the names of a batch known, as far as there is anybody who knows them.
  mutating func learn(_ events: [Event]) async throws {
    var last: GraphID?
    for event in events {
      switch event.subject {
      case .operation(let id, _):
        if id.graph != last, graphs[id.graph] == nil { try await learn(id.graph) }
        last = id.graph
      case .queue(let id): try await learn(id, event.kind)
      case .worker(let id): try await learn(id, event.kind)
      case .graph: break
      }
      if case .attemptStarted(_, let worker) = event.kind {
        try await learn(worker, event.kind)
      }
      if case .isCancelled(.dependency(let id, _)) = event.kind, graphs[id.graph] == nil {
        try await learn(id.graph)
      }
    }
  }

  private mutating func learn(_ graph: GraphID) async throws {
    if graphs.count >= Self.maximumGraphs { graphs.removeAll() }
    do {
      graphs[graph] = .some(StageIndex(try await reader.structure(graph)))
    } catch let error as ClientError {
      // Forgotten by the coordinator: its operations are known by their numbers only.
      guard case .refused = error.kind else { throw error }
      graphs[graph] = .some(nil)
    }
  }

  private mutating func learn(_ queue: QueueID, _ kind: Event.Kind) async throws {
    switch kind {
    case .queueCreated(let settings), .queueChanged(let settings): queues[queue] = settings.name
    default:
      guard queues[queue] == nil, !hasAskedForQueues else { return }
      hasAskedForQueues = true
      for row in try await reader.queues() where queues[row.queue] == nil {
        queues[row.queue] = row.settings.name
      }
    }
  }

  private mutating func learn(_ worker: WorkerID, _ kind: Event.Kind) async throws {
    if case .workerJoined(let name) = kind {
      workers[worker] = name
      return
    }
    guard workers[worker] == nil, askedWorkers.insert(worker).inserted else { return }
    for row in try await reader.workers() { workers[row.worker] = row.name }
  }

  func path(of operation: OperationID) -> String {
    if let known = graphs[operation.graph], let index = known {
      return index.path(of: operation.index)
    }
    return "\(operation.graph.number)/#\(operation.index)"
  }
  func name(of queue: QueueID) -> String { queues[queue] ?? "#\(queue.number)" }
  func name(of worker: WorkerID) -> String { workers[worker] ?? "#\(worker.number)" }
}
