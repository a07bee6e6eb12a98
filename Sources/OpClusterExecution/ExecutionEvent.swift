// What goes into the worker's brain and what comes out of it. The body makes events from frames,
// ended processes and the clock, and carries the effects out; neither side calls the other
// otherwise. Values only.

public import OpClusterModel

/// A template as the brain numbers it, small and dense, so that the body can keep what it has
/// decoded in an array. Given out by `.learn`, taken back by `.forget`, then used again.
public struct TemplateNumber: Hashable, Sendable {
  public var position: Int32
  public init(_ position: Int32) { self.position = position }
}

/// What only the body can read out of a template's payload.
public struct TemplateLimits: Hashable, Sendable {
  /// From launch to being asked to stop; nil: no bound (G21).
  public var timeout: Span?
  /// From being asked to stop to the kill; nil: the cluster's (`Timing.grace`).
  public var grace: Span?
  public init(timeout: Span? = nil, grace: Span? = nil) {
    self.timeout = timeout
    self.grace = grace
  }
}

/// Something happened.
public enum ExecutionEvent: Sendable {
  /// A frame of the present socket, decoded.
  case message(CoordinatorMessage)
  /// The present socket lost its peer, or could not reach it.
  case disconnected
  /// The answer to `.learn`, given in the same turn where there are limits to tell.
  case prepared(TemplateNumber, TemplateLimits)
  /// A launched attempt is over, and nothing of it is left. The result is as the body saw it: exit
  /// status, signal, and a cause of its own finding. Why it was stopped is the brain's to say.
  case ended(AttemptID, AttemptResult)
  /// Processes of the attempt live that KILL does not end.
  case unkillable(AttemptID)
  /// The attempt is over, but such processes of it live; `survivorsGone` follows.
  case outlived(AttemptID, AttemptResult)
  /// All processes of the attempt that KILL did not end have ended.
  case survivorsGone(AttemptID)
  /// A running attempt tells how far it is, 0…1.
  case progress(AttemptID, fraction: Double, text: String)
  /// `nextDeadline` has come. Feed the frames that wait before it, so that a worker which was
  /// itself paused does not take its own silence for the coordinator's.
  case timePassed
  /// Take nothing new, let what runs end, say goodbye; the coordinator is told of the wish (S148).
  case leave
  /// The machine has slept: what was heard before proves nothing about now (G16).
  case slept
  /// Stop in good order: ask everything to stop, report it, say goodbye.
  case stop
  /// Kill everything, then go.
  case stopNow
}

/// Something is to be done, in this order.
public enum ExecutionEffect: Sendable {
  /// Close the present socket, open a fresh one (A2), and send on it what `takeMessage` gives.
  case renewConversation
  /// Decode and keep the template under its number, in the place of what was there: told again
  /// when its queue has another name.
  case learn(TemplateNumber, TemplateAnnouncement)
  case forget(TemplateNumber)
  case launch(Launch)
  /// Ask it to stop: the flag, the signal.
  case stop(AttemptID)
  /// Kill its process tree; where there is none, nothing.
  case kill(AttemptID)
  /// Nobody will ask for what the graph's attempts wrote.
  case forgetGraph(GraphID)
}

/// Start one attempt. Its end comes back as `.ended`, if it cannot be started as well.
public struct Launch: Sendable {
  public var attempt: AttemptID
  public var template: TemplateNumber
  /// `Dispatch.run`: which run it is, as people count.
  public var run: UInt32
  /// `Dispatch.queueName`: where its queue is not its template's.
  public var queueName: String?
  /// The element's own argument.
  public var argument: [UInt8]
  /// What its dependencies left: those the dispatch brought, then the local ones.
  public var inputs: [DependencyInput]
  /// Which of the worker's gpus it has, by position: nobody else has them meanwhile, but for the
  /// last where it asked for a part of one.
  public var gpus: [Int32] = []
}

/// Why the worker is done.
public enum ExitReason: Hashable, Sendable {
  /// It was asked to stop.
  case stopped
  /// It was drained, by the coordinator or by its own wish, and nothing runs any more.
  case drained
  /// The coordinator will not have it, and trying again would not help.
  case refused(Refusal)
}

/// Bounds of the brain itself.
public struct ExecutionSettings: Hashable, Sendable {
  /// Attempts running at once, whatever they ask for: those that ask for nothing are bounded too.
  public var maximumRunning = 4_096
  /// Attempts held unstarted; what comes beyond it is given back at once.
  public var maximumHeld = 65_536
  /// Bytes of reports not yet acknowledged; while there are so many, nothing new is started.
  public var maximumUnacknowledgedBytes = Limits.unacknowledgedBytes
  /// From opening a socket to the welcome.
  public var handshake: Span = .seconds(3)
  /// First and longest wait before a further try; each is twice the one before.
  public var shortestBackoff: Span = .milliseconds(50)
  public var longestBackoff: Span = .seconds(2)
  /// After an orderly stop has nothing running any more: how long to wait for acknowledgements.
  public var farewell: Span = .seconds(5)
  public init() {}
}

/// Numbers for people and tests.
public struct ExecutionCounts: Hashable, Sendable {
  /// Held unstarted: waiting for local ones, or for room.
  public var held = 0
  /// Launched and not ended, also what was killed and forgotten; without what has ended and left
  /// processes that KILL does not end.
  public var running = 0
  /// Entries reported or to be reported, not yet acknowledged.
  public var unacknowledged = 0
  /// Attempts launched since the start.
  public var launched: UInt64 = 0
  /// Messages and orders that came too late, twice, or for another conversation: dropped.
  public var late: UInt64 = 0
  /// Conversations begun.
  public var conversations: UInt64 = 0
}
