// The search for what a question selects among all that lives. It goes on in parts, so that nobody
// waits while a question that finds little looks at much. Nothing is kept of a part but where it
// ended and what it found: the answer is made of the state in which the search ends, and what was
// found and has changed since is left out of it.

package import OpClusterModel
import OpClusterQueries

/// A question about living graphs or operations, and how far it has come.
package struct LivingSearch: Sendable {
  let wanted: Wanted
  private(set) var selection: Selection
  /// The most that is told at once.
  let limit: Int
  let after: OperationID?
  fileprivate let filter: OperationFilter
  /// Those of the wanted graphs, if they are named by numbers.
  fileprivate var ranges: NumberRanges
  /// What is looked at next, of graphs their first operation.
  fileprivate var next: OperationID
  /// What is found, of graphs their first operation: at most one more than is told.
  fileprivate(set) var found: [OperationID] = []
  fileprivate var isAtEnd = false
  /// Whether it has seen a graph that is selected.
  fileprivate(set) var isAnyGraphSelected = false

  enum Wanted: Sendable { case graphs, operations, explanations }

  /// Nil for a question that costs no more than its answer.
  package init?(_ question: ClientRequest) {
    switch question {
    case .graphs(let selection, let after, let limit):
      // None of its operations is behind this one.
      let last = after.map { OperationID(graph: $0, index: .max) }
      self.init(.graphs, selection, after: last, limit: Limits.rowsPerReply(asked: limit))
    case .operations(let selection, let after, let limit):
      self.init(.operations, selection, after: after, limit: Limits.rowsPerReply(asked: limit))
    case .explain(let selection):
      self.init(.explanations, selection, after: nil, limit: Limits.explanationsPerReply)
    case .structure, .submission, .queues, .workers, .configuration, .ping, .log, .subscribe,
      .grantCredit, .unsubscribe, .enrol, .submit, .reusable, .enqueue, .cancel, .cancelQueue,
      .suspendGraphs, .createQueue, .changeQueue, .removeQueue, .addDependency, .removeDependency,
      .setPriority, .hold, .setQueue, .addBlocks, .beginWait, .endWait, .drainWorker,
      .resumeWorker, .forgetWorker, .removeGraphs, .locate, .place, .bring:
      return nil
    }
  }

  init(_ wanted: Wanted, _ selection: Selection, after: OperationID?, limit: Int) {
    self.wanted = wanted
    self.selection = selection
    self.after = after
    self.limit = limit
    filter = OperationFilter(selection)
    ranges = NumberRanges(selection.graphs)
    next = OperationID(graph: GraphID(0), index: 0)
    guard let after else { return }
    if after.index < .max {
      next = OperationID(graph: after.graph, index: after.index + 1)
    } else if after.graph.number < .max {
      next = OperationID(graph: GraphID(after.graph.number + 1), index: 0)
    } else {
      isAtEnd = true
    }
  }

  /// How far back from the newest graph the one is that it asks about; nil: it does not say so.
  package var back: UInt32? {
    if case .last(let back) = selection.graphs { back } else { nil }
  }

  /// From now on it asks about these graphs.
  package mutating func settle(on graphs: Selection.Graphs) {
    selection.graphs = graphs
    ranges = NumberRanges(graphs)
  }

  /// Whether there is more than is told at once.
  var hasMore: Bool { found.count > limit }
  fileprivate var hasEnded: Bool { isAtEnd || hasMore }
}

extension Scheduler {
  /// Goes on with a search until it has used its looks, or has ended; whether it has: then it is to
  /// be answered before anything else happens. A look is at a range of numbers, a graph, a stage,
  /// or neighbours that are alike.
  ///
  /// - Parameter looks: At least 5, one for each of these; fewer may get no further.
  package func goOn(with search: inout LivingSearch, atMost looks: Int) -> Bool {
    var looks = looks
    // What was found in another turn may have changed or gone since.
    var isCurrent = search.found.isEmpty
    while true {
      if !search.hasEnded { seek(&search, &looks) }
      if !search.hasEnded { return false }
      if isCurrent { return true }
      looks -= search.found.count
      let found = search.found.filter { isStillMeant($0, by: search) }
      search.found = found
      isCurrent = true
    }
  }

  /// Whether what was found lives yet, and is still what was asked for.
  private func isStillMeant(_ id: OperationID, by search: LivingSearch) -> Bool {
    guard graphs.contains(id.graph.number) else { return false }
    if search.wanted == .graphs { return isMeant(id.graph, by: search) }
    return search.filter.stillSelects(id.index, of: LivingGraphView(id.graph, state))
  }

  private func isMeant(_ graph: GraphID, by search: LivingSearch) -> Bool {
    state.state(of: graphs[graph.number]).isMeant(by: search.selection.states)
  }

  private func seek(_ search: inout LivingSearch, _ looks: inout Int) {
    let first = search.next.graph.number
    var isPaused = false
    forEachLivingNumber(
      of: search.selection.graphs, search.ranges, after: first == 0 ? nil : first - 1,
      begins: { range in
        looks -= 1
        isPaused = looks < 0
        if isPaused, range.lowerBound > first {
          search.next = OperationID(graph: GraphID(range.lowerBound), index: 0)
        }
        return !isPaused
      }
    ) { number in
      let id = GraphID(number)
      if number != first { search.next = OperationID(graph: id, index: 0) }
      looks -= 1
      isPaused = looks < 0
      if isPaused { return false }
      guard carries(search.selection.labels, number) else { return true }
      search.isAnyGraphSelected = true
      if search.wanted == .graphs {
        if isMeant(id, by: search) { search.appendFound(0, of: id) }
        return !search.hasMore
      }
      isPaused = seek(in: id, &search, &looks)
      return !isPaused && !search.hasMore
    }
    search.isAtEnd = !isPaused && !search.hasMore
  }

  /// Whether it has paused.
  private func seek(
    in graph: GraphID, _ search: inout LivingSearch, _ looks: inout Int
  ) -> Bool {
    let reached = search.filter.search(
      LivingGraphView(graph, state), from: search.next.index, atMost: &looks
    ) { range in
      for index in range {
        search.appendFound(index, of: graph)
        if search.hasMore { return false }
      }
      return true
    }
    guard case .paused(let before) = reached else { return false }
    search.next = OperationID(graph: graph, index: before)
    return true
  }
}

extension LivingSearch {
  fileprivate mutating func appendFound(_ index: UInt32, of graph: GraphID) {
    found.append(OperationID(graph: graph, index: index))
    let isLast = index == .max || wanted == .graphs
    next =
      isLast
      ? OperationID(graph: GraphID(graph.number.saturatingAdd(1)), index: 0)
      : OperationID(graph: graph, index: index + 1)
  }
}
