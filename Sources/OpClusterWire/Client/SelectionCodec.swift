// Converts the selection of graphs and operations in a request ⇄ `Selection`.
// A selection is what `12/align/3` and the filters of a command become. The coordinator evaluates
// it against live graphs, and against the history for ended ones.

import OpClusterModel

/// Absent filters let everything through; those that are present all have to fit.
extension Selection: WireConvertible {
  var proto: ProtoSelection {
    var proto = ProtoSelection()
    switch graphs {
    case .numbers(let ranges):
      proto.graphs = .numbers
      proto.firstGraph = ranges.map(\.first.number)
      proto.lastGraph = ranges.map(\.last.number)
    // 0 is the newest submission, 1 the one before it.
    case .last(let back):
      proto.graphs = .last
      proto.back = back
    case .active: proto.graphs = .active
    case .all: proto.graphs = .all
    }
    if let operation { proto.operation = operation }
    if !elements.isEmpty { proto.elements = ProtoIndexRuns(elements) }
    proto.states = states.map(\.proto)
    proto.labels = labels.map(\.proto)
    if let queue { proto.queue = queue }
    // Absent means any priority, so that NORMAL can be asked for.
    if let priority { proto.priority = priority.proto }
    return proto
  }

  /// Throws for more runs, steps, states or labels than their limits: a selection is kept as long
  /// as a subscription lives, and looked at for each event.
  init(proto: ProtoSelection) throws(WireError) {
    self.init(graphs: try Graphs(proto))
    operation =
      proto.hasOperation
      ? try text(proto.operation, Limits.nameBytes, "selection.operation") : nil
    try checkCount(
      proto.elements.first.count, Limits.indexRunsPerSelection, "selection.elements")
    elements = try proto.elements.words("selection.elements")
    // Each distinct step above 1 costs another look for every element.
    try checkCount(
      ElementNumbers.steps(in: elements), Limits.indexStepsPerSelection,
      "selection.elements.step")
    try checkCount(proto.states.count, StateWord.allCases.count, "selection.states")
    states = try StateWord.column(proto.states, "selection.states")
    labels = try list(proto.labels, Limits.labelsPerThing, "selection.labels")
    queue =
      proto.hasQueue
      ? try text(proto.queue, WireLimits.queueNameBytes, "selection.queue") : nil
    priority =
      proto.priority == .unspecified
      ? nil : try Priority(proto: proto.priority, "selection.priority")
  }
}

extension Selection.Graphs {
  /// "Unspecified" has no default here: a selection that forgot its graphs must not mean all of
  /// them.
  fileprivate init(_ proto: ProtoSelection) throws(WireError) {
    switch proto.graphs {
    case .numbers:
      let (first, last) = (proto.firstGraph, proto.lastGraph)
      try checkCount(first.count, WireLimits.graphRanges, "selection.first_graph")
      try checkEqual(last.count, first.count, "selection.last_graph")
      self = .numbers(
        zip(first, last).map { Selection.ClosedRangeOfGraphs(GraphID($0), GraphID($1)) })
    case .last: self = .last(back: proto.back)
    case .active: self = .active
    case .all: self = .all
    case .unspecified, .UNRECOGNIZED:
      throw WireError("selection.graphs", .unknownValue(proto.graphs.rawValue))
    }
  }
}
