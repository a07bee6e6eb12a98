// The conditions for accepting a submission that the state of the cluster decides; what follows
// from the submission alone is checked by `SubmissionChecks`. The first violation refuses all of it
// (S58, G2).

public import OpClusterModel

extension Scheduler {
  /// Throws the first reason against a submission whose plan could be made. Costs its queues,
  /// delays and edges on other graphs, and what it takes over from another.
  func admit(
    _ submission: GraphSubmission, _ plan: GraphPlan.Outline, at wall: WallTime
  ) throws(Refusal) {
    try checkNumbersAreLeft(for: submission, operations: plan.operationCount)
    if let at = plan.exclusive, !timing.allowsExclusive {
      throw Refusal(
        .badRequest,
        "operation \(submission.templates[at].name) is exclusive, which this coordinator takes "
          + "none of",
        hint: "its administrator sets fence, and lost above fence + 2 s")
    }
    for at in plan.delayed { try checkDelay(submission.templates[at], at: wall) }
    try checkQueues(submission)
    try checkExternalEdges(submission, operations: plan.operationCount)
    try checkContinued(submission, plan)
    try checkOrigin(submission)
  }

  /// Refuses a graph that only the coordinator submits: its operation has no inputs of its own.
  private func checkOrigin(_ submission: GraphSubmission) throws(Refusal) {
    guard let origin = submission.recomputes else { return }
    throw Refusal(
      .badRequest,
      "it runs \(state.shown(origin)) again, because what that left was lost; only the coordinator "
        + "begins that", hint: .text("run graph \(origin.graph.number) again instead"))
  }

  /// The number of queues that came with a living graph.
  public func ownQueueCount(of graph: GraphID) -> Int {
    graphs.contains(graph.number) ? graphs[graph.number].ownQueues.count : 0
  }

  /// The queue that has this name now.
  public func madeQueue(named name: String) -> QueueID? { queueByName[name] }

  /// Refuses a submission if numbers run out, which are never reused, or if there would be more
  /// operations than can be counted.
  func checkNumbersAreLeft(
    for submission: GraphSubmission, operations: UInt32
  ) throws(Refusal) {
    // Sums in 64 bits: the numbers themselves have 32.
    let areLeft =
      counters.lastGraph < .max
      && UInt64(counters.lastQueue) + UInt64(submission.ownQueueCount) <= UInt64(UInt32.max)
      && counters.lastPlace <= Scheduler.lastPlaceForSubmissions
    if !areLeft { throw Self.noNumbers("graphs, queues or places in line") }
    let living = state.livingOperations + UInt64(operations)
    guard living <= UInt64(Limits.livingOperations) else {
      throw Refusal(
        .limitExceeded,
        "the living graphs have \(state.livingOperations) operations, and with this one would have "
          + "more than \(Limits.livingOperations)", hint: "wait until some of them have ended")
    }
  }

  /// The limit of places for submissions; the rest suffices for all later changes of places.
  static let lastPlaceForSubmissions = UInt64.max / 2

  /// The refusal of a coordinator whose numbers have run out. A number that came back would make a
  /// late word about the old thing look current (S2).
  static func noNumbers(_ what: String) -> Refusal {
    Refusal(
      .limitExceeded, "this coordinator has given all the numbers that it has for \(what)",
      hint: "begin with a new state folder")
  }

  /// Refuses a start beyond `Limits.longestDelay`. The moment is a wall time; it becomes a delay
  /// when the submission is committed (G31).
  private func checkDelay(
    _ template: OperationTemplate, at wall: WallTime
  ) throws(Refusal) {
    guard let moment = template.notBefore, !moment.isWithinBounds(submittedAt: wall) else {
      return
    }
    throw Refusal(
      .badRequest, "operation \(template.name): it shall not start within ten years",
      hint: "hold it, and release it when its time has come")
  }

  /// Named queues must exist and belong to no other graph, since such a queue leaves with its
  /// graph.
  private func checkQueues(_ submission: GraphSubmission) throws(Refusal) {
    let own = submission.ownQueueCount
    if own > 0, queues.count + own > Limits.queues {
      throw Refusal(
        .limitExceeded,
        "there are \(queues.count) queues already, of \(Limits.queues); the graph brings \(own)",
        hint: "wait until graphs with queues of their own have ended, or remove queues")
    }
    for case .named(let name) in submission.queues {
      let queue = try queue(named: name)
      if let owner = queues[queue.number].owner {
        throw Refusal(
          .badRequest, "queue \(name) belongs to graph \(owner.number) and goes with it")
      }
    }
  }

  /// Checks edges on operations of earlier graphs. The outcomes are not looked at: an edge that can
  /// no longer be met skips its dependent, after the submission was accepted (S27).
  private func checkExternalEdges(
    _ submission: GraphSubmission, operations: UInt32
  ) throws(Refusal) {
    var known: [ExternalPair: EdgePolicy] = [:]
    let readers = InputReaders(submission)
    for edge in submission.externalEdges {
      try checkKnown(edge.from)
      guard edge.to < operations else {
        throw Refusal(.unknownDependency, "a dependency names operation \(edge.to) of this graph")
      }
      if readers.contains(edge.to) { try state.checkOutput(of: edge.from) }
      let pair = ExternalPair(from: edge.from, to: edge.to)
      if let other = known.updateValue(edge.policy, forKey: pair) {
        throw Refusal(
          other == edge.policy ? .badRequest : .conflictingEdge,
          "operation \(edge.to) names \(state.shown(edge.from)) twice", operations: [edge.from])
      }
    }
  }

  private struct ExternalPair: Hashable {
    var from: OperationID
    var to: UInt32
  }

  /// Checks that an operation may be cited: it lives, or its graph is remembered (S27, S28).
  func checkKnown(_ id: OperationID) throws(Refusal) {
    let known =
      graphs.contains(id.graph.number)
      ? graphs[id.graph.number].operationCount : ended[id.graph]?.operationCount
    if let known {
      if id.index < known { return }
    } else if id.graph.number > 0, id.graph.number <= counters.lastGraph {
      throw Refusal(
        .expired, "graph \(id.graph.number) ended too long ago to be waited for",
        operations: [id])
    }
    throw Refusal(
      .unknownDependency, "there is no operation \(state.shown(id))", operations: [id])
  }
}

/// The operations of a submission that read outputs of their dependencies. Uses binary search:
/// templates and edges may be equally many, so a scan of one for each of the other is too slow.
private struct InputReaders {
  /// Ascending, not empty. Operations of templates that want inputs, one range for each template.
  private var ranges: [Range<UInt32>] = []

  init(_ submission: GraphSubmission) {
    guard !submission.externalEdges.isEmpty else { return }
    var first: UInt32 = 0
    for template in submission.templates {
      let end = first &+ template.count
      if template.wantsInputs, end > first { ranges.append(first..<end) }
      first = end
    }
  }

  /// Costs the logarithm of the templates.
  func contains(_ index: UInt32) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound <= index { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].contains(index)
  }
}
