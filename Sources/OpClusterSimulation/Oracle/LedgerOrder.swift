// The oracle's checks of the order of handing over: inside a queue the higher level first, then
// the earlier place, as far as the same workers could take either operation (I16, S47).

import OpClusterModel
import OpClusterScheduling

extension ShadowLedger {
  /// An operation that stands in line before a turn.
  struct Eligible {
    var id: OperationID
    var queue: UInt32
    var priority: Priority
    var place: UInt64
    var demandClass: DemandKey
  }
  /// A key of demand: operations with equal keys fit the same workers.
  struct DemandKey: Equatable {
    var demand: Resources
    var requirements: [LabelRequirement]
    var work: Work
    init(_ template: OperationTemplate) {
      demand = template.demand
      requirements = template.requirements
      work = template.work
    }
  }

  /// The operations that could be handed over, as far as is durable. Excludes operations that a
  /// rule unknown to this oracle may hold back: barriers, limits of templates, pauses after
  /// failures. Costs all operations of living graphs and their edges, once for each turn that hands
  /// something over.
  func eligibleOperations() -> [Eligible] {
    var found: [Eligible] = []
    for number in graphs.indices {
      guard let graph = graphs[number], !graph.hasEnded, !graph.isSuspended else { continue }
      for (index, entry) in graph.operations.enumerated()
      where entry.worker == 0 && entry.attempt == 0 && entry.outcome == nil {
        let template = graph.submission.templates[graph.templates[index]]
        guard entry.isQueued, !entry.isHeld, !entry.isCancelled, template.work != .nothing,
          template.maximumParallel == 0, !template.isBarrier, isOpen(entry.queue),
          !(isRestored && template.isExclusive),
          hasNeedsMet(entry)
        else { continue }
        found.append(
          Eligible(
            id: OperationID(graph: GraphID(UInt32(number)), index: UInt32(index)),
            queue: entry.queue, priority: entry.priority, place: entry.place,
            demandClass: DemandKey(template)))
      }
    }
    return found
  }

  private func isOpen(_ queue: UInt32) -> Bool {
    guard let queue = queues[queue], queue.barriers.isEmpty else { return false }
    return !queue.settings.isSuspended && queue.settings.maximumConcurrent != 0
  }

  private func hasNeedsMet(_ entry: OperationEntry) -> Bool {
    entry.needs.allSatisfy { need in
      guard contains(need.on), let outcome = self[need.on].outcome else { return false }
      return need.policy.isSatisfied(by: outcome)
    }
  }

  /// Checks after the turn that no unchanged operation still in line ranks before one that was
  /// handed over. Costs what was handed over times what is left. Only equal demands are compared:
  /// with others, a later operation may fit where an earlier one does not.
  mutating func expectOrder(of records: [Record], among eligible: [Eligible]) {
    let left = eligible.filter { one in
      let entry = self[one.id]
      return entry.worker == 0 && entry.attempt == 0 && entry.outcome == nil
        && !entry.isCancelled && !entry.isHeld && entry.place == one.place
        && !(graphs[Int(one.id.graph.number)]?.isHeldBack ?? true) && isOpen(entry.queue)
    }
    if left.isEmpty { return }
    for case .dispatched(_, let runs) in records {
      runs.forEach { index in
        expectFirst(OperationID(graph: runs.graph, index: index), left)
      }
    }
  }

  private mutating func expectFirst(_ id: OperationID, _ left: [Eligible]) {
    guard let template = template(of: id), template.maximumParallel == 0, !template.isBarrier,
      hasNeedsMet(self[id])
    else { return }
    let entry = self[id]
    let own = DemandKey(template)
    for other in left where other.queue == entry.queue && other.demandClass == own {
      let isBefore =
        other.priority == entry.priority
        ? other.place < entry.place : other.priority > entry.priority
      if isBefore {
        complain("I16", "\(shown(id)) is handed over before \(shown(other.id))")
      }
    }
  }
}

extension ShadowLedger.GraphEntry {
  /// Whether nothing of it may be handed over: it is suspended, or a failure policy may be ending
  /// it part by part (S23). Costs its operations, if it has a policy.
  fileprivate var isHeldBack: Bool {
    if isSuspended { return true }
    let hasPolicy =
      submission.failurePolicy != .continue || submission.maximumFailures != nil
      || !submission.failureScopes.isEmpty
    return hasPolicy
      && operations.contains {
        $0.outcome == .failed || $0.outcome == .timedOut || $0.outcome == .lost
      }
  }
}
