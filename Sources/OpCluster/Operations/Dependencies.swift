// Dependencies between operations: changed in the object while the operation is fresh, by a request
// to the cluster afterwards (S20 to S38).

public import OpClusterModel
import Synchronization

extension ClusterOperation {
  /// Makes this operation wait for another one.
  ///
  /// Before this operation is added nothing leaves the program. Afterwards the cluster is asked,
  /// and the calling thread waits for its answer: false if it came too late (S35).
  ///
  /// - Parameter condition: `finished` is Apple's meaning: any end (S22).
  /// - Throws: `selfDependency`, `conflictingEdge` (the same pair with another condition), `cycle`.
  @discardableResult
  public func addDependency(
    _ other: ClusterOperation, when condition: Condition = .finished
  ) throws(ClusterError) -> Bool {
    guard other !== self else {
      throw ClusterError(.selfDependency, "'\(self)' cannot depend on itself")
    }
    enum Step {
      case done
      case ask(OperationCluster, OperationID)
      case conflict(Condition)
      case onItsWay
    }
    let step = life.withLock { life -> Step in
      if let old = life.dependencies.first(where: { $0.operation === other }) {
        return old.condition == condition ? .done : .conflict(old.condition)
      }
      if case .leaving = life.stage { return .onItsWay }
      // A finished operation accepts no changes (S35).
      if life.isFinished { return .done }
      if let id = life.id, let cluster = life.cluster { return .ask(cluster, id) }
      life.dependencies.append(Dependency(operation: other, condition: condition))
      return .done
    }
    // Outside of the lock: errors contain names of operations, which need their locks.
    switch step {
    case .done: return !isFinished
    case .ask(let cluster, let id):
      return try cluster.addLateDependency(of: self, id, on: other, condition)
    case .conflict(let old): throw conflict(other, old, condition)
    case .onItsWay: throw .onItsWay("\(self)")
    }
  }

  private func conflict(
    _ other: ClusterOperation, _ old: Condition, _ new: Condition
  ) -> ClusterError {
    ClusterError(
      .conflictingEdge, "'\(self)' depends on '\(other)' already, when it \(old), not \(new)",
      hint: "remove the dependency first")
  }

  /// Removes a dependency. Without any unfinished dependency the operation is ready (S37). Removing
  /// a missing one changes nothing.
  ///
  /// - Returns: false if it came too late, or there was none.
  @discardableResult
  public func removeDependency(_ other: ClusterOperation) throws(ClusterError) -> Bool {
    let (wasThere, known) = life.withLock { life -> (Bool, (OperationCluster, OperationID)?) in
      let wasThere = life.dependencies.contains { $0.operation === other }
      guard wasThere else { return (false, nil) }
      if case .leaving = life.stage { return (false, nil) }
      if let id = life.id, let cluster = life.cluster { return (true, (cluster, id)) }
      life.dependencies.removeAll { $0.operation === other }
      return (true, nil)
    }
    guard let (cluster, id) = known else { return wasThere }
    guard let otherID = other.id else { return false }
    return try cluster.ask(.removeDependency(from: otherID, to: id)) { reply in
      if reply.effect { self.forget(other) }
    }.effect
  }
}

extension ClusterOperation {
  private func forget(_ dependency: ClusterOperation) {
    life.withLock { $0.dependencies.removeAll { $0.operation === dependency } }
  }

  /// Notes a dependency that the cluster has added; two threads may have asked for the same one.
  fileprivate func note(_ dependency: Dependency) {
    life.withLock { life in
      if life.dependencies.contains(where: { $0.operation === dependency.operation }) { return }
      life.dependencies.append(dependency)
    }
  }
}

extension OperationCluster {
  /// Adds a late dependency. A fresh dependency is declared first, so that it can be waited for
  /// (S28).
  func addLateDependency(
    of operation: ClusterOperation, _ id: OperationID, on other: ClusterOperation,
    _ condition: EdgePolicy
  ) throws(ClusterError) -> Bool {
    try block { done in declareFresh([other], done) }
    guard let (home, otherID) = other.place else {
      throw ClusterError(.unknownDependency, "'\(other)' is on its way to the cluster")
    }
    guard home === self else { throw .foreign(other) }
    return try addDependency(from: otherID, to: id, condition) { reply in
      if reply.effect { operation.note(Dependency(operation: other, condition: condition)) }
    }
  }
}

extension OperationCluster {
  /// Adds a dependency; if cycles are allowed, repeats a refused request that closes one, with a
  /// warning (S32).
  private func addDependency(
    from other: OperationID, to id: OperationID, _ condition: EdgePolicy,
    noting note: @escaping @Sendable (ClientReply) -> Void
  ) throws(ClusterError) -> Bool {
    do throws(ClusterError) {
      return try ask(.addDependency(from: other, to: id, condition), noting: note).effect
    } catch  where error.code == .cycle && allowsCycles {
      let took = try ask(
        .addDependency(from: other, to: id, condition, allowsCycle: true), noting: note
      ).effect
      if took { warn(ofCycle: error, among: "a dependency that was added") }
      return took
    }
  }

  /// Reports a cycle that was accepted because this program allows them.
  func warn(ofCycle error: ClusterError, among what: String) {
    let warning = ClusterError(
      .cycle, "accepted: \(error.message)", hint: "cancel one of them, or take a dependency back")
    report(warning, of: what)
  }
}

extension ClusterError {
  static func onItsWay(_ name: String) -> ClusterError {
    ClusterError(
      .busy, "'\(name)' is on its way to the cluster",
      hint: "await the call that adds it before you change it")
  }
}

extension ClientReply {
  /// Whether a steering request came in time; other replies count as true.
  var effect: Bool {
    switch self {
    case .effect(let took): took
    case .changed(let count, unchanged: _): count > 0
    default: true
    }
  }
}
