// What a case works with: a cluster, a sink, a queue `q`, and the words of the list as operations.
// Every case has a connection, queues and a sink of its own.

import ConformanceOperations
import OpCluster
import OpClusterClient
import OpClusterModel
import RealCluster
import Synchronization
import Testing

/// One case's own corner of a setting.
final class Stage: Sendable {
  let setting: Setting
  let cluster: OperationCluster
  let sink: Sink
  /// The queue `q`, unlimited.
  let queue: ClusterOperationQueue
  /// The processes of the cluster, where a case may get at them.
  let processes: Cluster?
  private let stem = String(UInt32.random(in: 0 ... .max), radix: 36)
  private let queues = Mutex<[ClusterOperationQueue]>([])

  fileprivate init(_ setting: Setting, _ cluster: OperationCluster, _ processes: Cluster?) throws {
    self.setting = setting
    self.cluster = cluster
    self.processes = processes
    sink = try Sink()
    queue = ClusterOperationQueue(name: "q-\(stem)", on: cluster)
    queues.withLock { $0.append(queue) }
  }

  /// A further queue of this case; its name is `short` with something that no other case has.
  func newQueue(
    _ short: String, limit: Int = -1, isSuspended: Bool = false,
    qualityOfService: QualityOfService = .default
  ) -> ClusterOperationQueue {
    let queue = ClusterOperationQueue(
      name: "\(short)-\(stem)", on: cluster, maxConcurrentOperationCount: limit,
      qualityOfService: qualityOfService, isSuspended: isSuspended)
    queues.withLock { $0.append(queue) }
    return queue
  }

  /// Another handle of a queue, as another program has it.
  func sameQueue(
    _ queue: ClusterOperationQueue, on cluster: OperationCluster
  ) -> ClusterOperationQueue {
    ClusterOperationQueue(name: queue.name, on: cluster)
  }

  /// Another connection to the cluster, as of another program; to be closed by the case.
  func anotherClient() async throws -> OperationCluster {
    let address: String = try #require(cluster.address)
    return try await OperationCluster.connect(to: address)
  }

  // MARK: - The words of the list

  func mark(_ text: String) -> ClusterOperation {
    ClusterOperation(Mark(sink: sink.path, text: text), name: text)
  }
  /// Writes `name+` and, when the gate has been opened, `name-`.
  func gate(_ name: String, value: Int = 0) -> ClusterOperation {
    ClusterOperation(Gate(sink: sink.path, name: name, value: value), name: name)
  }
  /// As a gate; when it is cancelled it ends with `name!`.
  func poll(_ name: String) -> ClusterOperation {
    ClusterOperation(Poll(sink: sink.path, name: name), name: name)
  }
  func ret(_ value: Int, name: String? = nil) -> ClusterOperation {
    ClusterOperation(Return(value: value), name: name)
  }
  func fail(_ message: String, name: String? = nil) -> ClusterOperation {
    ClusterOperation(Fail(message: message), name: name)
  }
  /// Fails on its first runs.
  func flaky(_ text: String, failures: UInt32) -> ClusterOperation {
    ClusterOperation(Flaky(sink: sink.path, text: text, failures: failures), name: text)
  }
  /// Kills its worker on these runs.
  func kill(_ name: String, runs: [UInt32], value: Int = 0) -> ClusterOperation {
    ClusterOperation(Kill(sink: sink.path, text: name, runs: runs, value: value), name: name)
  }
  func look(input: Int? = nil, name: String? = nil) -> ClusterOperation {
    ClusterOperation(Look(input: input), name: name)
  }
  func asyncGate(_ name: String, value: Int = 0) -> ClusterOperation {
    ClusterOperation(AsyncGate(sink: sink.path, name: name, value: value), name: name)
  }
  func steer(_ name: String, _ deed: Steer.Deed, gate: String? = nil) -> ClusterOperation {
    ClusterOperation(Steer(sink: sink.path, name: name, deed: deed, gate: gate), name: name)
  }
  func urgency(_ text: String) -> ClusterOperation {
    ClusterOperation(Urgency(sink: sink.path, text: text), name: text)
  }
  /// A join point.
  func join(_ name: String) -> ClusterOperation { ClusterOperation(name: name) }

  // MARK: - Around a case

