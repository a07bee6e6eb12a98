// When news of a cluster ends for good, or of a graph that others submitted: nobody waits for ever
// (S141). Called by the connection's thread; asked by who waits.

import OpClusterClient
import OpClusterModel
import Synchronization

extension OperationBook {
  /// Nothing more will be told of a graph, or (nil) of anything: whoever waits goes on, and finds
  /// out why by `loss`.
  func lose(_ graph: GraphID?, _ cause: ClientError) {
    let error = ClusterError(
      .connectionLost, "what happens there is not told any more: \(cause.message)",
      hint: cause.hint)
    let (waiting, handler) = state.withLock { $0.lose(graph, error) }
    // Before anybody goes on because of it.
    handler?(error)
    for operation in waiting.operations {
      for waiter in operation.life.withLock({ $0.waiters.takeAll() }) { waiter(()) }
    }
    for queue in waiting.queues {
      for idler in queue.state.withLock({ $0.idlers.takeAll() }) { idler(()) }
    }
  }

  /// Why nothing is told of an operation (nil: of queues) any more; nil: it is.
  func loss(of operation: OperationID?) -> ClusterError? {
    state.withLock { state in state.loss ?? operation.flatMap { state.lostGraphs[$0.graph] } }
  }

  /// Takes what `lose` is told, and what it was told before.
  func reportLosses(_ handler: @escaping @Sendable (ClusterError) -> Void) {
    let earlier = state.withLock { state in
      state.lossHandler = handler
      return state.loss
    }
    if let earlier { handler(earlier) }
  }
}

extension OperationBook.State {
  /// Who may wait for what is lost, and who is to be told.
  fileprivate mutating func lose(
    _ graph: GraphID?, _ error: ClusterError
  ) -> (
    (operations: [ClusterOperation], queues: [QueueRecord]),
    (@Sendable (ClusterError) -> Void)?
  ) {
    // With everything lost, single graphs are nothing to speak of.
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
  /// Why its end will not be told; nil: it will be.
  var loss: ClusterError? {
    let (cluster, id) = life.withLock { ($0.cluster, $0.id) }
    return cluster?.book.loss(of: id)
  }
}
