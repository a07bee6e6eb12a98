// The cluster as all pages see it: one subscription to its events, whoever looks, and lists that
// are asked for at most once a second while somebody does.

import OpClusterClient
import OpClusterHTTP
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
  /// Those of `failed` that were asked for.
  private var asked: Set<OperationID> = []
  private var shared = SharedAnswer<TopFigures>(leastAge: .milliseconds(900))
  private var asking: Task<TopFigures, any Error>?
  /// Why nothing comes from the coordinator at the moment.
  private(set) var problem: String?

  private var answeredAt = ContinuousClock.now
  private var silence: HTTPServerError?

  private static let mostFailures = 15
  /// A graph is forgotten so long after nobody looked.
  private static let memory = Duration.seconds(120)

  init(_ connection: ClusterConnection) {
    reader = Reader(connection: connection, timeout: .seconds(10))
  }

  static func seconds() -> Int64 { MonotonicClock.now() / 1_000_000_000 }

  // MARK: - Events

  /// Forgets, from time to time, the graphs at which nobody looks.
  func prune() async {
    while !Task.isCancelled {
      try? await Task.sleep(for: .seconds(30))
      for (number, watch) in graphs {
        if await ContinuousClock.now - watch.lastUse > Self.memory { graphs[number] = nil }
      }
    }
  }

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
          await take(batch.runs)
        }
      } catch {
        problem = "\(error)"
      }
      // What was missed meanwhile is read anew.
      graphs = [:]
      try? await Task.sleep(for: .seconds(1))
    }
  }

  /// Costs the runs.
  private func take(_ runs: [EventRun]) async {
    var (started, ended) = (0, 0)
    var byGraph: [GraphID: [EventRun]] = [:]
    for run in runs {
      guard let graph = run.graph else { continue }
      if graphs[graph] != nil { byGraph[graph, default: []].append(run) }
      guard run.indices != nil else { continue }
      switch run.first.kind {
      case .isExecuting(true): started += Int(run.count)
      case .isFinished(let outcome):
        ended += Int(run.count)
        if [.failed, .timedOut, .lost].contains(outcome) { noteFailures(run) }
      default: break
      }
    }
    rates.count(started: started, ended: ended, now: Self.seconds())
    for (graph, runs) in byGraph { await graphs[graph]?.apply(runs) }
  }

  /// Only the last ones are shown.
  private func noteFailures(_ run: EventRun) {
    guard let graph = run.graph, let indices = run.indices else { return }
    for index in indices.suffix(Self.mostFailures) {
      note(failure: OperationID(graph: graph, index: index))
    }
  }

  private func note(failure id: OperationID) {
    failed.append(id)
    if failed.count > Self.mostFailures {
      let oldest = failed.removeFirst()
      failures[oldest] = nil
      asked.remove(oldest)
    }
  }

  // MARK: - What pages show

  /// Throws if the coordinator does not answer. Asked at most every five seconds, whoever looks.
  func checkAnswers() async throws {
    guard ContinuousClock.now - answeredAt > .seconds(5) else {
      if let silence { throw silence }
      return
    }
    answeredAt = .now
    do {
      _ = try await Reader(connection: reader.connection, timeout: .seconds(3)).lastEvent()
      silence = nil
    } catch {
      silence = HTTPServerError(text: "\(error)")
    }
    if let silence { throw silence }
  }

  func overview(now: WallTime) async throws -> OverviewView {
    let figures = try await figures()
    rates.pass(to: Self.seconds())
    await readFailures()
    return OverviewView(
      figures: figures, rates: rates, failures: failed.reversed().compactMap { failures[$0] },
      now: now)
  }

  /// Each once, by whoever comes first; one that cannot be read is not asked for again.
  private func readFailures() async {
    for id in failed where !asked.contains(id) {
      asked.insert(id)
      let row = try? await reader.row(id)
      // Others may have taken its place meanwhile.
      if failed.contains(id) { failures[id] = row }
    }
  }

  /// Those who ask at the same time share one answer.
  private func figures() async throws -> TopFigures {
    if let current = shared.current(at: .now) { return try current.get() }
    if let asking { return try await asking.value }
    let reader = reader
    let task = Task { try await reader.figures() }
    asking = task
    defer { asking = nil }
    let start = ContinuousClock.now
    let answer = await task.result
    shared.take(answer, asked: start, answered: .now)
    let figures = try answer.get()
    let waiting = figures.graphs.reduce(UInt32(0)) { sum, row in
      sum.saturatingAdd(row.counts[.ready]).saturatingAdd(row.counts[.dispatched])
    }
    rates.note(
      executing: figures.workers.reduce(0) { $0.saturatingAdd($1.executing) }, waiting: waiting,
      now: Self.seconds())
    return figures
  }

  /// A graph that the coordinator does not know is not watched.
  func forget(_ graph: GraphID) { graphs[graph] = nil }

  /// The watch of a graph, for as long as somebody looks.
  func watch(_ graph: GraphID) -> GraphWatch {
    if let known = graphs[graph] { return known }
    let watch = GraphWatch(graph, reader)
    graphs[graph] = watch
    return watch
  }
}
