// Restricts a client to graphs that it may change: all graphs, or only those submitted with its own
// key. The body decides which of the two applies; the owner of a graph is in its labels, where the
// body wrote it.

import OpClusterModel

extension Scheduler {
  func isOwn(_ graph: GraphID, of asker: Asker) -> Bool {
    guard case .graphs(let name) = asker.mayChange else { return true }
    return graphs.contains(graph.number) && graphs[graph.number].submission.submitter == name
  }

  /// Checks each graph.
  func checkOwn(_ members: some Sequence<GraphID>, of asker: Asker) throws(Refusal) {
    guard case .graphs(let name) = asker.mayChange else { return }
    for graph in members where graphs.contains(graph.number) && !isOwn(graph, of: asker) {
      throw Self.notOwn(graph, graphs[graph.number].submission.submitter, name)
    }
  }

  static func notOwn(_ graph: GraphID, _ submitter: String, _ name: String) -> Refusal {
    let whose =
      submitter.isEmpty ? "was submitted without a key" : "belongs to '\(submitter)'"
    return Refusal(
      .forbidden, "graph \(graph.number) \(whose), and the key '\(name)' changes its own alone",
      hint: .text(
        "ask its submitter or an administrator; 'opcoord serve --steering all' lets submitters "
          + "change the graphs of everybody"))
  }

  /// The members of a request among the graphs of its asker. A selection of all or all active
  /// graphs leaves out graphs of others; naming another's graph is refused.
  func resolve(_ target: OperationTarget, by asker: Asker) throws(Refusal) -> TargetMembers {
    var members = try resolve(target)
    if asker.mayChange == .allGraphs { return members }
    if case .selection(let selection) = target, selection.isOpen {
      members.runs.removeAll { !isOwn($0.graph, of: asker) }
      if members.runs.isEmpty { throw Self.nothingOwn }
    }
    try checkOwn(members.runs.lazy.map(\.graph), of: asker)
    return members
  }

  func resolveGraphs(_ selection: Selection, by asker: Asker) throws(Refusal) -> [GraphID] {
    var chosen = try resolveGraphs(selection)
    if asker.mayChange == .allGraphs { return chosen }
    if selection.isOpen {
      chosen.removeAll { !isOwn($0, of: asker) }
      if chosen.isEmpty { throw Self.nothingOwn }
    }
    try checkOwn(chosen, of: asker)
    return chosen
  }

  private static var nothingOwn: Refusal {
    Refusal(
      .unknownGraph, "no living graph of yours matches", hint: .listGraphs)
  }
}

extension Selection {
  /// It names no graph, but selects all, or all active ones.
  fileprivate var isOpen: Bool {
    switch graphs {
    case .all, .active: true
    case .numbers, .last: false
    }
  }

  /// Whether it is of every living graph.
  var meansAllGraphs: Bool { isOpen && labels.isEmpty }
}
