// Searches cycles inside one submission, including barrier edges (S32, S33): finds operations that
// never run out of predecessors, and a readable path through them.
//
// Nodes are the operations, a "stage has ended" node per stage that others wait for as a whole, and
// one node per barrier segment. Repeatedly removing nodes without predecessors leaves exactly the
// cycles and their dependents.

import OpClusterModel

struct CycleSearch {
  private let submission: GraphSubmission
  /// The first index of each stage, and at the end the number of operations.
  private let firsts: [UInt32]
  private let operations: Int

  init(_ submission: GraphSubmission) {
    self.submission = submission
    firsts = submission.firstIndices
    operations = Int(firsts.last ?? 0)
  }

  /// The names along one cycle, first and last the same; nil if there is none.
  func find() -> [String]? {
    if submission.elementEdges.count == 0 && !submission.templates.contains(where: \.isBarrier) {
      return find(nodes: submission.templates.count) { add in
        for edge in submission.groupEdges { add(edge.from, edge.to) }
      } name: {
        submission.templates[$0].name
      }
    }
    return findAmongOperations()
  }

  private func findAmongOperations() -> [String]? {
    let stages = submission.templates.count
    // Nodes: operations, then "stage has ended", then "before this operation in its queue".
    let stageNode = { [operations] (stage: Int) in UInt32(operations + stage) }
    let submission = self.submission
    let firsts = self.firsts
    let barriers = submission.templates.indices.filter { submission.templates[$0].isBarrier }
    return find(nodes: operations + stages) { add in
      for at in submission.elementEdges.from.indices {
        add(submission.elementEdges.from[at], submission.elementEdges.to[at])
      }
      for stage in submission.templates.indices {
        for index in firsts[stage]..<(firsts[stage] + submission.templates[stage].count) {
          add(index, stageNode(stage))
        }
      }
      for edge in submission.groupEdges {
        let to = firsts[Int(edge.to)]
        for element in 0..<submission.templates[Int(edge.to)].count {
          switch edge.match {
          case .all: add(stageNode(Int(edge.from)), to + element)
          case .sameIndex: add(firsts[Int(edge.from)] + element, to + element)
          }
        }
      }
      for barrier in barriers {
        let queue = submission.templates[barrier].queue
        for stage in submission.templates.indices
        where stage != barrier && submission.templates[stage].queue == queue {
          if stage < barrier {
            add(stageNode(stage), firsts[barrier])
          } else {
            for element in 0..<submission.templates[stage].count {
              add(firsts[barrier], firsts[stage] + element)
            }
          }
        }
      }
    } name: {
      name(ofNode: $0)
    }
  }

  private func name(ofNode node: Int) -> String {
    if node >= operations { return submission.templates[node - operations].name }
    var stage = 0
    while stage + 1 < submission.templates.count, Int(firsts[stage + 1]) <= node { stage += 1 }
    let template = submission.templates[stage]
    guard template.isArray || template.count > 1 else { return template.name }
    return "\(template.name)/\(template.shownIndex(ofElement: UInt32(node) - firsts[stage]))"
  }

  private func find(
    nodes: Int, edges: (_ add: (UInt32, UInt32) -> Void) -> Void, name: (Int) -> String
  ) -> [String]? {
    var blockers = [UInt32](repeating: 0, count: nodes)
    var counts = [UInt32](repeating: 0, count: nodes + 1)
    edges { from, to in
      blockers[Int(to)] += 1
      counts[Int(from) + 1] += 1
    }
    for at in 0..<nodes { counts[at + 1] += counts[at] }
    var fill = counts
    var targets = [UInt32](repeating: 0, count: Int(counts[nodes]))
    edges { from, to in
      targets[Int(fill[Int(from)])] = to
      fill[Int(from)] += 1
    }
    var free = (0..<nodes).filter { blockers[$0] == 0 }
    var done = 0
    while let node = free.popLast() {
      done += 1
      for at in counts[node]..<counts[node + 1] {
        let target = Int(targets[Int(at)])
        blockers[target] -= 1
        if blockers[target] == 0 { free.append(target) }
      }
    }
    if done == nodes { return nil }
    return path(blockers, counts, targets, name)
  }

