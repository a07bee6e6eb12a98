// What waits for an operation, directly or indirectly: by dependencies on operations and on stages,
// and by barriers (S33).

import DequeModule
import OpClusterModel

/// The operations that a search has reached, each with the one from which it was reached.
struct SearchTree {
  private var reached: [(id: OperationID, from: Int)] = []
  private var seen: Set<OperationID> = []
  /// The first place that was not expanded yet.
  private var next = 0

  /// Begins at an operation, unless it was reached before.
  mutating func begin(at id: OperationID) { reach(id, from: -1) }

  mutating func reach(_ id: OperationID, from place: Int) {
    if seen.insert(id).inserted { reached.append((id, place)) }
  }

  /// The nearest operation that was not taken yet.
  var first: OperationID? { next < reached.count ? reached[next].id : nil }

  mutating func take() -> (id: OperationID, place: Int)? {
    guard next < reached.count else { return nil }
    next += 1
    return (reached[next - 1].id, next - 1)
  }

  /// The way from a taken operation back to where the search began.
  func path(from place: Int) -> [OperationID] {
    var path: [OperationID] = []
    var at = place
    while at >= 0 {
      path.append(reached[at].id)
      at = reached[at].from
    }
    return path
  }
}

/// A stage of a graph.
struct StagePlace: Hashable {
  var graph: UInt32
  var stage: Int
}

/// Goes from operations to what waits for them, nearest first. A step for each operation and edge;
/// each stage is expanded once, and each segment of a queue (`SegmentMembers`).
struct DependentSearch {
  private let state: ClusterState
  /// Operations on their way into another queue: barriers do not concern them.
  private let isLeaving: (OperationID) -> Bool
  private var tree = SearchTree()
  private var members: SegmentMembers
  /// The edges of reached stages on single elements; those on whole stages were followed.
  private var elementEdges: [StagePlace: [StageEdge]] = [:]
  private var wholeStages: Set<StagePlace> = []
  /// Of queues with barriers that leave: by segment, the segment that ends with the next barrier
  /// that stays; the last segment if none does.
  private var ends: [UInt32: [Int]] = [:]
  private var costOfFirst: Int?
  /// The total number of visited operations, edges, stages and members.
  private(set) var steps = 0

  init(_ state: ClusterState, isLeaving: @escaping (OperationID) -> Bool = { _ in false }) {
    self.state = state
    self.isLeaving = isLeaving
    members = SegmentMembers(state)
  }

  mutating func begin(at id: OperationID) { tree.begin(at: id) }

  /// Takes the next operation, and goes on from it.
  mutating func next() -> (id: OperationID, place: Int)? {
    guard let taken = tree.take() else { return nil }
    costOfFirst = nil
    steps += 1
    followEdges(from: taken.id, taken.place)
    if !isLeaving(taken.id) { followBarriers(from: taken.id, taken.place) }
    return taken
  }

  /// The way from where the search began to a taken operation, each waiting for the one before.
  func path(to place: Int) -> [OperationID] { tree.path(from: place).reversed() }

  /// The steps until the next operation is expanded, about; nil: there is none. A step for each
  /// edge of its stage, once for each operation.
  mutating func stepsAfterNext() -> Int? {
    guard let id = tree.first else { return nil }
    if let known = costOfFirst { return steps + known }
    let graph = id.graph.number
    let stage = state.graphs[graph].stageNumber(of: id.index)
    var cost =
      state.graphs[graph].dependents.range(of: id.index).count
      + (state.graphs[graph].externalDependents[id.index]?.count ?? 0)
      + state.barrierCost(of: id, stage)
    if elementEdges[StagePlace(graph: graph, stage: stage)] == nil {
      cost += state.cost(of: state.graphs[graph].stages[stage].outgoing, graph, &steps)
    }
    costOfFirst = cost
    return steps + cost
  }

  private mutating func reach(_ id: OperationID, from place: Int) {
    steps += 1
    if state.mayWait(id) { tree.reach(id, from: place) }
  }

