// Resolves the target of a steering request: a selection, an explicit set, or all dependents of an
// operation. The whole target is resolved before anything changes (S97).

import OpClusterModel

/// The operations that a request targets, each once.
struct TargetMembers: Sendable {
  /// By graph, ascending.
  var runs: [OperationRuns] = []
  /// Operations of ended graphs that are only remembered.
  var gone: [OperationID] = []
}

extension Scheduler {
  /// Costs the living graphs and operations that a selection covers, the length of a set, or what
  /// an operation leads to.
  func resolve(_ target: OperationTarget) throws(Refusal) -> TargetMembers {
    switch target {
    case .selection(let selection): return TargetMembers(runs: try resolve(selection))
    case .operations(let ids): return try resolve(ids)
    case .dependents(let id):
      _ = try isGone(id)
      return TargetMembers(runs: unfinishedDependents(of: id))
    }
  }

  /// Resolves an explicit set; one unknown member refuses the whole set.
  private func resolve(_ ids: [OperationID]) throws(Refusal) -> TargetMembers {
    guard ids.count <= Limits.operationsPerTarget else {
      throw Refusal(
        .limitExceeded, "more than \(Limits.operationsPerTarget) operations, one by one",
        hint: "name them by graph, label or pattern, or ask in several steps")
    }
    var members = TargetMembers()
    var last: OperationID?
    // Sorted, so that members come by graph, ascending, as runs, and a doubled name counts once.
    for id in ids.sorted() where id != last {
      last = id
      if try isGone(id) {
        members.gone.append(id)
      } else if members.runs.last?.graph == id.graph {
        members.runs[members.runs.count - 1].append(id.index)
      } else {
        members.runs.append(OperationRuns(id))
      }
    }
    return members
  }

  /// Whether the graph of an operation has ended and is only remembered.
  private func isGone(_ id: OperationID) throws(Refusal) -> Bool {
    let number = id.graph.number
    if graphs.contains(number) {
      if id.index < graphs[number].operationCount { return false }
    } else if let ended = ended[id.graph] {
      if id.index < ended.operationCount { return true }
    } else if number > 0, number <= counters.lastGraph {
      throw Refusal(
        .expired, "graph \(number) ended too long ago to be spoken of", operations: [id])
    }
    throw Refusal(.unknownOperation, "there is no operation \(state.shown(id))", operations: [id])
  }

  // MARK: - Dependents

  /// Every unfinished operation that depends on `first` directly or indirectly, in any graph. The
  /// search continues through finished operations: others may still wait behind them.
  private func unfinishedDependents(of first: OperationID) -> [OperationRuns] {
    // Collected anew for each request; costs all late and external edges of living graphs.
    let extra = extraDependents()
    var reached = ReachedOperations()
    var stages: Set<ReachedStage> = []
    var work = [first]
    while let id = work.popLast() {
      forEachDependent(of: id, extra, &stages) { dependent in
        let count = graphs[dependent.graph.number].operationCount
        if reached.insert(dependent, of: count) { work.append(dependent) }
      }
    }
    return graphs.numbers.compactMap { number in
      guard let marks = reached.marks[number] else { return nil }
      var runs = OperationRuns(graph: GraphID(number))
      for index in 0..<graphs[number].operationCount
      where marks[Int(index)] && graphs[number].cell(index).phase != .finished {
        runs.append(index)
      }
      if number == first.graph.number { runs = runs.without(first.index) }
      return runs.isEmpty ? nil : runs
    }
  }

  /// The dependents by edges outside the tables of their graphs. Collected from the dependents: an
  /// ended operation has forgotten its dependents.
  private func extraDependents() -> [OperationID: [OperationID]] {
    var found: [OperationID: [OperationID]] = [:]
    for number in state.citing where graphs.contains(number) {
      for index in graphs[number].extraDependencies.keys.sorted() {
        for edge in graphs[number].extraDependencies[index] ?? [] {
          found[edge.on, default: []].append(graphs[number].operation(index))
        }
      }
    }
    return found
  }

  /// Calls `body` for each direct dependent, perhaps more than once. The elements behind a
  /// whole-array edge are named once for all elements of the array, by `stages`; without that a
  /// walk between two arrays would cost their product.
  private func forEachDependent(
    of id: OperationID, _ extra: [OperationID: [OperationID]],
    _ stages: inout Set<ReachedStage>, _ body: (OperationID) -> Void
  ) {
    for dependent in extra[id] ?? [] { body(dependent) }
    let graph = id.graph.number
    guard graphs.contains(graph) else { return }
    func isKept(_ index: UInt32) -> Bool {
      graphs[graph].removedDependencies[index]?.contains(id) != true
    }
    for position in graphs[graph].dependents.range(of: id.index) {
      let index = graphs[graph].dependents[position].index
      if isKept(index) { body(graphs[graph].operation(index)) }
    }
    let from = graphs[graph].stageNumber(of: id.index)
    for edge in graphs[graph].stages[from].outgoing {
      let to = graphs[graph].stages[edge.stage].indices
      switch edge.match {
      case .sameIndex:
        let index = to.lowerBound + graphs[graph].stages[from].element(id.index)
        if isKept(index) { body(graphs[graph].operation(index)) }
      case .all:
        let stage = ReachedStage(graph: graph, number: edge.stage)
        guard stages.insert(stage).inserted else { continue }
        for index in to { body(graphs[graph].operation(index)) }
      }
    }
  }
}

/// A stage of which every element has been reached.
private struct ReachedStage: Hashable {
  var graph: UInt32
  var number: Int
}

/// The operations that a walk along edges has reached. A byte for each operation of a graph that is
/// reached at all, which is less than a set of identifiers needs once a graph is reached in
/// earnest.
private struct ReachedOperations {
  /// By graph and index. Looked up, never iterated.
  var marks: [UInt32: [Bool]] = [:]

  /// Whether it is new.
  mutating func insert(_ id: OperationID, of count: UInt32) -> Bool {
    let at = Int(id.index)
    return withMarks(of: id.graph.number, count) { marks in
      defer { marks[at] = true }
      return !marks[at]
    }
  }

  private mutating func withMarks(
    of graph: UInt32, _ count: UInt32, _ body: (inout [Bool]) -> Bool
  ) -> Bool {
    body(&marks[graph, default: Array(repeating: false, count: Int(count))])
  }
}

extension OperationRuns {
  fileprivate func without(_ left: UInt32) -> OperationRuns {
    var rest = OperationRuns(graph: graph)
    forEach { if $0 != left { rest.append($0) } }
    return rest
  }
}
