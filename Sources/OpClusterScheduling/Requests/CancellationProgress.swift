// A cancellation between its parts.

import OpClusterModel
import OpClusterQueries

/// What of a cancellation is still to be done, and what is known of the rest.
struct CancellationProgress: Sendable {
  /// The graphs that were not reached yet.
  enum Graphs: Sendable {
    /// By number, ascending; without runs if these are still to be found.
    case listed([OperationRuns])
    /// All living ones up to a number; none up to 0.
    case upTo(UInt32)
  }
  /// How the members of a graph are found once it is reached.
  enum Search: Sendable {
    /// They are known.
    case none
    case selection(OperationFilter)
    case queue(QueueID)
  }

  let reason: CancelReason
  let grace: Span?
  let search: Search
  private var left: Graphs
  /// The first operations of a graph of which the last ones were taken.
  private var rest: OperationRuns?
  /// Graphs among them that were reached out of turn; few.
  private var takenEarly: Set<GraphID> = []
  /// Graphs that a part has gone through for those that wait for them.
  var passed: Set<GraphID> = []
  /// A part whose dependents must come back from workers first, and these.
  var waiting: (part: [OperationRuns], recalled: [OperationID])?
  /// At most `Limits.rowsPerReply`.
  private(set) var verdicts: [CancelVerdict]
  private(set) var counts = VerdictCounts()

  init(
    of left: Graphs, by search: Search, gone: [OperationID], reason: CancelReason, grace: Span?
  ) {
    self.reason = reason
    self.grace = grace
    self.search = search
    self.left = left
    verdicts = gone.prefix(Limits.rowsPerReply).map {
      CancelVerdict(operation: $0, verdict: .alreadyFinished)
    }
    counts[.alreadyFinished] = UInt32(clamping: gone.count)
  }

  var isComplete: Bool {
    if waiting != nil || rest != nil { return false }
    return switch left {
    case .listed(let runs): runs.isEmpty
    case .upTo(let number): number == 0
    }
  }

  mutating func noteVerdict(
    _ verdict: CancelVerdict.Verdict, of graph: GraphID, _ range: Range<UInt32>
  ) {
    counts[verdict] = counts[verdict].saturatingAdd(UInt32(range.count))
    for index in range.prefix(Limits.rowsPerReply - verdicts.count) {
      verdicts.append(
        CancelVerdict(operation: OperationID(graph: graph, index: index), verdict: verdict))
    }
  }

  /// Sets the verdict of members that came back unstarted, and will never start, to `cancelled`; a
  /// member that had started stays `executing`, even if it has ended since (S91).
  mutating func noteUnstarted(_ ids: Set<OperationID>) {
    for at in verdicts.indices where ids.contains(verdicts[at].operation) {
      verdicts[at].verdict = .cancelled
    }
    counts.move(ids.count, from: .executing, to: .cancelled)
  }

  /// Keeps the operations of the graph that was taken last for the next part.
  mutating func putBack(_ runs: OperationRuns) { rest = runs }

  /// Takes the newest graph that is left, or what was put back. Costs the graphs that have ended
  /// since.
  mutating func takeNewest(of graphs: Registry<Graph>) -> OperationRuns? {
    if let runs = rest {
      rest = nil
      return runs
    }
    while let runs = nextNewest(of: graphs) {
      if takenEarly.remove(runs.graph) == nil { return runs }
    }
    return nil
  }

  private mutating func nextNewest(of graphs: Registry<Graph>) -> OperationRuns? {
    switch left {
    case .listed(var runs):
      // Let go, so that it changes in place.
      left = .upTo(0)
      defer { left = .listed(runs) }
      return runs.popLast()
    case .upTo(let limit):
      guard let number = graphs.lastNumber(upTo: limit) else {
        left = .upTo(0)
        return nil
      }
      left = .upTo(number - 1)
      return OperationRuns(graph: GraphID(number))
    }
  }

  /// Takes a graph out of turn; nil if it is not left. Costs the logarithm of what is left.
  mutating func takeEarly(_ graph: GraphID) -> OperationRuns? {
    if let runs = rest, runs.graph == graph {
      rest = nil
      return runs
    }
    let found: OperationRuns?
    switch left {
    case .listed(let runs):
      var (low, high) = (0, runs.count)
      while low < high {
        let middle = (low + high) / 2
        if runs[middle].graph < graph { low = middle + 1 } else { high = middle }
      }
      found = low < runs.count && runs[low].graph == graph ? runs[low] : nil
    case .upTo(let limit): found = graph.number <= limit ? OperationRuns(graph: graph) : nil
    }
    guard let found, takenEarly.insert(graph).inserted else { return nil }
    return found
  }
}
