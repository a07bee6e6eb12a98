// What observers are told (S104, S105): one list, in commit order, gapless in `sequence`, durable
// before it is told (S115).

/// One change, as a subscriber sees it.
public struct Event: Hashable, Sendable {
  /// Gapless over the whole cluster, from 1.
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
    /// With the operation's own gapless sequence, from 1 (S106).
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
    /// An attempt began, on this worker. Numbers as people count (`Dispatch.run`).
    case attemptStarted(UInt32, WorkerID)
    /// An attempt ended without ending the operation: it will be tried again (S12).
    case attemptEnded(UInt32, FailureCause)
    /// Recorded once, after isFinished (S109).
    case completion
    case priority(Priority)
    /// Its hold gate was closed or opened (S44).
    case isHeld(Bool)
    case dependencyAdded(OperationID, EdgePolicy)
    case dependencyRemoved(OperationID)
    /// A declared operation entered this queue, or an operation was moved to it. Operations that
    /// are queued by their submission have no such event.
    case enqueued(QueueID)
    case graphSubmitted(operations: UInt32)
    case graphSuspended(Bool)
    case graphFinished(GraphOutcome)
    case queueCreated(QueueSettings)
    case queueChanged(QueueSettings)
    case queueRemoved
    /// How many operations it has now, once a turn in which that changed (S105); barriers are not
    /// counted (S81).
    case queueCount(UInt32)
    case workerJoined(name: String)
    case workerLost
    /// It was asked to finish what it runs and to leave.
    case workerDraining
    case workerLeft
    /// It is given nothing of a stage, or nothing at all (nil), for longer and longer: it could
    /// not start what others ran.
    ///
    /// - Parameter reason: What it said of the last one; at most `Limits.diagnosticBytes`.
    case workerSetAside(StageName?, reason: String)
    /// It is given that again. Nobody is told where its graph, the worker or the coordinator has
    /// ended meanwhile: that ends it as well.
    case workerResumed(StageName?)
  }
}

/// How a graph ended: the worst of its members, allowed failures aside.
public enum GraphOutcome: UInt8, Sendable, CaseIterable {
  case succeeded = 1
  case failed
  case cancelled
}

/// The same change of neighbouring operations of one graph, told once: operations
/// `first…first+count−1`, each with the own sequence of the first; their events have consecutive
/// sequences. Anything but an operation has a count of 1.
public struct EventRun: Hashable, Sendable {
  public var first: Event
  public var count: UInt32
  public init(first: Event, count: UInt32) {
    self.first = first
    self.count = count
  }
  /// The events one by one.
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
