// A graph as a row, and as the structure that the history keeps.

package import OpClusterModel

extension ClusterState {
  /// Costs the stages, not the operations: the states are counted along.
  func row(of graph: Graph) -> GraphRow { graph.row(state(of: graph)) }

  /// A graph whose last operation has ended shows its outcome, in the one turn in which it is still
  /// there.
  func state(of graph: Graph) -> GraphRow.State {
    if graph.unfinished == 0 { return graph.outcome.graphState }
    return graph.isSuspended ? .suspended : .running
  }

  /// The structure of a living graph.
  func graphStructure(of graph: Graph) -> GraphStructure {
    graph.structure(row(of: graph)) {
      queues.find(graph.queues[$0].number)?.settings.name ?? ""
    }
  }
}

extension Graph {
  /// Costs the stages, their edges, and the operations before the last dependency that is shown.
  ///
  /// - Parameter queueName: The name, for people, of the queue that the submission references at a
  ///     position.
  fileprivate func structure(
    _ row: GraphRow, queueName: (Int) -> String
  ) -> GraphStructure {
    var outlines: [GraphStructure.Stage] = []
    outlines.reserveCapacity(stages.count)
    var (queue, name) = (Int?.none, "")
    for at in stages.indices {
      // Neighbours are mostly of one queue, which is not looked up for each.
      let own = Int(stages[at].template.queue)
      if own != queue {
        queue = own
        name = queueName(own)
      }
      outlines.append(stages[at].outline(queue: name))
    }
    // A manifest's graph is drawn by its stages. Only a graph that a program made edge by edge has
    // nothing but single edges to show.
    let isPlain = submission.groupEdges.isEmpty
    return GraphStructure(
      row: row, stages: outlines, groupEdges: submission.groupEdges,
      elementEdges: isPlain ? shownEdges : ElementEdges(),
      elementEdgeCount: isPlain ? UInt32(clamping: dependencies.count) : 0)
  }

  private static let edgesShown = 10_000

  /// The first dependencies between single operations.
  private var shownEdges: ElementEdges {
    var edges = ElementEdges()
    var index: UInt32 = 0
    let most = min(dependencies.count, Self.edgesShown)
    while edges.from.count < most, index < operationCount {
      for position in dependencies.range(of: index) where edges.from.count < most {
        edges.from.append(dependencies[position].index)
        edges.to.append(index)
        edges.policies.append(dependencies[position].policy)
      }
      index += 1
    }
    return edges
  }
}

extension GraphSubmission {
  /// The structure of the graph that it made, for a reader who has only the submission and what
  /// became of it. Queues have the names that the submission gives them. Costs the submission.
  ///
  /// - Parameter counts: The states of each stage's operations; a stage beyond them has none.
  package func structure(_ row: GraphRow, counts: [StateCounts]) -> GraphStructure {
    var graph = GraphPlan(
      self, pageBits: CellTable.usualPageBits, demandsAtOnce: .max
    ).graph
    for at in graph.stages.indices {
      graph.stages[at].counts = at < counts.count ? counts[at] : StateCounts()
    }
    return graph.structure(row) { position in
      guard position < queues.count else { return "default" }
      switch queues[position] {
      case .named(let name): return name
      case .own(let settings): return settings.name(in: row.graph)
      }
    }
  }

  /// The same for a graph that has ended.
  ///
  /// - Parameter outcomes: One raw `Outcome` for each operation, or one for all.
  package func structure(_ row: GraphRow, outcomes: [UInt8]) -> GraphStructure {
    var first = 0
    var counts: [StateCounts] = []
    counts.reserveCapacity(templates.count)
    for at in templates.indices {
      let end = first + Int(templates[at].count)
      var ended = StateCounts()
      if outcomes.count == 1 {
        ended[StateWord(raw: outcomes[0])] = templates[at].count
      } else {
        for index in first..<min(end, outcomes.count) {
          ended[StateWord(raw: outcomes[index])] += 1
        }
      }
      counts.append(ended)
      first = min(end, outcomes.count)
    }
    return structure(row, counts: counts)
  }
}

extension StateWord {
  /// That of an ended operation.
  fileprivate init(raw outcome: UInt8) {
    self = Outcome(rawValue: outcome & 0x7F).map { StateWord($0) } ?? .lost
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

extension Graph {
  func row(_ state: GraphRow.State) -> GraphRow {
    GraphRow(
      graph: id, name: submission.name, state: state, counts: counts, submittedAt: submittedAt,
      finishedAt: .unknown, labels: submission.labels, allowedFailures: allowedFailures)
  }
}
