// Keeps the index of the lines: the summaries of queues that have changed are made again before
// anybody reads them. And keeps which workers have changed since all others refused what waits.

import OpClusterModel

/// The workers that have changed since all others refused what sleeps in the lines.
struct FreshWorkers: Sendable {
  /// So many are looked at one by one.
  static let few = 16
  private(set) var numbers: [UInt32] = []
  /// Whether there are too many to count; then all workers are compared.
  private(set) var areMany = false

  var isEmpty: Bool { numbers.isEmpty && !areMany }

  mutating func gather(_ changed: [UInt32]) {
    if areMany { return }
    for number in changed where !numbers.contains(number) {
      if numbers.count == Self.few {
        areMany = true
        return
      }
      numbers.append(number)
    }
  }

  mutating func forgetAll() {
    numbers.removeAll(keepingCapacity: true)
    areMany = false
  }
}

extension Scheduler {
  /// Takes note of all changes of queues. Costs a path of a tree for each changed queue.
  mutating func renewLines() {
    if !state.queues.hasChanged { return }
    for number in state.takeChangedQueues() {
      let service = servedService(number)
      if queues.contains(number), queues[number].line.service != service {
        state.setService(of: number, service)
      }
      lineIndex.set(number, service, summary(ofLine: number), among: state.queues)
    }
  }

  /// The service under which a queue is served now; nil if nothing waits in it, or it has no room.
  private func servedService(_ queue: UInt32) -> Int? {
    guard queues.contains(queue), queues[queue].room > 0, !queues[queue].line.isEmpty else {
      return nil
    }
    return Int(queues[queue].settings.qos.rawValue)
  }

  private func summary(ofLine queue: UInt32) -> LineSummary {
    var summary = LineSummary()
    guard servedService(queue) != nil else { return summary }
    // What this pass is done with is no more to be found, unless something has entered since.
    if queues[queue].line.isClosed, !queues[queue].line.isAwake { return summary }
    summary.lines = 1
    summary.least = queues[queue].line.least
    summary.isAwake = queues[queue].line.isAwake
    summary.isPeculiar = goesBeforeItsOwn(queue)
    return summary
  }

  /// Whether something waits that goes before operations of the same queue at workers, which is
  /// more than the bounds of its service know (`reachRank`).
  private func goesBeforeItsOwn(_ queue: UInt32) -> Bool {
    guard !queues[queue].assigned.isEmpty, let level = queues[queue].line.highestLevel else {
      return false
    }
    return queues[queue].assigned.count(below: Rank(.background, queue: queue, level: level)) > 0
  }

  /// Looks again at what no worker could ever run; only when the workers have changed.
  mutating func wakeResting() {
    if restingQueues.isEmpty { return }
    let resting = restingQueues
    restingQueues = []
    for queue in resting where queues.contains(queue) { state.wakeResting(of: queue) }
  }

  // MARK: - Checks

  /// Whether the index follows the lines, and nothing sleeps that a worker would take; checked by
  /// the invariants.
  func brokenLines() -> String? {
    let unknown = Set(state.queues.changed)
    for number in queues.numbers where !unknown.contains(number) {
      let service = servedService(number)
      let name = queues[number].settings.name
      if queues[number].line.isVisited || queues[number].line.hasAside {
        return "queue \(name): a pass that has ended looks at its line"
      }
      if queues[number].line.service != service {
        return "queue \(name): its line is not as served"
      }
      if lineIndex[number]?.service != service
        || service != nil && lineIndex[number]?.summary != summary(ofLine: number)
      {
        return "queue \(name): somebody is in line, and nobody looks"
      }
    }
    if let node = lineIndex.brokenNode { return "node \(node) of the index of lines" }
    return unknown.isEmpty ? brokenSleep() : nil
  }

  /// Whether workers take something of what sleeps; checked by looking at all of it in a copy.
  private func brokenSleep() -> String? {
    // What is doubtful comes back in each turn, and a full turn leaves the rest to the next.
    if !doubtful.isEmpty || assignmentPass.room == 0 { return nil }
    var copy = self
    for number in queues.numbers where queues[number].line.service != nil {
      copy.state.setService(of: number, nil)
      // Opened for a change, it counts as changed.
      _ = copy.state.reopenLine(of: number)
    }
    var turn = SchedulingTurn()
    turn.begin(at: workerIndex.asOf, wall: .unknown)
    copy.assign(into: &turn)
    for orders in turn.orders {
      if let first = orders.orders.dispatches.first {
        return "operation \(first.attempt.operation) slept, and a worker takes it"
      }
    }
    return nil
  }
}
