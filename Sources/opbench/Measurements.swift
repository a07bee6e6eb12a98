// What the workloads measure, each on a fresh cluster. `Workload` has their names; Workloads.md of
// OpCluster.docc says what each is for.

import OpClusterClient
import OpClusterModel
import OpClusterWire
import Synchronization

enum Measurements {
  /// Seconds from the submission until the client knows that all have finished.
  ///
  /// - Parameter labelled: Whether the templates are bound to the workers in turn.
  static func run(
    _ graph: GraphSubmission, labelled: Bool = false, on setting: MeasuredCluster.Setting = .usual
  ) async throws -> Double {
    try await MeasuredCluster.use(setting) { cluster in
      var timed = graph
      if labelled { try await Graphs.pin(&timed, to: cluster.connection) }
      return try await seconds { try await Follower(cluster.connection).run(timed) }
    }
  }

  /// The growth of the coordinator's resident memory per operation, with a million waiting ones.
  /// One graph, not many: what a graph costs by itself is divided away. Memory is read after a
  /// ping, so that the submission has been decided and answered.
  static func bytesPerOperation(_ graph: GraphSubmission) async throws -> Double {
    try await MeasuredCluster.use(workers: 1) { cluster in
      try await MeasuredCluster.addClosedQueue(cluster)
      let process = cluster.processes[0].number
      let before = residentBytes(of: process)
      _ = try await cluster.connection.request(.submit(graph), timeout: .seconds(120))
      _ = try await cluster.connection.request(.ping)
      return Double(residentBytes(of: process) - before) / Double(graph.operationCount)
    }
  }

  /// Seconds from the cancellation of queued operations until the client has heard of each that it
  /// has ended.
  static func cancellation(_ count: UInt32) async throws -> Double {
    try await MeasuredCluster.use { cluster in
      let connection = cluster.connection
      let graph = try await submit(Graphs.unplaceable(count), connection)
      let events = connection.events(
        EventSubscription(
          number: 0, selection: Selection(graphs: .numbers([.init(graph, graph)])), since: 0))
      var reader = events.makeAsyncIterator()
      // What the submission told is in; what follows is of the cancellation.
      while let batch = try await reader.next(), !batch.caughtUp {}
      return try await seconds {
        _ = try await connection.request(
          .cancel(
            .selection(Selection(graphs: .numbers([.init(graph, graph)]))), reason: "",
            grace: nil))
        var ended: UInt32 = 0
        while let batch = try await reader.next() {
          for event in batch.events {
            if case .graphFinished = event.kind { return try expect(ended, count) }
            if case .isFinished = event.kind { ended += 1 }
          }
        }
        try expect(ended, count)
      }
    }
  }

  /// Seconds from the submission of an array until the client knows that it is durable.
  static func durability(_ count: UInt32) async throws -> Double {
    try await MeasuredCluster.use { cluster in
      try await MeasuredCluster.addClosedQueue(cluster)
      return try await seconds { _ = try await submit(Graphs.closed(count), cluster.connection) }
    }
  }

  /// Submissions of one operation each per second, by one client that does not wait in between:
  /// until all are accepted, and until the end of each is known.
  static func submissions(_ count: Int) async throws -> [(String, Double)] {
    try await MeasuredCluster.use { cluster in
      let connection = cluster.connection
      let events = connection.events(
        EventSubscription(number: 0, selection: Selection(graphs: .all), graphsOnly: true))
      var reader = events.makeAsyncIterator()
      let answers = Answers(count)
      var accepted = 0.0
      let ended = try await seconds {
        for _ in 0..<count {
          connection.send(.submit(Graphs.independent(1))) { answers.take($0) }
        }
        accepted = try await answers.secondsUntilAll()
        var finished = 0
        while finished < count, let batch = try await reader.next() {
          for event in batch.events {
            if case .graphFinished(.succeeded) = event.kind { finished += 1 }
          }
        }
        try expect(finished, count)
      }
      return [
        ("accepted", Double(count) / accepted), ("and ended", Double(count) / ended),
      ]
    }
  }

  /// Events of the past per second, of all subscribers together, each over a connection of its own.
  static func events(of operations: UInt32, to subscribers: Int) async throws -> Double {
    try await MeasuredCluster.use { cluster in
      try await Follower(cluster.connection).run(Graphs.independent(operations))
      var connections: [ClusterConnection] = []
      for _ in 0..<subscribers {
        connections.append(try await ClusterConnection.connect(to: cluster.address))
      }
      var told = 0
      let time = try await seconds {
        try await withThrowingTaskGroup(of: Int.self) { group in
          for connection in connections { group.addTask { try await countOfPast(connection) } }
          for try await count in group { told += count }
        }
      }
      for connection in connections { await connection.close() }
      return Double(told) / time
    }
  }

  private static func countOfPast(_ connection: ClusterConnection) async throws -> Int {
    let past = EventSubscription(
      number: 0, selection: Selection(graphs: .all), since: 0, backlogOnly: true)
    var count = 0
    for try await batch in connection.events(past) { count += batch.events.count }
    return count
  }

  /// Microseconds of the coordinator's processor for a command, of the first and of the last of ten
  /// graphs: whether a coordinator becomes slower with what it has done.
  static func coordinatorPerCommand(_ count: UInt32) async throws -> [(String, Double)] {
    try await MeasuredCluster.use { cluster in
      let process = cluster.processes[0].number
      var costs: [Double] = []
      for _ in 0..<10 {
        let before = processorSeconds(of: process)
        try await Follower(cluster.connection).run(Graphs.commands(count / 10))
        costs.append((processorSeconds(of: process) - before) * 1e6 / Double(count / 10))
      }
      return [("the first tenth", costs[0]), ("the last tenth", costs[9])]
    }
  }

  private static func submit(
    _ graph: GraphSubmission, _ connection: ClusterConnection
  ) async throws -> GraphID {
    let reply = try await connection.request(.submit(graph), timeout: .seconds(120))
    guard case .accepted(let id, _, _) = reply else {
      throw Follower.NotSucceeded(description: "the submission was not accepted")
    }
    return id
  }

  private static func expect<Number: BinaryInteger>(_ found: Number, _ wanted: Number) throws {
    guard found == wanted else {
      throw Follower.NotSucceeded(description: "\(found) of \(wanted) have ended as they should")
    }
  }
}

/// The answers to submissions that were sent without waiting.
private final class Answers: Sendable {
  private struct State {
    var left: Int
    var failure: (any Error)?
    var waiter: CheckedContinuation<Void, any Error>?
  }
  private let state: Mutex<State>
  private let start = ContinuousClock().now

  init(_ count: Int) { state = Mutex(State(left: count)) }

  func take(_ result: Result<ClientReply, ClientError>) {
    let done = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      state.left -= 1
      if case .failure(let error) = result { state.failure = state.failure ?? error }
      guard state.left == 0 else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    done?.resume(with: outcome)
  }

  private var outcome: Result<Void, any Error> {
    state.withLock { state in state.failure.map { .failure($0) } ?? .success(()) }
  }

  /// The seconds since the beginning, when all are here.
  func secondsUntilAll() async throws -> Double {
    try await withCheckedThrowingContinuation { continuation in
      let isComplete = state.withLock { state in
        if state.left > 0 { state.waiter = continuation }
        return state.left == 0
      }
      if isComplete { continuation.resume(with: outcome) }
    }
    return (ContinuousClock().now - start) / .seconds(1)
  }
}
