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
/// Two objects of one name on one cluster are the same queue, in one program or in several, from
/// their first moment; they are equal (`==`), and all read and change the same. Properties that are
/// set on a queue that is in use ask the cluster and wait for its answer, a round trip, as does the
/// first look at a queue that another program may have made; tasks better use the methods beside
/// them.
public final class ClusterOperationQueue: Sendable {
  /// The value of `maxConcurrentOperationCount` that lets the workers decide (S64).
  public static let defaultMaxConcurrentOperationCount = -1

  let record: QueueRecord

  /// The cluster whose queue it is.
  public var cluster: OperationCluster { record.cluster }

  /// A handle; the queue is made in the cluster with the first request, unless it is there. A
  /// limit that is none, such as −5, is told where the cluster's errors go, and every request of
  /// the queue throws `badLimit`.
  ///
  /// - Parameters:
  ///   - name: Unique in the cluster, at most 255 bytes; nil: a name of its own.
  ///   - maxConcurrentOperationCount: This and what follows applies to a queue that is there
  ///     already, too, if it is given; else that one keeps what it has.
  ///   - pool: Labels that a worker must have to be given operations of the queue, as `pool` says.
  public init(
    name: String? = nil, on cluster: OperationCluster = .inProcess,
    maxConcurrentOperationCount: Int? = nil, qualityOfService: QualityOfService? = nil,
    isSuspended: Bool? = nil, pool: [LabelRequirement]? = nil
  ) {
    var given = QueueChange(qos: qualityOfService, isSuspended: isSuspended, pool: pool)
    var objection: ClusterError?
    if let count = maxConcurrentOperationCount {
      do throws(ClusterError) {
        given.limit = try QueueLife.change(limit: count).limit
      } catch {
        objection = error
      }
    }
    let own = "queue-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
    var life = QueueLife(
      settings: QueueSettings(name: name ?? own), isAnonymous: name == nil)
    life.settings.apply(given)
    life.objection = objection
    let hasGiven = given != QueueChange()
    if hasGiven { life.given = given }
    let (record, isNew) = cluster.book.record(named: name ?? own) { QueueRecord(life, on: cluster) }
    self.record = record
    record.isHeld(by: self)
    if let objection {
      record.objects(objection)
      cluster.report(objection, of: "queue '\(name ?? own)'")
    } else if !isNew, hasGiven {
      record.give(given)
    }
  }

  /// Another handle of a queue that has a record.
  init(_ record: QueueRecord) {
    self.record = record
    record.isHeld(by: self)
  }

  /// The queue that takes what names no other; every cluster has it.
  public static func `default`(of cluster: OperationCluster) -> ClusterOperationQueue {
    ClusterOperationQueue(name: "default", on: cluster)
  }

  // MARK: - Settings

  /// A display name that is free to change, unique among the queues of the cluster (S2).
  public var name: String {
    get { record.name }
    set { report { () throws(ClusterError) in try set(QueueChange(newName: newValue)) } }
  }

  /// How many run at once, over all workers; −1: as many as the workers take; 0: none (S63 to
  /// S66).
  public var maxConcurrentOperationCount: Int {
    get { record.looked { $0.settings.maximumConcurrent.map(Int.init) ?? -1 } }
    set { report { () throws(ClusterError) in try set(QueueLife.change(limit: newValue)) } }
  }

  /// A suspended queue starts nothing; what executes goes on (S71, S72).
  public var isSuspended: Bool {
    get { record.looked { $0.settings.isSuspended } }
    set { report { () throws(ClusterError) in try set(QueueChange(isSuspended: newValue)) } }
  }

  /// Decides between queues, and the scheduling class of jobs that say nothing themselves (S55).
  public var qualityOfService: QualityOfService {
    get { record.looked { $0.settings.qos } }
    set { report { () throws(ClusterError) in try set(QueueChange(qos: newValue)) } }
  }

  /// Labels that a worker must have, all of them, to be given operations of the queue, beside what
  /// these ask for themselves; none: any worker. The counterpart of `underlyingQueue`. It changes
  /// only while the queue is empty (S145, S146).
  public var pool: [LabelRequirement] {
    get { record.looked { $0.settings.pool } }
    set { report { () throws(ClusterError) in try set(QueueChange(pool: newValue)) } }
  }

  /// As the property, for tasks.
  ///
  /// - Throws: `queueNotEmpty`; `badRequest` for the main queue, whose operations run on the main
  ///   thread of this program; nothing is changed then (S145).
  public func setPool(_ pool: [LabelRequirement]) async throws(ClusterError) {
    _ = try await change(QueueChange(pool: pool))
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
    let reply = try await awaited { done in record.setting(change, done) }
    return reply
  }

  private func set(_ change: QueueChange) throws(ClusterError) {
    _ = try blocked { done in record.setting(change, done) } as ClientReply
  }

  /// A property has no way to throw: what goes wrong is told where the cluster's errors go.
  private func report(_ body: () throws(ClusterError) -> Void) {
    do throws(ClusterError) { try body() } catch { cluster.report(error, of: "queue '\(name)'") }
  }

  // MARK: - Contents

  /// What this program added and has not finished, in order of addition; barriers are not among
  /// them (S19, S81).
  public var operations: [ClusterOperation] { record.state.withLock { $0.operations } }

  /// How many operations of whatever program are in the queue; barriers do not count.
  public var operationCount: Int { record.looked { Int($0.count) } }

  /// How far the operations are that this program added (S143).
  public var progress: QueueProgress { QueueProgress(queue: self) }
}

extension ClusterOperationQueue: Hashable {
  /// The same queue of the same cluster.
  public static func == (a: ClusterOperationQueue, b: ClusterOperationQueue) -> Bool {
    a.record === b.record
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(record)) }
}
