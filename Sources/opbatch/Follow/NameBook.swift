// Names for the numbers in events: from the structures of graphs, the lists of queues and workers,
// and the events themselves. For one task.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// The source of the names in a book.
protocol NameSource: Sendable {
  func structure(_ graph: GraphID) async throws -> GraphStructure
  func queues() async throws -> [QueueRow]
  func workers() async throws -> [WorkerRow]
}

extension Reader: NameSource {}

/// A cache of names. `learn` requests the names of one event; lookups are then immediate.
///
/// The book drops names and requests them again, so that following a cluster forever needs no more
/// memory. It never drops the names of the event learned last, however many graphs a batch has.
struct NameBook: EventNames {
  private let source: any NameSource
  /// nil: the coordinator no longer knows the graph.
  private var graphs: RecentlyUsed<GraphID, StageIndex?>
  private var queues = RecentlyUsed<QueueID, String?>(capacity: 2 * Limits.queues)
  private var workers = RecentlyUsed<WorkerID, String?>(capacity: 4 * Limits.workers)

  /// Maximum number of kept stages; `graphWeight` is the weight of a graph besides its stages.
  static let keptStages = 262_144
  static let graphWeight = 8

  init(_ source: any NameSource, keptStages: Int = Self.keptStages) {
    self.source = source
    graphs = RecentlyUsed(capacity: keptStages)
  }

  /// The number of graphs in the cache, for tests.
  var knownGraphs: Int { graphs.count }

  /// Learns the names of an event, if the cluster knows them.
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
      // The coordinator has forgotten the graph: its operations have only numbers.
      guard case .refused(let refusal) = error.kind, Self.isFinal(refusal.code) else { throw error }
      graphs.insert(nil, for: graph, weight: Self.graphWeight)
    }
  }

  /// Whether a later request would fail, too.
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
      // One request brings all names: the next events are mostly about other queues.
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

/// A cache in two generations. When the younger one reaches half of the capacity, it becomes the
/// older one and the older one is dropped. The two entries used last always stay, whatever their
/// weight.
struct RecentlyUsed<Key: Hashable, Value> {
  private typealias Entry = (value: Value, weight: Int)
  private var young: [Key: Entry] = [:]
  private var old: [Key: Entry] = [:]
  private var youngWeight = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// The entries of both generations.
  var count: Int { young.count + old.count }

  subscript(key: Key) -> Value? { (young[key] ?? old[key])?.value }

  /// Whether the key is present; marks it as used.
  mutating func use(_ key: Key) -> Bool {
    if young[key] != nil { return true }
    guard let entry = old.removeValue(forKey: key) else { return false }
    put(entry, for: key)
    return true
  }

  /// Inserts or replaces the value of the key.
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
