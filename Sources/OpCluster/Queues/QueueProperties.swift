// What a queue object shows of its queue, and changes: settings and the number of operations. A
// setter asks the cluster and waits for its answer. Any thread.

public import OpClusterModel
import Synchronization

extension ClusterOperationQueue {
  /// A display name that may be changed, unique among the queues of the cluster (S2).
  public var name: String {
    get { record.name }
    set { report { () throws(ClusterError) in try set(QueueChange(newName: newValue)) } }
  }

  /// The number of operations that run at once, over all workers; −1: as many as the workers take;
  /// 0: none (S63 to S66).
  public var maxConcurrentOperationCount: Int {
    get { record.looked { $0.settings.maximumConcurrent.map(Int.init) ?? -1 } }
    set { report { () throws(ClusterError) in try set(QueueLife.change(limit: newValue)) } }
  }

  /// Whether the queue starts no operations; executing ones continue (S71, S72).
  public var isSuspended: Bool {
    get { record.looked { $0.settings.isSuspended } }
    set { report { () throws(ClusterError) in try set(QueueChange(isSuspended: newValue)) } }
  }

  /// The order between queues, and the scheduling class of operations without their own (S55).
  public var qualityOfService: QualityOfService {
    get { record.looked { $0.settings.qos } }
    set { report { () throws(ClusterError) in try set(QueueChange(qos: newValue)) } }
  }

  /// Labels that a worker must have, all of them, for operations of the queue, in addition to the
  /// operations' own requirements; empty: any worker. The counterpart of `underlyingQueue`. It
  /// changes only while the queue is empty (S145, S146).
  public var pool: [LabelRequirement] {
    get { record.looked { $0.settings.pool } }
    set { report { () throws(ClusterError) in try set(QueueChange(pool: newValue)) } }
  }

  /// The asynchronous form of the property.
  ///
  /// - Throws: `queueNotEmpty`; `badRequest` for the main queue, whose operations run on the main
  ///   thread of this program; then nothing is changed (S145).
  public func setPool(_ pool: [LabelRequirement]) async throws(ClusterError) {
    _ = try await change(QueueChange(pool: pool))
  }

  /// - Throws: `badLimit` for a value below −1; then nothing is changed (S145).
  public func setMaxConcurrentOperationCount(_ count: Int) async throws(ClusterError) {
    _ = try await change(QueueLife.change(limit: count))
  }

  /// Suspends the queue: after the return none of its operations starts (S72).
  ///
  /// - Returns: The operations that were executing then.
  @discardableResult
  public func suspend() async throws(ClusterError) -> [OperationID] {
    guard case .suspended(let executing) = try await change(QueueChange(isSuspended: true)) else {
      return []
    }
    return executing
  }

  /// Resumes the queue; operations are selected anew (S74).
  public func resume() async throws(ClusterError) {
    _ = try await change(QueueChange(isSuspended: false))
  }

  /// The number of operations of all programs in the queue, without barriers.
  public var operationCount: Int { record.looked { Int($0.count) } }

  private func change(_ change: QueueChange) async throws(ClusterError) -> ClientReply {
    let reply = try await awaited { done in record.setting(change, done) }
    return reply
  }

  private func set(_ change: QueueChange) throws(ClusterError) {
    _ = try blocked { done in record.setting(change, done) } as ClientReply
  }

  /// A property cannot throw: errors are reported to the error handler of the cluster.
  private func report(_ body: () throws(ClusterError) -> Void) {
    do throws(ClusterError) { try body() } catch { cluster.report(error, of: "queue '\(name)'") }
  }
}

extension QueueRecord {
  /// Reads the state after a look; the calling thread waits for the first one.
  fileprivate func looked<Value: Sendable>(_ read: (QueueLife) -> Value) -> Value {
    if !state.withLock({ $0.isKnown }) {
      _ = try? blocked { done in look { done(.success(())) } } as Void
    }
    return state.withLock { read($0) }
  }
}
