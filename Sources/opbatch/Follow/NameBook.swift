// Names for the numbers in events: learned from the structures of graphs, the lists of queues and
// workers, and the events themselves. One task.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation

/// Whom a book of names asks.
protocol NameSource: Sendable {
  func structure(_ graph: GraphID) async throws -> GraphStructure
  func queues() async throws -> [QueueRow]
  func workers() async throws -> [WorkerRow]
}

extension Reader: NameSource {}

/// What is known so far. `learn` asks for what one event needs; then its names are found at once.
///
/// Names are let go of and asked for anew, so that whoever follows a cluster for ever needs no more
/// memory; but never those of the event that was learned last, however many graphs a batch has.
struct NameBook: EventNames {
  private let source: any NameSource
  /// nil: nobody knows the graph any more.
  private var graphs: RecentlyUsed<GraphID, StageIndex?>
  private var queues = RecentlyUsed<QueueID, String?>(capacity: 2 * Limits.queues)
  private var workers = RecentlyUsed<WorkerID, String?>(capacity: 4 * Limits.workers)

  /// Stages of graphs that are kept, and what a graph counts beside its stages.
  static let keptStages = 262_144
  static let graphWeight = 8

  init(_ source: any NameSource, keptStages: Int = Self.keptStages) {
    self.source = source
    graphs = RecentlyUsed(capacity: keptStages)
  }

  /// Graphs that are known at the moment, for tests.
  var knownGraphs: Int { graphs.count }

  /// Makes the names of an event known, as far as there is anybody who knows them.
  mutating func learn(_ event: Event) async throws {
    switch event.subject {
    case .operation(let id, _): try await learn(id.graph)
    case .queue(let id): try await learn(id, event.kind)
    case .worker(let id): try await learn(id, event.kind)
    case .graph: break
    }
    switch event.kind {
    case .attemptStarted(_, let worker): try await learn(worker, event.kind)
    case .isCancelled(.dependency(let id, _)), .dependencyAdded(let id, _),
      .dependencyRemoved(let id):
      try await learn(id.graph)
    case .enqueued(let queue): try await learn(queue, event.kind)
    default: break
    }
  }

  private mutating func learn(_ graph: GraphID) async throws {
    if graphs.use(graph) { return }
    do {
      let structure = try await source.structure(graph)
      graphs.insert(
        StageIndex(structure), for: graph, weight: structure.stages.count + Self.graphWeight)
    } catch let error as ClientError {
      // Forgotten by the coordinator: its operations are known by their numbers only.
      guard case .refused(let refusal) = error.kind, Self.isFinal(refusal.code) else { throw error }
      graphs.insert(nil, for: graph, weight: Self.graphWeight)
    }
  }

  /// Whether asking again later would not help.
  private static func isFinal(_ code: Refusal.Code) -> Bool {
    [.unknownGraph, .unknownOperation, .expired, .limitExceeded].contains(code)
  }

  private mutating func learn(_ queue: QueueID, _ kind: Event.Kind) async throws {
    switch kind {
    case .queueCreated(let settings), .queueChanged(let settings):
      queues.insert(settings.name, for: queue)
    default:
      if queues.use(queue) { return }
      var name: String?
      for row in try await source.queues() {
        if row.queue == queue { name = row.settings.name }
        if !queues.use(row.queue) { queues.insert(row.settings.name, for: row.queue) }
      }
      queues.insert(name, for: queue)
    }
  }

  private mutating func learn(_ worker: WorkerID, _ kind: Event.Kind) async throws {
    if case .workerJoined(let name) = kind { return workers.insert(name, for: worker) }
    if workers.use(worker) { return }
    var name: String?
    for row in try await source.workers() {
      if row.worker == worker { name = row.name }
      workers.insert(row.name, for: row.worker)
    }
    workers.insert(name, for: worker)
  }

  func path(of operation: OperationID) -> String {
    if let known = graphs[operation.graph], let index = known {
      return index.path(of: operation.index)
    }
    return operation.numbered
  }
  func name(of queue: QueueID) -> String { (queues[queue] ?? nil) ?? "#\(queue.number)" }
  func name(of worker: WorkerID) -> String { (workers[worker] ?? nil) ?? "#\(worker.number)" }
}

/// Keeps what was used lately, in two generations: the older one goes as a whole when the younger
/// one has half of what may be kept. The two that were used last are always there, however heavy.
struct RecentlyUsed<Key: Hashable, Value> {
  private typealias Entry = (value: Value, weight: Int)
  private var young: [Key: Entry] = [:]
  private var old: [Key: Entry] = [:]
  private var youngWeight = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// Entries of both generations.
  var count: Int { young.count + old.count }

  subscript(key: Key) -> Value? { (young[key] ?? old[key])?.value }

  /// Whether it is there; what is used stays.
  mutating func use(_ key: Key) -> Bool {
    if young[key] != nil { return true }
    guard let entry = old.removeValue(forKey: key) else { return false }
    put(entry, for: key)
    return true
  }

  /// In place of what the key had.
  mutating func insert(_ value: Value, for key: Key, weight: Int = 1) {
    old[key] = nil
    if let before = young.removeValue(forKey: key) { youngWeight -= before.weight }
    put((value, max(weight, 1)), for: key)
  }

  private mutating func put(_ entry: Entry, for key: Key) {
    if !young.isEmpty, youngWeight + entry.weight > capacity / 2 {
      old = young
      young = [:]
      youngWeight = 0
    }
    young[key] = entry
    youngWeight += entry.weight
  }
}
