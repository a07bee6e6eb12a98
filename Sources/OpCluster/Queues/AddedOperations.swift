// Adds operations to a cluster: claims all or none, declares unknown dependencies, and sends one
// submission (S58). Any thread; nothing here waits.

import OpClusterModel
import Synchronization

extension OperationCluster {
  /// Adds a batch to a queue. `done` is called when the cluster has stored it durably, or refused
  /// all of it.
  func add(
    _ operations: [ClusterOperation], to queue: QueueRecord, asBarrier: Bool,
    _ done: @escaping DoneHandler
  ) {
    do throws(ClusterError) {
      let (declared, haveDependencies) = try claim(operations, for: queue, asBarrier: asBarrier)
      let fail: @Sendable (ClusterError) -> Void = { error in
        self.release(operations)
        done(.failure(error))
      }
      if declared.isEmpty, !haveDependencies {
        return submit(operations, to: queue, asBarrier: asBarrier, done, fail)
      }
      let outside = haveDependencies ? dependencies(outside: operations) : []
      if !asBarrier, outside.lead(to: Set(operations)) {
        // Neither can be first: both are declared together, or refused together.
        let alongside = takeFresh(outside)
        return enqueueDeclared(operations, declared, alongside, to: queue, done) { error in
          self.release(alongside)
          fail(error)
        }
      }
      declareFresh(outside) { result in
        if case .failure(let error) = result { return fail(error) }
        if declared.isEmpty {
          self.submit(operations, to: queue, asBarrier: asBarrier, done, fail)
        } else {
          self.enqueueDeclared(operations, declared, [], to: queue, done, fail)
        }
      }
    } catch {
      done(.failure(error))
    }
  }

  /// Submits operations whose dependencies are all known.
  private func submit(
    _ operations: [ClusterOperation], to queue: QueueRecord, asBarrier: Bool,
    _ done: @escaping DoneHandler, _ fail: @escaping @Sendable (ClusterError) -> Void
  ) {
    submit(operations, to: queue.name) { result in
      if case .failure(let error) = result { return fail(error) }
      self.cancelIfAny(queue.took(operations, asBarrier: asBarrier, areSubmitted: true), done)
    }
  }

  /// Claims all operations of a batch for this call, or none. Returns the ones that the cluster
  /// knows as declared, and whether any has dependencies.
  private func claim(
    _ operations: [ClusterOperation], for queue: QueueRecord, asBarrier: Bool
  ) throws(ClusterError) -> (declared: [ClusterOperation], haveDependencies: Bool) {
    var declared: [ClusterOperation] = []
    var haveDependencies = false
    for at in operations.indices {
      let operation = operations[at]
      do throws(ClusterError) {
        let claimed = try operation.claim(by: self, for: queue, asBarrier: asBarrier)
        if claimed.isDeclared { declared.append(operation) }
        if claimed.hasDependencies { haveDependencies = true }
      } catch {
        release(Array(operations[..<at]))
        throw error
      }
    }
    return (declared, haveDependencies)
  }

  /// The dependencies of these operations outside of the batch.
  private func dependencies(outside operations: [ClusterOperation]) -> [ClusterOperation] {
    let members = Set(operations)
    return operations.flatMap { $0.dependencies.filter { !members.contains($0) } }
  }

  /// Reverts `claim`.
  private func release(_ operations: [ClusterOperation]) {
    for operation in operations { operation.giveBack() }
  }

  /// Sends one submission; when `done` is called, the objects represent its operations.
  private func submit(
    _ operations: [ClusterOperation], to queue: String?, isDeclaredOnly: Bool = false,
    _ done: @escaping DoneHandler
  ) {
    // Within a process no message is repeated, so it needs no key.
    var builder = GraphBuilder(
      key: isLocal ? SubmissionKey("") : newKey(), queue: queue, local: backend.local,
      isDeclaredOnly: isDeclaredOnly)
    do throws(ClusterError) {
      try builder.add(operations)
    } catch {
      return done(.failure(error))
    }
    let objects = builder.objects
    book.submissionBegins()
    send(builder.graph) { result in
      switch result {
      case .success(.accepted(let graph, _, _)):
        for (index, operation) in objects.enumerated() {
          let id = OperationID(graph: graph, index: UInt32(index))
          operation?.becomes(isDeclaredOnly ? .declared(id) : .enqueued(id))
        }
        self.book.submissionEnds(graph, objects)
        done(.success(()))
      case .success(let reply):
        self.book.submissionEnds(nil, [])
        done(.failure(.unexpected(reply)))
      case .failure(let error):
        self.book.submissionEnds(nil, [])
        done(.failure(error))
      }
    }
  }

