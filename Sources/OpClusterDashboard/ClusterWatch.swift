// The cluster as all pages see it: one subscription to its events, whoever looks, and lists that
// are asked for at most once a second while somebody does.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading
import OpClusterSystem

actor ClusterWatch {
  nonisolated let reader: Reader
  private var rates = RateHistory(now: ClusterWatch.seconds())
  private var graphs: [GraphID: GraphWatch] = [:]
  /// Newest last.
  private var failed: [OperationID] = []
  private var failures: [OperationID: OperationRow] = [:]
  private var newest: (figures: TopFigures, at: ContinuousClock.Instant)?
  private var asking: Task<TopFigures, any Error>?
  /// Why nothing comes from the coordinator at the moment.
  private(set) var problem: String?

  private static let leastAge = Duration.milliseconds(900)
  private static let mostFailures = 15
  /// A graph is forgotten so long after nobody looked.
  private static let memory = Duration.seconds(120)

  init(_ connection: ClusterConnection) {
    reader = Reader(connection: connection, timeout: .seconds(10))
  }

  static func seconds() -> Int64 { MonotonicClock.now() / 1_000_000_000 }

  // MARK: - Events

  /// Follows until its task is cancelled.
  func run() async {
    while !Task.isCancelled {
      do {
        let since = try await reader.lastEvent()
        let subscription = EventSubscription(
          number: 1, selection: Selection(graphs: .all), since: since)
        problem = nil
        for try await batch in reader.connection.events(subscription) {
          problem = nil
          await take(batch.events)
        }
      } catch {
        problem = "\(error)"
      }
      // What was missed meanwhile is read anew.
      graphs = [:]
      newest = nil
      try? await Task.sleep(for: .seconds(1))
    }
  }

  /// Costs the events.
  private func take(_ events: [Event]) async {
    var (started, ended) = (0, 0)
    var byGraph: [GraphID: [Event]] = [:]
    for event in events {
      let graph: GraphID
      switch event.subject {
      case .operation(let id, _):
        graph = id.graph
        switch event.kind {
        case .isExecuting(true): started += 1
        case .isFinished(let outcome):
          ended += 1
          if [.failed, .timedOut, .lost].contains(outcome) { note(failure: id) }
        default: break
        }
      case .graph(let id): graph = id
      case .queue, .worker: continue
      }
      if graphs[graph] != nil { byGraph[graph, default: []].append(event) }
    }
    rates.count(started: started, ended: ended, now: Self.seconds())
    for (graph, events) in byGraph { await graphs[graph]?.apply(events) }
  }

  private func note(failure id: OperationID) {
    failed.append(id)
    if failed.count > Self.mostFailures {
      failures[failed.removeFirst()] = nil
    }
  }

  // MARK: - What pages show

  func overview(now: WallTime) async throws -> OverviewView {
    let figures = try await figures()
    rates.pass(to: Self.seconds())
    for id in failed where failures[id] == nil {
      failures[id] = try? await reader.row(id)
    }
    return OverviewView(
      figures: figures, rates: rates, failures: failed.reversed().compactMap { failures[$0] },
      now: now)
  }

  /// Those who ask at the same time share one answer.
  private func figures() async throws -> TopFigures {
    if let newest, ContinuousClock.now - newest.at < Self.leastAge { return newest.figures }
    if let asking { return try await asking.value }
    let reader = reader
    let task = Task { try await reader.figures() }
    asking = task
    defer { asking = nil }
    let figures = try await task.value
    newest = (figures, .now)
    let waiting = figures.graphs.reduce(UInt32(0)) { sum, row in
      sum.saturatingAdd(row.counts[.ready]).saturatingAdd(row.counts[.dispatched])
    }
    rates.note(
      executing: figures.workers.reduce(0) { $0.saturatingAdd($1.executing) }, waiting: waiting,
      now: Self.seconds())
    return figures
  }

  /// The watch of a graph, for as long as somebody looks.
  func watch(_ graph: GraphID) async -> GraphWatch {
    for (number, watch) in graphs where number != graph {
      if await ContinuousClock.now - watch.lastUse > Self.memory { graphs[number] = nil }
    }
    if let known = graphs[graph] { return known }
    let watch = GraphWatch(graph, reader)
    graphs[graph] = watch
    return watch
  }
}
