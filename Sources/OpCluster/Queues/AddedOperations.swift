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
    // What needs nothing but the cluster's answer waits for nobody.
    if addition.needsOthers { return collectInLine(addition) }
    claimAndSend(addition, inLine: nil)
  }

  private func collectInLine(_ addition: Addition) {
    additions.enter { leave in self.collect(addition, leave) }
  }

  /// Waits until nothing that the addition needs is on its way; it holds nothing meanwhile, and its
  /// operations can still be changed.
  private func collect(_ addition: Addition, _ leave: @escaping AdditionLine.Leave) {
    let moving =
      addition.operations.first(where: \.isBeingDeclared)
      ?? addition.unknown.firstMoving(besides: Set(addition.operations))
    if let moving { return moving.whenSettled { self.collect(addition, leave) } }
    claimAndSend(addition, inLine: leave)
  }

  /// - Parameter leave: Ends the addition's turn in the line; nil: it is not in the line.
  private func claimAndSend(_ addition: Addition, inLine leave: AdditionLine.Leave?) {
    do throws(ClusterError) {
      let claimed = try claim(addition)
      if !claimed.haveDependencies, claimed.declared.isEmpty {
        leave?()
        return submit(addition)
      }
      guard let leave else {
        // A dependency may have been added since the first look.
        if addition.unknown.isEmpty { return send(addition, declared: claimed.declared, []) }
        release(addition.operations)
        return collectInLine(addition)
      }
      takeAlongside(addition, []) { alongside in
        // From here on only the cluster is waited for.
        leave()
        self.send(addition, declared: claimed.declared, alongside)
      }
    } catch {
      if error.code == .alreadyEnqueued, addition.operations.contains(where: \.isBeingDeclared) {
        // Another addition has claimed one of them since the first look.
        if let leave { return collect(addition, leave) }
        return collectInLine(addition)
      }
      leave?()
      addition.done(.failure(error))
    }
  }

  /// Claims the fresh operations that the batch waits for. Some may just have left with an addition
  /// that waits for nobody; if that is refused, they are fresh again.
  private func takeAlongside(
    _ addition: Addition, _ taken: [ClusterOperation],
    _ then: @escaping @Sendable ([ClusterOperation]) -> Void
  ) {
    let all = takeFresh(addition.unknown) + taken
    let moving = addition.unknown.firstMoving(besides: Set(addition.operations + all))
    guard let moving else { return then(all) }
    moving.whenSettled { self.takeAlongside(addition, all, then) }
  }

  /// Sends what was claimed: first the dependencies, unless they wait for members of the batch;
  /// then neither can be first, and both are declared together, or refused together.
  private func send(
    _ addition: Addition, declared: [ClusterOperation], _ alongside: [ClusterOperation]
  ) {
    let fail: @Sendable (ClusterError) -> Void = { error in
      self.release(alongside + addition.operations)
      addition.done(.failure(error))
    }
    let members = Set(addition.operations)
    let areTogether = alongside.contains { $0.dependencies.contains(where: members.contains) }
    if areTogether { return enqueueDeclared(addition, declared, alongside, fail) }
    let sendBatch = { @Sendable in
      if declared.isEmpty {
        self.submit(addition)
      } else {
        self.enqueueDeclared(addition, declared, [], fail)
      }
    }
    if alongside.isEmpty { return sendBatch() }
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

  /// Claims all operations of a batch, or none. Returns the ones that the cluster knows as
  /// declared, and whether any has dependencies.
  private func claim(
    _ addition: Addition
  ) throws(ClusterError) -> (declared: [ClusterOperation], haveDependencies: Bool) {
    let operations = addition.operations
    var declared: [ClusterOperation] = []
    var haveDependencies = false
    for at in operations.indices {
      let operation = operations[at]
      do throws(ClusterError) {
        let claimed = try operation.claim(
          by: self, for: addition.queue, asBarrier: addition.isBarrier)
        if claimed.isDeclared { declared.append(operation) }
        if claimed.hasDependencies { haveDependencies = true }
      } catch {
        release(Array(operations[..<at]))
        throw error
      }
    }
    return (declared, haveDependencies)
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
    if let moving = operations.firstMoving(besides: []) {
      return moving.whenSettled { self.declareNext(operations, leave, done) }
    }
    let declaring = takeFresh(operations)
    // One that has left since then is waited for again.
    if let moving = operations.firstMoving(besides: Set(declaring)) {
      release(declaring)
      return moving.whenSettled { self.declareNext(operations, leave, done) }
    }
    leave()
    if declaring.isEmpty { return done(.success(())) }
    submit(declaring, to: nil, isDeclaredOnly: true) { result in
      if case .failure = result { self.release(declaring) }
      done(result)
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

/// A batch on its way into a queue.
private struct Addition: Sendable {
  var operations: [ClusterOperation]
  var queue: QueueRecord
  var isBarrier: Bool
  var done: DoneHandler

  /// The dependencies outside of the batch that the cluster does not know.
  var unknown: [ClusterOperation] {
    var members: Set<ClusterOperation>?
    var found: [ClusterOperation] = []
    for operation in operations {
      for dependency in operation.dependencies where dependency.id == nil {
        if members == nil { members = Set(operations) }
        if members?.contains(dependency) == false { found.append(dependency) }
      }
    }
    return found
  }

  /// Whether one of them is being declared by another addition, or waits for what the cluster does
  /// not know.
  var needsOthers: Bool {
    for operation in operations {
      let (isBeingDeclared, hasDependencies) = operation.standing
      if isBeingDeclared { return true }
      if hasDependencies {
        return operations.contains(where: \.isBeingDeclared) || !unknown.isEmpty
      }
    }
    return false
  }

  /// Notes that the cluster has all of it; returns the operations to cancel.
  func enter(areSubmitted: Bool) -> [ClusterOperation] {
    queue.took(operations, asBarrier: isBarrier, areSubmitted: areSubmitted)
  }
}

extension [ClusterOperation] {
  /// An operation on its way to the cluster, among these and the dependencies of fresh ones; `own`
  /// are on the caller's own way. Visits each fresh operation and its dependencies once.
  fileprivate func firstMoving(besides own: Set<ClusterOperation>) -> ClusterOperation? {
    var seen: Set<ClusterOperation> = []
    var open = self
    while let operation = open.popLast() {
      guard operation.id == nil, seen.insert(operation).inserted else { continue }
      if !own.contains(operation), operation.isLeaving { return operation }
      open += operation.dependencies
    }
    return nil
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
        guard life.isBarrier == asBarrier else {
          let kind = life.isBarrier ? "a barrier" : "an ordinary operation"
          throw ClusterError(
            .badRequest, "'\(life.shownName)' has been declared as \(kind)",
            hint: "add a barrier before anything that depends on it, or a clone() of it")
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

  /// Whether it is on its way because another operation waits for it, and whether it waits itself.
  fileprivate var standing: (isBeingDeclared: Bool, hasDependencies: Bool) {
    life.withLock { life in
      if case .leaving = life.stage {
        (life.queue == nil, !life.dependencies.isEmpty)
      } else {
        (false, !life.dependencies.isEmpty)
      }
    }
  }

  fileprivate var isBeingDeclared: Bool { standing.isBeingDeclared }

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
