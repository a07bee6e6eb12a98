// The filter of a subscription's events: a selection, resolved to numbers as far as they are known.
// The same value filters live events on the loop's thread and the backlog on the reader's. Pure.

import OpClusterModel
import OpClusterQueries

struct EventFilter: Sendable, Equatable {
  /// The selected operations of one graph.
  enum Scope: Sendable, Equatable {
    /// Nothing of the graph, not even its own events.
    case nothing
    case everything
    /// These operations; ascending, disjoint. The graph's own events are included.
    case operations([Range<UInt32>])
  }

  let graphs: GraphSet
  let graphsOnly: Bool
  /// The criteria for operations besides their graph: without graphs, with joined elements.
  let selection: Selection
  /// Whether events of queues and workers pass as well.
  let tellsCluster: Bool
  /// Whether graphs of the subscriber's own connection pass as well, and events of queues.
  let includesOwn: Bool
  /// Living graphs that the subscriber's connection submitted: they pass in full. Looked up only.
  private var own: Set<GraphID> = []
  /// The known scopes by graph. Looked up, never iterated.
  private(set) var scopes: [GraphID: Scope] = [:]
  /// The bytes of the scopes.
  private(set) var scopeBytes = 0

  init(
    _ selection: Selection, graphs: GraphSet, graphsOnly: Bool, includesOwn: Bool = false
  ) {
    self.graphs = graphs
    self.includesOwn = includesOwn
    self.graphsOnly = graphsOnly
    var beyond = selection
    // Cleared: `graphs` contains them.
    beyond.graphs = .numbers([])
    beyond.elements = selection.elements.joined()
    self.selection = beyond
    switch selection.graphs {
    case .all, .active:
      tellsCluster =
        !graphsOnly && selection.operation == nil && selection.elements.isEmpty
        && selection.states.isEmpty && selection.labels.isEmpty && selection.queue == nil
        && selection.priority == nil
    case .numbers, .last: tellsCluster = false
    }
  }

  /// Whether the filter needs the submission of a graph to judge its events.
  private var needsScope: Bool {
    if !selection.labels.isEmpty { return true }
    if graphsOnly { return false }
    return selection.operation != nil || !selection.elements.isEmpty || selection.queue != nil
      || selection.priority != nil
  }

  /// The bytes that the filter keeps of the subscriber's selection.
  var bytes: Int {
    graphs.ranges.count * MemoryLayout<ClosedRange<UInt32>>.stride + selection.bytes
  }

  /// Stores the scope of a graph.
  mutating func learn(_ scope: Scope, of graph: GraphID) {
    scopeBytes -= scopes.updateValue(scope, forKey: graph)?.bytes ?? 0
    scopeBytes += scope.bytes
  }

  /// Stores the scope of a graph within a limit: forgets all others before the sum exceeds `bound`
  /// bytes. Scopes that are not kept must be determined again.
  mutating func learn(_ scope: Scope, of graph: GraphID, within bound: Int) {
    guard scope.bytes <= bound else { return }
    if scopeBytes + scope.bytes > bound { forgetScopes() }
    learn(scope, of: graph)
  }

  /// Forgets all scopes.
  mutating func forgetScopes() {
    scopes = [:]
    scopeBytes = 0
  }

  /// Notes a graph that the subscriber's own connection has submitted.
  mutating func learnOwn(_ graph: GraphID) { if includesOwn { own.insert(graph) } }

  mutating func forget(_ graph: GraphID) {
    scopeBytes -= scopes.removeValue(forKey: graph)?.bytes ?? 0
    own.remove(graph)
  }

  /// The graph whose submission is needed before this run can be judged.
  func unknownGraph(of run: EventRun) -> GraphID? {
    guard needsScope, let graph = run.graph, graphs.contains(graph.number), !own.contains(graph)
    else { return nil }
    return scopes[graph] == nil ? graph : nil
  }

  /// Whether a part of a run may pass: true wherever `forEachPart` passes one, and for all events
  /// of selected graphs themselves, after whose end their scopes are forgotten.
  func mayPass(_ run: EventRun) -> Bool {
    switch run.first.subject {
    case .queue: return tellsCluster || includesOwn
    case .worker: return tellsCluster
    case .graph(let graph): return own.contains(graph) || graphs.contains(graph.number)
    case .operation(let operation, _):
      let graph = operation.graph
      if graphsOnly { return false }
      if own.contains(graph) { return true }
      return graphs.contains(graph.number) && tells(run.first.kind)
        && !(needsScope && scopes[graph] == .nothing)
    }
  }

