// Which cluster object a local cluster has, for operations that ask for their own. Any thread.

import OpClusterLocal
import Synchronization

/// The cluster objects of local clusters.
final class LocalHomes: Sendable {
  static let shared = LocalHomes()
  private struct WeakCluster { weak var cluster: OperationCluster? }
  private let clusters = Mutex<[ObjectIdentifier: WeakCluster]>([:])

  func register(_ cluster: OperationCluster, for local: LocalCluster) {
    clusters.withLock { clusters in
      clusters = clusters.filter { $0.value.cluster != nil }
      clusters[ObjectIdentifier(local)] = WeakCluster(cluster: cluster)
    }
  }

  func cluster(of local: LocalCluster) -> OperationCluster? {
    clusters.withLock { $0[ObjectIdentifier(local)]?.cluster }
  }
}
