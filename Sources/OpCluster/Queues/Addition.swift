// A batch on its way into a queue: what it needs before it can be sent, and what stands in its way.
// Any thread; nothing here changes anything.

import OpClusterModel
import Synchronization

struct Addition: Sendable {
  var operations: [ClusterOperation]
  var queue: QueueRecord
  var isBarrier: Bool
  var done: DoneHandler

  /// Looks at each operation and each of its dependencies once.
  func needs(on cluster: OperationCluster) -> AdditionNeeds {
    var needs = AdditionNeeds()
    for operation in operations {
      let standing = operation.standing
      if standing.isBeingDeclared, needs.beingDeclared == nil { needs.beingDeclared = operation }
      for dependency in standing.dependencies {
        let (id, home) = dependency.operation.life.withLock { ($0.id, $0.cluster) }
        if let home, home !== cluster { needs.stranger = dependency.operation }
        if id == nil { needs.unknown.append(dependency.operation) }
      }
    }
    if needs.unknown.isEmpty { return needs }
    let members = Set(operations)
    needs.unknown.removeAll(where: members.contains)
    return needs
  }

  /// Notes that the cluster has all of it; returns the operations to cancel.
  func enter(areSubmitted: Bool) -> [ClusterOperation] {
    queue.took(operations, asBarrier: isBarrier, areSubmitted: areSubmitted)
  }
}

/// What a batch needs of others.
struct AdditionNeeds {
  /// A member that is on its way because another operation waits for it.
  var beingDeclared: ClusterOperation?
  /// The dependencies outside of the batch that the cluster does not know.
  var unknown: [ClusterOperation] = []
  /// A dependency of another cluster.
  var stranger: ClusterOperation?

  var isAnything: Bool { beingDeclared != nil || !unknown.isEmpty }

  var obstacle: AdditionObstacle? {
    if let stranger { return .stranger(stranger) }
    return beingDeclared.map { .moving($0) }
  }
}

/// What keeps an addition from being sent.
enum AdditionObstacle {
  /// On its way to the cluster; waiting helps.
  case moving(ClusterOperation)
  /// Of another cluster.
  case stranger(ClusterOperation)
}

/// What has become of the claim to an operation, or to all of a batch.
enum Claim {
  /// - Parameter declared: The ones that the cluster knows already.
  case claimed(declared: [ClusterOperation], haveDependencies: Bool)
  /// Another addition has claimed it as a dependency, and will soon have an answer.
  case beingDeclared
  case refused(ClusterError)
}

extension [ClusterOperation] {
  /// What stands in the way among these and the dependencies of fresh ones; `own` are on the
  /// caller's own way. Visits each fresh operation and its dependencies once.
  func obstacle(
    on cluster: OperationCluster, besides own: Set<ClusterOperation>
  ) -> AdditionObstacle? {
    var seen: Set<ClusterOperation> = []
    var open = self
    var moving: ClusterOperation?
    while let operation = open.popLast() {
      guard seen.insert(operation).inserted else { continue }
      if operation.belongs(toOtherThan: cluster) { return .stranger(operation) }
      guard operation.id == nil else { continue }
      if !own.contains(operation), operation.isLeaving { moving = operation }
      open += operation.dependencies
    }
    return moving.map { .moving($0) }
  }
}

extension ClusterOperation {
  /// Whether it is on its way because another operation waits for it, and its dependencies.
  var standing: (isBeingDeclared: Bool, dependencies: [Dependency]) {
    life.withLock { life in
      if case .leaving = life.stage {
        (life.queue == nil, life.dependencies)
      } else {
        (false, life.dependencies)
      }
    }
  }

  /// Whether it is on its way to the cluster.
  var isLeaving: Bool {
    life.withLock { if case .leaving = $0.stage { true } else { false } }
  }

  func belongs(toOtherThan cluster: OperationCluster) -> Bool {
    life.withLock { life in life.cluster.map { $0 !== cluster } ?? false }
  }
}

extension OperationLife {
  /// The reason why a declared operation cannot enter a queue; nil if it can.
  func objectionToEntering(asBarrier: Bool) -> ClusterError? {
    if queue != nil {
      return ClusterError(.alreadyEnqueued, "'\(shownName)' is being added already")
    }
    if isBarrier == asBarrier { return nil }
    let kind = isBarrier ? "a barrier" : "an ordinary operation"
    return ClusterError(
      .badRequest, "'\(shownName)' has been declared as \(kind)",
      hint: "add a barrier before anything that depends on it, or a clone() of it")
  }
}
