// The shared state of all handles of one queue in this program: its mirror, waiting handlers, and
// this program's operations. Handles of one name on one cluster share one record, so they are the
// same queue from the beginning (S3). Any thread.

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

  /// The record lives as long as its last handle or operation. An unnamed queue is removed with it
  /// if it is also empty in the cluster (S5).
  deinit {
    let (name, id, isOurs) = state.withLock { life in
      (life.settings.name, life.id, life.isAnonymous && life.isMade)
    }
    let cluster = cluster
    // Deferred to another queue: the thread with the last reference may hold a lock.
    cluster.observers.async {
      cluster.book.forget(named: name, id)
      if isOurs { cluster.backend.send(.removeQueue(name)) { _ in } }
    }
  }

  var name: String { state.withLock { $0.settings.name } }

  /// A handle of the record: the first one while it is alive, else a new one.
  var handle: ClusterOperationQueue {
    let known = state.withLock { $0.handle }
    return known ?? ClusterOperationQueue(self)
  }

  func remember(_ handle: ClusterOperationQueue) {
    // The previous handle is released outside of the lock.
    _ = state.withLock { life -> ClusterOperationQueue? in
      let known = life.handle
      if known == nil { life.handle = handle }
      return known
    }
  }

  /// Notes that the given settings are invalid.
  func objects(_ objection: ClusterError) { state.withLock { $0.objection = objection } }

  /// Notes that the queue of this number was removed from the cluster; another one of its name may
  /// have been made since.
  func isGone(_ id: QueueID?) {
    state.withLock { life in
      guard life.id == id else { return }
      life.isMade = false
      life.id = nil
    }
  }

  // MARK: - Finding the queue

  /// Asks once whether the cluster has a queue of this name; afterwards events keep the state
  /// current. Settings given earlier apply to an existing queue. A missing answer is not an error:
  /// the next access asks again.
  func look(_ done: @escaping @Sendable () -> Void) {
    enum Step { case known, wait, ask, apply }
    let step = state.withLock { life -> Step in
      if life.isKnown { return .known }
      if life.lookers != nil {
        life.lookers?.append(done)
        return .wait
      }
      life.lookers = [done]
      return life.id == nil || !life.hasLooked ? .ask : .apply
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
    let lookers = state.withLock { life -> [@Sendable () -> Void]? in
      // Settings of a handle that only waited meanwhile.
      if life.id != nil, life.given != nil { return nil }
      defer { life.lookers = nil }
      return life.lookers ?? []
    }
    guard let lookers else { return applyGiven { self.hasLooked($0) } }
    for looker in lookers { looker() }
  }

  /// Takes the settings of a further handle, in the order of calls. The error of a refused one is
  /// reported to the cluster's error handler.
  func give(_ change: QueueChange) {
    state.withLock { life in
      if life.id == nil { life.settings.apply(change) }
      life.give(change)
    }
    look {}
  }

  /// Takes the row of the existing queue.
  func learn(_ row: QueueRow) {
    cluster.book.register(self, as: row.queue)
    let idlers = state.withLock { life in
      life.isMade = true
      life.id = row.queue
      life.hasLooked = true
      life.settings = row.settings
      if let given = life.given { life.settings.apply(given) }
      life.count = row.operationCount
      return life.takeIdlers()
    }
    for idler in idlers { idler(()) }
  }

  /// Notes that any program has created a queue of this name.
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

  /// Applies the given settings to an existing queue. Behind others on their way, `done` waits for
  /// them, and hears nothing of their errors. Refused ones are not repeated.
  private func applyGiven(_ done: @escaping DoneHandler) {
    let isFirst = state.withLock { life in
      guard life.applying != nil else {
        life.applying = [done]
        return true
      }
      life.applyingNext.append(done)
      return false
    }
    if isFirst { applyNext() }
  }

  private func applyNext() {
    let change = state.withLock { life -> QueueChange? in
      guard life.id != nil else { return nil }
      defer { life.given = nil }
      return life.given
    }
    guard let change else { return hasApplied(.success(())) }
    cluster.backend.send(.changeQueue(name, change)) { result in
      if case .failure = result.refused { self.state.withLock { $0.hasLooked = false } }
      self.hasApplied(result.refused.map { _ in () })
    }
  }

  private func hasApplied(_ result: Result<Void, ClusterError>) {
    let (waiting, goesOn) = state.withLock { life -> ([DoneHandler], Bool) in
      let waiting = life.applying ?? []
      let goesOn = !life.applyingNext.isEmpty
      life.applying = goesOn ? life.applyingNext : nil
      life.applyingNext = []
      return (waiting, goesOn)
    }
    for handler in waiting { handler(result) }
    if goesOn { applyNext() }
  }

  /// Creates the queue in the cluster, once; keeps an existing queue, apart from the settings that
  /// this program gave.
  func make(_ done: @escaping DoneHandler) {
    enum Step {
      case go, wait, apply
      case refuse(ClusterError)
      case create(QueueSettings, given: QueueChange?)
    }
    let step = state.withLock { life -> Step in
      if let objection = life.objection { return .refuse(objection) }
      if life.awaiting != nil {
        life.awaiting?.append(done)
        return .wait
      }
      if life.isMade, life.id != nil {
        return life.given == nil && life.applying == nil ? .go : .apply
      }
      life.awaiting = [done]
      defer { life.given = nil }
      return .create(life.settings, given: life.given)
    }
    switch step {
    case .go: done(.success(()))
    case .apply: applyGiven(done)
    case .wait: break
    case .refuse(let error): done(.failure(error))
    case .create(let settings, let given):
      if settings.name == "default" {
        giveAgain(given)
        return find()
      }
      // What is given meanwhile is applied to the queue afterwards.
      cluster.backend.send(.createQueue(settings)) { result in
        switch result.refused {
        case .success: self.find()
        case .failure(let error):
          self.giveAgain(given)
          if error.code == .queueExists { self.find() } else { self.made(.failure(error)) }
        }
      }
    }
  }

  /// Keeps settings that the cluster has not taken, behind those given since.
  private func giveAgain(_ given: QueueChange?) {
    guard let given else { return }
    state.withLock { life in life.given = life.given.map { given.with($0) } ?? given }
  }

  /// Queries the queue's number and its present state.
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
