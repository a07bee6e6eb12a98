// The events and effects of the worker's brain. The body makes events from frames, ended processes
// and the clock, and carries out the effects; there is no other call between the two. Values only.

public import OpClusterModel

/// The brain's number of a template: small and dense, so that the body can keep decoded templates
/// in an array. `.learn` assigns it, `.forget` frees it for reuse.
public struct TemplateNumber: Hashable, Sendable {
  public var position: Int32
  public init(_ position: Int32) { self.position = position }
}

/// The times that only the body can read, from a template's payload.
public struct TemplateLimits: Hashable, Sendable {
  /// From launch to the request to stop; nil: no limit (G21).
  public var timeout: Span?
  /// From the request to stop to the kill; nil: the cluster's (`Timing.grace`).
  public var grace: Span?
  public init(timeout: Span? = nil, grace: Span? = nil) {
    self.timeout = timeout
    self.grace = grace
  }
}

/// An event for the brain.
public enum ExecutionEvent: Sendable {
  /// A decoded frame of the present socket.
  case message(CoordinatorMessage)
  /// The present socket lost its peer, or could not reach it.
  case disconnected
  /// The answer to `.learn` in the same turn, if the template has limits.
  case prepared(TemplateNumber, TemplateLimits)
  /// A launched attempt has ended and left nothing. The result is the body's: exit status, signal,
  /// and a cause that it found. The brain adds the reason of a stop.
  case ended(AttemptID, AttemptResult)
  /// The attempt has processes that KILL does not end.
  case unkillable(AttemptID)
  /// The attempt has ended but left such processes; `survivorsGone` follows.
  case outlived(AttemptID, AttemptResult)
  /// All processes of the attempt that KILL did not end have ended.
  case survivorsGone(AttemptID)
  /// The progress of a running attempt, 0…1.
  case progress(AttemptID, fraction: Double, text: String)
  /// `nextDeadline` has come. Feed waiting frames first: a worker that was itself paused must not
  /// take its own silence for the coordinator's.
  case timePassed
  /// Take nothing new, let running attempts end, say goodbye. The coordinator is told of the wish
  /// (S148).
  case leave
  /// The store has these contents: found at the start, made by an attempt (before its end is told),
  /// or fetched.
  case contentsGained([StoredContent])
  /// The store does not have these contents any more.
  case contentsLost([ContentDigest])
  /// A content that was to be fetched will not come; the reason is for people.
  case contentMissed(StoredContent, String, ContentMiss)
  /// Contents that were to be left in other stores, and were not.
  case undelivered([FailedDelivery])
  /// The machine has slept: messages heard before prove nothing about now (G16).
  case slept
  /// Stop in good order: ask everything to stop, report it, say goodbye.
  case stop
  /// Kill everything, then end.
  case stopNow
}

/// An action for the body; carry them out in order.
public enum ExecutionEffect: Sendable {
  /// Close the present socket, open a fresh one (A2), and send the messages of `takeMessage` on it.
  case renewConversation
  /// Decode and keep the template under its number, replacing the former one. Repeated when its
  /// queue is renamed.
  case learn(TemplateNumber, TemplateAnnouncement)
  case forget(TemplateNumber)
  case launch(Launch)
  /// Ask it to stop: the flag, the signal.
  case stop(AttemptID)
  /// Kill its process tree, if it has one.
  case kill(AttemptID)
  /// Nobody will read the output of the graph's attempts.
  case forgetGraph(GraphID)
  /// Bring a content into the store, from these holders, the best first; repeated with further
  /// ones. `.contentsGained` or `.contentMissed` follows.
  case fetch(StoredContent, from: [ContentSource])
  /// Nobody waits for it any more.
  case dropFetch(ContentDigest)
  /// Leave contents of the store in others; `.undelivered` follows for those that do not get there.
  case deliver([ContentDelivery])
  /// Somebody may read contents of the store, for `GrantOrder.time`.
  case grant([GrantOrder])
  /// The owner of a key may read nothing any more.
  case revoke([UInt8])
  /// These contents have to stay in the store after all, if they are there.
  case keep([ContentDigest])
  /// These contents may leave the store when their room is needed.
  case letGo([ContentDigest])
}

/// Start one attempt. Its end returns as `.ended`, also if it cannot be started.
public struct Launch: Sendable {
  public var attempt: AttemptID
  public var template: TemplateNumber
  /// The number of the run, as people count (`Dispatch.run`).
  public var run: UInt32
  /// The queue's name if it differs from the template's (`Dispatch.queueName`).
  public var queueName: String?
  /// The element's own argument.
  public var argument: [UInt8]
  /// The outputs of its dependencies: those of the dispatch, then the local ones.
  public var inputs: [DependencyInput]
  /// The positions of its gpus. No other attempt has them, except the last one if it asked for a
  /// part of a gpu.
  public var gpus: [Int32] = []
}

/// The reason of the worker's end.
public enum ExitReason: Hashable, Sendable {
  /// It was asked to stop.
  case stopped
  /// It was drained, by the coordinator or by its own wish, and nothing runs.
  case drained
  /// The coordinator refuses it for good.
  case refused(Refusal)
}

/// The brain's own limits.
public struct ExecutionSettings: Hashable, Sendable {
  /// Maximum running attempts, also if they demand no resources.
  public var maximumRunning = 4_096
  /// Maximum unstarted attempts; further ones are given back at once.
  public var maximumAssigned = 65_536
  /// A relay counts gpus, and its machines give them out; and its capacity may become less than
  /// what is taken of it.
  public var isRelay = false
  /// Bytes of unacknowledged reports; beyond it nothing new starts.
  public var maximumUnacknowledgedBytes = Limits.unacknowledgedBytes
  /// The time from opening a socket to the welcome, and what it grows to with hellos that get no
  /// answer.
  public var handshake: Span = .seconds(3)
  public var longestHandshake: Span = .seconds(48)
  /// The first and the longest wait before a retry; each wait is twice the one before.
  public var shortestBackoff: Span = .milliseconds(50)
  public var longestBackoff: Span = .seconds(2)
  /// How long an orderly stop waits for acknowledgements after the last attempt has ended.
  public var farewell: Span = .seconds(5)
  public init() {}
}

/// Counts for people and tests.
public struct ExecutionCounts: Hashable, Sendable {
  /// Unstarted attempts, waiting for local operations or for room.
  public var assigned = 0
  /// Launched attempts that have not ended, including killed and dropped ones; without ended ones
  /// that left processes which KILL does not end.
  public var running = 0
  /// Unacknowledged entries of reports.
  public var unacknowledged = 0
  /// Attempts launched since the start.
  public var launched: UInt64 = 0
  /// Messages and orders that were dropped: late, repeated, or of another conversation.
  public var late: UInt64 = 0
  /// Conversations begun.
  public var conversations: UInt64 = 0
}

/// Why a content did not come.
public enum ContentMiss: Hashable, Sendable, CaseIterable {
  /// Something has changed since the coordinator said who has it: who waits for it is given back,
  /// and the coordinator says anew.
  case holdersChanged
  /// The own store has no room for it.
  case storeFull
  /// None of its holders can be reached from here: the coordinator is told, and has it brought, or
  /// says that nobody can.
  case unreachable
  /// Its holders, or the own machine, fail at it.
  case failed
}
