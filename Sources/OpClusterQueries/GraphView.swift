// What questions can ask of a graph. What lives, what has ended, and what only was submitted are
// seen alike, so that a selection means the same whatever became of the graph.

package import OpClusterModel

/// A graph as it was submitted: its stages and where their operations stand. A stage is a template
/// of the submission; the operations of a graph are numbered through, stage by stage.
package protocol GraphShape {
  var graph: GraphID { get }
  var labels: [Label] { get }
  var stageCount: Int { get }
  func template(of stage: Int) -> OperationTemplate
  /// The template's own, without a copy of all of it.
  func labels(of stage: Int) -> [Label]
  func indices(of stage: Int) -> Range<UInt32>
  /// The stage of an operation; nil for an index that the graph does not have. Costs a search by
  /// halving.
  func stage(of index: UInt32) -> Int?
  /// The queue of a stage as people call it; empty where it is gone.
  func queueName(of stage: Int) -> String
}

/// A graph with the states of its operations.
package protocol GraphView: GraphShape {
  func state(of index: UInt32) -> StateWord
  /// False only where no operation of a stage can be in one of these states: saves a look at each.
  func mayHave(_ states: [StateWord], stage: Int) -> Bool
  /// Whether single operations were moved, or have priorities of their own.
  var hasMoved: Bool { get }
  var hasOwnPriorities: Bool { get }
  func queueName(of index: UInt32, stage: Int) -> String
  func priority(of index: UInt32, stage: Int) -> Priority
}

extension GraphShape {
  package var operationCount: UInt32 {
    stageCount == 0 ? 0 : indices(of: stageCount - 1).upperBound
  }

  /// The number that people see; nil for a plain operation.
  package func shownIndex(_ index: UInt32, stage: Int) -> UInt32? {
    let template = template(of: stage)
    return template.isArray
      ? template.shownIndex(ofElement: index - indices(of: stage).lowerBound) : nil
  }

  /// `12/align/3`, `12/align`, or `12/#70` for an index that the graph does not have.
  package func path(of index: UInt32) -> String {
    guard let stage = stage(of: index) else {
      return OperationID(graph: graph, index: index).numbered
    }
    return StageName(graph: graph, name: template(of: stage).name)
      .path(element: shownIndex(index, stage: stage))
  }
}
