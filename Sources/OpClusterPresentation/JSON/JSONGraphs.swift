// Writes graphs, their structure and submissions in the JSON contract.
// Keys of the contract are never renamed or removed: programs depend on them.

public import OpClusterModel

extension JSONText {
  /// Writes the `graph` object of the answer to `submit`:
  /// `{"schema","graph":{"id","name","operations"}}`.
  /// `repeated` is there only if the key was known, and says that nothing new was submitted.
  public mutating func submission(
    _ graph: GraphID, name: String, operations: UInt32, repeated: Bool
  ) {
    object("graph") { json in
      json.field("id", graph.number)
      json.field("name", name)
      json.field("operations", operations)
      if repeated { json.field("repeated", true) }
    }
  }

  /// Writes the fields of one graph.
  /// `user` and `allowed_failures` are absent where there is nothing to say.
  public mutating func fields(of row: GraphRow) {
    field("id", row.graph.number)
    field("name", row.name)
    field("state", row.state.rawValue)
    if !row.submitter.isEmpty { field("user", row.submitter) }
    field("total", row.counts.total)
    object("counts") { $0.fields(of: row.counts) }
    if row.allowedFailures > 0 { field("allowed_failures", row.allowedFailures) }
    labels("labels", row.labels)
    field("submitted_at", row.submittedAt)
    field("finished_at", row.finishedAt)
  }

  /// Writes one key per state, snake_case, in the order of `StateWord`; includes zeros.
  /// Zeros are written, so that a program need not know which states occur.
  public mutating func fields(of counts: StateCounts) {
    for word in StateWord.allCases {
      field(word == .timedOut ? "timed_out" : word.rawValue, counts[word])
    }
  }

  /// Writes the fields of a graph with its stages and edges.
  /// Edges name stages, since names are unique within a graph.
  public mutating func fields(of structure: GraphStructure) {
    object("graph") { $0.fields(of: structure.row) }
    array("stages") { json in
      for stage in structure.stages {
        json.object { $0.fields(of: stage, graph: structure.row.graph) }
      }
    }
    // An edge that leads to no stage becomes an empty object rather than shifting others.
    array("edges") { json in
      for edge in structure.groupEdges { json.object { $0.fields(of: edge, in: structure) } }
    }
    if structure.elementEdgeCount > 0 { elementEdges(of: structure) }
  }

  private mutating func fields(of stage: GraphStructure.Stage, graph: GraphID) {
    field("id", OperationPath(graph: graph, name: stage.name).description)
    field("name", stage.name)
    field("count", stage.count)
    field("is_array", stage.isArray)
    field("queue", stage.queue)
    field("work", stage.work)
    object("counts") { $0.fields(of: stage.counts) }
  }

  private mutating func fields(of edge: GroupEdge, in structure: GraphStructure) {
    let stages = structure.stages
    guard Int(edge.from) < stages.count, Int(edge.to) < stages.count else { return }
    field("from", stages[Int(edge.from)].name)
    field("to", stages[Int(edge.to)].name)
    field("when", edge.policy.word)
    if edge.match == .sameIndex { field("match", "same-index") }
  }

  /// At most as many as the answer holds; the count says how many there are.
  private mutating func elementEdges(of structure: GraphStructure) {
    let index = StageIndex(structure)
    let edges = structure.elementEdges
    field("element_edge_count", structure.elementEdgeCount)
    array("element_edges") { json in
      for at in 0..<min(edges.from.count, edges.to.count) {
        json.object { json in
          json.field("from", index.path(of: edges.from[at]))
          json.field("to", index.path(of: edges.to[at]))
          json.field("when", edges.safePolicy(at).word)
        }
      }
    }
  }
}

extension ElementEdges {
  /// Like `policy`, but returns the default instead of a trap if the list is too short.
  /// Lists of an answer may have any length; a trap here would end the command.
  func safePolicy(_ edge: Int) -> EdgePolicy {
    policies.count == 1 ? policies[0] : edge < policies.count ? policies[edge] : .succeeded
  }
}
