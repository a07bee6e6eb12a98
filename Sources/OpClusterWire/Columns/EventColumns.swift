// Encodes events in columns. Every change of every operation makes an event, so an event costs only
// a few bytes and about a dozen nanoseconds.
// The reader is in `EventReader.swift`. Columns of a kind's own data have an entry only where an
// event of that kind is: the kinds column says where.

import OpClusterModel

extension ProtoEvents {
  /// A run of neighbouring operations is one entry.
  init(runs: [EventRun]) {
    var columns = EventColumns(capacity: runs.count)
    for run in runs { columns.append(run.first, length: run.count) }
    self = columns.finish()
  }
}

/// Collects events for `ProtoEvents`.
/// Frequent columns are collected in arrays of their own and set once at the end: each access to a
/// generated message costs more than an append. Rare ones go straight into the message.
private struct EventColumns {
  /// Events of one turn share both, so a stamp is sent once for all of them.
  private struct Stamp: Equatable {
    var commit: UInt64
    var time: Int64
  }

  /// Holds the rare columns while events are appended.
  private var proto = ProtoEvents()
  private var kinds: [UInt8] = []
  private var lengths: [UInt32] = []
  /// Differences to the event before; sent only if one of them is not the expected next.
  private var sequences: [Int64] = []
  /// Whether each event continues where the one before ended, as in the log.
  private var isGapless = true
  private var lastSequence: UInt64 = 0
  /// The sequence behind the last event or run.
  private var nextSequence: UInt64 = 0
  private var stamps = ValueRuns<Stamp>()
  private var subjects = ValueRuns<ProtoEventSubject>()
  private var operations: OperationColumns
  private var ownSequences: [UInt32] = []
  private var outcomes: [ProtoOutcome] = []
  private var reasons = ValueRuns<CancelReason>()
  private var attempts: [UInt32] = []
  private var workers: [UInt32] = []
  private var dependencies = OperationColumns()

  init(capacity: Int) {
    kinds.reserveCapacity(capacity)
    lengths.reserveCapacity(capacity)
    sequences.reserveCapacity(capacity)
    ownSequences.reserveCapacity(capacity)
    operations = OperationColumns(capacity: capacity)
  }

  /// O(1) amortised.
  ///
  /// - Parameter length: How many neighbours the event stands for, 1 or more.
  mutating func append(_ event: Event, length: UInt32) {
    appendSequence(event.sequence, length: length)
    stamps.append(Stamp(commit: event.commit.number, time: event.time.milliseconds))
    append(event.subject)
    append(event.kind)
  }

  /// The first sequence has a field of its own, so the first difference is 0.
  private mutating func appendSequence(_ sequence: UInt64, length: UInt32) {
    if lengths.isEmpty {
      proto.firstSequence = sequence
      sequences.append(0)
    } else {
      isGapless = isGapless && sequence == nextSequence
      sequences.append(Int64(bitPattern: sequence &- lastSequence))
    }
    lastSequence = sequence
    nextSequence = sequence &+ UInt64(length)
    lengths.append(length)
  }

  /// The subject's number goes to the column of its kind: operations have columns of their own, as
  /// nearly all events are about them.
  private mutating func append(_ subject: Event.Subject) {
    switch subject {
    case .operation(let operation, let own):
      subjects.append(.operation)
      operations.append(operation)
      ownSequences.append(own)
    case .graph(let graph): append(.graph, graph.number)
    case .queue(let queue): append(.queue, queue.number)
    case .worker(let worker): append(.worker, worker.number)
    }
  }

  /// Graphs, queues and workers share one column of numbers; the column of subjects tells them
  /// apart.
  private mutating func append(_ subject: ProtoEventSubject, _ number: UInt32) {
    subjects.append(subject)
    proto.thing.append(number)
  }

