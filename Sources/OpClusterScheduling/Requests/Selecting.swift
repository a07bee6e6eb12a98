// Which living graphs and operations a selection means. Graphs that ended are found by the body in
// the history.

public import OpClusterModel

extension Scheduler {
  /// Living graphs of a selection, by number.
  public func livingGraphs(_ selection: Selection) -> [GraphID] {
    let numbers: [UInt32] =
      switch selection.graphs {
      case .all, .active: graphs.numbers
      case .last(let back):
        counters.lastGraph > back && graphs.contains(counters.lastGraph - back)
          ? [counters.lastGraph - back] : []
      case .numbers(let ranges):
        graphs.numbers.filter { number in
          ranges.contains { $0.first.number <= number && number <= $0.last.number }
        }
      }
    return numbers.map { GraphID($0) }.filter { id in
      selection.labels.allSatisfy { graphs[id.number].submission.labels.contains($0) }
        || selection.labels.allSatisfy { label in
          graphs[id.number].stages.contains { $0.template.labels.contains(label) }
        }
    }
  }

  /// The number that `last~back` means; nil before there is one.
  public func lastGraph(back: UInt32) -> GraphID? {
    counters.lastGraph > back ? GraphID(counters.lastGraph - back) : nil
  }

  func resolveGraphs(_ selection: Selection) throws(Refusal) -> [GraphID] {
    let chosen = livingGraphs(selection)
    if !chosen.isEmpty { return chosen }
    throw nothing(selection)
  }

  private func nothing(_ selection: Selection) -> Refusal {
    if case .numbers(let ranges) = selection.graphs, ranges.count == 1,
      ranges[0].first == ranges[0].last, ranges[0].first.number <= counters.lastGraph,
      ranges[0].first.number > 0
    {
      return Refusal(
        .alreadyFinished, "graph \(ranges[0].first.number) has ended")
    }
    return Refusal(.unknownGraph, "no living graph matches", hint: "see them with: opbatch ls -a")
  }

  /// Operations of a selection, by graph and ascending.
  func resolve(_ selection: Selection) throws(Refusal) -> [OperationRuns] {
    let chosen = try resolveGraphs(selection).map { operations(of: $0, selection) }
      .filter { !$0.isEmpty }
    if chosen.isEmpty { throw Refusal(.unknownOperation, "no living operation matches") }
    return chosen
  }

  func operations(of id: GraphID, _ selection: Selection) -> OperationRuns {
    var runs = OperationRuns(graph: id)
    let wanted = selection.operation.map { NamePattern($0) }
    for stage in graphs[id.number].stages.indices {
      let template = graphs[id.number].stages[stage].template
      if let wanted, !wanted.matches(template.name) { continue }
      if !selection.labels.allSatisfy({
        template.labels.contains($0) || graphs[id.number].submission.labels.contains($0)
      }) {
        continue
      }
      for index in graphs[id.number].stages[stage].indices
      where matches(id, stage, index, selection) {
        runs.append(index)
      }
    }
    return runs
  }

  private func matches(
    _ id: GraphID, _ stage: Int, _ index: UInt32, _ selection: Selection
  ) -> Bool {
    let graph = id.number
    if !selection.elements.isEmpty {
      let element = graphs[graph].stages[stage].element(index)
      let shown = graphs[graph].stages[stage].template.shownIndex(ofElement: element)
      if !selection.elements.contains(where: { $0.contains(shown) }) { return false }
    }
    if !selection.states.isEmpty, !selection.states.contains(graphs[graph].cell(index).word) {
      return false
    }
    if let name = selection.queue {
      let queue = graphs[graph].queue(of: index, stage: stage).number
      // What has ended, or was never enqueued, may name a queue that is gone.
      guard let full = queues.find(queue)?.settings.name else { return false }
      if full != name, full != "\(graph)/\(name)" { return false }
    }
    if let priority = selection.priority {
      return graphs[graph].priority(of: index, stage: stage) == priority
    }
    return true
  }

  /// Every unfinished operation now in a queue, barriers included (S95).
  func members(of queue: QueueID) -> [OperationRuns] {
    graphs.numbers.compactMap { number in
      var runs = OperationRuns(graph: GraphID(number))
      for stage in graphs[number].stages.indices {
        if graphs[number].enqueuedIn.isEmpty, graphs[number].stages[stage].queue != queue {
          continue
        }
        for index in graphs[number].stages[stage].indices
        where graphs[number].queue(of: index, stage: stage) == queue {
          let phase = graphs[number].cell(index).phase
          if phase != .finished && phase != .declared { runs.append(index) }
        }
      }
      return runs.isEmpty ? nil : runs
    }
  }
}

extension IndexRun {
  func contains(_ number: UInt32) -> Bool {
    number >= first && (number - first) % max(step, 1) == 0
      && (number - first) / max(step, 1) < count
  }
}