  /// Walks back along predecessors that are stuck as well until a node repeats.
  private func path(
    _ blockers: [UInt32], _ counts: [UInt32], _ targets: [UInt32], _ name: (Int) -> String
  ) -> [String] {
    var predecessor: [Int] = Array(repeating: -1, count: blockers.count)
    for node in blockers.indices where blockers[node] > 0 {
      for at in counts[node]..<counts[node + 1] where blockers[Int(targets[Int(at)])] > 0 {
        predecessor[Int(targets[Int(at)])] = node
      }
    }
    guard var node = blockers.indices.first(where: { blockers[$0] > 0 && predecessor[$0] >= 0 })
    else { return [] }
    var seen = [Bool](repeating: false, count: blockers.count)
    while !seen[node], predecessor[node] >= 0 {
      seen[node] = true
      node = predecessor[node]
    }
    var names = [name(node)]
    var walker = predecessor[node]
    while walker != node, walker >= 0 {
      if names.last != name(walker) { names.append(name(walker)) }
      walker = predecessor[walker]
    }
    if names.last != names.first || names.count == 1 { names.append(name(node)) }
    // Reversed: the walk goes from dependents to dependencies, and "a ← b" says that b waits for a.
    return names.reversed()
  }
}

extension ClusterState {
  /// The cycle that an edge would close, from the dependent through its dependents back to itself;
  /// nil if there is none. Follows edges on operations, on stages, and barriers (S33).
  func cycle(ifWaiting dependent: OperationID, on dependency: OperationID) -> [OperationID]? {
    var dependentOf: [OperationID: OperationID] = [:]
    var seen: Set<OperationID> = [dependency]
    var work = [dependency]
    while let id = work.popLast() {
      if id == dependent {
        var path = [id]
        while let next = dependentOf[path[path.count - 1]] { path.append(next) }
        return path + [dependent]
      }
      for on in waitsFor(id) where seen.insert(on).inserted {
        dependentOf[on] = id
        work.append(on)
      }
    }
    return nil
  }

  /// Every unfinished operation that this one waits for, directly or indirectly.
  func everythingBefore(_ id: OperationID) -> Set<OperationID> {
    var seen: Set<OperationID> = []
    var work = [id]
    while let next = work.popLast() {
      for on in waitsFor(next) where seen.insert(on).inserted { work.append(on) }
    }
    return seen
  }

  /// The unfinished operations that an unfinished one waits for now.
  private func waitsFor(_ id: OperationID) -> [OperationID] {
    let graph = id.graph.number
    guard graphs.contains(graph), graphs[graph].cell(id.index).phase != .finished else {
      return []
    }
    var found: [OperationID] = []
    graphs[graph].forEachDependency(of: id.index) { on, _ in
      if knownEnding(of: on) == nil { found.append(on) }
    }
    let stage = graphs[graph].stageNumber(of: id.index)
    for edge in graphs[graph].stages[stage].incoming where edge.match == .all {
      for index in graphs[graph].stages[edge.stage].indices
      where graphs[graph].cell(index).phase != .finished {
        found.append(graphs[graph].operation(index))
      }
    }
    return found + barriersBefore(id, stage)
  }

  /// The barrier that an operation waits behind; for a barrier, all operations that it waits for.
  func barriersBefore(_ id: OperationID, _ stage: Int) -> [OperationID] {
    let graph = id.graph.number
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    guard graphs[graph].cell(id.index).phase != .declared, queues[queue].hasBarriers else {
      return []
    }
    let segment = queues[queue].segment(of: graphs[graph].enqueuePlace(of: id.index))
    if graphs[graph].stages[stage].template.isBarrier {
      return members(before: queues[queue].segments[segment].barrier?.place ?? 0, in: queue)
    }
    return segment == 0
      ? []
      : [queues[queue].segments[segment - 1].barrier?.operation]
        .compactMap { $0 }
  }

  private func members(before place: UInt64, in queue: UInt32) -> [OperationID] {
    members(of: QueueID(queue)).flatMap { runs in
      var found: [OperationID] = []
      runs.forEachOperation { id in
        if graphs[id.graph.number].enqueuePlace(of: id.index) < place { found.append(id) }
      }
      return found
    }
  }
}
