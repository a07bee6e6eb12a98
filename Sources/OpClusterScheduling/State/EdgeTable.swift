// Dependencies between single operations of one graph, in one direction, as offsets and targets:
// four bytes per operation and four per edge, and no memory for a graph without edges.

import OpClusterModel

struct EdgeTable: Sendable {
  /// The end of each operation's edges; empty if there are no edges.
  private var ends: [UInt32] = []
  private var targets: [PackedEdge] = []

  /// An index and, in the top two bits, the policy.
  struct PackedEdge: Sendable {
    private var raw: UInt32
    init(_ index: UInt32, _ policy: EdgePolicy) {
      raw = index | UInt32(policy.rawValue) << 30
    }
    var index: UInt32 { raw & 0x3FFF_FFFF }
    var policy: EdgePolicy { EdgePolicy(rawValue: UInt8(raw >> 30)) ?? .finished }
  }

  init() {}

  /// Edges grouped by `keys[i]`, each to `values[i]`, in the order of addition.
  init(operations: Int, keys: [UInt32], values: [UInt32], edges: ElementEdges) {
    guard !keys.isEmpty else { return }
    ends = Array(repeating: 0, count: operations)
    for key in keys { ends[Int(key)] += 1 }
    var total: UInt32 = 0
    for at in ends.indices {
      let own = ends[at]
      ends[at] = total
      total += own
    }
    targets = Array(repeating: PackedEdge(0, .finished), count: keys.count)
    for edge in keys.indices {
      let slot = ends[Int(keys[edge])]
      targets[Int(slot)] = PackedEdge(values[edge], edges.policy(edge))
      ends[Int(keys[edge])] += 1
    }
  }

  /// Keeps the first of the edges that an operation has to the same other one. Costs the edges and
  /// the operations.
  mutating func keepFirstOfEach() {
    // The number of the last operation that had an edge there, plus one.
    var seen = Array(repeating: UInt32(0), count: ends.count)
    var (kept, start) = (0, 0)
    for at in ends.indices {
      let (end, number) = (Int(ends[at]), UInt32(at) + 1)
      for position in start..<end where seen[Int(targets[position].index)] != number {
        seen[Int(targets[position].index)] = number
        targets[kept] = targets[position]
        kept += 1
      }
      start = end
      ends[at] = UInt32(kept)
    }
    targets.removeLast(targets.count - kept)
  }

  /// The first two operations found that are connected with two policies, if any. Costs the edges
  /// and the operations.
  func contradiction() -> (from: UInt32, to: UInt32)? {
    var seen = Array(repeating: (by: UInt32(0), policy: EdgePolicy.finished), count: ends.count)
    for at in ends.indices {
      let number = UInt32(at) + 1
      for position in range(of: UInt32(at)) {
        let edge = targets[position]
        let other = seen[Int(edge.index)]
        if other.by == number, other.policy != edge.policy { return (edge.index, UInt32(at)) }
        seen[Int(edge.index)] = (number, edge.policy)
      }
    }
    return nil
  }

  /// The same edges from their other ends, by ascending index there. A state restored from a
  /// snapshot, which contains only one of the two tables, has the same order.
  func inverted(operations: Int) -> EdgeTable {
    var (keys, edges) = ([UInt32](), ElementEdges())
    keys.reserveCapacity(targets.count)
    edges.to.reserveCapacity(targets.count)
    edges.policies.reserveCapacity(targets.count)
    for index in ends.indices {
      for position in range(of: UInt32(index)) {
        keys.append(targets[position].index)
        edges.to.append(UInt32(index))
        edges.policies.append(targets[position].policy)
      }
    }
    return EdgeTable(operations: operations, keys: keys, values: edges.to, edges: edges)
  }

  var isEmpty: Bool { targets.isEmpty }
  var count: Int { targets.count }

  /// The positions of the edges of one operation, for `self[position]`.
  func range(of index: UInt32) -> Range<Int> {
    if ends.isEmpty { return 0..<0 }
    return (index == 0 ? 0 : Int(ends[Int(index) - 1]))..<Int(ends[Int(index)])
  }

  /// The positions of the edges of these operations, at least one. Costs the same for any number.
  func range(of indices: Range<UInt32>) -> Range<Int> {
    range(of: indices.lowerBound).lowerBound..<range(of: indices.upperBound - 1).upperBound
  }
  subscript(position: Int) -> PackedEdge { targets[position] }
}
