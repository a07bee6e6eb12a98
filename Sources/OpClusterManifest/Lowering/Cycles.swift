// Finds cycles among the dependencies of templates, so that people see the path before the
// coordinator refuses the graph (S32). Iterative, since a chain may be long. Pure.
// O(nodes + needs). Not every circle of a knot is found, but none remains if the result is empty.

enum Cycles {
  /// Open means on the present path: a need of an open node closes a circle.
  private enum Mark {
    case new, open, done
  }

  /// Returns each cycle once, as its nodes in the order in which each needs the next. A node that
  /// needs itself is a cycle of length 1.
  static func find(needs: [[Int]]) -> [[Int]] {
    // A step remembers which of its needs comes next, in place of a stack frame.
    var marks = [Mark](repeating: .new, count: needs.count)
    var cycles: [[Int]] = []
    for start in needs.indices where marks[start] == .new {
      var path: [(node: Int, next: Int)] = [(start, 0)]
      marks[start] = .open
      while let (node, next) = path.last {
        guard next < needs[node].count else {
          marks[node] = .done
          path.removeLast()
          continue
        }
        path[path.count - 1].next += 1
        let need = needs[node][next]
        switch marks[need] {
        case .done: break
        case .new:
          marks[need] = .open
          path.append((need, 0))
        case .open:
          let from = path.firstIndex { $0.node == need } ?? 0
          cycles.append(path[from...].map { $0.node })
          // Nodes of a reported cycle are not reported again.
          for step in path[from...] { marks[step.node] = .done }
          path.removeSubrange(from...)
        }
      }
    }
    return cycles
  }
}