  /// Calls `body` with the parts of a run that pass, in order. The scope of its graph must be known
  /// if it is needed.
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
    // Finds the first range that does not end before the run by binary search; there may be very
    // many.
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

  /// Whether a change leads into one of the selected states.
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
  /// The operations that a selection means in the graph of this submission.
  ///
  /// - Throws: `limitExceeded` if the selection means more than `Limits.partsPerScope` parts of it.
  init(
    _ selection: Selection, _ submission: GraphSubmission, graph: GraphID
  ) throws(Refusal) {
    let filter = OperationFilter(selection)
    if filter.isWhole, selection.labels.allSatisfy({ submission.labels.contains($0) }) {
      self = .everything
      return
    }
    var ranges: [Range<UInt32>] = []
    filter.forEachRange(of: GraphOutline(submission, graph: graph)) { range in
      ranges.append(range)
      return ranges.count <= Limits.partsPerScope
    }
    guard ranges.count <= Limits.partsPerScope else {
      throw Refusal(
        .limitExceeded,
        "the subscription selects more than \(Limits.partsPerScope) separate parts of graph "
          + "\(graph.number)",
        hint: "select whole arrays or ranges of elements")
    }
    self = ranges.isEmpty ? .nothing : .operations(ranges)
  }

  /// The approximate bytes of an entry in a table of scopes.
  var bytes: Int {
    switch self {
    case .nothing, .everything: 64
    case .operations(let ranges): 64 + ranges.count * MemoryLayout<Range<UInt32>>.stride
    }
  }
}

extension Selection {
  /// The approximate bytes of its dynamic storage.
  var bytes: Int {
    var bytes = elements.count * MemoryLayout<IndexRun>.stride + states.count
    if case .numbers(let ranges) = graphs {
      bytes += ranges.count * MemoryLayout<ClosedRangeOfGraphs>.stride
    }
    for label in labels { bytes += 64 + label.key.utf8.count + label.value.utf8.count }
    return bytes + (operation?.utf8.count ?? 0) + (queue?.utf8.count ?? 0)
  }
}

extension [IndexRun] {
  /// The same numbers in few runs: sorts them, joins adjacent runs without gaps, and drops
  /// duplicates.
  func joined() -> [IndexRun] {
    if count <= 1 { return self }
    var gapless: [ClosedRange<UInt32>] = []
    var others: Set<IndexRun> = []
    for run in self where run.count > 0 {
      if run.step <= 1 || run.count == 1 {
        let last = UInt64(run.first) + UInt64(run.count - 1)
        gapless.append(run.first...UInt32(clamping: last))
      } else {
        others.insert(run)
      }
    }
    let ranges = NumberRanges(gapless).ranges
    let joined = ranges.flatMap { range -> [IndexRun] in
      let more = range.upperBound - range.lowerBound
      guard more == .max else { return [IndexRun(first: range.lowerBound, count: more + 1)] }
      return [IndexRun(first: 0, count: .max), IndexRun(first: .max, count: 1)]
    }
    let rest = others.sorted { ($0.first, $0.step, $0.count) < ($1.first, $1.step, $1.count) }
    // Keeps an empty run: it selects nothing, while no runs would select everything.
    return joined.isEmpty && rest.isEmpty ? [IndexRun(first: 0, count: 0)] : joined + rest
  }
}

extension EventRun {
  /// The sequence after its last event.
  var end: UInt64 { first.sequence + UInt64(count) }

  /// The part up to `sequence`, inclusive; nil if there is none.
  func prefix(through sequence: UInt64) -> EventRun? {
    if sequence < first.sequence { return nil }
    return sequence >= end - 1 ? self : part(from: 0, count: UInt32(sequence - first.sequence + 1))
  }

  /// The part from `sequence` on; nil if there is none.
  func suffix(from sequence: UInt64) -> EventRun? {
    sequence == 0 ? self : suffix(after: sequence - 1)
  }
}
