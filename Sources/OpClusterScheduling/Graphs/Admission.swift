// The conditions for accepting a submission; the first violation refuses all of it (S58, G2). A
// submission that passes cannot cause a trap later: `GraphLifetime` and `LoweredEdges` index into
// it without checks. So a new field of a submission that is an index, a count or a name needs a
// check here. The codec has bounded single numbers before; a local cluster has no codec.

public import OpClusterModel

extension Scheduler {
  /// Throws the first reason against a submission. The sizes come first, since every later check
  /// costs what they bound: templates, edges and operations, each visited a constant number of
  /// times. The cycle search is last, because it builds the whole graph of the submission.
  func admit(_ submission: GraphSubmission, at wall: WallTime) throws(Refusal) {
    try checkSizes(submission)
    try checkNumbersAreLeft(for: submission)
    try checkNames(submission)
    for at in submission.templates.indices {
      try check(submission.templates[at], at, submission)
      try checkDelay(submission.templates[at], at: wall)
    }
    try checkQueues(submission)
    try checkFailureScopes(submission)
    var templateEdges = try checkedTemplateEdges(submission)
    try checkElementEdges(submission, beside: &templateEdges)
    try checkExternalEdges(submission)
    try checkContinued(submission)
    try checkOrigin(submission)
    try checkSecrets(submission)
    if !submission.allowsCycles, submission.hasEdges {
      let search = CycleSearch(submission, as: GraphID(counters.lastGraph + 1))
      var steps = 0
      if let cycle = try search.find(&steps) {
        throw Refusal(
          .cycle, "these operations wait for each other: \(cycle)",
          hint: "take one of these dependencies away")
      }
    }
  }

  /// Refuses a graph that only the coordinator submits: its operation has no inputs of its own.
  private func checkOrigin(_ submission: GraphSubmission) throws(Refusal) {
    guard let origin = submission.recomputes else { return }
    throw Refusal(
      .badRequest,
      "it runs \(state.shown(origin)) again, because what that left was lost; only the coordinator "
        + "begins that", hint: .text("run graph \(origin.graph.number) again instead"))
  }

  /// Checks the secrets: the codec checks them in messages, but an in-process scheduler has no
  /// codec.
  private func checkSecrets(_ submission: GraphSubmission) throws(Refusal) {
    try bound(submission.secrets.count, Limits.secretsPerGraph, "secrets")
    try bound(
      submission.secrets.reduce(0) { $0 + $1.utf8.count }, Limits.secretBytesPerGraph,
      "bytes of secrets")
  }

  /// Checks counts and bytes against `Limits`. Operations are added up in 64 bits, so that no
  /// counts of templates can overflow the sum.
  private func checkSizes(_ submission: GraphSubmission) throws(Refusal) {
    try bound(submission.templates.count, Limits.templatesPerGraph, "templates")
    try bound(submission.groupEdges.count, Limits.groupEdgesPerGraph, "dependencies")
    try bound(submission.elementEdges.count, Limits.elementEdgesPerGraph, "dependencies")
    try bound(submission.externalEdges.count, Limits.groupEdgesPerGraph, "dependencies")
    try bound(submission.queues.count, Limits.queuesPerGraph, "queues")
    try bound(
      submission.failureScopes.count, Limits.failureScopesPerGraph,
      "parts with a failure policy of their own")
    try bound(submission.labels.count, Limits.labelsPerThing, "labels")
    try bound(submission.key.text.utf8.count, Limits.ownedSubmissionKeyBytes, "bytes in its key")
    try bound(submission.name.utf8.count, Limits.nameBytes, "bytes in its name")
    var total = 0
    for at in submission.templates.indices {
      total += Int(submission.templates[at].count)
      try bound(total, Limits.operationsPerGraph, "operations")
    }
  }

  /// The number of queues that came with a living graph.
  public func ownQueueCount(of graph: GraphID) -> Int {
    graphs.contains(graph.number) ? graphs[graph.number].ownQueues.count : 0
  }

  /// The queue that has this name now.
  public func madeQueue(named name: String) -> QueueID? { queueByName[name] }

  /// Checks names, because a program can send a submission without a manifest.
  private func checkNames(_ submission: GraphSubmission) throws(Refusal) {
    guard submission.name.isEmpty || submission.name.isPlainName else {
      throw Refusal(
        .badRequest, "the graph's name has a '/' or control characters, or over 128 bytes")
    }
    guard submission.key.text.isPlainText else {
      throw Refusal(.badRequest, "the graph's key has control characters")
    }
    if let label = submission.labels.first(where: { !$0.isPlain }) { throw Self.bad(label) }
  }

