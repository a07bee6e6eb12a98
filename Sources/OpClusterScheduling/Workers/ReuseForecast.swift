// What of a graph would not be done again if it were submitted now. The graph is submitted to a
// cluster of its own, without workers, in which only what was done before ends. A value.

import DequeModule
import OpClusterModel

/// Not durable: who asked asks again after a restart.
struct ReuseForecast: Sendable {
  /// That of a cluster with this graph alone.
  private var state = ClusterState()
  private var digests = ReuseDigests()
  private var turn = SchedulingTurn(keepsRecords: false)
  /// Operations that have become ready and were not looked at yet.
  private var ready: Deque<Range<UInt32>> = []
  /// Waits for operations of other graphs, of which nobody knows here how they end.
  private let isBound: Set<UInt32>
  private var reused: [Range<UInt32>] = []
  private var skipped: [Range<UInt32>] = []

  /// Costs what the submission costs. It must have been admitted.
  init(_ submission: GraphSubmission, at now: Instant, wall: WallTime) {
    isBound = Set(submission.externalEdges.map(\.to))
    turn.begin(at: now, wall: wall)
    state.apply(
      .submitted(Self.graph, submission.withoutTimes, fingerprint: 0, at: wall), into: &turn)
    takeEvents()
  }

  private static var graph: GraphID { GraphID(1) }

  var isEnded: Bool { ready.isEmpty }

  /// Looks at the next operations, and ends those that are joints or were done before.
  ///
  /// - Parameters:
  ///   - most: How many; each costs its argument and its single dependencies.
  ///   - earlier: What an operation with this key has left.
  mutating func step(atMost most: Int, _ earlier: (ContentDigest) -> ReusableOutcome?) {
    var left = most
    while left > 0, var next = ready.popFirst() {
      let stage = state.graphs[Self.graph.number].stageNumber(of: next.lowerBound)
      // Neighbours of several stages may have become ready together.
      let end = state.graphs[Self.graph.number].stages[stage].indices.upperBound
      if end < next.upperBound {
        ready.prepend(end..<next.upperBound)
        next = next.lowerBound..<end
      }
      guard mayEnd(stage) else {
        left -= 1
        continue
      }
      let now = next.prefix(left)
      if now.count < next.count { ready.prepend(now.upperBound..<next.upperBound) }
      left -= now.count
      for index in now { look(at: index, stage, earlier) }
      takeEvents()
    }
  }

  /// Whether any of a stage's operations may end without an attempt.
  private func mayEnd(_ stage: Int) -> Bool {
    let template = state.graphs[Self.graph.number].stages[stage].template
    return template.work == .nothing || template.isReusable
  }

  private mutating func look(
    at index: UInt32, _ stage: Int, _ earlier: (ContentDigest) -> ReusableOutcome?
  ) {
    if isBound.contains(index) { return }
    let id = state.graphs[Self.graph.number].operation(index)
    if state.graphs[Self.graph.number].stages[stage].template.work == .nothing {
      return state.apply(.succeeded, to: id, into: &turn)
    }
    guard let key = digests.key(of: id, stage, in: state), let known = earlier(key) else { return }
    if known.output.isEmpty {
      state.apply(.succeeded, to: id, into: &turn)
    } else {
      var result = AttemptResult.success
      result.output = known.output
      state.apply(.finished(id, state.withinRoom(result, of: id)), into: &turn)
    }
    state.apply(.madeReusable(id, key: key), into: &turn)
    Self.append(index..<index + 1, to: &reused)
  }

  /// Notes what has become ready or was skipped since.
  private mutating func takeEvents() {
    for run in turn.events {
      guard case .operation(let first, _) = run.first.subject else { continue }
      let range = first.index..<(first.index + run.count)
      switch run.first.kind {
      case .isReady(true): ready.append(range)
      case .isFinished(.skipped): Self.append(range, to: &skipped)
      default: break
      }
    }
    turn.begin(at: turn.now, wall: turn.wall)
  }

  private static func append(_ range: Range<UInt32>, to ranges: inout [Range<UInt32>]) {
    if let last = ranges.last, last.upperBound == range.lowerBound {
      ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
    } else {
      ranges.append(range)
    }
  }

  /// In ascending order, of a graph without a number.
  var answer: ClientReply {
    .reusable(Self.runs(reused), skipped: Self.runs(skipped))
  }

  private static func runs(_ ranges: [Range<UInt32>]) -> OperationRuns {
    var runs = OperationRuns(graph: GraphID(0))
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      runs.append(first: range.lowerBound, count: UInt32(range.count))
    }
    return runs
  }
}

extension GraphSubmission {
  /// The same work and edges, without all that says where and when something runs.
  fileprivate var withoutTimes: GraphSubmission {
    var submission = self
    submission.key = SubmissionKey("")
    submission.queues = [.named("default")]
    submission.isSuspended = false
    submission.externalEdges = []
    for at in submission.templates.indices {
      submission.templates[at].queue = 0
      submission.templates[at].isBarrier = false
      submission.templates[at].isHeld = false
      submission.templates[at].notBefore = nil
      submission.templates[at].maximumParallel = 0
    }
    return submission
  }
}
