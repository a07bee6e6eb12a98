// The graphs of the own connection that a subscription follows, so that it can be renewed after a
// loss, and the events that it still has to deliver. Pure; lives on the connection's thread.
//
// The coordinator follows a graph from its acceptance on, as long as the subscription lasts. A
// renewed subscription names the graphs that have not ended. A submission of an earlier connection
// that is answered on this one as a repetition was accepted in between, and so may have been one
// that was on its way when the coordinator got the renewal. The subscription is then renewed once
// more, from its position when that submission may have been accepted, and delivers of the events
// since then only those of that graph. This renewal waits until no submission is on its way, so
// that it leaves none behind for which it would have to be made again.

import OpClusterModel

struct OwnGraphs {
  /// Maximum number of ranges in one selection; further ones are joined across the smallest gaps.
  static let rangesInSelection = 1_024

  /// Accepted graphs that have not been seen finished.
  private var open: Set<GraphID> = []
  /// Graphs seen finished while submissions were unanswered: their acceptance may come later.
  private var finishedEarly: Set<GraphID> = []
  /// Graphs with undelivered events before the subscription's position, each with its last
  /// delivered event.
  private var late: [GraphID: UInt64] = [:]
  /// Submissions that had been sent at the renewal and are not answered.
  private var awaited: Set<RequestID> = []
  /// Those of them that the present connection had sent: the coordinator may have accepted them
  /// before it got the renewal.
  private var overtaken: Set<RequestID> = []
  /// The subscription's position when the first of them may have been accepted.
  private var floor: UInt64 = 0
  /// Whether the subscription must be renewed to deliver all own graphs.
  private(set) var isOutdated = false

  /// The position at which the next subscription must begin; nil means the present position.
  var beginning: UInt64? { late.values.min() }

  // MARK: - Events

  /// Returns the new events of a run, and notes them as delivered. Everything through `seen` has
  /// been delivered, except events of late graphs.
  mutating func admit(_ run: EventRun, seen: UInt64?) -> EventRun? {
    let seen = seen ?? 0
    let told = run.graph.flatMap { late[$0] }
    guard let news = run.suffix(after: min(told ?? seen, seen)) else { return nil }
    if news.lastSequence > seen, !isOutdated {
      // Late events have been delivered again on the way here.
      late = [:]
    } else if let graph = run.graph, told != nil {
      late[graph] = news.lastSequence
    }
    return news
  }

  /// Notes that everything through here has been delivered.
  mutating func caughtUp() {
    if !isOutdated { late = [:] }
  }

  /// Notes an event that is delivered now.
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

  /// Notes that the coordinator accepted our graph; its events may have been delivered already.
  mutating func accepted(_ graph: GraphID, by request: RequestID, isRepeated: Bool) {
    let wasAwaited = awaited.remove(request) != nil
    let isFollowed = overtaken.remove(request) == nil && !isRepeated
    if finishedEarly.remove(graph) != nil { return }
    // A known graph is delivered from its beginning, or was named in the renewal.
    guard open.insert(graph).inserted, !isFollowed else { return }
    if wasAwaited { late[graph] = floor }
    isOutdated = true
  }

  /// Notes the final answer to a submission.
  mutating func answered(_ request: RequestID) {
    awaited.remove(request)
    overtaken.remove(request)
  }

  /// Notes that no submission is unanswered.
  mutating func allAnswered() {
    finishedEarly = []
    awaited = []
    overtaken = []
  }

  // MARK: - Renewal

  /// Begins the subscription anew while these submissions are not answered.
  mutating func renewed(awaiting submissions: UnansweredSubmissions, seen: UInt64?) {
    isOutdated = false
    if awaited.isEmpty { floor = seen ?? 0 }
    awaited.formUnion(submissions.sent)
    overtaken = submissions.onTheWay
  }

  /// Returns the selection with these graphs added.
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
    // Include a few foreign graphs rather than exceed the message size.
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
  /// Whether own graphs can be added without changing the rest of the selection.
  var canIncludeOwn: Bool {
    switch graphs {
    case .numbers, .all: self == Selection(graphs: graphs)
    case .last, .active: false
    }
  }
}
