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
    let addition = Addition(
      operations: operations, queue: queue, isBarrier: asBarrier, done: done)
    let needs = addition.needs(on: self)
    if let stranger = needs.stranger { return done(.failure(.foreign(stranger))) }
    // What needs nothing but the cluster's answer waits for nobody.
    if needs.isAnything { return collectInLine(addition) }
    claimAndSend(addition, inLine: nil)
  }

  private func collectInLine(_ addition: Addition) {
    additions.enter { leave in self.collect(addition, leave) }
  }

  /// Waits until nothing that the addition needs is on its way; it holds nothing meanwhile, and its
  /// operations can still be changed.
  private func collect(_ addition: Addition, _ leave: @escaping AdditionLine.Leave) {
    let needs = addition.needs(on: self)
    let obstacle =
      needs.obstacle ?? needs.unknown.obstacle(on: self, besides: Set(addition.operations))
    switch obstacle {
    case .moving(let moving):
      moving.whenSettled { AdditionLine.goOn { self.collect(addition, leave) } }
    case .stranger(let stranger):
      leave()
      addition.done(.failure(.foreign(stranger)))
    case nil: claimAndSend(addition, inLine: leave)
    }
  }

  /// - Parameter leave: Ends the addition's turn in the line; nil: it is not in the line.
  private func claimAndSend(_ addition: Addition, inLine leave: AdditionLine.Leave?) {
    switch claim(addition) {
    case .refused(let error):
      leave?()
      addition.done(.failure(error))
    case .beingDeclared:
      // Another addition has claimed one of them since the first look.
      if let leave { collect(addition, leave) } else { collectInLine(addition) }
    case .claimed(let declared, haveDependencies: false) where declared.isEmpty:
      submit(addition)
      leave?()
    case .claimed(let declared, _):
      let unknown = addition.needs(on: self).unknown
      if let leave {
        return takeAlongside(addition, declared: declared, unknown, [], leave)
      }
      if unknown.isEmpty { return send(addition, declared: declared, []) }
      // A dependency was added since the first look.
      release(addition.operations)
      collectInLine(addition)
    }
  }

  /// Claims the fresh operations that the batch waits for, and sends all. Some may just have left
  /// with an addition that waits for nobody; if that is refused, they are fresh again.
  private func takeAlongside(
    _ addition: Addition, declared: [ClusterOperation], _ unknown: [ClusterOperation],
    _ taken: [ClusterOperation], _ leave: @escaping AdditionLine.Leave
  ) {
    let all = takeFresh(unknown) + taken
    switch unknown.obstacle(on: self, besides: Set(addition.operations + all)) {
    case .moving(let moving):
      moving.whenSettled {
        AdditionLine.goOn {
          self.takeAlongside(addition, declared: declared, unknown, all, leave)
        }
      }
    case .stranger(let stranger):
      release(all + addition.operations)
      leave()
      addition.done(.failure(.foreign(stranger)))
    case nil:
      // From here on only the cluster is waited for. It hears of this addition before the next.
      send(addition, declared: declared, all)
      leave()
    }
  }

  /// Sends what was claimed: first the dependencies, unless they wait for members of the batch;
  /// then neither can be first, and both are declared together, or refused together.
  private func send(
    _ addition: Addition, declared: [ClusterOperation], _ alongside: [ClusterOperation]
  ) {
    let fail: @Sendable (ClusterError) -> Void = { error in
      // What is declared by now may have been added by others.
      for operation in alongside { operation.giveBackIfLeaving() }
      self.release(addition.operations)
      addition.done(.failure(error))
    }
    let sendBatch = { @Sendable in
      if declared.isEmpty {
        self.submit(addition)
      } else {
        self.enqueueDeclared(addition, declared, [], fail)
      }
    }
    if alongside.isEmpty { return sendBatch() }
    let members = Set(addition.operations)
    if alongside.contains(where: { $0.dependencies.contains(where: members.contains) }) {
      return enqueueDeclared(addition, declared, alongside, fail)
    }
    submit(alongside, to: nil, isDeclaredOnly: true) { result in
      if case .failure(let error) = result { return fail(error) }
      sendBatch()
    }
  }

  /// Submits a batch whose dependencies are all known.
  private func submit(_ addition: Addition) {
    submit(addition.operations, to: addition.queue.name) { result in
      if case .failure(let error) = result {
        self.release(addition.operations)
        return addition.done(.failure(error))
      }
      self.cancelIfAny(addition.enter(areSubmitted: true), addition.done)
    }
  }

  /// Claims all operations of a batch, or none.
  private func claim(_ addition: Addition) -> Claim {
    let operations = addition.operations
    var declared: [ClusterOperation] = []
    var haveDependencies = false
    for at in operations.indices {
      let claim = operations[at].claim(
        by: self, for: addition.queue, asBarrier: addition.isBarrier)
      switch claim {
      case .claimed(let own, haveDependencies: let hasSome):
        declared += own
        if hasSome { haveDependencies = true }
      case .beingDeclared, .refused:
        release(Array(operations[..<at]))
        return claim
      }
    }
    return .claimed(declared: declared, haveDependencies: haveDependencies)
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
    var builder = GraphBuilder(for: self, queue: queue, isDeclaredOnly: isDeclaredOnly)
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
    if let stranger = operations.first(where: { $0.belongs(toOtherThan: self) }) {
      return done(.failure(.foreign(stranger)))
    }
    if operations.allSatisfy({ $0.id != nil }) { return done(.success(())) }
    additions.enter { leave in self.declareNext(operations, leave, done) }
  }

  private func declareNext(
    _ operations: [ClusterOperation], _ leave: @escaping AdditionLine.Leave,
    _ done: @escaping DoneHandler
  ) {
    let obstacle = operations.obstacle(on: self, besides: [])
    let declaring = obstacle == nil ? takeFresh(operations) : []
    // One may have left since the first look.
    switch obstacle ?? operations.obstacle(on: self, besides: Set(declaring)) {
    case .moving(let moving):
      release(declaring)
      moving.whenSettled { AdditionLine.goOn { self.declareNext(operations, leave, done) } }
    case .stranger(let stranger):
      release(declaring)
      leave()
      done(.failure(.foreign(stranger)))
    case nil where declaring.isEmpty:
      leave()
      done(.success(()))
    case nil:
      submit(declaring, to: nil, isDeclaredOnly: true) { result in
        if case .failure = result { self.release(declaring) }
        done(result)
      }
      leave()
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

  /// Adds a batch with declared operations: declares its fresh ones and those alongside, then the
  /// batch enters the queue in one commit.
  private func enqueueDeclared(
    _ addition: Addition, _ declared: [ClusterOperation], _ alongside: [ClusterOperation],
    _ fail: @escaping @Sendable (ClusterError) -> Void
  ) {
    let known = Set(declared)
    let fresh = alongside + addition.operations.filter { !known.contains($0) }
    let enqueue: DoneHandler = { result in
      if case .failure(let error) = result { return fail(error) }
      self.enqueue(addition.operations, addition.queue) { result in
        if case .failure(let error) = result { return fail(error) }
        self.cancelIfAny(addition.enter(areSubmitted: false), addition.done)
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

// MARK: - The objects' part

extension ClusterOperation {
  /// Claims the operation for one batch.
  fileprivate func claim(
    by cluster: OperationCluster, for queue: QueueRecord, asBarrier: Bool
  ) -> Claim {
    life.withLock { life in
      if life.isFinished {
        return .refused(
          ClusterError(
            .alreadyFinished, "'\(life.shownName)' has finished and cannot run again",
            hint: "add a clone() of it"))
      }
      if let other = life.cluster, other !== cluster {
        return .refused(
          ClusterError(.badRequest, "'\(life.shownName)' belongs to another cluster"))
      }
      switch life.stage {
      case .leaving where life.queue == nil: return .beingDeclared
      case .enqueued, .leaving:
        return .refused(
          ClusterError(
            .alreadyEnqueued, "'\(life.shownName)' is in a queue already",
            hint: "an operation goes through one queue, once; add a clone() of it"))
      case .declared:
        if let objection = life.objectionToEntering(asBarrier: asBarrier) {
          return .refused(objection)
        }
        life.queue = queue
        return .claimed(declared: [self], haveDependencies: !life.dependencies.isEmpty)
      case .fresh:
        life.stage = .leaving
        life.cluster = cluster
        life.queue = queue
        life.isBarrier = asBarrier
        return .claimed(declared: [], haveDependencies: !life.dependencies.isEmpty)
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

  fileprivate func giveBackIfLeaving() { if isLeaving { giveBack() } }

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

  fileprivate func whenSettled(_ handler: @escaping @Sendable () -> Void) {
    let isSettled = life.withLock { life in
      guard case .leaving = life.stage else { return true }
      life.settling.append(handler)
      return false
    }
    if isSettled { handler() }
  }
}
