// The main queue: the counterpart of Foundation's, for operations that must run on the main thread
// of the program. Only for clusters in this process. Any thread.

import Dispatch
import OpClusterLocal
import OpClusterModel
import OpClusterOperations
import Synchronization

extension ClusterOperationQueue {
  /// The queue of this process whose operations run on the main thread, one at a time: closures and
  /// values of registered types. The program's `main` must not block that thread: an asynchronous
  /// `main` that awaits is suitable, and so is `dispatchMain()`.
  public static let main = mainQueue(of: .inProcess)

  /// The main queue of a cluster in this process.
  ///
  /// - Throws: `localOnly` for a cluster of workers, which have no main thread of this program.
  public static func main(
    of cluster: OperationCluster
  ) throws(ClusterError) -> ClusterOperationQueue {
    guard cluster.isLocal else {
      throw ClusterError(
        .localOnly, "a cluster of workers has no main queue: its operations run in other processes",
        hint: "use ClusterOperationQueue.main for what must run on this program's main thread")
    }
    return mainQueue(of: cluster)
  }

  private static func mainQueue(of cluster: OperationCluster) -> ClusterOperationQueue {
    ClusterOperationQueue(
      name: LocalCluster.mainQueueName, on: cluster, maxConcurrentOperationCount: 1)
  }
}

extension ClusterOperationQueue {
  /// The queue of the operation that contains this code; outside of operations, the main queue on
  /// the main thread, and nil elsewhere. Only for operations in this process: on a worker use
  /// `OperationContext.queue()`.
  public static var current: ClusterOperationQueue? {
    guard let context = OperationContext.current else { return isOnMainThread ? main : nil }
    guard case .local(let home) = context.home, let local = home as? LocalCluster,
      let cluster = LocalHomes.shared.cluster(of: local)
    else { return nil }
    return ClusterOperationQueue(name: context.queueName, on: cluster).record.handle
  }

  private static var isOnMainThread: Bool { DispatchQueue.getSpecific(key: mainKey) == true }

  /// A key of Dispatch's main queue, independent of the thread that serves it.
  private static let mainKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()
}

extension ClusterError {
  fileprivate static let mainQueueRunsHere =
    "operations of the main queue run on the main thread of this program"

  static let mainPool = ClusterError(
    .badRequest, "the main queue has no pool: \(mainQueueRunsHere)",
    hint: "give the pool to another queue")
}

extension [ClusterOperation] {
  /// The reason why one of these cannot run on the main thread; nil if all can, or run nothing.
  var objectionToMain: ClusterError? {
    for operation in self {
      switch operation.life.withLock({ $0.work }) {
      case .nothing, .call, .closure, .spent: continue
      case .blocks, .command:
        return ClusterError(
          .badRequest, "'\(operation)' cannot run on the main thread",
          hint:
            "a command has a process of its own, and blocks run side by side: add it to another "
            + "queue, or make it a closure")
      }
    }
    return nil
  }
}
