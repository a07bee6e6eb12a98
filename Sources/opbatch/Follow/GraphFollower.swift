// The graphs that `watch` follows: snapshots that events advance; those of many operations are
// counted again and again instead, since single events of each would cost the coordinator more than
// the operations. The reading task writes, the painting task reads; a lock protects them.

import OpClusterClient
import OpClusterManifest
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import Synchronization

/// Something that others want to be told of.
struct GraphMoment: Hashable, Sendable {
  var graph: GraphID
  var moment: GraphNotification.Moment
}

final class GraphFollower: Sendable {
  private struct State {
    var graphs: [GraphProgress]
    var places: [GraphID: Int]
    /// What was told of each graph.
    var told: [Set<GraphNotification.Moment>]
    /// Counts changes, so that an unchanged state is not painted again.
    var version: UInt64 = 0
  }
  private let state: Mutex<State>
  private let connection: ClusterConnection
  private let reader: Reader
  private let subscription: EventSubscription
  /// Whether the graphs are read again instead of following each operation.
  private let isCounting: Bool
  /// The first failures and the ends of its graphs, each once, also those that it began with; ends
  /// when all graphs have ended. For one reader.
  let moments: AsyncStream<GraphMoment>
  private let moment: AsyncStream<GraphMoment>.Continuation

  /// Maximum number of graphs that one command follows.
  static let maximumGraphs = 100

  /// Reads the snapshots. The subscription begins before the first snapshot, and each graph ignores
  /// events that its snapshot contains, so no event is missed or counted twice (S116).
  init(_ rows: [GraphRow], since: UInt64, _ reader: Reader) async throws {
    var graphs: [GraphProgress] = []
    for row in rows.prefix(Self.maximumGraphs) {
      graphs.append(GraphProgress(try await reader.structure(row.graph)))
    }
    var places: [GraphID: Int] = [:]
    for (place, graph) in graphs.enumerated() { places[graph.graph] = place }
    connection = reader.connection
    self.reader = reader
    isCounting = Self.isCounted(graphs)
    subscription = EventSubscription(
      number: 1, selection: .graphs(graphs.map(\.graph)), since: since, graphsOnly: isCounting)
    state = Mutex(State(graphs: graphs, places: places, told: graphs.map { _ in [] }))
    (moments, moment) = AsyncStream.makeStream()
    state.withLock { state in
      for place in state.graphs.indices { tell(place, &state) }
    }
  }

  /// Follows until all graphs have ended.
  func run() async throws {
    defer { moment.finish() }
    if hasEnded { return }
    guard isCounting else { return try await followEvents() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      group.addTask { try await self.followEvents() }
      group.addTask {
        while true {
          try await Task.sleep(for: Self.countInterval)
          await self.count(self.now.graphs.filter { $0.outcome == nil }.map(\.graph))
        }
      }
      try await group.next()
    }
  }

  private func followEvents() async throws {
    for try await batch in connection.events(subscription) {
      if isCounting { await count(Set(batch.runs.compactMap(\.graph)).sorted()) }
      take(batch.runs)
      if hasEnded { return }
    }
  }

  /// Maximum number of graphs, and of stages of one, that are read again while they are followed.
  private static let graphsRefreshed = 5
  private static let stagesRefreshed = 200
  /// From so many operations on, graphs are counted.
  private static let operationsCounted: UInt32 = 2_000
  private static let countInterval = Duration.milliseconds(500)

  /// Few enough to be read at each interval, and with so many operations that events would cost
  /// more.
  private static func isCounted(_ graphs: [GraphProgress]) -> Bool {
    graphs.count <= graphsRefreshed
      && graphs.allSatisfy { $0.stages.count <= stagesRefreshed }
      && graphs.reduce(0) { $0.saturatingAdd($1.total) } >= operationsCounted
  }

  /// Reads graphs again. One that cannot be read stays as it is: its events end it.
  private func count(_ graphs: [GraphID]) async {
    for graph in graphs {
      guard let structure = try? await reader.structure(graph) else { continue }
      take(GraphProgress(structure))
    }
  }

  /// Reads small graphs again for the operations that a worker holds and has not begun: no event
  /// tells of them.
  func refresh() async throws {
    if isCounting { return }
    // A structure costs its stages, for the coordinator as well.
    let due = now.graphs.filter { $0.outcome == nil && $0.hasUnstarted }
      .filter { $0.stages.count <= Self.stagesRefreshed }
    for graph in due.prefix(Self.graphsRefreshed) {
      take(GraphProgress(try await reader.structure(graph.graph)))
    }
  }

  /// Replaces a graph by a newer snapshot.
  private func take(_ progress: GraphProgress) {
    state.withLock { state in
      // Events may have advanced the graph meanwhile; the next snapshot will be newer.
      guard let place = state.places[progress.graph],
        progress.lastEvent >= state.graphs[place].lastEvent
      else { return }
      state.graphs[place] = progress
      state.version += 1
      tell(place, &state)
    }
  }

  private func tell(_ place: Int, _ state: inout State) {
    let graph = state.graphs[place]
    if graph.failures > 0, state.told[place].insert(.failure).inserted {
      moment.yield(GraphMoment(graph: graph.graph, moment: .failure))
    }
    if graph.outcome != nil, state.told[place].insert(.end).inserted {
      moment.yield(GraphMoment(graph: graph.graph, moment: .end))
    }
  }

  /// The state of the graphs, and a number that grows with every change.
  var now: (graphs: [GraphProgress], version: UInt64) {
    state.withLock { ($0.graphs, $0.version) }
  }

  private var hasEnded: Bool { state.withLock { $0.graphs.allSatisfy { $0.outcome != nil } } }

  /// Applies events to their graphs, under one lock for a batch. Costs the runs.
  private func take(_ runs: [EventRun]) {
    state.withLock { state in
      for run in runs {
        guard let graph = run.graph, let place = state.places[graph] else { continue }
        guard state.graphs[place].apply(run) else { continue }
        state.version += 1
        tell(place, &state)
      }
    }
  }
}
