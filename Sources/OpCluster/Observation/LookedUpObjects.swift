// The book's part for operations of other submissions: one object for each number, and the handlers
// that wait until it is loaded. Any thread.

import OpClusterModel
import Synchronization

typealias LookUpHandler = @Sendable (Result<ClusterOperation, ClusterError>) -> Void

/// What is to be done for the object of a number.
enum LookUpStep {
  /// It is there.
  case known(ClusterOperation)
  /// Another call loads it; the handler is called when that has ended.
  case beingLoaded
  /// It is new: the caller loads it.
  case toLoad(ClusterOperation)
}

extension OperationBook {
  /// The object of an operation, by its number. `handler` is kept unless the object is known.
  func adopt(_ id: OperationID, _ handler: @escaping LookUpHandler) -> LookUpStep {
    state.withLock { state in
      if state.loading[id] != nil {
        state.loading[id]?.append(handler)
        return .beingLoaded
      }
      if let known = state.graphs[id.graph]?[id.index] { return .known(known) }
      // Here before it is loaded, so that events meanwhile reach it.
      let operation = ClusterOperation(.nothing)
      state.graphs[id.graph, default: GraphObjects()].setLookedUp(operation, at: id.index)
      state.loading[id] = [handler]
      return .toLoad(operation)
    }
  }

  /// Notes that a question has been answered; returns the handlers that wait for it. Only an object
  /// with something ahead of it is kept.
  func loaded(
    _ id: OperationID, _ result: Result<ClusterOperation, ClusterError>
  ) -> [LookUpHandler] {
    let isKept = if case .success(let operation) = result { !operation.isFinished } else { false }
    return state.withLock { state in
      if !isKept {
        state.graphs[id.graph]?.setLookedUp(nil, at: id.index)
        if state.graphs[id.graph]?.isEmpty == true { state.graphs[id.graph] = nil }
      }
      return state.loading.removeValue(forKey: id) ?? []
    }
  }
}
