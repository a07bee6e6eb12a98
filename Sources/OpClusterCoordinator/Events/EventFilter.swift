// Which events a subscription is told: a selection, resolved to numbers as far as they are known.
// The same value filters live events on the loop's thread and the backlog on the reader's. Pure.

import OpClusterModel

struct EventFilter: Sendable, Equatable {
  /// Which operations of one graph are meant.
  enum Scope: Sendable, Equatable {
    /// Nothing of the graph, not even its own events.
    case nothing
    case everything
    /// These operations; ascending, disjoint. The graph's own events come along.
    case operations([Range<UInt32>])
  }

  let graphs: GraphSet
  let graphsOnly: Bool
  /// What is asked of operations beyond their graph.
  let selection: Selection
  /// Also events of queues and workers.
  let tellsCluster: Bool
  /// Also graphs that the subscriber's own connection submits, and events of queues.
  let includesOwn: Bool
  /// Living graphs that came over the subscriber's connection: told in full. Looked up only.
  private var own: Set<GraphID> = []
  /// By graph, as far as it had to be found out. Looked up, never iterated.
  private(set) var scopes: [GraphID: Scope] = [:]

  init(
    _ selection: Selection, graphs: GraphSet, graphsOnly: Bool, includesOwn: Bool = false
  ) {
    self.graphs = graphs
    self.includesOwn = includesOwn
    self.graphsOnly = graphsOnly
    self.selection = selection
    switch selection.graphs {
    case .all, .active:
      tellsCluster =
        !graphsOnly && selection.operation == nil && selection.elements.isEmpty
        && selection.states.isEmpty && selection.labels.isEmpty && selection.queue == nil
        && selection.priority == nil
    case .numbers, .last: tellsCluster = false
    }
  }

  /// Whether the submission of a graph must be known to judge its events.
  private var needsScope: Bool {
    if !selection.labels.isEmpty { return true }
    if graphsOnly { return false }
    return selection.operation != nil || !selection.elements.isEmpty || selection.queue != nil
      || selection.priority != nil
  }

  /// Takes over what has been found out about a graph.
  mutating func learn(_ scope: Scope, of graph: GraphID) { scopes[graph] = scope }

  /// A graph has come over the subscriber's own connection.
  mutating func learnOwn(_ graph: GraphID) { if includesOwn { own.insert(graph) } }

  mutating func forget(_ graph: GraphID) {
    scopes[graph] = nil
    own.remove(graph)
  }

  /// The graph whose submission must be looked up before this run can be judged.
  func unknownGraph(of run: EventRun) -> GraphID? {
    guard needsScope, let graph = run.graph, graphs.contains(graph.number), !own.contains(graph)
    else { return nil }
    return scopes[graph] == nil ? graph : nil
  }

  /// Hands over the parts of a run that are told, in order. The scope of its graph is known, if it
  /// is needed.
  func forEachPart(of run: EventRun, _ body: (EventRun) -> Void) {
    if let graph = run.graph, own.contains(graph) {
      if case .operation = run.first.subject, graphsOnly { return }
      return body(run)
    }
    switch run.first.subject {
    case .queue:
      if tellsCluster || includesOwn { body(run) }
    case .worker:
      if tellsCluster { body(run) }
    case .graph(let graph):
      if graphs.contains(graph.number), scope(of: graph) != .nothing { body(run) }
    case .operation(let operation, _):
      guard !graphsOnly, graphs.contains(operation.graph.number), tells(run.first.kind) else {
        return
      }
      switch scope(of: operation.graph) {
      case .nothing: break
      case .everything: body(run)
      case .operations(let ranges): cut(run, operation.index, ranges, body)
      }
    }
  }

  private func scope(of graph: GraphID) -> Scope {
    needsScope ? scopes[graph] ?? .nothing : .everything
  }

  private func cut(
    _ run: EventRun, _ first: UInt32, _ ranges: [Range<UInt32>], _ body: (EventRun) -> Void
  ) {
    let whole = first..<(first &+ run.count)
    // The first that does not end before the run; there may be very many.
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= whole.lowerBound { low = middle + 1 } else { high = middle }
    }
    while low < ranges.count, ranges[low].lowerBound < whole.upperBound {
      let part = ranges[low].clamped(to: whole)
      if !part.isEmpty { body(run.part(from: part.lowerBound - first, count: UInt32(part.count))) }
      low += 1
    }
  }

  /// A state filter lets the changes pass that lead into one of the states.
  private func tells(_ kind: Event.Kind) -> Bool {
    if selection.states.isEmpty { return true }
    let word: StateWord
    switch kind {
    case .isReady(true): word = .ready
    case .isExecuting(true), .attemptStarted: word = .executing
    case .isFinished(let outcome): word = StateWord(outcome)
    case .isCancelled: word = .stopping
    default: return false
    }
    return selection.states.contains(word)
  }
}

extension EventFilter.Scope {
  /// What a selection means in the graph of this submission.
  init(_ selection: Selection, _ submission: GraphSubmission, graph: GraphID) {
    let ofGraph = selection.labels.allSatisfy { submission.labels.contains($0) }
    let isWhole =
      selection.operation == nil && selection.elements.isEmpty && selection.queue == nil
      && selection.priority == nil
    if isWhole, ofGraph {
      self = .everything
      return
    }
    let outline = GraphOutline(submission, graph: graph)
    var ranges: [Range<UInt32>] = []
    let numbers = ElementNumbers(selection.elements)
    for stage in outline.submission.templates.indices where outline.matches(selection, stage) {
      outline.forEachRange(of: stage, numbers) { range in
        ranges.append(range)
        return true
      }
    }
    self = ranges.isEmpty ? .nothing : .operations(ranges)
  }
}

extension EventRun {
  var graph: GraphID? {
    switch first.subject {
    case .operation(let operation, _): operation.graph
    case .graph(let graph): graph
    case .queue, .worker: nil
    }
  }

  /// The sequence after the last of its events.
  var end: UInt64 { first.sequence + UInt64(count) }

  /// `count` of its events, from its `offset`th on.
  func part(from offset: UInt32, count: UInt32) -> EventRun {
    if offset == 0, count == self.count { return self }
    var event = first
    event.sequence += UInt64(offset)
    if case .operation(let operation, let own) = first.subject {
      event.subject = .operation(
        OperationID(graph: operation.graph, index: operation.index + offset), sequence: own)
    }
    return EventRun(first: event, count: count)
  }

  /// What of it comes at `sequence` or before; nil when nothing does.
  func prefix(through sequence: UInt64) -> EventRun? {
    if sequence < first.sequence { return nil }
    return sequence >= end - 1 ? self : part(from: 0, count: UInt32(sequence - first.sequence + 1))
  }

  /// What of it comes at `sequence` or later; nil when nothing does.
  func suffix(from sequence: UInt64) -> EventRun? {
    if sequence <= first.sequence { return self }
    guard sequence < end else { return nil }
    let offset = UInt32(sequence - first.sequence)
    return part(from: offset, count: count - offset)
  }
}
