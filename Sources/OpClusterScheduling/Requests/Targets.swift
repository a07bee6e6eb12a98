// Resolves the target of a steering request: a selection, an explicit set, or all dependents of an
// operation. The whole target is resolved before anything changes (S97).

import OpClusterModel

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
    var work = [Reached.operation(first)]
    while let found = work.popLast() {
      forEachDependent(of: found, extra, &stages) { dependent in
        switch dependent {
        case .operation(let id):
          let count = graphs[id.graph.number].operationCount
          if reached.insert(id, of: count) { work.append(dependent) }
        case .stage(let stage):
          let members = graphs[stage.graph].stages[stage.number].indices
          reached.insert(members, of: stage.graph, graphs[stage.graph].operationCount)
          work.append(dependent)
        }
      }
    }
    return graphs.numbers.compactMap { number in
      guard let marks = reached.marks[number] else { return nil }
      let left = number == first.graph.number ? first.index : nil
      let runs = unfinished(marks, of: number, but: left)
      return runs.isEmpty ? nil : runs
    }
  }

  /// The marked operations that have not ended. A step for each span, and for each mark.
  private func unfinished(_ marks: [Bool], of graph: UInt32, but left: UInt32?) -> OperationRuns {
    var runs = OperationRuns(graph: GraphID(graph))
    var index: UInt32 = 0
    while index < marks.count {
      let first = index
      let isMarked = marks[Int(index)]
      while index < marks.count, marks[Int(index)] == isMarked { index += 1 }
      guard isMarked else { continue }
      graphs[graph].forEachSpan(in: first..<index) { span in
        if graphs[graph].cell(span.first).phase != .finished { runs.append(span) }
      }
    }
    return left.map { runs.without($0) } ?? runs
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

  /// Calls `body` for each direct dependent, perhaps more than once. What stands behind a whole
  /// array is named once, by `stages`; without that a walk between two arrays would cost their
  /// product. A stage that was reached as a whole goes on as a whole, unless edges of single
  /// operations lead out of it.
  private func forEachDependent(
    of found: Reached, _ extra: [OperationID: [OperationID]],
    _ stages: inout Set<ReachedStage>, _ body: (Reached) -> Void
  ) {
    switch found {
    case .operation(let id):
      forEachSingleDependent(of: id, extra) { body(.operation($0)) }
      guard graphs.contains(id.graph.number) else { return }
      let from = graphs[id.graph.number].stageNumber(of: id.index)
      reachStages(behind: ReachedStage(graph: id.graph.number, number: from), &stages, body)
    case .stage(let stage):
      let graph = stage.graph
      let isPlain =
        extra.isEmpty && graphs[graph].dependents.isEmpty
        && graphs[graph].removedDependencies.isEmpty
      if isPlain {
        for edge in graphs[graph].stages[stage.number].outgoing where edge.match == .sameIndex {
          let next = ReachedStage(graph: graph, number: edge.stage)
          if stages.insert(next).inserted { body(.stage(next)) }
        }
      } else {
        for index in graphs[graph].stages[stage.number].indices {
          let id = graphs[graph].operation(index)
          forEachSingleDependent(of: id, extra) { body(.operation($0)) }
        }
      }
      reachStages(behind: stage, &stages, body)
    }
  }

  /// Calls `body` for the dependents of this operation alone.
  private func forEachSingleDependent(
    of id: OperationID, _ extra: [OperationID: [OperationID]], _ body: (OperationID) -> Void
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
    for edge in graphs[graph].stages[from].outgoing where edge.match == .sameIndex {
      let element = graphs[graph].stages[from].element(id.index)
      let index = graphs[graph].stages[edge.stage].firstIndex + element
      if isKept(index) { body(graphs[graph].operation(index)) }
    }
  }

  /// Calls `body` for each stage that waits for the whole of this one, the first time.
  private func reachStages(
    behind stage: ReachedStage, _ stages: inout Set<ReachedStage>, _ body: (Reached) -> Void
  ) {
    for edge in graphs[stage.graph].stages[stage.number].outgoing where edge.match == .all {
      let next = ReachedStage(graph: stage.graph, number: edge.stage)
      if stages.insert(next).inserted { body(.stage(next)) }
    }
  }
}

/// What a walk along edges has reached.
private enum Reached {
  case operation(OperationID)
  case stage(ReachedStage)
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

  /// Adds all operations of a stage.
  mutating func insert(_ members: Range<UInt32>, of graph: UInt32, _ count: UInt32) {
    withMarks(of: graph, count) { marks in
      for index in members { marks[Int(index)] = true }
    }
  }

  private mutating func withMarks<Result>(
    of graph: UInt32, _ count: UInt32, _ body: (inout [Bool]) -> Result
  ) -> Result {
    body(&marks[graph, default: Array(repeating: false, count: Int(count))])
  }
}

extension OperationRuns {
  fileprivate func without(_ left: UInt32) -> OperationRuns {
    var rest = OperationRuns(graph: graph)
    for at in 0..<runCount {
      let run = run(at)
      let parts = [run.clamped(to: 0..<left), run.clamped(to: (left + 1)..<UInt32.max)]
      for part in parts where !part.isEmpty {
        rest.append(first: part.lowerBound, count: UInt32(part.count))
      }
    }
    return rest
  }
}
