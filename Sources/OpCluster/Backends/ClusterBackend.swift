// The interface of this library's objects to a cluster: requests out, events in. Three backends
// share it, so that the code above is written once. It knows neither them nor the objects.

import FoundationEssentials
import OpClusterLocal
import OpClusterModel

typealias DoneHandler = @Sendable (Result<Void, ClusterError>) -> Void
typealias ReplyHandler = @Sendable (Result<ClientReply, ClusterError>) -> Void

/// A cluster behind the objects. Any thread may call it.
protocol ClusterBackend: Sendable {
  /// Sends a request; requests of one thread take effect in order. The handler is called once, on
  /// any thread, possibly within the call; the events that the request caused were delivered before
  /// (S3).
  func send(_ request: ClientRequest, _ handler: @escaping ReplyHandler)
  /// The cluster inside this process; nil if operations run elsewhere.
  var local: LocalCluster? { get }
  /// Follows a graph that others submitted: its events are delivered to the common handler from the
  /// call of `opened` on.
  func follow(_ graph: GraphID, opened: @escaping @Sendable () -> Void)
  /// Takes one call of `follow` back; the end of the graph takes back all.
  func unfollow(_ graph: GraphID)
  /// The bytes of a value that lies in a store.
  func data(of content: StoredContent) async throws(ClusterError) -> Data
  /// Where the bytes that `data` gave are; nil: in no file.
  func path(of content: StoredContent) -> String?
  func close() async
}

extension Result where Success == ClientReply, Failure == ClusterError {
  /// Converts a refusal to an error.
  var refused: Self {
    if case .success(.refused(let refusal)) = self { return .failure(ClusterError(refusal)) }
    return self
  }
}
