// A client beside which others ask for too much: what it gets done, four ways (G29). Any task.

import OpClusterClient
import OpClusterModel
import RealCluster

/// What a client does, as much as it can.
enum Pursuit: String, CaseIterable, Sendable {
  case pings = "pings, one at a time"
  case submissions = "submissions of small graphs, 8 at a time"
  case completions = "operations completed, layered graphs of 1,000, 2 at a time"
  case unattended = "operations of 10 ms that nobody watches"

  /// How often it was done in a second.
  func rate(_ connection: ClusterConnection, seconds: Double) async throws -> Double {
    switch self {
    case .pings: try await Self.repeated(1, seconds) { _ = try await connection.request(.ping) }
    case .submissions:
      try await Self.repeated(8, seconds) {
        _ = try await connection.request(.submit(Self.graph(width: 5, depth: 1)))
      }
    case .completions:
      try await Self.completions(connection, seconds)
    case .unattended:
      try await Self.unattended(connection, seconds)
    }
  }

  /// By so many tasks at once; what was begun is counted if it ends in time.
  private static func repeated(
    _ tasks: Int, _ seconds: Double, _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> Double {
    let start = Moment.now
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<tasks {
        group.addTask {
          var count = 0
          while true {
            try await body()
            if Moment.now.seconds(since: start) >= seconds { return count }
            count += 1
          }
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(count) / seconds
  }

  private static func completions(
    _ connection: ClusterConnection, _ seconds: Double
  ) async throws -> Double {
    let events = connection.events(
      EventSubscription(number: 0, selection: Selection(graphs: .all), graphsOnly: true))
    var reader = events.makeAsyncIterator()
    var mine: Set<GraphID> = []
    let start = Moment.now
    var count = 0
    for _ in 0..<2 { mine.insert(try await submit(connection)) }
    while let batch = try await reader.next() {
      for event in batch.events {
        guard case .graph(let graph) = event.subject, mine.contains(graph),
          case .graphFinished = event.kind
        else { continue }
        mine.remove(graph)
        if Moment.now.seconds(since: start) >= seconds {
          return Double(count) * 1_000 / seconds
        }
        count += 1
        mine.insert(try await submit(connection))
      }
    }
    throw Trouble("the events ended")
  }

  /// Submitted, left alone, and looked at in the end.
  private static func unattended(
    _ connection: ClusterConnection, _ seconds: Double
  ) async throws -> Double {
    var submission = GraphSubmission(name: "unattended")
    var template = OperationTemplate(
      name: "short", count: 100_000, work: .call(OperationType(name: "sleep")))
    template.payload = Array("0.01".utf8)
    submission.templates = [template]
    let start = Moment.now
    guard case .accepted(let graph, _, _) = try await connection.request(.submit(submission))
    else { throw Trouble("not accepted") }
    try await Task.sleep(for: .seconds(seconds))
    let selection = Selection.graph(graph)
    guard
      case .graphs(let rows, _) = try await connection.request(
        .graphs(selection, after: nil, limit: 1)), let row = rows.first
    else { throw Trouble("the graph is not there") }
    let rate = Double(row.counts.finished) / Moment.now.seconds(since: start)
    _ = try await connection.request(.cancel(.selection(selection), reason: "", grace: nil))
    return rate
  }

  private static func submit(_ connection: ClusterConnection) async throws -> GraphID {
    let reply = try await connection.request(.submit(graph(width: 100, depth: 10)))
    guard case .accepted(let graph, _, _) = reply else { throw Trouble("not accepted: \(reply)") }
    return graph
  }

  /// Layers of empty operations, each of which waits for three of the layer before.
  private static func graph(width: UInt32, depth: UInt32) -> GraphSubmission {
    let name = "neighbour-\(UInt64.random(in: 0 ... .max))"
    var graph = GraphSubmission(key: SubmissionKey(name), name: name)
    graph.templates = [
      OperationTemplate(
        name: "n", count: width * depth, work: .call(OperationType(name: "noop")))
    ]
    guard depth > 1 else { return graph }
    var edges = ElementEdges(policies: [.finished])
    for layer in 1..<depth {
      for position in 0..<width {
        for step: UInt32 in [1, 34, 67] {
          edges.from.append((layer - 1) * width + (position * 7 + step) % width)
          edges.to.append(layer * width + position)
        }
      }
    }
    graph.elementEdges = edges
    return graph
  }
}

/// The rates of one pursuit in pairs of runs.
struct Pairs {
  private var ratios: [Double] = []
  private var alone: [Double] = []
  private var beside: [Double] = []

  mutating func add(alone rate: Double, beside other: Double) {
    alone.append(rate)
    beside.append(other)
    ratios.append(other / max(rate, 0.001))
  }

  /// The median of the ratios.
  var ratio: Double { Self.median(ratios) }
  var text: String {
    "\(Moment.text(ratio)) (\(Moment.text(ratios.min() ?? 0)) … "
      + "\(Moment.text(ratios.max() ?? 0))), \(Int(Self.median(beside)))/s beside it, "
      + "\(Int(Self.median(alone)))/s without"
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }
}
