// One test's corner of a cluster: its own trace, gates and queues, and the words in which the cases
// of the conformance list are written. Several scenes share a cluster, one after the other.

import FoundationEssentials
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

final class Scene: Sendable {
  let cluster: Cluster
  let connection: ClusterConnection
  let name: String
  let folder: String
  private let gates = Mutex<[String: Gate]>([:])

  init(_ name: String, on cluster: Cluster) async throws {
    self.name = name
    self.cluster = cluster
    folder = "\(cluster.folder)/\(name)"
    try FileManager.default.createDirectory(
      atPath: "\(folder)/gates", withIntermediateDirectories: true)
    connection = try await cluster.connect()
  }

  // Queues

  /// Makes a queue that is this scene's alone; the answer is its name.
  func queue(
    _ short: String = "q", limit: UInt32? = nil, suspended: Bool = false,
    qos: QualityOfService = .default
  ) async throws -> String {
    let full = "\(name).\(short)"
    let settings = QueueSettings(
      name: full, qos: qos, maximumConcurrent: limit, isSuspended: suspended)
    _ = try await connection.request(.createQueue(settings))
    return full
  }

  func change(_ queue: String, limit: UInt32) async throws {
    _ = try await connection.request(.changeQueue(queue, QueueChange(limit: .atMost(limit))))
  }

  func suspend(_ queue: String) async throws {
    _ = try await connection.request(.changeQueue(queue, QueueChange(isSuspended: true)))
  }

  func resume(_ queue: String) async throws {
    _ = try await connection.request(.changeQueue(queue, QueueChange(isSuspended: false)))
  }

  func row(ofQueue queue: String) async throws -> QueueRow {
    guard case .queues(let rows, _) = try await connection.request(.queues()) else {
      throw Trouble("queues?")
    }
    return try #require(rows.first { $0.settings.name == queue })
  }

  // Submitting

  /// Builds a graph with `body` and submits it.
  func submit(_ body: (inout Plan) throws -> Void) async throws -> Members {
    var plan = Plan(self)
    try body(&plan)
    return try await submit(plan.submission)
  }

  func submit(_ submission: GraphSubmission) async throws -> Members {
    guard case .accepted(let graph, _, _) = try await connection.request(.submit(submission))
    else { throw Trouble("submit?") }
    return Members(graph, submission)
  }

  /// An operation that is known and in no queue: an edge from it never is met.
  func declared(_ short: String) async throws -> OperationID {
    try await submit { plan in
      plan.submission.isDeclaredOnly = true
      try plan.add(short, .mark)
    }[short]
  }

  // Gates and the trace

  func makeGate(_ short: String) throws {
    let gate = try Gate("\(folder)/gates/\(short)")
    gates.withLock { $0[short] = gate }
  }

  func open(_ short: String) throws {
    guard let gate = gates.withLock({ $0[short] }) else { throw Trouble("no gate \(short)") }
    gate.open()
  }

  var preamble: String {
    Vocabulary.preamble(trace: tracePath, gates: "\(folder)/gates")
  }

  var tracePath: String { "\(folder)/trace" }
  var lines: [TraceLine] { TraceLine.all(in: tracePath) }
  var trace: [String] { lines.map(\.what) }

  /// Waits until the trace has all of these.
  func traced(_ expected: String...) async throws {
    try await eventually("\(expected) are traced", details: { try await self.details }) {
      Set(expected).isSubset(of: trace)
    }
  }

  /// Place of a line in the trace.
  func place(_ what: String) throws -> Int {
    try #require(trace.firstIndex(of: what), "\(what) is not in \(trace)")
  }

  // Looking

  func row(_ id: OperationID) async throws -> OperationRow {
    let rows = try await connection.operations(.graph(id.graph))
    return try #require(rows.first { $0.id == id })
  }

  /// Waits until all of the graph has ended.
  func ended(_ members: Members) async throws {
    try await eventually("graph \(members.graph.number) ends", details: { try await self.details })
    {
      let rows = try await connection.graphs(.graph(members.graph))
      return rows.allSatisfy { ![.running, .suspended].contains($0.state) }
    }
  }

  /// Waits for the end of single operations.
  func finished(_ ids: OperationID...) async throws {
    for id in ids {
      try await eventually("\(id) ends", details: { try await self.details }) {
        try await row(id).isFinished
      }
    }
  }

  /// Waits until the coordinator knows that this attempt runs.
  func executes(_ members: Members, _ short: String, attempt: UInt32) async throws {
    try await eventually("\(short) executes", details: { try await self.details }) {
      try await events(members, short).contains { event in
        if case .attemptStarted(attempt, _) = event.kind { true } else { false }
      }
    }
  }

  /// Everything that can start has had its turn: an operation sent after it has been run.
  func settle() async throws {
    let members = try await submit { plan in
      try plan.add("settle", .shell(":"), queue: "default", demand: .none)
    }
    try await ended(members)
  }

  /// What was told of one operation so far.
  func events(_ members: Members, _ short: String) async throws -> [Event] {
    var selection = Selection.graph(members.graph)
    selection.operation = short
    return try await connection.backlog(selection)
  }

  /// The kinds of these events as words, without `completion` and `attempt`.
  func life(_ members: Members, _ short: String) async throws -> [String] {
    try await events(members, short).compactMap { event in
      switch event.kind {
      case .isReady(let value): "ready \(value)"
      case .isExecuting(let value): "executing \(value)"
      case .isFinished(let outcome): "\(outcome)"
      case .isCancelled: "isCancelled"
      default: nil
      }
    }
  }

  func cancel(_ id: OperationID, named short: String) async throws -> [CancelVerdict.Verdict] {
    var selection = Selection.graph(id.graph)
    selection.operation = short
    return try await cancel(selection)
  }

  func cancel(_ selection: Selection) async throws -> [CancelVerdict.Verdict] {
    let reply = try await connection.request(
      .cancel(.selection(selection), reason: "test", grace: nil))
    guard case .cancelled(let verdicts, _) = reply else { throw Trouble("cancel?") }
    return verdicts.map(\.verdict)
  }

  /// The code of the refusal that `body` meets.
  func refusal(_ body: () async throws -> Void) async throws -> Refusal {
    do {
      try await body()
    } catch let error as ClientError {
      if case .refused(let refusal) = error.kind { return refusal }
      throw error
    }
    throw Trouble("it was not refused")
  }

  /// Where the coordinator's log stands now.
  func commit() async throws -> CommitIndex {
    guard case .pong(let commit, _, _) = try await connection.request(.ping) else {
      throw Trouble("ping?")
    }
    return commit
  }

  private var details: String {
    get async throws {
      let rows = try await connection.operations(Selection(graphs: .active))
        .prefix(20).map { "\($0.id.graph.number)/\($0.name) \($0.state.rawValue)" }
      return "trace: \(trace)\nalive: \(rows)"
    }
  }
}

/// The operations of one submission by their names.
struct Members: Sendable {
  let graph: GraphID
  private var indices: [String: UInt32] = [:]

  init(_ graph: GraphID, _ submission: GraphSubmission) {
    self.graph = graph
    var index: UInt32 = 0
    for template in submission.templates {
      indices[template.name] = index
      index += template.count
    }
  }

  subscript(_ name: String) -> OperationID {
    OperationID(graph: graph, index: indices[name] ?? .max)
  }
}
