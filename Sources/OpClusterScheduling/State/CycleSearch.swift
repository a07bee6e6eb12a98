// Searches cycles inside one submission, including barrier edges (S32, S33), and names one.
//
// First among templates: most submissions have no cycle even if each array counts as one. Only if
// there is one, through an array, and edges on single operations could avoid it, among operations.
// Both cost a step for each template, edge and operation; `sameIndex` edges cost one for each
// element, and are bounded.

import OpClusterModel

struct CycleSearch {
  private let submission: GraphSubmission
  /// The first index of each template, and at the end the number of operations.
  private let firsts: [UInt32]
  /// For each entry of the submission's queues, the first entry that is the same queue.
  private let queues: [Int]

  init(_ submission: GraphSubmission) {
    self.submission = submission
    firsts = submission.firstIndices
    queues = submission.distinctQueues
  }

  /// The names along one cycle, first and last the same; nil if there is none.
  ///
  /// - Parameter steps: Counts the edges and nodes that are looked at.
  func find(_ steps: inout Int) throws(Refusal) -> String? {
    let edges = submission.elementEdges
    let templateOf = edges.count == 0 ? [] : templatesOfOperations
    let found = Precedence.cycle(nodes: submission.templates.count, &steps) { add in
      forEachTemplateEdge(add)
      for at in edges.from.indices {
        add(templateOf[Int(edges.from[at])], templateOf[Int(edges.to[at])])
      }
    }
    guard let found else { return nil }
    if edges.count == 0 || found.allSatisfy({ submission.templates[$0].count == 1 }) {
      return ShownPath.cycle(count: found.count) { submission.templates[found[$0]].name }
    }
    return try findAmongOperations(&steps)
  }

  private var templatesOfOperations: [UInt32] {
    var templates: [UInt32] = []
    templates.reserveCapacity(operations)
    for at in submission.templates.indices {
      templates += repeatElement(UInt32(at), count: Int(submission.templates[at].count))
    }
    return templates
  }

  private var operations: Int { Int(firsts.last ?? 0) }

  /// Calls `add` for every template that waits for another, by edges on templates or by barriers.
  /// A template without elements waits for nothing, and nothing for it.
  private func forEachTemplateEdge(_ add: (UInt32, UInt32) -> Void) {
    for edge in submission.groupEdges where isWaitedFor(edge) { add(edge.from, edge.to) }
    forEachBarrierEdge(add)
  }

  private func isWaitedFor(_ edge: GroupEdge) -> Bool {
    submission.templates[Int(edge.from)].count > 0 && submission.templates[Int(edge.to)].count > 0
  }

  /// Calls `add` for the last barrier before each template in its queue, and for the first behind
  /// it: with these edges a barrier waits for all before it, and all behind it wait for it.
  /// Declared templates are in no queue.
  private func forEachBarrierEdge(_ add: (UInt32, UInt32) -> Void) {
    let templates = submission.templates
    if submission.isDeclaredOnly || !templates.contains(where: \.isBarrier) { return }
    var last = [Int?](repeating: nil, count: queues.count)
    for at in templates.indices where templates[at].count > 0 {
      let queue = queues[Int(templates[at].queue)]
      if let barrier = last[queue] { add(UInt32(barrier), UInt32(at)) }
      if templates[at].isBarrier { last[queue] = at }
    }
    last = [Int?](repeating: nil, count: queues.count)
    for at in templates.indices.reversed() where templates[at].count > 0 {
      let queue = queues[Int(templates[at].queue)]
      if templates[at].isBarrier {
        last[queue] = at
      } else if let barrier = last[queue] {
        add(UInt32(at), UInt32(barrier))
      }
    }
  }

  // MARK: - Among operations

  /// Nodes are the operations, then "has ended" for each template, then "may begin" for each.
  private func findAmongOperations(_ steps: inout Int) throws(Refusal) -> String? {
    try checkSize()
    let ended = UInt32(operations)
    let begun = ended + UInt32(submission.templates.count)
    let found = Precedence.cycle(nodes: Int(begun) + submission.templates.count, &steps) { add in
      for at in submission.elementEdges.from.indices {
        add(submission.elementEdges.from[at], submission.elementEdges.to[at])
      }
      for template in submission.templates.indices {
        for index in firsts[template]..<firsts[template + 1] {
          add(begun + UInt32(template), index)
          add(index, ended + UInt32(template))
        }
      }
      for edge in submission.groupEdges where isWaitedFor(edge) {
        switch edge.match {
        case .all: add(ended + edge.from, begun + edge.to)
        case .sameIndex:
          for element in 0..<submission.templates[Int(edge.to)].count {
            add(firsts[Int(edge.from)] + element, firsts[Int(edge.to)] + element)
          }
        }
      }
      forEachBarrierEdge { add(ended + $0, begun + $1) }
    }
    guard let found else { return nil }
    let shown = found.filter { isShown($0) }
    return ShownPath.cycle(count: shown.count) { name(ofNode: shown[$0]) }
  }

