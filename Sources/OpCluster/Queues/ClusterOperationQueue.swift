// The queue as a Swift programmer holds it: a handle with a mirror, like the operation. The queue
// itself lives in the cluster, by its name, and holds operations of any program. Any thread.

public import OpClusterModel
import Synchronization

/// Regulates the execution of operations: the counterpart of Foundation's `OperationQueue`.
///
///     let queue = ClusterOperationQueue(name: "downloads", on: cluster)
///     queue.maxConcurrentOperationCount = 4
///     try await queue.addOperation(ClusterOperation(Fetch(url: address)))
///     try await queue.waitUntilAllOperationsAreFinished()
///
/// Two objects of one name on one cluster are the same queue, in one program or in several.
/// Properties that are set on a queue that is in use ask the cluster and wait for its answer, a
/// round trip; tasks better use the methods beside them.
public final class ClusterOperationQueue: Sendable {
  /// The value of `maxConcurrentOperationCount` that lets the workers decide (S64).
  public static let defaultMaxConcurrentOperationCount = -1

  /// The cluster whose queue it is.
  public let cluster: OperationCluster
  let state: Mutex<QueueLife>

  /// A handle; the queue is made in the cluster with the first request, unless it is there.
  ///
  /// - Parameter name: Unique in the cluster, at most 255 bytes; nil: a name of its own.
  public init(
    name: String? = nil, on cluster: OperationCluster = .inProcess,
    maxConcurrentOperationCount: Int = defaultMaxConcurrentOperationCount,
    qualityOfService: QualityOfService = .default, isSuspended: Bool = false
  ) {
    self.cluster = cluster
    let own = "queue-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    let settings = QueueSettings(
      name: name ?? own, qos: qualityOfService,
      maximumConcurrent: QueueLife.limit(maxConcurrentOperationCount), isSuspended: isSuspended)
    state = Mutex(QueueLife(settings: settings, isAnonymous: name == nil))
  }

  /// An unnamed queue goes with its last handle, if it is empty.
  deinit {
    let (name, isOurs) = state.withLock { ($0.settings.name, $0.isAnonymous && $0.isMade) }
    if isOurs { cluster.backend.send(.removeQueue(name)) { _ in } }
  }

  /// The queue that takes what names no other; every cluster has it.
  public static func `default`(of cluster: OperationCluster) -> ClusterOperationQueue {
    let queue = ClusterOperationQueue(name: "default", on: cluster)
    queue.state.withLock { $0.isMade = true }
    return queue
  }

  // MARK: - Settings

  /// A display name that is free to change, unique among the queues of the cluster (S2).
  public var name: String {
    get { state.withLock { $0.settings.name } }
    set { report { () throws(ClusterError) in try set(QueueChange(newName: newValue)) } }
  }

  /// How many run at once, over all workers; −1: as many as the workers take; 0: none (S63 to
  /// S66).
  public var maxConcurrentOperationCount: Int {
    get { state.withLock { $0.settings.maximumConcurrent.map(Int.init) ?? -1 } }
    set { report { () throws(ClusterError) in try set(QueueLife.change(limit: newValue)) } }
  }

  /// A suspended queue starts nothing; what executes goes on (S71, S72).
  public var isSuspended: Bool {
    get { state.withLock { $0.settings.isSuspended } }
    set { report { () throws(ClusterError) in try set(QueueChange(isSuspended: newValue)) } }
  }

  /// Decides between queues, and the scheduling class of jobs that say nothing themselves (S55).
  public var qualityOfService: QualityOfService {
    get { state.withLock { $0.settings.qos } }
    set { report { () throws(ClusterError) in try set(QueueChange(qos: newValue)) } }
  }

  /// - Throws: `badLimit` for anything below −1; nothing is changed (S145).
  public func setMaxConcurrentOperationCount(_ count: Int) async throws(ClusterError) {
    _ = try await change(QueueLife.change(limit: count))
  }

  /// After it has returned nothing of the queue starts (S72).
  ///
  /// - Returns: What was executing then.
  @discardableResult
  public func suspend() async throws(ClusterError) -> [OperationID] {
    guard case .suspended(let executing) = try await change(QueueChange(isSuspended: true)) else {
      return []
    }
    return executing
  }

  /// Selection happens afresh (S74).
  public func resume() async throws(ClusterError) {
    _ = try await change(QueueChange(isSuspended: false))
  }

  private func change(_ change: QueueChange) async throws(ClusterError) -> ClientReply {
    let reply = try await awaited { done in setting(change, done) }
    return reply
  }

  private func set(_ change: QueueChange) throws(ClusterError) {
    _ = try blocked { done in setting(change, done) } as ClientReply
  }

  /// A property has no way to throw: what goes wrong is told where the cluster's errors go.
  private func report(_ body: () throws(ClusterError) -> Void) {
    do throws(ClusterError) { try body() } catch { cluster.report(error, of: "queue '\(name)'") }
  }

  // MARK: - Contents

  /// What this program added and has not finished, in order of addition; barriers are not among
  /// them (S19, S81).
  public var operations: [ClusterOperation] { state.withLock { $0.operations } }

  /// How many operations of whatever program are in the queue; barriers do not count.
  public var operationCount: Int { state.withLock { Int($0.count) } }

  /// How far the operations are that this program added (S143).
  public var progress: QueueProgress { QueueProgress(queue: self) }
}