  /// Waits for the ends of these.
  func ended(_ operations: ClusterOperation...) async throws {
    for operation in operations {
      guard try await operation.waitUntilFinished(timeout: patience) else {
        throw Trouble("'\(operation)' does not end: \(await why(operation)); trace \(sink.lines)")
      }
    }
  }

  /// Waits until an operation is told to execute: its first line may come before.
  func began(_ operation: ClusterOperation) async throws {
    try await soon("'\(operation)' executes") { operation.isExecuting || operation.isFinished }
    #expect(operation.isExecuting)
  }

  /// Waits until the queue is empty.
  func emptied(_ queue: ClusterOperationQueue) async throws {
    guard try await queue.waitUntilAllOperationsAreFinished(timeout: patience) else {
      let left = queue.operations
      let reason = if let first = left.first { await why(first) } else { "" }
      throw Trouble("\(queue.name) does not empty: \(left) \(reason); trace \(sink.lines)")
    }
  }

  private func why(_ operation: ClusterOperation) async -> String {
    let lines = (try? await operation.explanation()) ?? []
    return "\(operation.flags) \(lines)"
  }

  /// Opens every gate, lets go of everything that is left, and makes sure that it has gone: the
  /// next case wants every slot.
  fileprivate func end() async throws {
    sink.openAll()
    let queues = self.queues.withLock { $0 }
    for queue in queues where queue.operationCount > 0 || !queue.operations.isEmpty {
      try await queue.cancelAllOperations()
      try await queue.resume()
      try await queue.setMaxConcurrentOperationCount(-1)
    }
    for queue in queues {
      guard try await queue.waitUntilAllOperationsAreFinished(timeout: patience) else {
        throw Trouble("\(queue.name) does not empty: \(queue.operations)")
      }
    }
    sink.close()
    await cluster.close()
  }
}

/// Runs a case in a setting: `.local` in a cluster of its own in this process with six slots,
/// `.cluster` over a connection of its own to the cluster that the cases share, `.embedded` in
/// daemons
/// that end with it.
func onStage(_ setting: Setting, _ body: (Stage) async throws -> Void) async throws {
  switch setting {
  case .local: try await onLocalStage(slots: 6, body)
  case .cluster:
    try await onStage(of: try #require(ConformanceCluster.current), body)
  case .embedded:
    let settings = EmbeddedCluster.Settings(
      workers: 3, cpusPerWorker: 2, deadline: patience,
      workerExecutable: try Cluster.executable("ConformanceWorker"))
    let cluster = try await OperationCluster.embedded(settings)
    try await perform(on: try Stage(setting, cluster, nil), body)
  }
}

/// Runs a case on the processes of a cluster, such as one that the case has started itself.
func onStage(of processes: Cluster, _ body: (Stage) async throws -> Void) async throws {
  let cluster = try await OperationCluster.connect(to: processes.address)
  try await perform(on: try Stage(.cluster, cluster, processes), body)
}

/// For cases that kill workers or need other shapes: a cluster of their own.
func onOwnCluster(
  workers: Int = 3, slots: Int = 2, workerFlags: [[String]] = [],
  _ body: (Stage, Cluster) async throws -> Void
) async throws {
  let shape = Cluster.Shape(
    workers: workers, slots: slots, program: "ConformanceWorker", workerFlags: workerFlags)
  try await Cluster.with(shape.losingSoon) { cluster in
    try await onStage(of: cluster) { try await body($0, cluster) }
  }
}

/// As `onStage`, with room for one operation, so that every choice shows in the trace.
func onOneSlot(_ setting: Setting, _ body: (Stage) async throws -> Void) async throws {
  switch setting {
  case .local: try await onLocalStage(slots: 1, body)
  case .cluster, .embedded:
    try await onOwnCluster(workers: 1, slots: 1) { stage, _ in try await body(stage) }
  }
}

private func onLocalStage(slots: Int, _ body: (Stage) async throws -> Void) async throws {
  let cluster = OperationCluster.local(types: conformanceTypes, slots: slots)
  try await perform(on: try Stage(.local, cluster, nil), body)
}

private func perform(on stage: Stage, _ body: (Stage) async throws -> Void) async throws {
  do {
    try await body(stage)
  } catch {
    Issue.record("the trace is \(stage.sink.lines)")
    try? await stage.end()
    throw error
  }
  try await stage.end()
}
