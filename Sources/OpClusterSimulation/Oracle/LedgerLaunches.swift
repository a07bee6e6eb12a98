// The oracle's checks of launches, the moments when operations really start (I4, I7, I8, I9, S63,
// S72, S91, S96), and of the ends of processes.

import OpClusterModel

/// A launch as observed by the world.
struct ObservedLaunch: Sendable {
  var attempt: AttemptID
  var session: WorkerSession
  /// The durable commit when the welcome of the worker's conversation was decided.
  var welcomedAt: CommitIndex
  /// Whether the conversation was cut in only one direction, so that the worker may believe in its
  /// lease for longer than it is valid.
  var hasLeaseInDoubt: Bool
  /// Whether another process took its name while it was silent: it does not know of its loss.
  var isDisplaced: Bool
}

extension ShadowLedger {
  /// Noted at the moment of the end, before anybody is told: a dependent may start on it at the
  /// same worker (S151).
  mutating func ended(_ attempt: AttemptID, _ result: AttemptResult, at session: WorkerSession) {
    endings[attempt] = (session, result)
  }

  /// Judges a launch by what is durable at this moment. A late one, of an attempt that is no longer
  /// its worker's, is judged by why it was closed.
  mutating func launch(_ launch: ObservedLaunch) {
    let attempt = launch.attempt
    let id = attempt.operation
    guard contains(id) else { return complain("I19", "unknown \(id) is launched") }
    let name = "\(shown(id)) attempt \(attempt.attempt)"
    if let other = launched[attempt] {
      complain(other == launch.session ? "I9" : "I7", "\(name) is launched again")
    }
    launched[attempt] = launch.session
    guard isCurrent(attempt, at: launch.session) else { return judgeLate(launch, name) }
    if runsTwice(attempt) {
      complain("S12", "\(name) is a second run, and there must be one alone")
    }
    expectNeedsEnded(launch, name)
    expectQueueAllows(id, name)
    expectBarriersKept(id, name)
    if self[id].isHeld { complain("S44", "\(name) starts, but it is held") }
    if self[id].isSealed { complain("S91", "\(name) starts after its cancellation was answered") }
  }

  /// Whether an operation that must not be repeated was run before.
  private func runsTwice(_ attempt: AttemptID) -> Bool {
    guard let template = template(of: attempt.operation), template.maximumLosses == 0,
      template.retry.maximum == 0, attempt.attempt > 1
    else { return false }
    return (1..<attempt.attempt).contains { number in
      let earlier = AttemptID(operation: attempt.operation, attempt: number)
      guard launched[earlier] != nil else { return false }
      // An attempt that could not be started has not run.
      let cause = endings[earlier]?.result.cause
      return cause != .cannotStart && cause != .unknownType
    }
  }

  /// Whether an attempt has ended for all parties, and its worker was heard.
  func isOver(_ attempt: AttemptID, at session: WorkerSession) -> Bool {
    guard let closing = closed[attempt], closing.reason == .ended else { return false }
    return launched[attempt] == session && self[attempt.operation].outcome != nil
  }

  /// Checks a launch of an attempt that is not (or no longer) the worker's own.
  private mutating func judgeLate(_ launch: ObservedLaunch, _ name: String) {
    guard let closing = closed[launch.attempt] else {
      return complain("I19", "\(name) is launched before its dispatch is durable")
    }
    if closing.reason == .lost, launch.isDisplaced { return }
    if closing.commit <= launch.welcomedAt {
      return complain("I8", "\(name) is launched, closed before the welcome")
    }
    switch closing.reason {
    case .recalled: complain("S148", "\(name) is launched after it was given back")
    case .ended: complain("I4", "\(name) is launched after its operation ended")
    case .lost:
      // The worker's lease ends first, unless it hears and is not heard.
      if !launch.hasLeaseInDoubt { complain("S147", "\(name) is launched after its loss") }
    }
  }