  private static func bad(_ label: Label) -> Refusal {
    Refusal(
      .badRequest,
      "the key of a label is empty or over \(Limits.nameBytes) bytes, or it has control "
        + "characters: '\(String(label.key.filter { "\($0)".isPlainText }.prefix(32)))'")
  }

  /// Refuses a submission if numbers run out, which are never reused, or if there would be more
  /// operations than can be counted.
  func checkNumbersAreLeft(for submission: GraphSubmission) throws(Refusal) {
    // Sums in 64 bits: the numbers themselves have 32.
    let areLeft =
      counters.lastGraph < .max
      && UInt64(counters.lastQueue) + UInt64(submission.ownQueueCount) <= UInt64(UInt32.max)
      && counters.lastPlace <= Scheduler.lastPlaceForSubmissions
    if !areLeft { throw Self.noNumbers("graphs, queues or places in line") }
    let living = state.livingOperations + UInt64(submission.operationCount)
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

  /// Refuses a count above a limit; `what` is a plural noun for the sentence.
  private func bound(_ count: Int, _ limit: Int, _ what: String) throws(Refusal) {
    if count > limit {
      throw Refusal(
        .limitExceeded, "the graph has more than \(limit) \(what)",
        hint: "split it into several submissions")
    }
  }

  /// Checks one template: all that does not depend on other templates.
  private func check(
    _ template: OperationTemplate, _ at: Int, _ submission: GraphSubmission
  ) throws(Refusal) {
    func refuse(_ what: String) -> Refusal {
      Refusal(.badRequest, "operation \(template.name): \(what)")
    }
    guard template.name.isPlainName else {
      throw Refusal(
        .badRequest,
        "template \(at) has no name of 1 to 128 bytes without '/' and control characters")
    }
    if let label = template.labels.first(where: { !$0.isPlain }) { throw Self.bad(label) }
    if template.payload.count > Limits.payloadBytes {
      throw refuse("its description exceeds \(Limits.payloadBytes) bytes")
    }
    if !(1...Limits.replicas).contains(template.replicas) {
      throw refuse("\(template.replicas) replicas, not 1 to \(Limits.replicas)")
    }
    // One argument for each element, or none at all: `argument(of:)` indexes by element.
    let arguments = template.elementArguments
    if !arguments.isEmpty, arguments.count != Int(template.count) {
      throw refuse("\(arguments.count) items for \(template.count) elements")
    }
    let own = template.ownFiles
    if !own.isEmpty, own.count != 1, own.count != Int(template.count) {
      throw refuse("files of the submitter for \(own.count) of \(template.count) elements")
    }
    // Without queues of its own a submission has one, the queue `default`, as number 0.
    if submission.queues.isEmpty ? template.queue != 0 : template.queue >= submission.queues.count {
      throw refuse("it names queue number \(template.queue), which the graph does not have")
    }
    if template.isExclusive, !timing.allowsExclusive {
      throw Refusal(
        .badRequest,
        "operation \(template.name) is exclusive, which this coordinator takes none of",
        hint: "its administrator sets fence, and lost above fence + 2 s")
    }
    // A barrier has one place; an array would have one for each element and no order among them.
    if template.isBarrier, template.count != 1 { throw refuse("a barrier is one operation") }
    let demand = template.demand
    let isFitting =
      [demand.cpus.tenThousandths, demand.memoryBytes, demand.gpus.tenThousandths]
      .allSatisfy(Self.isAmount)
      && demand.custom.allSatisfy { Self.isAmount($0.amount.tenThousandths) }
    if !isFitting { throw refuse("a resource demand is negative or beyond all machines") }
    if demand.custom.count > Limits.customResources {
      throw refuse("more than \(Limits.customResources) kinds of resources")
    }
  }

  /// Amounts are in the smallest unit: ten-thousandths of a cpu, gpu or custom resource, bytes of
  /// memory.
  private static func isAmount(_ amount: Int64) -> Bool {
    amount >= 0 && amount <= Limits.resourceAmount
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

  /// Scopes are ranges of templates. They may overlap; an empty one or one beyond the templates is
  /// refused. Widened to 64 bits, since first and count are each up to 2^32 - 1.
  private func checkFailureScopes(_ submission: GraphSubmission) throws(Refusal) {
    for scope in submission.failureScopes
    where scope.count == 0
      || UInt64(scope.first) + UInt64(scope.count) > UInt64(submission.templates.count)
    {
      throw Refusal(
        .badRequest, "a failure policy is for templates that the graph does not have")
    }
  }

  /// Named queues must exist and belong to no other graph, since such a queue leaves with its
  /// graph. Own queues need a name that is valid by itself; the graph's number is put in front
  /// later.
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
    for case .own(let settings) in submission.queues where !settings.name.isValidName {
      throw Refusal(.badRequest, "'\(settings.name)' cannot be the name of a queue")
    }
  }

  /// Checks edges between templates. The same pair may be matched in two ways but not have two
  /// policies (S30). Costs the edges.
  private func checkedTemplateEdges(
    _ submission: GraphSubmission
  ) throws(Refusal) -> TemplateEdges {
    for edge in submission.groupEdges {
      guard edge.from < submission.templates.count, edge.to < submission.templates.count else {
        throw Refusal(.unknownDependency, "a dependency names template \(edge.from)")
      }
      // A template is large: looked at where it is, not copied.
      func template(_ at: UInt32) -> OperationTemplate { submission.templates[Int(at)] }
      if edge.from == edge.to {
        throw Refusal(.selfDependency, "operation \(template(edge.to).name) waits for itself")
      }
      let from = submission.templates[Int(edge.from)].count
      let to = submission.templates[Int(edge.to)].count
      if edge.match == .sameIndex, from != to {
        throw Refusal(
          .badRequest,
          "\(template(edge.to).name) waits element by element for \(template(edge.from).name), "
            + "but they have \(to) and \(from)")
      }
    }
    let edges = TemplateEdges(submission)
    if let conflict = edges.conflict {
      let edge = submission.groupEdges[conflict]
      throw Refusal(
        .conflictingEdge,
        "\(submission.templates[Int(edge.to)].name) waits for "
          + "\(submission.templates[Int(edge.from)].name) in two ways")
    }
    return edges
  }

  /// Checks edges between operations, which come as columns of equal length; a policies column of
  /// one value counts for all. With one policy no pair can conflict. Costs the edges, times the
  /// logarithm of the templates if templates are connected.
  private func checkElementEdges(
    _ submission: GraphSubmission, beside templateEdges: inout TemplateEdges
  ) throws(Refusal) {
    let edges = submission.elementEdges
    let count = UInt32(submission.operationCount)
    let policies = edges.policies.count
    guard edges.from.count == edges.to.count, policies == 1 || policies == edges.count else {
      throw Refusal(.badRequest, "the columns of the dependencies have different lengths")
    }
    func refuse(_ from: UInt32, _ to: UInt32) -> Refusal {
      Refusal(.conflictingEdge, "operation \(to) waits for \(from) in two ways")
    }
    for at in edges.from.indices {
      let (from, to) = (edges.from[at], edges.to[at])
      try check(from, to, count)
      let whole = templateEdges.policy(from: from, to: to)
      let policy = edges.policies[policies == 1 ? 0 : at]
      guard whole ?? policy == policy else { throw refuse(from, to) }
    }
    if edges.policies.allSatisfy({ $0 == edges.policies[0] }) { return }
    let table = EdgeTable(
      operations: Int(count), keys: edges.to, values: edges.from, edges: edges)
    if let (from, to) = table.contradiction() { throw refuse(from, to) }
  }

  private func check(_ from: UInt32, _ to: UInt32, _ count: UInt32) throws(Refusal) {
    if from >= count || to >= count {
      throw Refusal(
        .unknownDependency, "a dependency names operation \(max(from, to)) of \(count)")
    }
    if from == to { throw Refusal(.selfDependency, "operation \(to) waits for itself") }
  }

  /// Checks edges on operations of earlier graphs. The outcomes are not looked at: an edge that can
  /// no longer be met skips its dependent, after the submission was accepted (S27).
  private func checkExternalEdges(_ submission: GraphSubmission) throws(Refusal) {
    var known: [ExternalPair: EdgePolicy] = [:]
    let readers = InputReaders(submission)
    for edge in submission.externalEdges {
      try checkKnown(edge.from)
      guard edge.to < submission.operationCount else {
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

extension Label {
  /// Whether the label can be shown and queried.
  fileprivate var isPlain: Bool {
    !key.isEmpty && key.utf8.count <= Limits.nameBytes && key.isPlainText && value.isPlainText
  }
}
