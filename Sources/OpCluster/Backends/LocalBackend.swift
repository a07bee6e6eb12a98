// The cluster in this process, as the objects see it.

import FoundationEssentials
import OpClusterLocal
import OpClusterModel

/// In this process: no daemon, no socket, no disk.
struct LocalBackend: ClusterBackend {
  let cluster: LocalCluster
  var local: LocalCluster? { cluster }

  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler) {
    cluster.send(request) { handler($0.mapError(ClusterError.init)) }
  }

  /// Nothing to do: all events of the process are delivered in any case.
  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void) { opened() }
  func unfollow(_ graph: GraphID) {}

  func data(of content: StoredContent) async throws(ClusterError) -> Data {
    if let value = cluster.value(of: content) { return value }
    throw ClusterError(
      .noOutput, "its value of \(content.size) bytes has been dropped: it is kept for a while only")
  }

  func path(of content: StoredContent) -> String? { cluster.path(of: content) }

  func close() async { await cluster.close() }
}
