// A living graph, as selections and queries see it.

import OpClusterModel
import OpClusterQueries

/// A view of a living graph for queries.
struct LivingGraphView: GraphView {
  // All graphs, and its place among them: to copy the graph itself would count references of each
  // of its parts, and a selection makes a view of every graph it covers.
  private let graphs: Registry<Graph>
  private let slot: Int
  private let queues: WatchedRegistry<Queue>

  init(_ id: GraphID, _ state: ClusterState) {
    graphs = state.graphs
    slot = graphs.knownSlot(id.number)
    queues = state.queues
  }

  private var living: Graph { @inline(__always) _read { yield graphs[slot: slot] } }

  var graph: GraphID { living.id }
  var labels: [Label] { living.submission.labels }
  var stageCount: Int { living.stages.count }
  func template(of stage: Int) -> OperationTemplate { living.stages[stage].template }
  func name(of stage: Int) -> String { living.stages[stage].template.name }
  func labels(of stage: Int) -> [Label] { living.stages[stage].template.labels }
  func indices(of stage: Int) -> Range<UInt32> { living.stages[stage].indices }
  func stage(of index: UInt32) -> Int? {
    index < living.operationCount ? living.stageNumber(of: index) : nil
  }
  func stage(named name: String, from start: Int) -> Int? {
    living.stageNames.stage(named: name, from: start, in: living.stages)
  }
  func queueName(of stage: Int) -> String { name(of: living.queue(ofStage: stage)) }

  func state(of index: UInt32) -> StateWord { living.cell(index).word }
  func mayHave(_ states: [StateWord], stage: Int) -> Bool {
    states.contains { living.stages[stage].counts[$0] > 0 }
  }
  var hasMoved: Bool { !living.enqueuedIn.isEmpty }
  var hasOwnPriorities: Bool { !living.changes.isEmpty }
  func queueName(of index: UInt32, stage: Int) -> String {
    name(of: living.queue(of: index, stage: stage))
  }
  func priority(of index: UInt32, stage: Int) -> Priority {
    living.priority(of: index, stage: stage)
  }

  func equalEnd(from index: UInt32, before end: UInt32) -> UInt32 {
    living.span(from: index, before: end).range.upperBound
  }

  /// Ended operations, and ones never enqueued, may name a queue that was removed.
  private func name(of queue: QueueID) -> String {
    // Avoids a copy of the queue.
    queues.contains(queue.number) ? queues[queue.number].settings.name : ""
  }
}
