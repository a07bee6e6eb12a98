// Converts a submitted graph ⇄ `Submission`.
// A submission is the largest message there is: templates stand for arrays, and edges stand in
// columns, so that its size follows the manifest rather than the number of operations. Whether it
// makes sense (names, cycles, queues) is checked in OpClusterScheduling.

import OpClusterModel

/// Field by field as in `proto/opcluster/v1/submission.proto`, where the defaults are told.
extension GraphSubmission: WireConvertible {
  var proto: ProtoSubmission {
    var proto = ProtoSubmission()
    proto.key = key.text
    proto.name = name
    proto.templates = templates.map(\.proto)
    if !groupEdges.isEmpty { proto.groupEdges = ProtoGroupEdges(groupEdges) }
    // Policies without edges are kept, so that decoding yields an equal value.
    if elementEdges.count > 0 || !elementEdges.policies.isEmpty {
      proto.elementEdges = ProtoElementEdges(elementEdges)
    }
    if !externalEdges.isEmpty { proto.externalEdges = ProtoExternalEdges(externalEdges) }
    proto.queues = queues.map(\.proto)
    proto.failurePolicy = failurePolicy.proto
    if let maximumFailures { proto.maximumFailures = maximumFailures }
    proto.isSuspended = isSuspended
    proto.isDeclaredOnly = isDeclaredOnly
    proto.allowsCycles = allowsCycles
    proto.labels = labels.map(\.proto)
    // A folder or a command line, which people read; it is the one text that is cut rather than
    // refused.
    proto.origin = clipped(origin, to: WireLimits.sentenceBytes)
    if let continued { proto.continued = continued.proto }
    proto.failureScopes = failureScopes.map(\.proto)
    if !secrets.isEmpty { proto.secrets = secrets }
    if let recomputes { proto.recomputes = recomputes.proto }
    return proto
  }

  /// Throws for anything beyond its limit; a submission is accepted as a whole or not at all (G2).
  init(proto: ProtoSubmission) throws(WireError) {
    self.init(
      // A client's own key is shorter: the longer limit is that of the journal, where the
      // submitter's name precedes it.
      key: SubmissionKey(try text(proto.key, Limits.ownedSubmissionKeyBytes, "submission.key")),
      name: try text(proto.name, Limits.nameBytes, "submission.name"))
    templates = try list(proto.templates, Limits.templatesPerGraph, "submission.templates")
    // Summed over the templates, before any memory is taken for operations.
    try checkCount(operationCount, Limits.operationsPerGraph, "submission.templates.count")
    groupEdges = try proto.groupEdges.words()
    elementEdges = try proto.elementEdges.words(Limits.elementEdgesPerGraph)
    externalEdges = try proto.externalEdges.words()
    queues = try list(proto.queues, Limits.queuesPerGraph, "submission.queues")
    failurePolicy = try FailurePolicy(
      proto: proto.failurePolicy, unspecified: .continue, "submission.failure_policy")
    maximumFailures = proto.hasMaximumFailures ? proto.maximumFailures : nil
    isSuspended = proto.isSuspended
    isDeclaredOnly = proto.isDeclaredOnly
    allowsCycles = proto.allowsCycles
    labels = try list(proto.labels, Limits.labelsPerThing, "submission.labels")
    origin = try text(proto.origin, WireLimits.sentenceBytes, "submission.origin")
    continued = proto.hasContinued ? try ContinuedGraph(proto: proto.continued) : nil
    failureScopes = try list(
      proto.failureScopes, Limits.failureScopesPerGraph, "submission.failure_scopes")
    // Secrets are never part of a row or of a text, only of this message and of announcements to
    // workers (G39).
    secrets = try checkSecrets(proto.secrets, "submission.secrets")
    recomputes = proto.hasRecomputes ? try OperationID(proto: proto.recomputes) : nil
  }
}

/// Returns the secret values after a check of their number and their total bytes.
/// Shared with ended graphs and with announcements. Their order is their meaning: templates name
/// them by position.
func checkSecrets(_ values: [String], _ field: String) throws(WireError) -> [String] {
  try checkCount(values.count, Limits.secretsPerGraph, field)
  try checkCount(values.reduce(0) { $0 + $1.utf8.count }, Limits.secretBytesPerGraph, field)
  return values
}

