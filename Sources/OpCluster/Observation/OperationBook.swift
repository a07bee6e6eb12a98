// Maps the operations and queues of the cluster to their objects. What is done with the map is in
// EventDelivery.swift, QueueBook.swift, LookedUpOperations.swift and LostEvents.swift. Any thread.

import Dispatch
import OpClusterModel
import Synchronization

typealias LookUpHandler = @Sendable (Result<ClusterOperation, ClusterError>) -> Void

final class OperationBook: Sendable {
  struct State {
    /// The objects of each graph. A graph is removed when it has ended.
    var graphs: [GraphID: GraphObjects] = [:]
    /// The handlers that wait for an object of another submission to be loaded.
    var loading: [OperationID: [LookUpHandler]] = [:]
    /// Submissions without an answer: events of unknown graphs may belong to them.
    var submissionsUnderway = 0
    var unclaimed: [GraphID: [EventRun]] = [:]
    /// Usually one record per queue; after a renaming there may be two, which both get its events.
    var queues: [QueueID: [WeakQueue]] = [:]
    /// The shared record of all handles with the same name.
    var records: [String: WeakQueue] = [:]
    var observers: DispatchQueue?
    /// Why no events are delivered any more: of the whole cluster, or of single graphs.
    var loss: ClusterError?
    var lostGraphs: [GraphID: ClusterError] = [:]
    var lossHandler: (@Sendable (ClusterError) -> Void)?
  }
  struct WeakQueue { weak var queue: QueueRecord? }
  let state = Mutex(State())

  func attach(_ observers: DispatchQueue) { state.withLock { $0.observers = observers } }
}
