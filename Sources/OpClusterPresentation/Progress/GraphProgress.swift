// The state of a graph, stage by stage: a snapshot that events advance. One per followed graph;
// fast enough for a hundred thousand events a second.
// Without new snapshots it stays right for what runs and what ended; what waits is told roughly.

public import OpClusterModel

/// Counts per stage. Exact for executing and ended operations. Among unstarted ones, `ready` is
/// exact except for operations that were cancelled before their start.
/// No number traps, although an event may come twice or never.
public struct GraphProgress: Sendable {
  public struct Stage: Sendable {
    public let name: String
    public let label: String
    public let total: UInt32
    public internal(set) var executing: UInt32
    /// Counts by the position of `Outcome` in `allCases`.
    var ended: [UInt32]
    /// Ready operations, including those that a worker holds.
    var ready: UInt32
    /// Operations that a worker holds and has not begun, as of the snapshot: no event tells of
    /// them, so only a new snapshot updates the count.
    var dispatched: UInt32

    public func count(_ outcome: Outcome) -> UInt32 { ended[Int(outcome.rawValue) - 1] }
    public var finished: UInt32 { ended.reduce(0) { $0.saturatingAdd($1) } }
    public var failures: UInt32 {
      count(.failed).saturatingAdd(count(.timedOut)).saturatingAdd(count(.lost))
    }
    /// Neither ended nor executing.
    /// `&-` is safe: the smaller number is taken off.
    public var unstarted: UInt32 { total &- min(total, finished &+ executing) }
  }

  public let graph: GraphID
  public let name: String
  public let submittedAt: WallTime
  public private(set) var finishedAt: WallTime
  public private(set) var stages: [Stage]
  /// nil while it runs.
  public private(set) var outcome: GraphOutcome?
  public private(set) var isSuspended: Bool
  /// Allowed failures, as of the snapshot.
  public let allowedFailures: UInt32
  /// The snapshot contains the events up to this one.
  public private(set) var lastEvent: UInt64
  /// From an index to its stage, in O(log stages).
  private let index: StageIndex

  public init(_ structure: GraphStructure) {
    let row = structure.row
    graph = row.graph
    name = row.name
    submittedAt = row.submittedAt
    finishedAt = row.finishedAt
    outcome = GraphOutcome(row.state)
    isSuspended = row.state == .suspended
    allowedFailures = row.allowedFailures
    lastEvent = structure.lastEvent
    index = StageIndex(structure)
    stages = structure.stages.map { stage in
      Stage(
        name: stage.name, label: stageLabel(stage), total: stage.count,
        executing: stage.counts[.executing].saturatingAdd(stage.counts[.stopping]),
        ended: Outcome.allCases.map { stage.counts[StateWord($0)] },
        ready: stage.counts[.ready].saturatingAdd(stage.counts[.dispatched]),
        dispatched: stage.counts[.dispatched])
    }
  }

  /// Applies a run of events. Ignores those that the snapshot contains, and those of other graphs.
  /// Returns false if nothing shown has changed.
  /// O(log stages) for each stage that it touches. Events must come in order; a gap is the caller's
  /// to notice.
  @discardableResult
  package mutating func apply(_ run: EventRun) -> Bool {
    guard let news = run.suffix(after: lastEvent) else { return false }
    lastEvent = news.lastSequence
    guard news.graph == graph else { return false }
    guard let indices = news.indices else { return applyToGraph(news.first) }
    var (hasChanged, next) = (false, indices.lowerBound)
    while let stage = index.stage(of: next) {
      let last = min(indices.upperBound, index.lastIndex(of: stage))
      if stages[stage].apply(news.first.kind, count: last - next + 1) { hasChanged = true }
      guard last < indices.upperBound else { break }
      next = last + 1
    }
    return hasChanged
  }

  /// Whether some operations have not started, so that a new snapshot would tell more than events.
  public var hasUnstarted: Bool { stages.contains { $0.unstarted > 0 } }

  private mutating func applyToGraph(_ event: Event) -> Bool {
    switch event.kind {
    case .graphSuspended(let value): isSuspended = value
    case .graphFinished(let outcome):
      self.outcome = outcome
      finishedAt = event.time
    default: return false
    }
    return true
  }

  public var total: UInt32 { stages.reduce(0) { $0.saturatingAdd($1.total) } }
  public var finished: UInt32 { stages.reduce(0) { $0.saturatingAdd($1.finished) } }
  public var executing: UInt32 { stages.reduce(0) { $0.saturatingAdd($1.executing) } }
  public var failures: UInt32 { stages.reduce(0) { $0.saturatingAdd($1.failures) } }
  public func count(_ outcome: Outcome) -> UInt32 {
    stages.reduce(0) { $0.saturatingAdd($1.count(outcome)) }
  }

  /// `running`, `suspended`, or the graph's outcome.
  public var state: GraphRow.State {
    switch outcome {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    case nil: isSuspended ? .suspended : .running
    }
  }

  /// The time from submission to the end, or until `now`.
  func elapsed(_ now: WallTime) -> String {
    shownDuration(from: submittedAt, to: finishedAt == .unknown ? now : finishedAt) ?? "0ms"
  }
}

/// A start takes the operation from the ready ones, and from those that a worker holds.
extension GraphProgress.Stage {
  fileprivate mutating func apply(_ kind: Event.Kind, count: UInt32) -> Bool {
    switch kind {
    case .isReady(let value):
      if value { ready &+= count } else { ready -= min(ready, count) }
    case .isExecuting(true):
      executing &+= count
      ready -= min(ready, count)
      dispatched -= min(dispatched, count)
    case .isExecuting(false): executing -= min(executing, count)
    case .isFinished(let outcome): ended[Int(outcome.rawValue) - 1] &+= count
    default: return false
    }
    return true
  }

  /// Returns `8 executing, 2 failed, 80 waiting`: all states except the successes, which the bar
  /// shows.
  var sentence: String {
    let ready = min(self.ready, unstarted)
    let dispatched = min(self.dispatched, ready)
    let parts: [(UInt32, String)] = [
      (count(.failed), "failed"), (count(.timedOut), "timed-out"), (count(.lost), "lost"),
      (executing, "executing"), (count(.cancelled), "cancelled"), (count(.skipped), "skipped"),
      (dispatched, "dispatched"), (ready - dispatched, "ready"), (unstarted - ready, "waiting"),
    ]
    let shown = parts.filter { $0.0 > 0 }.map { "\(shownCount($0.0)) \($0.1)" }
    return shown.isEmpty ? (total == 0 ? "empty" : "succeeded") : shown.joined(separator: ", ")
  }

  /// The tone of the row: worst first.
  var tone: Tone {
    if failures > 0 { return .bad }
    if executing > 0 { return .active }
    if finished < total { return .faint }
    return count(.succeeded) == total ? .good : .warning
  }
}

extension GraphOutcome {
  /// nil for a graph that has not ended.
  public init?(_ state: GraphRow.State) {
    switch state {
    case .succeeded: self = .succeeded
    case .failed: self = .failed
    case .cancelled: self = .cancelled
    case .running, .suspended: return nil
    }
  }
}
