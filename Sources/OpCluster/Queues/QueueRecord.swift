// What all handles of one queue in this program share: its mirror, who waits for it, what this
// program added. Handles of one name on one cluster find the same record, so that they are the same
// queue from their first moment (S3). Any thread.

import Dispatch
import OpClusterModel
import Synchronization

final class QueueRecord: Sendable {
  let cluster: OperationCluster
  let state: Mutex<QueueLife>

  init(_ life: QueueLife, on cluster: OperationCluster) {
    self.cluster = cluster
    state = Mutex(life)
  }

  /// The record goes with its last handle and its last operation. An unnamed queue goes with it, if
  /// it is empty in the cluster, too (S5).
  deinit {
    let (name, id, isOurs) = state.withLock { life in
      (life.settings.name, life.id, life.isAnonymous && life.isMade)
    }
    let cluster = cluster
    // Later, and elsewhere: whoever let go of it last may hold a lock.
    cluster.observers.async {
      cluster.book.forget(named: name, id)
      if isOurs { cluster.backend.send(.removeQueue(name)) { _ in } }
    }
  }

  var name: String { state.withLock { $0.settings.name } }

  /// A handle of it; the one that was made first, as long as somebody has it.
  var handle: ClusterOperationQueue {
    let known = state.withLock { $0.handle }
    return known ?? ClusterOperationQueue(self)
  }

  func isHeld(by handle: ClusterOperationQueue) {
    // What was there is let go of outside of the lock.
    _ = state.withLock { life -> ClusterOperationQueue? in
      let known = life.handle
      if known == nil { life.handle = handle }
      return known
    }
  }

  /// What the program gave is no setting of a queue.
  func objects(_ objection: ClusterError) { state.withLock { $0.objection = objection } }

  /// It was removed from the cluster.
  func isGone() {
    state.withLock { life in
      life.isMade = false
      life.id = nil
    }
  }

  // MARK: - Finding the queue

  /// Finds out whether the cluster has a queue of this name, once: from then on events tell. What
  /// the program gave before that was known applies to one that is there. An answer that does not
  /// come is no error: the next one who wants to know asks again.
  func look(_ done: @escaping @Sendable () -> Void) {
    enum Step { case known, wait, ask, apply }
    let step = state.withLock { life -> Step in
      if life.isKnown { return .known }
      if life.lookers != nil {
        life.lookers?.append(done)
        return .wait
      }
      life.lookers = [done]
      return life.id == nil ? .ask : .apply
    }
    switch step {
    case .known: done()
    case .wait: break
    case .apply: applyGiven { self.hasLooked($0) }
    case .ask:
      let name = self.name
      cluster.backend.send(.queues(named: name)) { result in
        guard case .success(.queues(let rows, _)) = result.refused else {
          return self.hasLooked(.success(()))
        }
        self.state.withLock { $0.hasLooked = true }
        if let row = rows.first(where: { $0.settings.name == name }) { self.learn(row) }
        self.applyGiven { self.hasLooked($0) }
      }
    }
  }

  private func hasLooked(_ result: Result<Void, ClusterError>) {
    if case .failure(let error) = result { cluster.report(error, of: "queue '\(name)'") }
    let lookers = state.withLock { life in
      defer { life.lookers = nil }
      return life.lookers ?? []
    }
    for looker in lookers { looker() }
  }

  /// What is known of it after a look; the calling thread waits for the first one.
  func looked<Value: Sendable>(_ read: (QueueLife) -> Value) -> Value {
    if !state.withLock({ $0.isKnown }) {
      _ = try? blocked { done in look { done(.success(())) } } as Void
    }
    return state.withLock { read($0) }
  }

  /// What a further handle wants of it, in the order of calls. The error of one that is refused
  /// goes where the cluster's errors go.
  func give(_ change: QueueChange) {
    state.withLock { life in
      if life.id == nil { life.settings.apply(change) }
      life.give(change)
    }
    look {}
  }

  /// The cluster has it, under this number, and so it stands there.
  private func learn(_ row: QueueRow) {
    cluster.book.register(self, as: row.queue)
    state.withLock { life in
      life.isMade = true
      life.id = row.queue
      life.hasLooked = true
      life.settings = row.settings
      if let given = life.given { life.settings.apply(given) }
      life.count = row.operationCount
    }
  }

  /// Somebody has made a queue of this name.
  func take(created settings: QueueSettings, as id: QueueID) {
    state.withLock { life in
      guard life.id == nil else { return }
      life.isMade = true
      life.id = id
      life.hasLooked = true
      life.settings = settings
      life.count = 0
    }
  }

  /// What the program said of a queue that turned out to exist applies to it. What is refused is
  /// not tried again.
  private func applyGiven(_ done: @escaping DoneHandler) {
    let change = state.withLock { life -> QueueChange? in
      guard life.id != nil else { return nil }
      defer { life.given = nil }
      return life.given
    }
    guard let change else { return done(.success(())) }
    cluster.backend.send(.changeQueue(name, change)) { result in
      switch result.refused {
      case .success:
        self.state.withLock { $0.settings.apply(change) }
        self.applyGiven(done)
      case .failure(let error):
        self.state.withLock { $0.hasLooked = false }
        done(.failure(error))
      }
    }
  }

  /// Makes the queue in the cluster, once; a queue of the name that is there is taken as it is,
  /// but for the settings that this program gave.
  func make(_ done: @escaping DoneHandler) {
    enum Step {
      case go, wait
      case refuse(ClusterError)
      case create(QueueSettings)
    }
    let step = state.withLock { life -> Step in
      if let objection = life.objection { return .refuse(objection) }
      if life.isMade, life.id != nil, life.given == nil { return .go }
      if life.awaiting != nil {
        life.awaiting?.append(done)
        return .wait
      }
      life.awaiting = [done]
      return .create(life.settings)
    }
    switch step {
    case .go: done(.success(()))
    case .wait: break
    case .refuse(let error): done(.failure(error))
    case .create(let settings):
      if settings.name == "default" { return find() }
      cluster.backend.send(.createQueue(settings)) { result in
        switch result.refused {
        case .success:
          self.state.withLock { $0.given = nil }
          self.find()
        case .failure(let error) where error.code == .queueExists: self.find()
        case .failure(let error): self.made(.failure(error))
        }
      }
    }
  }

  /// Finds out the queue's number and its present state.
  private func find() {
    let name = self.name
    cluster.backend.send(.queues(named: name)) { result in
      switch result.refused {
      case .success(.queues(let rows, _)):
        guard let row = rows.first(where: { $0.settings.name == name }) else {
          let missing = ClusterError(.unknownQueue, "there is no queue '\(name)' any more")
          return self.made(.failure(missing))
        }
        self.learn(row)
        self.applyGiven { self.made($0) }
      case .success(let reply): self.made(.failure(.unexpected(reply)))
      case .failure(let error): self.made(.failure(error))
      }
    }
  }

  private func made(_ result: Result<Void, ClusterError>) {
    let awaiting = state.withLock { life -> [DoneHandler] in
      defer { life.awaiting = nil }
      return life.awaiting ?? []
    }
    for handler in awaiting { handler(result) }
  }
}
