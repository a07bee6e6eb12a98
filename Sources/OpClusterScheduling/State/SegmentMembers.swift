// The members of queues between two barriers (S33, S86). A queue counts its members and does not
// list them: they are found in the graphs.

import DequeModule
import OpClusterModel

/// The members of queues with barriers, by segment, as far as a search has asked for them. A
/// queue's members are looked for in the graph that owns it, or in all graphs: a step for each
/// stage there, and for each element in such a queue. Each graph is gone through at most once.
struct SegmentMembers {
  private let state: ClusterState
  /// By queue and segment, without barriers. Looked up, never iterated.
  private var found: [UInt32: [[OperationID]]] = [:]
  private var searched: Set<UInt32> = []
  private var hasSearchedAll = false

  init(_ state: ClusterState) { self.state = state }

  /// The unfinished members of a segment, by graph and index.
  mutating func members(
    of queue: UInt32, segment: Int, _ steps: inout Int
  ) -> [OperationID] {
    if state.queues[queue].segments[segment].unfinished == 0 { return [] }
    if let owner = state.queues[queue].owner {
      search(owner.number, &steps)
    } else if !hasSearchedAll {
      hasSearchedAll = true
      for graph in state.graphs.numbers { search(graph, &steps) }
    }
    return found[queue]?[segment] ?? []
  }

  private mutating func search(_ graph: UInt32, _ steps: inout Int) {
    guard searched.insert(graph).inserted, state.graphs.contains(graph) else { return }
    let hasMoved = !state.graphs[graph].enqueuedIn.isEmpty
    for stage in state.graphs[graph].stages.indices {
      steps += 1
      if state.graphs[graph].stages[stage].unfinished == 0
        || state.graphs[graph].stages[stage].template.isBarrier
      {
        continue
      }
      let queue = state.graphs[graph].queue(ofStage: stage).number
      if !hasMoved, !state.hasBarriers(queue) { continue }
      for index in state.graphs[graph].stages[stage].indices {
        steps += 1
        note(state.graphs[graph].operation(index), stage)
      }
    }
  }

  private mutating func note(_ id: OperationID, _ stage: Int) {
    let graph = id.graph.number
    let phase = state.graphs[graph].cell(id.index).phase
    let queue = state.graphs[graph].queue(of: id.index, stage: stage).number
    if phase == .finished || phase == .declared || !state.hasBarriers(queue) { return }
    let segment = state.queues[queue].segment(of: state.graphs[graph].enqueuePlace(of: id.index))
    let count = state.queues[queue].segments.count
    found[queue, default: Array(repeating: [], count: count)][segment].append(id)
  }
}

extension ClusterState {
  /// Whether there is such a queue, and it has barriers.
  fileprivate func hasBarriers(_ queue: UInt32) -> Bool {
    queues.contains(queue) && queues[queue].hasBarriers
  }

  /// Where an unfinished operation stands among the barriers of its queue; nil if it is in none.
  func standing(of id: OperationID, _ stage: Int) -> QueueStanding? {
    let graph = id.graph.number
    let queue = graphs[graph].queue(of: id.index, stage: stage).number
    guard graphs[graph].cell(id.index).phase != .declared, queues.contains(queue) else {
      return nil
    }
    return QueueStanding(
      queue: queue,
      segment: queues[queue].segment(of: graphs[graph].enqueuePlace(of: id.index)),
      isBarrier: graphs[graph].stages[stage].template.isBarrier)
  }

  /// The barrier that an operation waits behind; for a barrier, all operations that it waits for.
  func barriersBefore(_ id: OperationID, _ stage: Int) -> [OperationID] {
    guard let standing = standing(of: id, stage) else { return [] }
    let (queue, segment) = (standing.queue, standing.segment)
    if standing.isBarrier {
      return members(before: queues[queue].segments[segment].barrier?.place ?? 0, in: queue)
    }
    return segment == 0
      ? [] : [queues[queue].segments[segment - 1].barrier?.operation].compactMap { $0 }
  }

  private func members(before place: UInt64, in queue: UInt32) -> [OperationID] {
    members(of: QueueID(queue)).flatMap { runs in
      var found: [OperationID] = []
      runs.forEachOperation { id in
        if graphs[id.graph.number].enqueuePlace(of: id.index) < place { found.append(id) }
      }
      return found
    }
  }
}

/// A place between the barriers of a queue.
struct QueueStanding {
  var queue: UInt32
  /// A barrier ends its segment.
  var segment: Int
  var isBarrier: Bool
  /// An operation waits for all members of lower levels, and for none of its own.
  var level: Int { 2 * segment + (isBarrier ? 1 : 0) }
}