  /// Refuses more edges between single operations than a submission may bring as such.
  private func checkSize() throws(Refusal) {
    var edges = submission.elementEdges.count
    for edge in submission.groupEdges where edge.match == .sameIndex {
      edges += Int(submission.templates[Int(edge.to)].count)
    }
    if edges > Limits.elementEdgesPerGraph {
      throw Refusal(
        .limitExceeded,
        "the graph has more than \(Limits.elementEdgesPerGraph) dependencies between operations",
        hint: "split it into several submissions")
    }
  }

  /// Whether a node says more than its neighbours: an operation, or the end of a whole array.
  private func isShown(_ node: Int) -> Bool {
    if node < operations { return true }
    let template = node - operations
    guard template < submission.templates.count else { return false }
    return submission.templates[template].isArray || submission.templates[template].count > 1
  }

  /// The name of an operation, or of a whole array.
  private func name(ofNode node: Int) -> String {
    if node >= operations { return submission.templates[node - operations].name }
    let at = template(of: UInt32(node))
    let template = submission.templates[at]
    guard template.isArray || template.count > 1 else { return template.name }
    return "\(template.name)/\(template.shownIndex(ofElement: UInt32(node) - firsts[at]))"
  }

  private func template(of index: UInt32) -> Int { firsts.lastIndex(notAbove: index) }
}

/// Edges from numbered nodes to their successors.
private struct Precedence {
  /// By node, the beginning of its edges in `targets`.
  private var starts: [UInt32]
  private var targets: [UInt32]
  /// The number of predecessors of each node that are not removed.
  private var blockers: [UInt32]
  private var steps: Int

  /// The nodes of one cycle, each followed by one that waits for it; nil if there is none.
  ///
  /// - Parameter edges: Calls its argument for each edge; it is called twice.
  static func cycle(
    nodes: Int, _ steps: inout Int, edges: (_ add: (UInt32, UInt32) -> Void) -> Void
  ) -> [Int]? {
    var precedence = Precedence(nodes: nodes, edges: edges)
    defer { steps += precedence.steps }
    return precedence.cycle()
  }

  private init(nodes: Int, edges: (_ add: (UInt32, UInt32) -> Void) -> Void) {
    var blockers = [UInt32](repeating: 0, count: nodes)
    var starts = [UInt32](repeating: 0, count: nodes + 1)
    edges { from, to in
      blockers[Int(to)] += 1
      starts[Int(from) + 1] += 1
    }
    for at in 0..<nodes { starts[at + 1] += starts[at] }
    var fill = starts
    var targets = [UInt32](repeating: 0, count: Int(starts[nodes]))
    edges { from, to in
      targets[Int(fill[Int(from)])] = to
      fill[Int(from)] += 1
    }
    (self.starts, self.targets, self.blockers) = (starts, targets, blockers)
    steps = nodes + 2 * targets.count
  }

  /// Removing nodes without predecessors leaves exactly the cycles and what waits for them.
  private mutating func cycle() -> [Int]? {
    var free = blockers.indices.filter { blockers[$0] == 0 }
    var left = blockers.count
    while let node = free.popLast() {
      left -= 1
      for at in starts[node]..<starts[node + 1] {
        let target = Int(targets[Int(at)])
        steps += 1
        blockers[target] -= 1
        if blockers[target] == 0 { free.append(target) }
      }
    }
    return left == 0 ? nil : stuckCycle()
  }

  /// Walks back along predecessors that are stuck as well until a node repeats.
  private mutating func stuckCycle() -> [Int] {
    var predecessor = [Int?](repeating: nil, count: blockers.count)
    for node in blockers.indices where blockers[node] > 0 {
      for at in starts[node]..<starts[node + 1] { predecessor[Int(targets[Int(at)])] = node }
    }
    steps += blockers.count + targets.count
    var place = [Int?](repeating: nil, count: blockers.count)
    var path: [Int] = []
    var next = blockers.indices.first { blockers[$0] > 0 }
    while let node = next {
      if let start = place[node] { return [node] + path[(start + 1)...].reversed() }
      place[node] = path.count
      path.append(node)
      next = predecessor[node]
    }
    return path
  }
}

extension GraphSubmission {
  /// For each entry of `queues`, the first entry that is the same queue: a queue may be named more
  /// than once, and barriers of one name hold back the others. Without entries there is one queue.
  var distinctQueues: [Int] {
    if queues.isEmpty { return [0] }
    // A named queue is never one of the graph's own, which are made with it.
    var named: [String: Int] = [:]
    var own: [String: Int] = [:]
    return queues.enumerated().map { at, reference in
      switch reference {
      case .named(let name): return named.position(of: name, orElse: at)
      case .own(let settings): return own.position(of: settings.name, orElse: at)
      }
    }
  }
}

extension [String: Int] {
  /// The position that a name was first seen at.
  fileprivate mutating func position(of name: String, orElse new: Int) -> Int {
    if let known = self[name] { return known }
    self[name] = new
    return new
  }
}
