// Which graphs of the own connection a subscription follows, so that it can be renewed after a
// loss, and what of them is still to be told. Pure; lives on the connection's thread.
//
// The coordinator follows a graph from its acceptance on, for as long as the subscription lasts.
// When it is renewed, after a loss of the connection say, it names the graphs that have not ended.
// What was submitted before and is answered later may have been accepted in between: then it is
// renewed once more, from where it was when that submission may have been accepted, and of what was
// told since only the events of that graph are told.

import OpClusterModel

struct OwnGraphs {
  /// Ranges of graphs that one selection may name; more are joined over the smallest gaps.
  static let rangesInSelection = 1_024

  /// Known to be accepted and not seen finished.
  private var open: Set<GraphID> = []
  /// Seen finished while submissions were unanswered: their acceptance may come later.
  private var finishedEarly: Set<GraphID> = []
  /// Graphs of which events before the subscription's place are still to be told: through which
  /// event each has been told.
  private var late: [GraphID: UInt64] = [:]
  /// Submissions that were on their way when the subscription was renewed, and are not answered.
  private var awaited: Set<RequestID> = []
  /// Where the subscription was when the first of them may have been accepted.
  private var floor: UInt64 = 0
  /// The subscription must be renewed for all of our graphs to be told.
  private(set) var isOutdated = false

  /// Where the next subscribing must begin; nil: where the subscription is.
  var beginning: UInt64? { late.values.min() }

  // MARK: - Events

  /// Whether an event is news, where everything through `seen` has been told but for late graphs.
  mutating func isNews(_ event: Event, seen: UInt64?) -> Bool {
    if event.sequence > seen ?? 0 {
      if !isOutdated {
        // What is late has been told again on the way here.
        late = [:]
      } else if let graph = event.graph, late[graph] != nil {
        late[graph] = event.sequence
      }
      return true
    }
    guard let graph = event.graph, let told = late[graph], event.sequence > told else {
      return false
    }
    late[graph] = event.sequence
    return true
  }

  /// Everything through here has been told.
  mutating func caughtUp() {
    if !isOutdated { late = [:] }
  }

  /// An event is told now.
  mutating func note(_ event: Event, hasUnanswered: Bool) {
    guard case .graph(let graph) = event.subject else { return }
    switch event.kind {
    case .graphSubmitted: open.insert(graph)
    case .graphFinished:
      open.remove(graph)
      if hasUnanswered { finishedEarly.insert(graph) }
    default: break
    }
  }

  // MARK: - Answers

  /// The coordinator has accepted a graph of ours, whose events may have been told already.
  mutating func accepted(_ graph: GraphID, by request: RequestID, isRepeated: Bool) {
    let wasAwaited = awaited.remove(request) != nil
    if finishedEarly.remove(graph) != nil { return }
    // Known already: told from its beginning, or named when the subscription was renewed.
    guard open.insert(graph).inserted, wasAwaited || isRepeated else { return }
    if wasAwaited { late[graph] = floor }
    isOutdated = true
  }

  /// A submission was answered for good.
  mutating func answered(_ request: RequestID) { awaited.remove(request) }

  /// No submission is unanswered.
  mutating func allAnswered() {
    finishedEarly = []
    awaited = []
  }

  // MARK: - Renewal

  /// The subscription begins anew, and these submissions are on their way.
  mutating func renewed(awaiting submissions: Set<RequestID>, seen: UInt64?) {
    isOutdated = false
    if awaited.isEmpty { floor = seen ?? 0 }
    awaited.formUnion(submissions)
  }

  /// A selection with these graphs added to it.
  func added(to selection: Selection) -> Selection {
    guard case .numbers(let wanted) = selection.graphs, !open.isEmpty else { return selection }
    var result = selection
    result.graphs = .numbers(wanted + ranges)
    return result
  }

  private var ranges: [Selection.ClosedRangeOfGraphs] {
    var ranges: [Selection.ClosedRangeOfGraphs] = []
    for graph in open.sorted() {
      if let last = ranges.last, last.last.number + 1 == graph.number {
        ranges[ranges.count - 1].last = graph
      } else {
        ranges.append(Selection.ClosedRangeOfGraphs(graph, graph))
      }
    }
    guard ranges.count > Self.rangesInSelection else { return ranges }
    // Rather a few graphs of others than too long a message.
    let gaps = zip(ranges, ranges.dropFirst()).map { $1.first.number - $0.last.number }.sorted()
    let widest = gaps[gaps.count - Self.rangesInSelection]
    return ranges.reduce(into: []) { joined, range in
      if let last = joined.last, range.first.number - last.last.number <= widest {
        joined[joined.count - 1].last = range.last
      } else {
        joined.append(range)
      }
    }
  }
}

extension Selection {
  /// Whether own graphs can be added to it without changing what else it means.
  var canIncludeOwn: Bool {
    switch graphs {
    case .numbers, .all: self == Selection(graphs: graphs)
    case .last, .active: false
    }
  }
}

extension Event {
  fileprivate var graph: GraphID? {
    switch subject {
    case .operation(let operation, _): operation.graph
    case .graph(let graph): graph
    case .queue, .worker: nil
    }
  }
}
