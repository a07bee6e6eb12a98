// What an operation waits for, directly or indirectly, and whether a late edge would close a cycle
// (S32, S33).

import DequeModule
import OpClusterModel

/// Goes from an operation to what it waits for, nearest first. A step for each operation and edge;
/// each stage is expanded once, and each segment of a queue (`SegmentMembers`).
struct DependencySearch {
  private let state: ClusterState
  private var tree = SearchTree()
  private var members: SegmentMembers
  /// Stages that wait for others as a whole, and were reached.
  private var waitingStages: Set<StagePlace> = []
  private var wholeStages: Set<StagePlace> = []
  private var costOfFirst: Int?
  /// The total number of visited operations, edges, stages and members.
  private(set) var steps = 0

  init(_ state: ClusterState, from id: OperationID) {
    self.state = state
    members = SegmentMembers(state)
    tree.begin(at: id)
  }

  /// Takes the next operation, and goes on from it.
  mutating func next() -> (id: OperationID, place: Int)? {
    guard let taken = tree.take() else { return nil }
    costOfFirst = nil
    steps += 1
    followEdges(from: taken.id, taken.place)
    followBarriers(from: taken.id, taken.place)
    return taken
  }

  /// The way from a taken operation to where the search began, each waiting for the one before.
  func path(from place: Int) -> [OperationID] { tree.path(from: place) }

  /// The steps until the next operation is expanded, about; nil: there is none. A step for each
  /// edge of its stage, once for each operation.
  mutating func stepsAfterNext() -> Int? {
    guard let id = tree.first else { return nil }
    if let known = costOfFirst { return steps + known }
    let graph = id.graph.number
    let stage = state.graphs[graph].stageNumber(of: id.index)
    var cost =
      state.graphs[graph].dependencies.range(of: id.index).count
      + (state.graphs[graph].extraDependencies[id.index]?.count ?? 0)
      + state.barrierCost(of: id, stage)
    if !waitingStages.contains(StagePlace(graph: graph, stage: stage)) {
      cost += state.cost(of: state.graphs[graph].stages[stage].incoming, graph, &steps)
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
    var found: [OperationID] = []
    state.graphs[graph].forEachDependency(of: id.index) { on, _ in found.append(on) }
    for on in found { reach(on, from: place) }
    let to = StagePlace(graph: graph, stage: state.graphs[graph].stageNumber(of: id.index))
    guard waitingStages.insert(to).inserted else { return }
    for edge in state.graphs[graph].stages[to.stage].incoming where edge.match == .all {
      steps += 1
      guard wholeStages.insert(StagePlace(graph: graph, stage: edge.stage)).inserted else {
        continue
      }
      for index in state.graphs[graph].stages[edge.stage].indices {
        reach(state.graphs[graph].operation(index), from: place)
      }
    }
  }

  /// Follows the barrier before a member; from a barrier, what it waits for up to the one before.
  private mutating func followBarriers(from id: OperationID, _ place: Int) {
    let stage = state.graphs[id.graph.number].stageNumber(of: id.index)
    guard let standing = state.standing(of: id, stage) else { return }
    if standing.isBarrier {
      for member in members.members(of: standing.queue, segment: standing.segment, &steps) {
        reach(member, from: place)
      }
    }
    if standing.segment > 0,
      let barrier = state.queues[standing.queue].segments[standing.segment - 1].barrier
    {
      reach(barrier.operation, from: place)
    }
  }
}

extension ClusterState {
  /// The cycle that an edge would close, from the dependent through its dependents back to itself;
  /// nil if there is none. Follows edges on operations, on stages, and barriers (S33).
  ///
  /// Searches what waits for the dependent and what the dependency waits for, always on the side
  /// that has cost less: the steps are about twice those of the smaller side. They are few if
  /// nothing waits for the one, or the other waits for nothing.
  ///
  /// - Parameter steps: Counts the visited operations, edges, stages and members.
  func cycle(
    ifWaiting dependent: OperationID, on dependency: OperationID, _ steps: inout Int
  ) -> [OperationID]? {
    guard mayWait(dependent), mayWait(dependency) else { return nil }
    var behind = DependentSearch(self)
    behind.begin(at: dependent)
    var before = DependencySearch(self, from: dependency)
    defer { steps += behind.steps + before.steps }
    while let afterBehind = behind.stepsAfterNext(), let afterBefore = before.stepsAfterNext() {
      if afterBehind <= afterBefore {
        if let (id, place) = behind.next(), id == dependency {
          return behind.path(to: place) + [dependent]
        }
      } else if let (id, place) = before.next(), id == dependent {
        return before.path(from: place) + [dependent]
      }
    }
    return nil
  }
}
