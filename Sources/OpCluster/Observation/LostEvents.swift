// Ends all waits when events of a cluster, or of a graph that others submitted, can no longer be
// delivered: nobody waits forever (S141). Called by the connection's thread; queried by waiting
// calls.

import OpClusterClient
import OpClusterModel
import Synchronization

extension OperationBook {
  /// Notes that no further event of a graph, or (nil) of the whole cluster, will be delivered:
  /// waiting calls continue, and find the reason in `loss`.
  func lose(_ graph: GraphID?, _ cause: ClientError) {
    let error = ClusterError(
      .connectionLost, "what happens there is not told any more: \(cause.message)",
      hint: cause.hint)
    let (waiting, handler) = state.withLock { $0.lose(graph, error) }
    // Before any waiting call continues.
    handler?(error)
    for operation in waiting.operations {
      for waiter in operation.life.withLock({ $0.waiters.takeAll() }) { waiter(()) }
    }
    for queue in waiting.queues {
      for idler in queue.state.withLock({ $0.idlers.takeAll() }) { idler(()) }
    }
  }

  /// The reason why no events of an operation (nil: of queues) are delivered; nil if they are.
  func loss(of operation: OperationID?) -> ClusterError? {
    state.withLock { state in state.loss ?? operation.flatMap { state.lostGraphs[$0.graph] } }
  }

  /// Sets the handler of losses, and calls it for an earlier loss.
  func reportLosses(_ handler: @escaping @Sendable (ClusterError) -> Void) {
    let earlier = state.withLock { state in
      state.lossHandler = handler
      return state.loss
    }
    if let earlier { handler(earlier) }
  }
}

extension OperationBook.State {
  /// The objects that may wait for lost events, and the handler to call.
  fileprivate mutating func lose(
    _ graph: GraphID?, _ error: ClusterError
  ) -> (
    (operations: [ClusterOperation], queues: [QueueRecord]),
    (@Sendable (ClusterError) -> Void)?
  ) {
    // After the loss of everything, single graphs are irrelevant.
    if loss != nil { return (([], []), nil) }
    if let graph {
      lostGraphs[graph] = error
      return (((graphs[graph] ?? []).compactMap { $0 }, []), lossHandler)
    }
    loss = error
    let operations = graphs.keys.sorted().flatMap { (graphs[$0] ?? []).compactMap { $0 } }
    let objects = queues.keys.sorted().flatMap { (queues[$0] ?? []).compactMap(\.queue) }
    return ((operations, objects), lossHandler)
  }
}

extension ClusterOperation {
  /// The reason why its end cannot be delivered; nil if it can.
  var loss: ClusterError? {
    let (cluster, id) = life.withLock { ($0.cluster, $0.id) }
    return cluster?.book.loss(of: id)
  }
}
