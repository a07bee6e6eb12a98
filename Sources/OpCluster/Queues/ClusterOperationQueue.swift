// The queue object of a program: a handle with a mirror, like the operation. The queue itself lives
// in the cluster, under its name, and contains operations of any program. Any thread.

public import OpClusterModel
import Synchronization

/// Regulates the execution of operations: the counterpart of Foundation's `OperationQueue`.
///
///     let queue = ClusterOperationQueue(name: "downloads", on: cluster)
///     queue.maxConcurrentOperationCount = 4
///     try await queue.addOperation(ClusterOperation(Fetch(url: address)))
///     try await queue.waitUntilAllOperationsAreFinished()
///
/// Two objects with one name on one cluster are the same queue from the beginning, in one program
/// or in several; they are equal (`==`), and read and change the same state. Setting a property of
/// a queue in use asks the cluster and waits for its answer, a round trip; so does the first access
/// to a queue that another program may have created. Tasks should use the asynchronous methods
/// instead.
public final class ClusterOperationQueue: Sendable {
  /// The value of `maxConcurrentOperationCount` that lets the workers decide (S64).
  public static let defaultMaxConcurrentOperationCount = -1

  let record: QueueRecord

  /// The cluster that the queue belongs to.
  public var cluster: OperationCluster { record.cluster }

  /// Makes a handle; the first request creates the queue in the cluster unless it exists. An
  /// invalid limit, such as −5, is reported to the error handler of the cluster, and every request
  /// of the queue throws `badLimit`.
  ///
  /// - Parameters:
  ///   - name: Unique in the cluster, at most 255 bytes; nil: a generated name.
  ///   - maxConcurrentOperationCount: This and the following settings, if given, also apply to an
  ///     existing queue; otherwise it keeps its own.
  ///   - pool: Labels that a worker must have for operations of the queue; see `pool`.
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
    record.remember(self)
    if let objection {
      record.objects(objection)
      cluster.report(objection, of: "queue '\(name ?? own)'")
    } else if !isNew, hasGiven {
      record.give(given)
    }
  }

  /// Makes another handle of a queue that has a record.
  init(_ record: QueueRecord) {
    self.record = record
    record.remember(self)
  }

  /// The queue of operations that name no other; every cluster has it.
  public static func `default`(of cluster: OperationCluster) -> ClusterOperationQueue {
    ClusterOperationQueue(name: "default", on: cluster)
  }

  /// The unfinished operations that this program added, in order of addition, without barriers
  /// (S19, S81).
  public var operations: [ClusterOperation] { record.state.withLock { $0.operations } }

}

extension ClusterOperationQueue: Hashable {
  /// Whether both are the same queue of the same cluster.
  public static func == (a: ClusterOperationQueue, b: ClusterOperationQueue) -> Bool {
    a.record === b.record
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(record)) }
}
