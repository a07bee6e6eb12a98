// A graph as a row, and as the structure that the history keeps.

import OpClusterModel

extension ClusterState {
  /// Costs the stages, not the operations: the states are counted along.
  func row(of graph: Graph) -> GraphRow {
    var counts = StateCounts()
    for at in graph.stages.indices { counts.add(graph.stages[at].counts) }
    return GraphRow(
      graph: graph.id, name: graph.submission.name, state: state(of: graph),
      counts: counts, submittedAt: graph.submittedAt, finishedAt: .unknown,
      labels: graph.submission.labels, allowedFailures: graph.allowedFailures)
  }

  /// A graph whose last operation has ended shows its outcome, in the one turn in which it is still
  /// there.
  func state(of graph: Graph) -> GraphRow.State {
    if graph.unfinished == 0 { return graph.outcome.graphState }
    return graph.isSuspended ? .suspended : .running
  }

  /// The structure of a graph, living or just removed.
  func graphStructure(of graph: Graph, finishedAt: WallTime) -> GraphStructure {
    var row = row(of: graph)
    row.finishedAt = finishedAt
    var stages: [GraphStructure.Stage] = []
    stages.reserveCapacity(graph.stages.count)
    var (queue, name) = (QueueID?.none, "")
    for at in graph.stages.indices {
      // Neighbours are mostly of one queue, which is not looked up for each.
      if graph.stages[at].queue != queue {
        queue = graph.stages[at].queue
        name = queues.find(graph.stages[at].queue.number)?.settings.name ?? ""
      }
      stages.append(graph.stages[at].outline(queue: name))
    }
    // A manifest's graph is drawn by its stages. Only a graph that a program made edge by edge has
    // nothing but single edges to show.
    let isPlain = graph.submission.groupEdges.isEmpty
    return GraphStructure(
      row: row, stages: stages, groupEdges: graph.submission.groupEdges,
      elementEdges: isPlain ? shownEdges(of: graph) : ElementEdges(),
      elementEdgeCount: isPlain ? UInt32(clamping: graph.dependencies.count) : 0)
  }

  private static let edgesShown = 10_000

  /// The first dependencies between single operations. Costs the operations before the last one
  /// that is shown; nothing without dependencies.
  private func shownEdges(of graph: Graph) -> ElementEdges {
    var edges = ElementEdges()
    var index: UInt32 = 0
    let most = min(graph.dependencies.count, Self.edgesShown)
    while edges.from.count < most, index < graph.operationCount {
      for position in graph.dependencies.range(of: index) where edges.from.count < most {
        edges.from.append(graph.dependencies[position].index)
        edges.to.append(index)
        edges.policies.append(graph.dependencies[position].policy)
      }
      index += 1
    }
    return edges
  }
}

extension Stage {
  fileprivate func outline(queue: String) -> GraphStructure.Stage {
    var stage = GraphStructure.Stage(
      name: template.name, count: template.count, firstIndex: firstIndex,
      isArray: template.isArray, indexRuns: template.indexRuns, queue: queue,
      work: template.work.description, counts: counts)
    stage.demand = template.demand
    stage.requirements = template.requirements
    return stage
  }
}

extension Work {
  /// A description of one or two words.
  var description: String {
    switch self {
    case .nothing: "join"
    case .command: "command"
    case .call(let type): "call \(type.name)"
    case .blocks: "blocks"
    }
  }
}

extension GraphOutcome {
  var graphState: GraphRow.State {
    switch self {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