  /// One entry in each column that the kind has, in the order of events. A new kind needs its line
  /// here, in `wireKind`, and in the reader.
  private mutating func append(_ kind: Event.Kind) {
    kinds.append(UInt8(truncatingIfNeeded: kind.wireKind.rawValue))
    switch kind {
    case .isFinished(let outcome): outcomes.append(outcome.proto)
    case .isCancelled(let reason): reasons.append(reason)
    case .attemptStarted(let attempt, let worker):
      attempts.append(attempt)
      workers.append(worker.number)
    case .attemptEnded(let attempt, let cause):
      attempts.append(attempt)
      proto.cause.append(cause.proto)
    case .priority(let priority): proto.priority.append(priority.proto)
    case .graphSubmitted(let operations): proto.operationsSubmitted.append(operations)
    case .queueCreated(let settings), .queueChanged(let settings):
      proto.queue.append(settings.proto)
    case .workerJoined(let name): proto.workerName.append(name)
    case .dependencyAdded(let operation, let policy):
      dependencies.append(operation)
      proto.dependencyPolicy.append(policy.proto)
    case .dependencyRemoved(let operation): dependencies.append(operation)
    case .enqueued(let queue): proto.enqueuedIn.append(queue.number)
    case .queueCount(let count): proto.queueCount.append(count)
    case .workerSetAside(let stage, let reason):
      // A stage that is not named stands as graph 0, since the column needs an entry for each
      // event.
      proto.stage.append(stage?.proto ?? ProtoStageName())
      proto.trouble.append(clipped(reason, to: Limits.diagnosticBytes))
    case .workerResumed(let stage): proto.stage.append(stage?.proto ?? ProtoStageName())
    case .isReady, .isExecuting, .completion, .isHeld, .graphSuspended, .graphFinished,
      .queueRemoved, .workerLost, .workerDraining, .workerLeft:
      break
    }
  }

  /// An empty batch stays an empty message, without the first sequence.
  consuming func finish() -> ProtoEvents {
    if kinds.isEmpty { return proto }
    proto.kinds = data(kinds)
    if !isGapless { proto.sequenceDelta = sequences }
    proto.length = omitted(lengths, ifAll: 1)
    var last = Stamp(commit: 0, time: 0)
    for stamp in stamps.values {
      proto.commitDelta.append(Int64(bitPattern: stamp.commit &- last.commit))
      proto.timeDelta.append(stamp.time &- last.time)
      last = stamp
    }
    proto.commitCount = stamps.counts
    // Nearly all batches are about operations alone.
    if subjects.values != [.operation] {
      proto.subject = subjects.values
      proto.subjectCount = subjects.counts
    }
    if !operations.isEmpty { proto.operations = operations.finish() }
    proto.operationSequence = ownSequences
    proto.outcome = omitted(outcomes, ifAll: .succeeded)
    proto.reason = reasons.values.map(\.proto)
    proto.reasonCount = reasons.counts
    proto.attempt = omitted(attempts, ifAll: 1)
    proto.worker = workers
    if !dependencies.isEmpty { proto.dependency = dependencies.finish() }
    return proto
  }
}

/// A flag of an event becomes two kinds, which spares a column for it.
extension Event.Kind {
  /// The kind's number on the wire; the kind's data stands in other columns.
  fileprivate var wireKind: ProtoEventKind {
    switch self {
    case .isReady(let yes): yes ? .ready : .notReady
    case .isExecuting(let yes): yes ? .executing : .notExecuting
    case .isFinished: .finished
    case .isCancelled: .cancelled
    case .attemptStarted: .attemptStarted
    case .attemptEnded: .attemptEnded
    case .completion: .completion
    case .priority: .priority
    case .isHeld(let yes): yes ? .held : .released
    case .dependencyAdded: .dependencyAdded
    case .dependencyRemoved: .dependencyRemoved
    case .enqueued: .enqueued
    case .graphSubmitted: .graphSubmitted
    case .graphSuspended(let yes): yes ? .graphSuspended : .graphResumed
    case .graphFinished(.succeeded): .graphSucceeded
    case .graphFinished(.failed): .graphFailed
    case .graphFinished(.cancelled): .graphCancelled
    case .queueCreated: .queueCreated
    case .queueChanged: .queueChanged
    case .queueRemoved: .queueRemoved
    case .queueCount: .queueCount
    case .workerJoined: .workerJoined
    case .workerLost: .workerLost
    case .workerDraining: .workerDraining
    case .workerLeft: .workerLeft
    case .workerSetAside: .workerSetAside
    case .workerResumed: .workerResumed
    }
  }
}
