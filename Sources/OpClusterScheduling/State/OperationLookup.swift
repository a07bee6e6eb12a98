// Looks operations up, living or remembered.

import OpClusterModel

extension ClusterState {
  /// The cell of a living operation.
  func liveCell(_ id: OperationID) throws(Refusal) -> OperationCell {
    if graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount {
      return graphs[id.graph.number].cell(id.index)
    }
    if let ended = ended[id.graph], id.index < ended.operationCount {
      throw Refusal(.alreadyFinished, "operation \(shown(id)) has finished", operations: [id])
    }
    throw Refusal(.unknownOperation, "there is no operation \(shown(id))", operations: [id])
  }

  /// `12/align/3` for a living operation, else its number.
  func shown(_ id: OperationID) -> String {
    if graphs.contains(id.graph.number), id.index < graphs[id.graph.number].operationCount {
      return graphs[id.graph.number].shown(id.index)
    }
    return id.numbered
  }

  /// The ending of an operation; nil if it has not ended. Also answers for ended graphs while they
  /// are remembered (S27).
  func knownEnding(of id: OperationID) -> OperationCell.Ending? {
    if graphs.contains(id.graph.number) {
      let cell = graphs[id.graph.number].cell(id.index)
      return cell.phase == .finished ? cell.ending : nil
    }
    return ended[id.graph].map { OperationCell.Ending(rawValue: $0.outcome(of: id.index)) }
  }

  /// Every unfinished operation that is in a queue now, including barriers (S95). Costs the graphs,
  /// their stages, and the spans of those that may be in it.
  func members(of queue: QueueID) -> [OperationRuns] {
    graphs.numbers.compactMap { number in
      let runs = members(of: queue, in: number)
      return runs.isEmpty ? nil : runs
    }
  }

  /// Those of one living graph.
  func members(of queue: QueueID, in graph: UInt32) -> OperationRuns {
    members(of: queue, in: graph, 0..<graphs[graph].operationCount)
  }

  /// Those of them in a range of indices. Costs its stages, and its spans.
  func members(of queue: QueueID, in graph: UInt32, _ wanted: Range<UInt32>) -> OperationRuns {
    var runs = OperationRuns(graph: GraphID(graph))
    var rest = wanted
    while let first = rest.first {
      let stage = graphs[graph].stageNumber(of: first)
      let part = rest.clamped(to: graphs[graph].stages[stage].indices)
      rest = part.upperBound..<rest.upperBound
      if graphs[graph].enqueuedIn.isEmpty, graphs[graph].queue(ofStage: stage) != queue { continue }
      graphs[graph].forEachSpan(in: part) { span in
        guard graphs[graph].queue(of: span.first, stage: stage) == queue else { return }
        let phase = graphs[graph].cell(span.first).phase
        if phase != .finished && phase != .declared { runs.append(span) }
      }
    }
    return runs
  }
}

extension EndedGraph {
  /// The raw ending of one operation.
  func outcome(of index: UInt32) -> UInt8 {
    outcomes.count == 1 ? outcomes[0] : outcomes[Int(index)]
  }
}
