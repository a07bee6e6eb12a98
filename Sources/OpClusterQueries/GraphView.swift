// The interface of queries to a graph. It is the same for living, ended and only submitted graphs,
// so that a selection has the same meaning for all of them.

package import OpClusterModel

/// A graph as submitted: its stages and the positions of their operations. A stage is a template of
/// the submission; the operations of a graph are numbered consecutively, stage by stage.
package protocol GraphShape {
  var graph: GraphID { get }
  var labels: [Label] { get }
  var stageCount: Int { get }
  func template(of stage: Int) -> OperationTemplate
  /// The template's name and its own labels, without a copy of the whole template.
  func name(of stage: Int) -> String
  func labels(of stage: Int) -> [Label]
  func indices(of stage: Int) -> Range<UInt32>
  /// The stage of an operation; nil for an index that the graph does not have. Costs a binary
  /// search.
  func stage(of index: UInt32) -> Int?
  /// The first stage from `start` on that may have this name; nil if there is none.
  func stage(named name: String, from start: Int) -> Int?
  /// The queue name of a stage for people; empty if the queue was removed.
  func queueName(of stage: Int) -> String
}

/// A graph with the states of its operations.
package protocol GraphView: GraphShape {
  func state(of index: UInt32) -> StateWord
  /// False only if no operation of a stage can be in one of these states; avoids a check of each.
  func mayHave(_ states: [StateWord], stage: Int) -> Bool
  /// Whether single operations were moved, or have priorities of their own.
  var hasMoved: Bool { get }
  var hasOwnPriorities: Bool { get }
  func queueName(of index: UInt32, stage: Int) -> String
  func priority(of index: UInt32, stage: Int) -> Priority
  /// The end of the neighbours of one stage from `index` on, before `end`, that are known to have
  /// its state, queue and priority; at least `index + 1`.
  func equalEnd(from index: UInt32, before end: UInt32) -> UInt32
}

extension GraphShape {
  package var operationCount: UInt32 {
    stageCount == 0 ? 0 : indices(of: stageCount - 1).upperBound
  }

  /// Any stage may have any name.
  package func stage(named name: String, from start: Int) -> Int? {
    start < stageCount ? start : nil
  }

  /// The element number for people; nil for a plain operation.
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
