// What the coordinator counts for monitoring, in this life. Each turn adds what happened in it; the
// figures of the present are read from the scheduler when somebody asks (`FigureFamilies`). A
// value; on the loop's thread.

import OpClusterMetrics
import OpClusterModel
import OpClusterScheduling

struct CoordinatorFigures {
  /// The parts of a turn that take time.
  enum Phase: String, CaseIterable {
    /// Messages are received and taken in.
    case hear
    /// The scheduler draws its conclusions.
    case decide
    /// What was decided is encoded and given to the journal.
    case keep
  }

  /// The operations of living graphs that have not ended.
  private(set) var unfinished: UInt64
  private(set) var submitted: UInt64 = 0
  private(set) var submittedGraphs: UInt64 = 0
  private(set) var finished: [Outcome: UInt64] = [:]
  private(set) var finishedGraphs: [GraphOutcome: UInt64] = [:]
  private(set) var started: UInt64 = 0
  private(set) var retried: [FailureCause: UInt64] = [:]
  private(set) var lostWorkers: UInt64 = 0
  private(set) var waited = Histogram(bounds: Histogram.operationSeconds)
  private(set) var ran = Histogram(bounds: Histogram.operationSeconds)

  private(set) var turns = Histogram(bounds: Histogram.turnSeconds)
  private(set) var phases: [Phase: Span] = [:]
  private(set) var commits: UInt64 = 0
  private(set) var journalBytes: UInt64 = 0
  /// From the decision to the moment at which it may be told.
  private(set) var commitTimes = Histogram(bounds: Histogram.turnSeconds)

  /// - Parameter unfinished: What the previous life has left.
  init(unfinished: UInt64) { self.unfinished = unfinished }

  /// Counts a turn of the scheduler. Costs its runs of events and its attempts that have ended.
  mutating func note(_ events: [EventRun], _ attempts: [AttemptHistory]) {
    for run in events { note(run.first.kind, times: UInt64(run.count)) }
    for attempt in attempts where attempt.isAttempt { note(attempt) }
  }

  private mutating func note(_ kind: Event.Kind, times: UInt64) {
    switch kind {
    case .graphSubmitted(let operations):
      submittedGraphs &+= 1
      submitted &+= UInt64(operations)
      unfinished &+= UInt64(operations)
    case .graphFinished(let outcome): finishedGraphs[outcome, default: 0] &+= 1
    case .isFinished(let outcome):
      finished[outcome, default: 0] &+= times
      unfinished -= min(unfinished, times)
    case .attemptStarted: started &+= times
    case .attemptEnded(_, let cause): retried[cause, default: 0] &+= times
    case .workerLost: lostWorkers &+= 1
    case .isReady, .isExecuting, .isCancelled, .completion, .priority, .isHeld, .dependencyAdded,
      .dependencyRemoved, .enqueued, .graphSuspended, .queueCreated, .queueChanged, .queueRemoved,
      .queueCount, .workerJoined, .workerDraining, .workerLeft, .workerSetAside, .workerResumed:
      break
    }
  }

  /// Times by two clocks may come out below zero, and then count as none.
  private mutating func note(_ attempt: AttemptHistory) {
    let result = attempt.result
    guard result.startedAt != .unknown else { return }
    // Another run has waited for its turn in the meantime, and run before.
    if attempt.readyAt != .unknown, attempt.run == 1 {
      waited.observe(max(0, (result.startedAt - attempt.readyAt).seconds))
    }
    guard result.endedAt != .unknown else { return }
    ran.observe(max(0, (result.endedAt - result.startedAt).seconds))
  }

  mutating func noteTurn(_ spans: [(Phase, Span)]) {
    for (phase, span) in spans { phases[phase, default: .zero] = (phases[phase] ?? .zero) + span }
    turns.observe(spans.reduce(0) { $0 + $1.1.seconds })
  }

  mutating func noteCommit(bytes: Int) {
    commits &+= 1
    journalBytes &+= UInt64(clamping: bytes)
  }

  mutating func noteDurable(after span: Span) { commitTimes.observe(span.seconds) }
}

/// Messages of one port, both ways.
struct PortTraffic {
  private(set) var receivedMessages: UInt64 = 0
  private(set) var receivedBytes: UInt64 = 0
  private(set) var sentMessages: UInt64 = 0
  private(set) var sentBytes: UInt64 = 0

  mutating func received(_ bytes: Int) {
    receivedMessages &+= 1
    receivedBytes &+= UInt64(clamping: bytes)
  }

  mutating func sent(_ bytes: Int) {
    sentMessages &+= 1
    sentBytes &+= UInt64(clamping: bytes)
  }
}
