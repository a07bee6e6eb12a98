// Ends all waits when events of a cluster, or of a graph that others submitted, can no longer be
// delivered: nobody waits forever (S141). Called by the connection's thread; queried by waiting
// calls.

import OpClusterClient
import OpClusterModel
import Synchronization

extension QueueRecord {
  /// Lets all continue who wait for it: nothing more is told of queues.
  fileprivate func lose(_ error: ClusterError) {
    let (idlers, handlers) = state.withLock { ($0.idlers.takeAll(), $0.lossHandlers.takeAll()) }
    for idler in idlers { idler(()) }
    for handler in handlers { handler(error) }
  }
}

extension OperationBook {
  /// Notes that no further event of a graph, or (nil) of the whole cluster, will be delivered:
  /// waiting calls continue, and find the reason in `loss`.
  func lose(_ graph: GraphID?, _ cause: ClientError) {
    let error = ClusterError(
      .connectionLost, "what happens there is not told any more: \(cause.message)",
      hint: cause.hint.forPrograms)
    let (waiting, handler) = state.withLock { $0.lose(graph, error) }
    // Before any waiting call continues.
    handler?(error)
    for operation in waiting.operations { operation.lose(error) }
    for queue in waiting.queues { queue.lose(error) }
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
      return ((graphs[graph]?.all ?? [], []), lossHandler)
    }
    loss = error
    let operations = graphs.keys.sorted().flatMap { graphs[$0]?.all ?? [] }
    // A queue that the cluster does not know yet has a name alone.
    var objects: [ObjectIdentifier: QueueRecord] = [:]
    for weak in queues.values.joined() { weak.queue.map { objects[ObjectIdentifier($0)] = $0 } }
    for weak in records.values { weak.queue.map { objects[ObjectIdentifier($0)] = $0 } }
    return ((operations, Array(objects.values)), lossHandler)
  }
}

extension ClusterOperation {
  /// Lets all continue who wait for it: nothing more is told of it.
  func lose(_ error: ClusterError) {
    let (waiters, handlers) = life.withLock { ($0.waiters.takeAll(), $0.lossHandlers.takeAll()) }
    for waiter in waiters { waiter(()) }
    for handler in handlers { handler(error) }
  }

  /// The reason why its end cannot be delivered; nil if it can.
  var loss: ClusterError? {
    let (cluster, id) = life.withLock { ($0.cluster, $0.id) }
    return cluster?.book.loss(of: id)
  }
}
