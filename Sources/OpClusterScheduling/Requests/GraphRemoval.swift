// Removes ended graphs at a client's request: the fact removes their outputs and the remembered
// summary, the body removes their history. Keys stay: a repeat of the same submission is still
// answered with the old number (G19).

public import OpClusterModel

extension Scheduler {
  /// Costs the named graphs, and one pass over the remembered ones.
  mutating func removeGraphs(
    _ asker: Asker, _ named: [GraphID], into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    guard named.count <= Limits.graphsPerRemoval else {
      throw Refusal(
        .limitExceeded, "more than \(Limits.graphsPerRemoval) graphs at once",
        hint: "remove them in several steps")
    }
    let wanted = Set(named).sorted()
    for id in wanted { try checkRemovable(id, asker) }
    let cited = state.citedGraphs()
    if let id = wanted.first(where: { cited.contains($0) }) {
      throw Refusal(
        .badRequest, "an operation that has not ended depends on graph \(id.number)",
        hint: "remove it when the graphs that depend on it have ended")
    }
    if wanted.isEmpty { return .changed(0, unchanged: 0) }
    commit(.graphsRemoved(wanted), into: &turn)
    return .changed(UInt32(wanted.count), unchanged: 0)
  }

  private func checkRemovable(_ id: GraphID, _ asker: Asker) throws(Refusal) {
    let number = id.number
    guard number > 0, number <= counters.lastGraph else {
      throw Refusal(
        .unknownGraph, "there is no graph \(number)", hint: .listGraphs)
    }
    try checkOwn([id], of: asker)
    guard !graphs.contains(number) else {
      throw Refusal(
        .badRequest, "graph \(number) has not ended",
        hint: .cancelGraph(GraphID(number)))
    }
    guard case .graphs(let name) = asker.mayChange else { return }
    guard let known = ended[id] else {
      throw Refusal(
        .forbidden, "graph \(number) ended so long ago that nobody remembers whose it was",
        hint: "an administrator can remove it")
    }
    if known.submitter != name { throw Self.notOwn(id, known.submitter, name) }
  }

  /// The graphs removed since the last call, whose history the body must still delete; after a
  /// replay, those of the replayed turns.
  public mutating func takeRemoved() -> [GraphID] {
    if removed.isEmpty { return [] }
    defer { removed = [] }
    return removed
  }
}
