// Resolves a selection to living graphs and operations. The body finds ended graphs in the history.

public import OpClusterModel
import OpClusterQueries

extension Scheduler {
  /// The living graphs of a selection, by number.
  public func livingGraphs(_ selection: Selection) -> [GraphID] {
    let numbers: [UInt32] =
      switch selection.graphs {
      case .all, .active: graphs.numbers
      case .last(let back):
        counters.lastGraph > back && graphs.contains(counters.lastGraph - back)
          ? [counters.lastGraph - back] : []
      case .numbers(let named): living(among: named)
      }
    return numbers.map { GraphID($0) }.filter { id in
      selection.labels.isEmpty
        || OperationFilter.carries(selection.labels, LivingGraphView(id, self))
    }
  }

  /// Looks few numbers up; scans the living graphs once if the numbers are many.
  private func living(among named: [Selection.ClosedRangeOfGraphs]) -> [UInt32] {
    let wanted = NumberRanges(
      named.filter { $0.first <= $0.last }.map { $0.first.number...$0.last.number })
    let span = wanted.ranges.reduce(0) { $0 + $1.count }
    if span > graphs.count { return graphs.numbers.filter { wanted.contains($0) } }
    return wanted.ranges.flatMap { $0.filter { graphs.contains($0) } }
  }

  /// The graph that `last~back` selects; nil if there is none yet.
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

  /// The operations of a selection, by graph and ascending.
  func resolve(_ selection: Selection) throws(Refusal) -> [OperationRuns] {
    let filter = OperationFilter(selection)
    var chosen: [OperationRuns] = []
    for id in try resolveGraphs(selection) {
      var runs = OperationRuns(graph: id)
      filter.forEachOperation(of: LivingGraphView(id, self)) { index in
        runs.append(index)
        return true
      }
      if !runs.isEmpty { chosen.append(runs) }
    }
    if chosen.isEmpty { throw Self.noOperation }
    return chosen
  }

  /// The first operations of a selection behind a given one, and whether there are more; searches
  /// no further than that.
  func firstOperations(
    _ selection: Selection, after: OperationID?, limit: Int
  ) throws(Refusal) -> (operations: [OperationID], more: Bool) {
    let filter = OperationFilter(selection)
    var found: [OperationID] = []
    var more = false
    for id in try resolveGraphs(selection) where !more {
      var first: UInt32 = 0
      if let after, id <= after.graph {
        if id < after.graph || after.index == .max { continue }
        first = after.index + 1
      }
      filter.forEachOperation(of: LivingGraphView(id, self), from: first) { index in
        more = found.count == limit
        if !more { found.append(OperationID(graph: id, index: index)) }
        return !more
      }
    }
    if found.isEmpty, after == nil { throw Self.noOperation }
    return (found, more)
  }

  private static var noOperation: Refusal {
    Refusal(.unknownOperation, "no living operation matches")
  }
}

/// A view of a living graph for queries.
struct LivingGraphView: GraphView {
  private let living: Graph
  private let queues: Registry<Queue>

  init(_ id: GraphID, _ scheduler: Scheduler) {
    living = scheduler.graphs[id.number]
    queues = scheduler.queues
  }

  var graph: GraphID { living.id }
  var labels: [Label] { living.submission.labels }
  var stageCount: Int { living.stages.count }
  func template(of stage: Int) -> OperationTemplate { living.stages[stage].template }
  func labels(of stage: Int) -> [Label] { living.stages[stage].template.labels }
  func indices(of stage: Int) -> Range<UInt32> { living.stages[stage].indices }
  func stage(of index: UInt32) -> Int? {
    index < living.operationCount ? living.stageNumber(of: index) : nil
  }
  func queueName(of stage: Int) -> String { name(of: living.stages[stage].queue) }

  func state(of index: UInt32) -> StateWord { living.cell(index).word }
  func mayHave(_ states: [StateWord], stage: Int) -> Bool {
    states.contains { living.stages[stage].counts[$0] > 0 }
  }
  var hasMoved: Bool { !living.enqueuedIn.isEmpty }
  var hasOwnPriorities: Bool { !living.changes.isEmpty }
  func queueName(of index: UInt32, stage: Int) -> String {
    name(of: living.queue(of: index, stage: stage))
  }
  func priority(of index: UInt32, stage: Int) -> Priority {
    living.priority(of: index, stage: stage)
  }

  /// Ended operations, and ones never enqueued, may name a queue that was removed.
  private func name(of queue: QueueID) -> String {
    // Avoids a copy of the queue.
    queues.contains(queue.number) ? queues[queue.number].settings.name : ""
  }
}

extension ClusterState {
  /// Every unfinished operation that is in a queue now, including barriers (S95).
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
