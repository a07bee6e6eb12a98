// Steering of added operations: cancelling, holding, priorities (S44, S52, S87 to S103). Any
// thread.

public import OpClusterModel
public import OpClusterOperations
import Synchronization

extension ClusterOperation {
  /// Asks the operation to stop. If it has not started, it never will; if it executes, it continues
  /// until it checks its flag, or, with `cancelGrace`, is killed (S87 to S92).
  ///
  /// The return value tells which of the two applies.
  @discardableResult
  public func cancel(reason: String = "") async throws(ClusterError) -> CancelVerdict.Verdict {
    try await awaited { done in cancelling(reason, done) }
  }

  func cancelling(
    _ reason: String,
    _ done: @escaping @Sendable (Result<CancelVerdict.Verdict, ClusterError>) -> Void
  ) {
    enum Step {
      case told(CancelVerdict.Verdict)
      case ask(OperationCluster, OperationID)
    }
    let step = life.withLock { life -> Step? in
      if life.isFinished { return .told(.alreadyFinished) }
      switch (life.stage, life.cluster) {
      case (.enqueued(let id), let cluster?): return .ask(cluster, id)
      // In this process a declared operation is a plain object: it does not finish before it is
      // started or added (S93).
      case (.declared(let id), let cluster?) where !cluster.isLocal: return .ask(cluster, id)
      case (.leaving, _): return nil
      case (.fresh, _), (.declared, _), (.enqueued, nil):
        if life.isCancelled { return .told(.alreadyCancelled) }
        life.isCancelled = true
        life.cancelReason = .request(reason)
        return .told(.cancelled)
      }
    }
    switch step {
    case .told(let verdict): done(.success(verdict))
    case .ask(let cluster, let id):
      cluster.cancelling(.operations([id]), reason, grace: nil) { result in
        done(result.map { $0.first?.verdict ?? .alreadyFinished })
      }
    case nil: done(.failure(.onItsWay("\(self)")))
    }
  }

  /// Order inside the queue. A change while it is queued moves it to the tail of its new level;
  /// after the start a change has no effect (S52, S62). If the operation is in a queue, the calling
  /// thread waits for the answer.
  public var queuePriority: QueuePriority {
    get { settings.queuePriority }
    set {
      guard let (cluster, id) = place else {
        settings.queuePriority = newValue
        return
      }
      do throws(ClusterError) {
        _ = try cluster.ask(.setPriority(.operations([id]), newValue))
      } catch {
        cluster.report(error, of: "operation '\(self)'")
      }
    }
  }

  /// The asynchronous form of the property. Returns false if it came too late.
  @discardableResult
  public func setQueuePriority(_ priority: QueuePriority) async throws(ClusterError) -> Bool {
    guard let (cluster, id) = place else {
      settings.queuePriority = priority
      return true
    }
    return try await cluster.request(.setPriority(.operations([id]), priority)).effect
  }

  /// Moves the operation to the end of another queue of the same cluster, where it counts as new:
  /// behind the barriers there (S51, S77).
  ///
  /// - Returns: false if it has started; then nothing was changed.
  @discardableResult
  public func move(to queue: ClusterOperationQueue) async throws(ClusterError) -> Bool {
    guard let (cluster, id) = place, case .enqueued = life.withLock({ $0.stage }) else {
      throw ClusterError(
        .notReady, "'\(self)' is in no queue", hint: "add it to a queue with addOperation")
    }
    guard queue.cluster === cluster else {
      throw ClusterError(.unknownQueue, "the queue '\(queue.name)' is of another cluster")
    }
    try await awaited { done in queue.record.make(done) } as Void
    let request = ClientRequest.setQueue(.operations([id]), queue: queue.name)
    return try await cluster.request(request) { reply in
      if reply.effect { queue.record.takeOver(self) }
    }.effect
  }

  /// Holds the operation back until `release()`; others overtake it (S44). False if it has started.
  @discardableResult
  public func hold() async throws(ClusterError) -> Bool { try await setHeld(true) }

  @discardableResult
  public func release() async throws(ClusterError) -> Bool { try await setHeld(false) }

  private func setHeld(_ isHeld: Bool) async throws(ClusterError) -> Bool {
    guard let (cluster, id) = place else {
      settings.isHeld = isHeld
      return true
    }
    return try await cluster.request(.hold(.operations([id]), isHeld)).effect
  }

  /// Sets a function of a registered type that a worker runs after the end, at most once; its
  /// failure has no effect (S109). Call it before the operation is added.
  public func setCompletion<Body: RegisteredOperation>(_ body: Body) throws(ClusterError) {
    let invocation = OperationWork.Invocation(body)
    _ = try invocation.argument.get()
    try life.withLock { (life) throws(ClusterError) in
      guard case .fresh = life.stage else {
        throw ClusterError(.alreadyEnqueued, "'\(life.shownName)' is in a queue already")
      }
      life.completionFunction = invocation
    }
  }

  /// The cluster that knows it, and its number there.
  var place: (OperationCluster, OperationID)? {
    life.withLock { life in
      guard let id = life.id, let cluster = life.cluster else { return nil }
      return (cluster, id)
    }
  }
}

extension OperationCluster {
  /// Cancels a set of operations in one commit (S96, S97); ignores operations that are not added.
  ///
  /// - Returns: For each: cancelled, already finished, already cancelled, or executing.
  @discardableResult
  public func cancel(
    _ operations: [ClusterOperation], reason: String = "", grace: Duration? = nil
  ) async throws(ClusterError) -> [CancelVerdict] {
    try await cancel(.operations(operations.compactMap(\.id)), reason: reason, grace: grace)
  }

  /// Cancels by graph, name pattern, labels, queue or priority, or all dependents of an operation.
  @discardableResult
  public func cancel(
    _ target: OperationTarget, reason: String = "", grace: Duration? = nil
  ) async throws(ClusterError) -> [CancelVerdict] {
    try await awaited { done in cancelling(target, reason, grace: grace, done) }
  }

  /// Cancels every unfinished operation with all of these labels.
  @discardableResult
  public func cancelOperations(
    labelled labels: [String: String], priority: ClusterOperation.QueuePriority? = nil,
    reason: String = ""
  ) async throws(ClusterError) -> [CancelVerdict] {
    let words = labels.sorted { $0.key < $1.key }.map { Label(key: $0.key, value: $0.value) }
    let selection = Selection(graphs: .all, labels: words, priority: priority)
    return try await cancel(.selection(selection), reason: reason)
  }

  func cancelling(
    _ target: OperationTarget, _ reason: String, grace: Duration?,
    _ done: @escaping @Sendable (Result<[CancelVerdict], ClusterError>) -> Void
  ) {
    if case .operations(let ids) = target, ids.isEmpty { return done(.success([])) }
    backend.send(.cancel(target, reason: reason, grace: grace.map(Span.init))) { result in
      // An empty selection among all living graphs is not an error.
      if case .selection(let selection) = target, selection.graphs == .all,
        case .failure(let error) = result.refused, error.code == .unknownGraph
      {
        return done(.success([]))
      }
      done(
        result.refused.flatMap { reply in
          guard case .cancelled(let verdicts, _) = reply else {
            return .failure(.unexpected(reply))
          }
          return .success(verdicts)
        })
    }
  }
}
