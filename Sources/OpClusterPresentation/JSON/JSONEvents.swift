// Writes events as lines for programs and for people. The caller provides the names, from the
// structures of graphs and from the cluster.
// `EventLine.swift` has the same kinds for people. An event is a line of its own, so a stream can
// be cut anywhere between two.

public import OpClusterModel

/// Provides the names of things; falls back to their numbers.
/// Structures are fetched when they are needed, so a name may not be there yet.
public protocol EventNames {
  func path(of operation: OperationID) -> String
  func name(of queue: QueueID) -> String
  func name(of worker: WorkerID) -> String
}

extension JSONText {
  /// Writes one line of `events` without its line end.
  /// `sequence` is where a reader resumes after a break.
  public mutating func event(_ event: Event, names: some EventNames) {
    object { json in
      json.field("sequence", event.sequence)
      json.field("time", rfc3339(event.time))
      json.subject(of: event, names: names)
      json.kind(of: event, names: names)
    }
  }

  /// Writes `{"kind":"caught_up"}`: further events are live.
  public mutating func caughtUp() {
    object { $0.field("kind", "caught_up") }
  }

  /// An operation has its graph besides, so that programs need not take paths apart.
  private mutating func subject(of event: Event, names: some EventNames) {
    switch event.subject {
    case .operation(let id, let sequence):
      field("operation", names.path(of: id))
      field("graph", id.graph.number)
      field("operation_sequence", sequence)
    case .graph(let id): field("graph", id.number)
    case .queue(let id): field("queue", names.name(of: id))
    case .worker(let id): field("worker", names.name(of: id))
    }
  }

  /// `kind` and `value` are always there; further fields depend on the kind.
  private mutating func kind(of event: Event, names: some EventNames) {
    switch event.kind {
    case .isReady(let value): flag("is_ready", value)
    case .isExecuting(let value): flag("is_executing", value)
    case .isFinished(let outcome):
      flag("is_finished", true)
      field("outcome", outcome.word)
      field("state", StateWord(outcome).rawValue)
    case .isCancelled(let reason):
      flag("is_cancelled", true)
      field("reason", reason.word)
      field("reason_detail", reasonDetail(reason, names: names))
    case .attemptStarted(let attempt, let worker):
      kind("attempt", "started")
      field("attempt", attempt)
      field("worker", names.name(of: worker))
    case .attemptEnded(let attempt, let cause):
      kind("attempt", "ended")
      field("attempt", attempt)
      field("reason", cause.word)
    case .completion: flag("completion", true)
    case .priority(let priority): kind("priority", priority.word)
    case .isHeld(let value): flag("is_held", value)
    case .dependencyAdded(let id, let policy):
      kind("dependency", "added")
      field("need", names.path(of: id))
      field("when", policy.word)
    case .dependencyRemoved(let id):
      kind("dependency", "removed")
      field("need", names.path(of: id))
    case .enqueued(let queue):
      kind("enqueued", names.name(of: queue))
    default: clusterKind(of: event)
    }
  }

  private mutating func clusterKind(of event: Event) {
    switch event.kind {
    case .graphSubmitted(let operations):
      kind("graph", "submitted")
      field("operations", operations)
    case .graphSuspended(let value): kind("graph", value ? "suspended" : "resumed")
    case .graphFinished(let outcome): kind("graph", outcome.word)
    case .queueCreated(let settings):
      kind("queue", "created")
      queueSettings(settings)
    case .queueChanged(let settings):
      kind("queue", "changed")
      queueSettings(settings)
    case .queueRemoved: kind("queue", "removed")
    case .queueCount(let count):
      kind("queue", "count")
      field("operation_count", count)
    case .workerJoined: kind("worker", "joined")
    case .workerLost: kind("worker", "lost")
    case .workerDraining: kind("worker", "draining")
    case .workerLeft: kind("worker", "left")
    case .workerSetAside(let stage, let reason):
      kind("worker", "set_aside")
      field("stage", stage?.text)
      field("reason", reason)
    case .workerResumed(let stage):
      kind("worker", "resumed")
      field("stage", stage?.text)
    case .isReady, .isExecuting, .isFinished, .isCancelled, .attemptStarted, .attemptEnded,
      .completion, .priority, .isHeld, .dependencyAdded, .dependencyRemoved, .enqueued:
      break
    }
  }

  /// Kinds that are a state of an operation have a boolean.
  private mutating func flag(_ kind: String, _ value: Bool) {
    field("kind", kind)
    field("value", value)
  }
  /// All other kinds have a word, or a name.
  private mutating func kind(_ kind: String, _ value: String) {
    field("kind", kind)
    field("value", value)
  }
  private mutating func queueSettings(_ settings: QueueSettings) {
    field("qos", settings.qos.word)
    field("max_concurrent", settings.maximumConcurrent)
    field("is_suspended", settings.isSuspended)
    require(settings.pool)
  }
}

/// Returns the detail of a reason beyond its kind; nil if there is none.
/// Shared with the lines for people.
func reasonDetail(_ reason: CancelReason, names: some EventNames) -> String? {
  switch reason {
  case .request(let text): text.isEmpty ? nil : text
  case .dependency(let id, let outcome):
    "\(names.path(of: id)) \(StateWord(outcome).rawValue)"
  case .failurePolicy: nil
  }
}
