// What a client asks for to be told of events, and what it is told. The events themselves are in
// `Events.swift`.

/// The selection and the start of a subscription.
public struct EventSubscription: Hashable, Sendable {
  /// The client's number of the subscription.
  public var number: UInt64
  public var selection: Selection
  /// Delivers events after this sequence; nil: new events only.
  public var since: UInt64?
  /// The newest event that the subscriber knows, with its life. The coordinator refuses the
  /// subscription if its log does not have that event (`otherHistory`). nil: the origin of `since`
  /// is unknown.
  public var known: EventMark?
  /// Delivers only events of graphs (submitted, finished…), not of operations.
  public var graphsOnly: Bool
  /// Ends after the backlog.
  public var backlogOnly: Bool
  /// Also delivers the events of every graph that is submitted over this connection from now on,
  /// and of all queues. For programs that follow their own operations.
  public var includesOwn: Bool
  /// Takes equal changes of neighbours as one run; each of them counts against the credit.
  public var takesRuns: Bool
  public var credit: UInt32
  public init(
    number: UInt64, selection: Selection, since: UInt64? = nil, graphsOnly: Bool = false,
    backlogOnly: Bool = false, includesOwn: Bool = false, takesRuns: Bool = true,
    credit: UInt32 = Limits.eventCredit
  ) {
    self.number = number
    self.selection = selection
    self.since = since
    self.graphsOnly = graphsOnly
    self.backlogOnly = backlogOnly
    self.includesOwn = includesOwn
    self.takesRuns = takesRuns
    self.credit = credit
  }
}

/// Consecutive events of one subscription. `first` counts the events sent before in this
/// subscription, so that a client detects a loss.
public struct EventBatch: Hashable, Sendable {
  public var subscription: UInt64
  public var first: UInt64
  public var runs: [EventRun]
  /// The backlog ends with these events; live events follow.
  public var caughtUp: Bool
  /// The newest sequence of the cluster when the batch left; resume from here.
  public var resumeAt: UInt64
  public init(
    subscription: UInt64, first: UInt64, runs: [EventRun], caughtUp: Bool, resumeAt: UInt64
  ) {
    self.subscription = subscription
    self.first = first
    self.runs = runs
    self.caughtUp = caughtUp
    self.resumeAt = resumeAt
  }

  /// How many events there are. Costs the runs.
  public var eventCount: Int { runs.reduce(0) { $0 + Int($1.count) } }

  /// Each event of each run. Costs the events, so that whoever counts takes the runs.
  public var events: [Event] {
    var events: [Event] = []
    events.reserveCapacity(eventCount)
    for run in runs { run.forEach { events.append($0) } }
    return events
  }
}
