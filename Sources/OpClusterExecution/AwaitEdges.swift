// Dependencies between operations of this worker (S151). Each edge is in two lists: the dependents
// of the awaited operation, and the awaits of the waiting one. Owned by the core, which alone
// decides whether an edge is satisfied.

import OpClusterModel

/// A position in `AwaitEdges`.
struct EdgeNumber: Hashable, Sendable {
  var position: Int32
  static let none = EdgeNumber(position: -1)
  var exists: Bool { position >= 0 }
}

/// One edge. It leaves the list of dependents when it is satisfied. It stays in the list of awaits,
/// with its input, until the dependent is launched or given back.
struct AwaitEdge: Sendable {
  var awaited: OperationID
  /// The slot of `awaited`; `.none` once satisfied.
  var from: Slot
  var to: Slot
  var policy: EdgePolicy
  var nextDependent = EdgeNumber.none
  var previousDependent = EdgeNumber.none
  var nextAwait = EdgeNumber.none
  /// The input for the dependent, once satisfied.
  var input: DependencyInput?
}

/// The edges and the free positions.
struct AwaitEdges: Sendable {
  private(set) var edges: [AwaitEdge] = []
  private var free: [EdgeNumber] = []
  var count: Int { edges.count - free.count }

  subscript(_ number: EdgeNumber) -> AwaitEdge {
    _read { yield edges[Int(number.position)] }
    _modify { yield &edges[Int(number.position)] }
  }

  mutating func add(_ edge: AwaitEdge) -> EdgeNumber {
    if let number = free.popLast() {
      self[number] = edge
      return number
    }
    edges.append(edge)
    return EdgeNumber(position: Int32(edges.count - 1))
  }

  mutating func remove(_ number: EdgeNumber) {
    self[number].input = nil
    free.append(number)
  }

  /// Puts the edge at the head of a list of dependents.
  mutating func link(_ number: EdgeNumber, into head: inout EdgeNumber) {
    self[number].nextDependent = head
    self[number].previousDependent = .none
    if head.exists { self[head].previousDependent = number }
    head = number
  }

  /// Removes the edge from its list of dependents.
  mutating func unlink(_ number: EdgeNumber, from head: inout EdgeNumber) {
    let (next, previous) = (self[number].nextDependent, self[number].previousDependent)
    if next.exists { self[next].previousDependent = previous }
    if previous.exists { self[previous].nextDependent = next } else { head = next }
    self[number].nextDependent = .none
    self[number].previousDependent = .none
  }
}