  private mutating func followEdges(from id: OperationID, _ place: Int) {
    let graph = id.graph.number
    for dependent in state.graphs[graph].externalDependents[id.index] ?? [] {
      reach(dependent.operation, from: place)
    }
    for position in state.graphs[graph].dependents.range(of: id.index) {
      reachKept(state.graphs[graph].dependents[position].index, id, place)
    }
    let stage = state.graphs[graph].stageNumber(of: id.index)
    for edge in edgesOfElements(StagePlace(graph: graph, stage: stage), place) {
      let element = state.graphs[graph].stages[stage].element(id.index)
      reachKept(state.graphs[graph].stages[edge.stage].firstIndex + element, id, place)
    }
  }

  /// Reaches a dependent inside the graph, unless the edge was removed.
  private mutating func reachKept(_ index: UInt32, _ id: OperationID, _ place: Int) {
    let graph = id.graph.number
    if !state.graphs[graph].removedDependencies.isEmpty,
      state.graphs[graph].removedDependencies[index]?.contains(id) == true
    {
      return
    }
    reach(state.graphs[graph].operation(index), from: place)
  }

  /// Follows the edges on a whole stage once, and returns those on its elements.
  private mutating func edgesOfElements(_ from: StagePlace, _ place: Int) -> [StageEdge] {
    if let known = elementEdges[from] { return known }
    let outgoing = state.graphs[from.graph].stages[from.stage].outgoing
    for edge in outgoing where edge.match == .all {
      let to = StagePlace(graph: from.graph, stage: edge.stage)
      steps += 1
      guard wholeStages.insert(to).inserted else { continue }
      for index in state.graphs[to.graph].stages[to.stage].indices {
        reach(state.graphs[to.graph].operation(index), from: place)
      }
    }
    let single = outgoing.filter { $0.match == .sameIndex }
    elementEdges[from] = single
    return single
  }

  /// Follows the barrier that waits for a member; from a barrier, what waits behind it up to the
  /// next one that stays.
  private mutating func followBarriers(from id: OperationID, _ place: Int) {
    let stage = state.graphs[id.graph.number].stageNumber(of: id.index)
    guard let standing = state.standing(of: id, stage) else { return }
    let queue = standing.queue
    let first = standing.segment + (standing.isBarrier ? 1 : 0)
    let last = end(of: first, in: queue)
    if standing.isBarrier {
      for segment in first...last {
        for member in members.members(of: queue, segment: segment, &steps)
        where !isLeaving(member) { reach(member, from: place) }
      }
    }
    if let barrier = state.queues[queue].segments[last].barrier, !isLeaving(barrier.operation) {
      reach(barrier.operation, from: place)
    }
  }

  private mutating func end(of segment: Int, in queue: UInt32) -> Int {
    if let known = ends[queue] { return known[segment] }
    let segments = state.queues[queue].segments
    guard let barrier = segments[segment].barrier, isLeaving(barrier.operation) else {
      return segment
    }
    var found = Array(segments.indices)
    for at in segments.indices.dropLast().reversed() {
      steps += 1
      if let barrier = segments[at].barrier, isLeaving(barrier.operation) {
        found[at] = found[at + 1]
      }
    }
    ends[queue] = found
    return found[segment]
  }
}

extension ClusterState {
  /// Whether an operation may wait for others: it lives, and has not ended. A cancelled one in a
  /// suspended queue counts until it ends; if it is a barrier, others may wait through it.
  func mayWait(_ id: OperationID) -> Bool {
    graphs.contains(id.graph.number) && graphs[id.graph.number].cell(id.index).phase != .finished
  }

  /// About how many steps the barriers of its queue cost a search that expands an operation.
  func barrierCost(of id: OperationID, _ stage: Int) -> Int {
    guard let standing = standing(of: id, stage), standing.isBarrier else { return 0 }
    return Int(queues[standing.queue].members) + graphs.count
  }

  /// The number of elements to which edges of a stage lead.
  func cost(of edges: [StageEdge], _ graph: UInt32, _ steps: inout Int) -> Int {
    steps += edges.count
    return edges.reduce(0) {
      $0 + ($1.match == .all ? Int(graphs[graph].stages[$1.stage].template.count) : 1)
    }
  }
}
