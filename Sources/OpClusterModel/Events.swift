// The events for observers (S104, S105): one list in commit order, without gaps in `sequence`. An
// event is durable before it is delivered (S115).

/// One change.
public struct Event: Hashable, Sendable {
  /// Without gaps over the whole cluster, from 1.
  public var sequence: UInt64
  public var commit: CommitIndex
  public var time: WallTime
  public var subject: Subject
  public var kind: Kind

  public init(
    sequence: UInt64, commit: CommitIndex, time: WallTime, subject: Subject, kind: Kind
  ) {
    self.sequence = sequence
    self.commit = commit
    self.time = time
    self.subject = subject
    self.kind = kind
  }

  public enum Subject: Hashable, Sendable {
    /// `sequence` is the operation's own, without gaps, from 1 (S106).
    case operation(OperationID, sequence: UInt32)
    case graph(GraphID)
    case queue(QueueID)
    case worker(WorkerID)
  }

  public enum Kind: Hashable, Sendable {
    case isReady(Bool)
    case isExecuting(Bool)
    case isFinished(Outcome)
    case isCancelled(CancelReason)
    /// An attempt began on this worker. The number is that of the run (`Dispatch.run`).
    case attemptStarted(UInt32, WorkerID)
    /// An attempt ended and the operation did not: it will be tried again (S12).
    case attemptEnded(UInt32, FailureCause)
    /// Recorded once, after isFinished (S109).
    case completion
    case priority(Priority)
    /// The hold gate was closed or opened (S44).
    case isHeld(Bool)
    case dependencyAdded(OperationID, EdgePolicy)
    case dependencyRemoved(OperationID)
    /// A declared operation entered this queue, or an operation moved to it. Operations that the
    /// submission queues have no such event.
    case enqueued(QueueID)
    case graphSubmitted(operations: UInt32)
    case graphSuspended(Bool)
    case graphFinished(GraphOutcome)
    case queueCreated(QueueSettings)
    case queueChanged(QueueSettings)
    case queueRemoved
    /// The queue's operations, once per turn that changed them (S105); without barriers (S81).
    case queueCount(UInt32)
    case workerJoined(name: String)
    case workerLost
    /// The worker was asked to finish its running operations and to leave.
    case workerDraining
    case workerLeft
    /// The worker gets no operations of a stage, or of no stage (nil), for longer and longer times:
    /// it could not start what others could.
    ///
    /// - Parameter reason: The worker's last error; at most `Limits.diagnosticBytes`.
    case workerSetAside(StageName?, reason: String)
    /// The worker gets operations of the stage, or of all stages, again. The end of the graph, of
    /// the worker or of the coordinator has the same effect without an event.
    case workerResumed(StageName?)
  }
}

/// The outcome of a graph: the worst outcome of its operations, allowed failures aside.
public enum GraphOutcome: UInt8, Sendable, CaseIterable {
  case succeeded = 1
  case failed
  case cancelled
}

/// The same change of `count` consecutive operations of one graph, from that of `first` on. Each
/// has the own sequence of the first; the events have consecutive sequences. Every other subject
/// has a count of 1.
public struct EventRun: Hashable, Sendable {
  public var first: Event
  public var count: UInt32
  public init(first: Event, count: UInt32) {
    self.first = first
    self.count = count
  }
  /// The graph that it is about, or whose operations; nil: a queue or a worker.
  package var graph: GraphID? { first.graph }

  /// The sequence of its last event.
  package var lastSequence: UInt64 { first.sequence &+ UInt64(count) &- 1 }

  /// The indices of its operations; nil: it is about something else.
  package var indices: ClosedRange<UInt32>? {
    guard case .operation(let operation, _) = first.subject, count > 0 else { return nil }
    return operation.index...(operation.index &+ (count - 1))
  }

  /// The part of `count` events from index `offset` on; expects that it has them.
  package func part(from offset: UInt32, count: UInt32) -> EventRun {
    if offset == 0, count == self.count { return self }
    var event = first
    event.sequence += UInt64(offset)
    if case .operation(let operation, let own) = first.subject {
      event.subject = .operation(
        OperationID(graph: operation.graph, index: operation.index + offset), sequence: own)
    }
    return EventRun(first: event, count: count)
  }

  /// The part whose sequences are greater than `sequence`; nil if there is none.
  package func suffix(after sequence: UInt64) -> EventRun? {
    if sequence < first.sequence { return self }
    let passed = sequence - first.sequence
    guard count > 1, passed < UInt64(count - 1) else { return nil }
    let offset = UInt32(passed) + 1
    return part(from: offset, count: count - offset)
  }

  /// Calls `body` with each event.
  public func forEach(_ body: (Event) -> Void) {
    guard case .operation(let operation, let own) = first.subject else { return body(first) }
    for offset in 0..<count {
      var event = first
      event.sequence += UInt64(offset)
      event.subject = .operation(
        OperationID(graph: operation.graph, index: operation.index + offset), sequence: own)
      body(event)
    }
  }
}

extension Event {
  /// The graph that it is about, or whose operation; nil: a queue or a worker.
  package var graph: GraphID? {
    switch subject {
    case .operation(let operation, _): operation.graph
    case .graph(let graph): graph
    case .queue, .worker: nil
    }
  }
}
