// The graphs changed by turns that the disk has not confirmed: questions about other graphs need
// not wait for the disk (G3). Pure; on the loop's thread.

import OpClusterModel

/// The newest undurable commit of each graph. Costs are proportional to the changes of its turns.
struct UndurableGraphs {
  private struct Change {
    let graph: UInt32
    let commit: UInt64
  }
  private var newest: [UInt32: UInt64] = [:]
  /// By ascending commit.
  private var changes: [Change] = []
  private var head = 0
  /// The newest commit that may affect any graph; queues are named and shared by many.
  private var everywhere: UInt64 = 0
  private var durable: UInt64 = 0

  /// Notes a decided turn.
  mutating func note(_ records: [Record], _ events: [EventRun], commit: UInt64) {
    for record in records {
      switch record.reach {
      case .graph(let graph): note(graph.number, commit)
      case .everywhere: everywhere = commit
      case .nowhere: break
      }
    }
    // Includes consequences of another graph's facts: an operation becomes ready.
    for run in events {
      switch run.first.subject {
      case .operation(let operation, _): note(operation.graph.number, commit)
      case .graph(let graph): note(graph.number, commit)
      case .queue, .worker: break
      }
    }
  }

  private mutating func note(_ graph: UInt32, _ commit: UInt64) {
    if newest.updateValue(commit, forKey: graph) == commit { return }
    changes.append(Change(graph: graph, commit: commit))
  }

  mutating func becameDurable(through commit: UInt64) {
    durable = max(durable, commit)
    while head < changes.count, changes[head].commit <= durable {
      let change = changes[head]
      if newest[change.graph] == change.commit { newest[change.graph] = nil }
      head += 1
    }
    if head == changes.count {
      changes.removeAll(keepingCapacity: head <= 4_096)
      head = 0
    } else if head >= 4_096, head * 2 > changes.count {
      changes.removeFirst(head)
      head = 0
    }
  }

  /// Whether all known data of this graph are durable.
  func isFree(_ graph: GraphID) -> Bool { everywhere <= durable && newest[graph.number] == nil }

  /// Whether all data of these graphs are durable; false without a check if they are many.
  func isFree(_ ranges: [Selection.ClosedRangeOfGraphs]) -> Bool {
    guard everywhere <= durable else { return false }
    var left = CoordinatorLimits.graphsAnsweredEarly
    for range in ranges where range.first <= range.last {
      let numbers = range.first.number...range.last.number
      guard numbers.count <= left else { return false }
      left -= numbers.count
      if numbers.contains(where: { newest[$0] != nil }) { return false }
    }
    return true
  }
}

extension Record {
  /// The graphs in whose answers a fact may show.
  fileprivate enum Reach {
    case graph(GraphID)
    case everywhere
    case nowhere
  }

  fileprivate var reach: Reach {
    switch self {
    case .submitted(let graph, _, _, _): .graph(graph)
    case .dispatched(_, let runs), .recalled(let runs), .executing(let runs),
      .succeeded(let runs), .held(let runs), .released(let runs), .prioritySet(let runs, _),
      .moved(let runs, _):
      .graph(runs.graph)
    case .finished(let id, _), .attemptFailed(let id, _, _), .blocksAdded(let id, _):
      .graph(id.graph)
    case .graphSuspended(let graph, _): .graph(graph)
    // Their two ends may be in two graphs.
    case .dependencyAdded, .dependencyRemoved, .enqueued: .everywhere
    case .queueCreated, .queueChanged, .queueRemoved: .everywhere
    // Each member, of whatever graph, has an event.
    case .cancelled: .nowhere
    // The events of its operations cover the effects of a lost worker.
    case .workerJoined, .workerLost, .workerLeft, .workerDraining, .workerSetAside,
      .workerResumed:
      .nowhere
    case .started, .restoredGraph, .restoredEnding, .restoredCounters, .restoredKeys, .keysDated,
      .graphsRemoved, .restoredReusable:
      .everywhere
    // The end of the operation is told by its own fact.
    case .madeReusable, .recomputed: .nowhere
    // Each operation that ends has an event.
    case .endsContinued, .endStepsLimited: .nowhere
    }
  }
}