/// Neighbouring templates that stop together; whether the range exists is checked with the graph.
extension FailureScope: WireConvertible {
  var proto: ProtoFailureScope {
    var proto = ProtoFailureScope()
    proto.first = first
    proto.count = count
    proto.maximumFailures = maximumFailures
    proto.cancelsRunning = cancelsRunning
    return proto
  }
  init(proto: ProtoFailureScope) throws(WireError) {
    self.init(
      first: proto.first, count: proto.count, maximumFailures: proto.maximumFailures,
      cancelsRunning: proto.cancelsRunning)
  }
}

/// The new graph has the shape of the ended one, and takes over what succeeded there (S11).
extension ContinuedGraph: WireConvertible {
  var proto: ProtoContinuedGraph {
    var proto = ProtoContinuedGraph()
    proto.graph = graph.number
    proto.reused = reused.proto
    return proto
  }
  init(proto: ProtoContinuedGraph) throws(WireError) {
    self.init(graph: GraphID(proto.graph), reused: try OperationRuns(proto: proto.reused))
    // The runs carry a graph of their own, which could contradict the field beside them.
    if reused.graph != graph { throw WireError("continued.reused", .outOfRange) }
  }
}

/// A name of the cluster's list, or settings of a queue that lives and ends with the graph.
extension QueueReference: WireConvertible {
  var proto: ProtoQueueReference {
    var proto = ProtoQueueReference()
    switch self {
    case .named(let name): proto.named = name
    case .own(let settings): proto.own = settings.proto
    }
    return proto
  }
  init(proto: ProtoQueueReference) throws(WireError) {
    switch proto.queue {
    case .named(let name): self = .named(try text(name, Limits.nameBytes, "queues.named"))
    case .own(let settings): self = .own(try QueueSettings(proto: settings))
    case nil: throw WireError("queues.queue", .missing)
    }
  }
}

/// Edges between whole stages: four columns, which are short even for graphs of millions.
extension ProtoGroupEdges {
  init(_ edges: [GroupEdge]) {
    self.init()
    from = edges.map(\.from)
    to = edges.map(\.to)
    policy = edges.map(\.policy.proto)
    // Most edges go from all to all, and then nothing is said about it.
    match = omitted(edges.map(\.match.proto), ifAll: .all)
  }

  /// Positions of templates are not checked here: the graph's check names the stage that is
  /// missing.
  func words() throws(WireError) -> [GroupEdge] {
    let field = "group_edges"
    let (from, to, policy) = (from, to, policy)
    try checkCount(from.count, Limits.groupEdgesPerGraph, field)
    try checkEqual(to.count, from.count, field)
    try checkEqual(policy.count, from.count, field)
    let matches = try Column(match, count: from.count, else: .all, field)
    var edges: [GroupEdge] = []
    edges.reserveCapacity(from.count)
    for at in from.indices {
      edges.append(
        GroupEdge(
          from: from[at], to: to[at], policy: try EdgePolicy(proto: policy[at], field),
          match: try GroupEdge.Match(proto: matches[at], unspecified: .all, field)))
    }
    return edges
  }
}

/// Up to 16 million edges, so nothing is allocated per edge but its three numbers.
extension ProtoElementEdges {
  init(_ edges: ElementEdges) {
    self.init()
    fromDelta = differences(edges.from)
    toDelta = differences(edges.to)
    policy = edges.policies.map(\.proto)
  }

  /// The policy is one for all edges, or one for each; none at all only without edges.
  func words(_ limit: Int) throws(WireError) -> ElementEdges {
    let field = "element_edges"
    try checkCount(fromDelta.count, limit, field)
    try checkEqual(toDelta.count, fromDelta.count, field)
    if policy.count != 1 { try checkEqual(policy.count, fromDelta.count, field) }
    return ElementEdges(
      from: sums(fromDelta), to: sums(toDelta), policies: try EdgePolicy.column(policy, field))
  }
}

/// A dependency outside of this graph is an operation of an earlier one; the dependent is an index
/// in this one (S29).
extension ProtoExternalEdges {
  init(_ edges: [ExternalEdge]) {
    self.init()
    from = ProtoOperations(edges.map(\.from))
    to = edges.map(\.to)
    policy = edges.map(\.policy.proto)
  }

  /// The limit is that of edges between stages: each one costs a look-up in another graph.
  func words() throws(WireError) -> [ExternalEdge] {
    let field = "external_edges"
    let operations = try from.words(Limits.groupEdgesPerGraph, field)
    try checkEqual(to.count, operations.count, field)
    let policies = try EdgePolicy.column(policy, field)
    try checkEqual(policies.count, operations.count, field)
    return operations.indices.map { at in
      ExternalEdge(from: operations[at], to: to[at], policy: policies[at])
    }
  }
}