  /// Checks that each dependency has ended as required: durably, or at this worker (S151).
  private mutating func expectNeedsEnded(_ launch: ObservedLaunch, _ name: String) {
    for need in self[launch.attempt.operation].needs {
      guard contains(need.on) else { continue }
      let entry = self[need.on]
      if let outcome = entry.outcome {
        if !need.policy.isSatisfied(by: outcome) {
          complain("I4", "\(name) is launched, but \(shown(need.on)) is \(outcome)")
        }
        continue
      }
      let last = AttemptID(operation: need.on, attempt: entry.attempt)
      guard let ended = endings[last], ended.session == launch.session,
        workers[entry.worker]?.session == launch.session
      else {
        complain("I4", "\(name) is launched, but \(shown(need.on)) has not ended")
        continue
      }
      if need.policy == .succeeded, !ended.result.isSuccess {
        complain("I4", "\(name) is launched, but \(shown(need.on)) failed here")
      }
    }
  }

  /// Checks that a barrier runs only when no operation is left before it in its queue, no operation
  /// after it runs before it has ended, and none that came before it meanwhile begins beside it
  /// (S77, S78).
  private mutating func expectBarriersKept(_ id: OperationID, _ name: String) {
    guard let queue = queues[self[id].queue], !queue.barriers.isEmpty else { return }
    let own = self[id]
    for barrier in queue.barriers where barrier != id {
      let other = self[barrier]
      if other.queue == own.queue, other.outcome == nil, other.enqueuePlace < own.enqueuePlace {
        complain("S77", "\(name) starts before the barrier \(shown(barrier))")
      } else if other.queue == own.queue, other.outcome == nil, isRunning(barrier) {
        complain("S77", "\(name) starts beside the barrier \(shown(barrier))")
      }
    }
    guard template(of: id)?.isBarrier ?? false else { return }
    for (number, graph) in graphs.enumerated() {
      guard let graph, !graph.hasEnded else { continue }
      for (index, other) in graph.operations.enumerated()
      where other.queue == own.queue && other.isQueued && other.outcome == nil
        && other.enqueuePlace < own.enqueuePlace
      {
        // What runs again and comes before it when a worker has it already, waits for its end.
        if other.returned > own.handedOver, other.worker == 0 { continue }
        complain("S77", "the barrier \(name) starts before \(number)/#\(index) has ended")
      }
    }
  }

  /// Whether the attempt that counts has begun at its worker and has not ended there.
  private func isRunning(_ id: OperationID) -> Bool {
    let attempt = AttemptID(operation: id, attempt: self[id].attempt)
    guard let session = launched[attempt], endings[attempt] == nil else { return false }
    return isCurrent(attempt, at: session)
  }

  /// The largest limit that was in force at any time since the hand-over: a limit that was lowered
  /// meanwhile stops nothing that was given out (S66).
  private mutating func expectQueueAllows(_ id: OperationID, _ name: String) {
    let number = self[id].queue
    guard let queue = queues[number] else { return }
    if queue.isSealed { complain("S72", "\(name) starts in a suspended queue") }
    if graphs[Int(id.graph.number)]?.isSealed ?? false {
      complain("S72", "\(name) starts in a suspended graph")
    }
    var limit: UInt32 = 0
    for (at, change) in queue.limits.enumerated() {
      let isOver = at + 1 < queue.limits.count && queue.limits[at + 1].commit <= self[id].handedOver
      if !isOver { limit = max(limit, change.limit) }
    }
    if limit == .max { return }
    let executing = liveCount(inQueue: number)
    if executing > limit {
      complain("S63", "\(name) is number \(executing) where \(limit) may execute")
    }
  }

  /// The number of launched attempts that have not ended and still belong to their worker.
  private func liveCount(inQueue queue: UInt32) -> Int {
    var count = 0
    for number in graphs.indices {
      guard let graph = graphs[number], !graph.hasEnded else { continue }
      for (index, entry) in graph.operations.enumerated()
      where entry.queue == queue && entry.worker != 0 {
        let id = OperationID(graph: GraphID(UInt32(number)), index: UInt32(index))
        let attempt = AttemptID(operation: id, attempt: entry.attempt)
        if launched[attempt] != nil, endings[attempt] == nil { count += 1 }
      }
    }
    return count
  }
}

extension AttemptResult {
  /// The end of an attempt whose input did not come, as the oracle knows it.
  static var neverStarted: Self {
    var result = AttemptResult()
    result.cause = .cannotStart
    return result
  }
}