  /// Sends a submission; if cycles are allowed, repeats one refused for a cycle, with a warning.
  private func send(_ graph: GraphSubmission, _ handler: @escaping ReplyHandler) {
    backend.send(.submit(graph)) { result in
      let result = result.refused
      guard case .failure(let error) = result, error.code == .cycle, !graph.allowsCycles,
        self.allowsCycles
      else { return handler(result) }
      var graph = graph
      graph.allowsCycles = true
      if !self.isLocal { graph.key = self.newKey() }
      self.backend.send(.submit(graph)) { result in
        if case .success = result.refused {
          self.warn(ofCycle: error, among: "operations that were added")
        }
        handler(result.refused)
      }
    }
  }

  /// Cancels operations that were cancelled while fresh: they were submitted held, and end without
  /// running (S93).
  private func cancelIfAny(_ cancelled: [ClusterOperation], _ done: @escaping DoneHandler) {
    guard !cancelled.isEmpty else { return done(.success(())) }
    let ids = cancelled.compactMap(\.id)
    backend.send(.cancel(.operations(ids), reason: "", grace: nil)) { result in
      done(result.refused.map { _ in () })
    }
  }

  // MARK: - Declared operations

  /// Declares fresh operations that others wait for, with their own dependencies (S28). Skips known
  /// ones.
  func declareFresh(_ operations: [ClusterOperation], _ done: @escaping DoneHandler) {
    guard !operations.isEmpty else { return done(.success(())) }
    let declaring = takeFresh(operations)
    let stranger = operations.first { $0.belongs(toOtherThan: self) }
    if let stranger {
      release(declaring)
      return done(
        .failure(
          ClusterError(
            .unknownDependency, "'\(stranger)' belongs to another cluster",
            hint: "dependencies hold within one cluster")))
    }
    guard !declaring.isEmpty else { return settle(operations, done) }
    submit(declaring, to: nil, isDeclaredOnly: true) { result in
      if case .failure = result { self.release(declaring) }
      if case .failure(let error) = result { return done(.failure(error)) }
      self.settle(operations, done)
    }
  }

  /// Claims the fresh operations among these and their dependencies, dependencies first.
  private func takeFresh(_ operations: [ClusterOperation]) -> [ClusterOperation] {
    var fresh: [ClusterOperation] = []
    var open = operations
    while let operation = open.popLast() {
      guard operation.claimForDeclaring(by: self) else { continue }
      fresh.append(operation)
      open += operation.dependencies
    }
    return fresh.reversed()
  }

  /// Waits until pending operations have their numbers, which arrive with other answers.
  private func settle(_ operations: [ClusterOperation], _ done: @escaping DoneHandler) {
    guard let moving = operations.first(where: \.isLeaving) else { return done(.success(())) }
    moving.whenSettled { self.settle(operations, done) }
  }

  /// Adds a batch with declared operations: declares its fresh ones and those alongside, then the
  /// batch enters the queue in one commit.
  private func enqueueDeclared(
    _ operations: [ClusterOperation], _ declared: [ClusterOperation],
    _ alongside: [ClusterOperation],
    to queue: QueueRecord, _ done: @escaping DoneHandler,
    _ fail: @escaping @Sendable (ClusterError) -> Void
  ) {
    let known = Set(declared)
    let fresh = alongside + operations.filter { !known.contains($0) }
    let enqueue: DoneHandler = { result in
      if case .failure(let error) = result { return fail(error) }
      self.enqueue(operations, queue) { result in
        if case .failure(let error) = result { return fail(error) }
        self.cancelIfAny(queue.took(operations, asBarrier: false, areSubmitted: false), done)
      }
    }
    if fresh.isEmpty { return enqueue(.success(())) }
    submit(fresh, to: nil, isDeclaredOnly: true, enqueue)
  }

  private func enqueue(
    _ operations: [ClusterOperation], _ queue: QueueRecord, _ done: @escaping DoneHandler
  ) {
    let ids = operations.compactMap(\.id)
    let cancelled = operations.filter { $0.isCancelled && !$0.isFinished }.compactMap(\.id)
    if !cancelled.isEmpty { backend.send(.hold(.operations(cancelled), true)) { _ in } }
    backend.send(.enqueue(ids, queue: queue.name)) { result in
      if case .success = result.refused {
        for (operation, id) in zip(operations, ids) { operation.becomes(.enqueued(id)) }
      }
      done(result.refused.map { _ in () })
    }
  }
}

extension [ClusterOperation] {
  /// Whether a fresh operation among these, or among their fresh dependencies, waits for one of the
  /// members. Visits each fresh operation and its dependencies once.
  fileprivate func lead(to members: Set<ClusterOperation>) -> Bool {
    var seen: Set<ClusterOperation> = []
    var open = self
    while let operation = open.popLast() {
      guard operation.id == nil, seen.insert(operation).inserted else { continue }
      for dependency in operation.dependencies {
        if members.contains(dependency) { return true }
        open.append(dependency)
      }
    }
    return false
  }
}

// MARK: - The objects' part

extension ClusterOperation {
  /// Claims the operation for one batch; returns whether the cluster knows it as declared, and
  /// whether it has dependencies.
  fileprivate func claim(
    by cluster: OperationCluster, for queue: QueueRecord, asBarrier: Bool
  ) throws(ClusterError) -> (isDeclared: Bool, hasDependencies: Bool) {
    try life.withLock { (life) throws(ClusterError) in
      if life.isFinished {
        throw ClusterError(
          .alreadyFinished, "'\(life.shownName)' has finished and cannot run again",
          hint: "add a clone() of it")
      }
      if let other = life.cluster, other !== cluster {
        throw ClusterError(.badRequest, "'\(life.shownName)' belongs to another cluster")
      }
      switch life.stage {
      case .enqueued, .leaving:
        throw ClusterError(
          .alreadyEnqueued, "'\(life.shownName)' is in a queue already",
          hint: "an operation goes through one queue, once; add a clone() of it")
      case .declared:
        guard life.queue == nil else {
          throw ClusterError(.alreadyEnqueued, "'\(life.shownName)' is being added already")
        }
        life.queue = queue
        return (true, !life.dependencies.isEmpty)
      case .fresh:
        life.stage = .leaving
        life.cluster = cluster
        life.queue = queue
        life.isBarrier = asBarrier
        return (false, !life.dependencies.isEmpty)
      }
    }
  }

  /// Claims a fresh operation for declaring; false if it is known, or on its way.
  fileprivate func claimForDeclaring(by cluster: OperationCluster) -> Bool {
    life.withLock { life in
      guard case .fresh = life.stage, !life.isFinished else { return false }
      life.stage = .leaving
      life.cluster = cluster
      return true
    }
  }

  fileprivate func giveBack() {
    let settled = life.withLock { life -> [@Sendable () -> Void] in
      life.queue = nil
      if case .leaving = life.stage {
        life.stage = .fresh
        life.cluster = nil
        life.isBarrier = false
      }
      return life.takeSettled()
    }
    for handler in settled { handler() }
  }

  fileprivate func becomes(_ stage: OperationLife.Stage) {
    // Before taking the lock: dependencies have locks of their own.
    let dependencies = self.dependencies
    let isUnblocked = dependencies.isEmpty || dependencies.allSatisfy(\.isFinished)
    let settled = life.withLock { life -> [@Sendable () -> Void] in
      if case .leaving = life.stage {
        life.isReady = life.isCancelled || (isUnblocked && !life.isHeld)
      }
      life.stage = stage
      return life.takeSettled()
    }
    for handler in settled { handler() }
  }

  fileprivate var isLeaving: Bool {
    life.withLock { if case .leaving = $0.stage { true } else { false } }
  }

  fileprivate func whenSettled(_ handler: @escaping @Sendable () -> Void) {
    let isSettled = life.withLock { life in
      guard case .leaving = life.stage else { return true }
      life.settling.append(handler)
      return false
    }
    if isSettled { handler() }
  }

  fileprivate func belongs(toOtherThan cluster: OperationCluster) -> Bool {
    life.withLock { life in life.cluster.map { $0 !== cluster } ?? false }
  }
}
